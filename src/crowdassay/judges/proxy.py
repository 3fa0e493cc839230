r"""Predict what people would say of every item, without having seen what they say of that item.

The judges' verdicts give a probability :math:`p_{jc}` (the default method, or `answers` where judges say more than the
classes). On people's labels it is corrected by a few numbers,

.. math:: q_{jc} \propto \exp\Big(\alpha \log p_{jc} + \beta_c + \sum_i w_i\, e_i(x_{ij}, c)\Big),

with :math:`e_i` 1 where judge :math:`i` names the class (or the log-probability of the answer), all pulled towards
:math:`\alpha = 1, \beta = 0, w = 0`, so that few labels change little. Labels are dealt into folds; an item that people
saw is predicted from the other folds, other items by the mean of all (cross-prediction, Zrnic and Candès 2024).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.judges.answers import Panel, fit_answers
from crowdassay.judges.people import People
from crowdassay.judges.verdicts import Verdicts
from crowdassay.statistics import softmax

CENTRE = 1.0  # of the weight of the panel's log-odds, which are tempered already
PULLS = (5.0, 1.0, 5.0)  # of that weight, of the classes and of the judges
FLOOR = 1e-6
NEWTON_STEPS = 25
FOLDS, MANY = (10, 5), 100  # folds below and from this number of labels


@dataclass(frozen=True, eq=False)
class Proxy:
    """Predictions of what people would say.

    Attributes
    ----------
    panel : ndarray, shape (n_items, n_classes)
        What the panel alone claims.
    blind : ndarray, shape (n_items, n_classes)
        Predictions for every item that have not seen people's labels of that item.
    judge_weight : ndarray, shape (n_judges,)
        Mean correction of each judge's say.
    """

    panel: FloatArray
    blind: FloatArray
    judge_weight: FloatArray


def predict_people(verdicts: Verdicts, people: People, panel: FloatArray | None, generator: np.random.Generator) -> Proxy:
    """Return blind predictions for all items.

    Parameters
    ----------
    verdicts : Verdicts
    people : People
    panel : ndarray, shape (n_items, n_classes), optional
        The default's probability from the judges alone; None where answers are more than the classes, and tables of answers
        are learned from people in each fold.
    generator : numpy.random.Generator
        Deals the folds.
    """
    n = len(people.item)
    n_folds = min(FOLDS[n >= MANY], n)
    fold = generator.permutation(np.arange(n) % n_folds)
    whole = _panel(verdicts, people, np.ones(n, bool), panel)
    blind, weights = np.zeros_like(whole.probability), np.zeros(len(verdicts.judges))
    held = np.zeros((n, verdicts.n_classes))
    for k in range(n_folds):
        rest = fold != k
        part = whole if panel is not None else _panel(verdicts, people, rest, None)
        corrected, weight = _corrected(part, people, rest)
        held[~rest] = corrected[people.item[~rest]]
        blind += corrected / n_folds
        weights += weight / n_folds
    blind[people.item] = held
    return Proxy(whole.probability, blind, weights)


def _panel(verdicts: Verdicts, people: People, used: np.ndarray, panel: FloatArray | None) -> Panel:
    if panel is None:
        return fit_answers(verdicts, people.item[used], people.share[used])
    says = np.eye(verdicts.n_classes)[None].repeat(len(verdicts.judges), axis=0)
    return Panel.of(verdicts, panel, says)


def _corrected(panel: Panel, people: People, used: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return corrected probabilities of all items, and the judges' weights."""
    rows = people.item[used]
    odds = np.log(np.maximum(panel.probability, FLOOR))
    judges = panel.evidence_of(rows)
    features = np.concatenate([odds[rows][:, :, None], judges], axis=2)
    weight, bias = fit_correction(features, people.share[used])
    return softmax(weight[0] * odds + bias + panel.weighted(weight[1:])), weight[1:]


def fit_correction(features: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit the few weights by Newton's method on the penalised likelihood.

    Parameters
    ----------
    features : ndarray, shape (n, n_classes, n_features)
        The panel's log-probability first.
    share : ndarray, shape (n, n_classes)

    Returns
    -------
    weight : ndarray, shape (n_features,)
    bias : ndarray, shape (n_classes,)
    """
    n, n_classes, n_features = features.shape
    every = np.concatenate([features, np.broadcast_to(np.eye(n_classes), (n, n_classes, n_classes))], axis=2)
    centre = np.zeros(n_features + n_classes)
    centre[0] = CENTRE
    pull = np.repeat([PULLS[0], PULLS[2], PULLS[1]], [1, n_features - 1, n_classes])
    at = centre.copy()

    def loss(value: FloatArray) -> float:
        logits = every @ value
        top = logits.max(axis=1)
        log_total = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        return float(log_total.sum() - (share * logits).sum() + (pull * (value - centre) ** 2).sum() / 2)

    now = loss(at)
    for _ in range(NEWTON_STEPS):
        chance = softmax(every @ at)
        mean = np.einsum("nk,nkq->nq", chance, every)
        gradient = mean.sum(axis=0) - np.einsum("nk,nkq->q", share, every) + pull * (at - centre)
        curved = np.einsum("nk,nkq,nkr->qr", chance, every, every, optimize=True) - mean.T @ mean + np.diag(pull)
        step = np.linalg.solve(curved, gradient)
        length = 1.0
        while (then := loss(at - length * step)) > now and length > 1e-4:
            length /= 2
        if now - then < 1e-9 * (1 + abs(now)):
            break
        at, now = at - length * step, then
    return at[:n_features], at[n_features:]
