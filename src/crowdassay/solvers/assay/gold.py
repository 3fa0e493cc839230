"""What known items teach the pool: its weights, a bias for each class, a small weight for each worker; shrunk to none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.join import take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import class_values, decide_classes
from crowdassay.labels.values import counted
from crowdassay.models.assay.constants import Constants
from crowdassay.planning.stop import DOUBTS, count_doubts
from crowdassay.solvers.assay.pool import Pool, answers, ordinary, parts, predict_proba
from crowdassay.solvers.lbfgs import minimise
from crowdassay.statistics import softmax

SURPRISE = 3.0  # standard deviations between the errors found on known items and those expected
FOLDS = 5  # parts of the known items, each checked by what the others teach
APART = 0.1  # and at least this share of the known items


@dataclass(frozen=True, eq=False)
class GoldFit:
    """The known items as the pool sees them, and their classes.

    Attributes
    ----------
    logits : ndarray of shape (n_known, n_classes, n_parts)
        What the pool says of them, by part, without having seen their classes.
    weight : ndarray of shape (n_labels,)
        What each label counts by: as the tables do, and not at all where its worker's answers are the classes.
    labels : Labels
    target : ndarray of shape (n_known, n_classes)
        Their classes: one-hot, or less sure where believed workers gave them.
    """

    logits: FloatArray
    weight: FloatArray
    labels: Labels
    target: FloatArray


def read_gold(labels: Labels, pool: Pool, target: FloatArray) -> GoldFit:
    """Return the known items as the pool sees them before it is corrected."""
    logits, share = parts(labels, pool)
    weight = share[labels.label_item] * ordinary(labels, pool)
    return GoldFit(logits - logits.mean(axis=1, keepdims=True), weight, labels, target)


def objective(theta: FloatArray, gold: GoldFit, ridge: FloatArray) -> tuple[float, FloatArray]:
    r"""Return the penalised log-loss on the known items and its gradient.

    .. math::  -\sum_{jc} y_{jc} \log q_{jc} + \tfrac12 \sum_k \lambda_k \theta_k^2, \qquad
               q_{jc} \propto \exp\Big\{\sum_m (1 + a_m) z_{jcm} + b_c + t_j \sum_i v_i 1[x_{ij} = c]\Big\}

    with :math:`\theta = (a, b, v)`.
    """
    n_parts, n_classes, labels = gold.logits.shape[2], gold.logits.shape[1], gold.labels
    change, bias, own = np.split(theta, [n_parts, n_parts + n_classes])
    cast = answers(labels, gold.weight)
    per_answer = np.repeat(own, n_classes)
    eye = np.tile(np.eye(n_classes), (labels.n_workers, 1))
    logits = gold.logits @ (1.0 + change) + bias + cast @ (per_answer[:, None] * eye)
    q = softmax(logits)
    wrong = q - gold.target
    value = -float((gold.target * np.log(np.maximum(q, 1e-300))).sum()) + 0.5 * float(ridge @ theta**2)
    by_answer = (cast.T @ wrong).reshape(-1, n_classes, n_classes)
    slope = [np.einsum("jc,jcm->m", wrong, gold.logits), wrong.sum(axis=0), np.einsum("icc->i", by_answer)]
    return value, np.concatenate(slope) + ridge * theta


def learn(gold: GoldFit, constants: Constants) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the changes of the pool's parts (n_parts,), the bias of the classes (n_classes,) and the workers' own weights."""
    n_parts, n_classes = gold.logits.shape[2], gold.logits.shape[1]
    sizes = (n_parts, n_classes, gold.labels.n_workers)
    ridge = np.repeat([constants.ridge_pool, constants.ridge_class, constants.ridge_worker], sizes)
    best = minimise(lambda theta: objective(theta, gold, ridge), np.zeros(len(ridge)), maxiter=200).point
    change, bias, own = np.split(best, [n_parts, n_parts + n_classes])
    return change, bias, own


def correct(pool: Pool, gold: GoldFit, constants: Constants) -> Pool:
    """Return the pool as the known items correct it; with none of them it stays as it is."""
    change, bias, own = learn(gold, constants)
    tables = (1.0 + change[0]) * pool.tables + own[:, None, None] * np.eye(len(bias))
    items = None if pool.items is None else replace(pool.items, weight=pool.items.weight * (1.0 + change[2]))
    return replace(
        pool,
        tables=tables,
        stranger=(1.0 + change[0]) * pool.stranger,
        offset=(1.0 + change[0]) * pool.offset,
        vote=(1.0 + change[1]) * pool.vote,
        bias=pool.bias + bias,
        items=items,
    )


def check_known(labels: Labels, pool: Pool, target: FloatArray, constants: Constants, decide: str) -> IntArray:
    """Count known items that are labelled right and wrong by a pool that was told only the others, a fifth at a time.

    So known items are judged as unknown ones are: by a fit that knows some classes, but not theirs. The members are fitted
    without any known class, so that only what known items teach has to be learned anew.

    Parameters
    ----------
    labels : Labels
        The known items.
    pool : Pool
        Before it is corrected.
    target : ndarray of shape (n_known, n_classes)
        Their classes, as for `GoldFit`.
    constants : Constants
    decide : {'likeliest', 'median', 'mean'}
        Which class becomes the label.

    Returns
    -------
    ndarray of int, shape (n_levels, 2)
        Right and wrong, by how unsure the label was: see `crowdassay.planning.stop.count_doubts`.
    """
    dealt = np.random.default_rng(0).permutation(labels.n_items)
    counts = np.zeros((len(DOUBTS), 2), np.int64)
    checkable = (labels.gold >= 0) & (np.diff(labels.starts) > 0)
    for part in (dealt[first::FOLDS] for first in range(FOLDS)):
        told, held = np.setdiff1d(dealt, part), np.sort(part[checkable[part]])
        if not len(held):
            continue
        corrected = correct(pool, read_gold(take_items(labels, told, named=False), pool, target[told]), constants)
        some = take_items(labels, held, named=False)
        posterior = predict_proba(some, corrected, use_gold=False)
        code = decide_classes(posterior, decide, class_values(labels)).argmax(axis=1)
        doubt, wrong = 1.0 - posterior[np.arange(len(held)), code], code != some.gold
        counts += np.column_stack([count_doubts(doubt[~wrong]), count_doubts(doubt[wrong])])
    return counts


def score_workers(labels: Labels, truth: IntArray) -> FloatArray:
    """Return how many labels each worker has on known items (n_items,), and how many are right: (n_workers, 2)."""
    known = truth[labels.label_item] >= 0
    right = known & (labels.label == truth[labels.label_item])
    return np.column_stack([np.bincount(labels.worker, chosen, labels.n_workers) for chosen in (known, right)])


def contradiction(gold: GoldFit) -> str:
    """Return a sentence where the known items contradict the pool by far more than chance, else nothing."""
    q = softmax(gold.logits.sum(axis=2))
    sure, right = q.max(axis=1), gold.target[np.arange(len(q)), q.argmax(axis=1)]
    wrong, expected = float((1.0 - right).sum()), float((1.0 - sure).sum())
    spread = float(np.sqrt((sure * (1.0 - sure)).sum()))
    if wrong - expected < max(SURPRISE * spread, APART * len(q)):
        return ""
    return (
        f"The known items contradict the crowd: without them {wrong:,.0f} of {len(q):,} would have got a wrong label, where "
        f"{counted(expected, 'was', 'were')} expected. The probabilities have been corrected by them, and workers' scores on "
        "known items say more than their accuracy."
    )
