"""What one more label is expected to gain: a closed-form look one step ahead."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_max, row_sum
from crowdassay.planning.dependence import Dependence
from crowdassay.planning.state import State

FIRST_LABELS = 2  # that every item gets before any gets more
LOOKED_AT = 4  # classes of an item, the likeliest; exact up to as many classes
CELLS = 4_000_000  # numbers held at a time
SMALL_PROBABILITY = 1e-12


def look_ahead(
    posterior: FloatArray, log_prior: FloatArray, n_labels: IntArray, tables: FloatArray, law: Dependence
) -> tuple[FloatArray, FloatArray]:
    r"""Return the probability of each answer (n, n_answers), and the class probabilities after it (n, n_answers, n_classes).

    .. math::  \log q'_c(k) = \log \pi_c + \frac{t(n+1)}{t(n)} \log \frac{q_c}{\pi_c} + t(n+1) \log p(c, k) + \text{const}

    Parameters
    ----------
    posterior, log_prior : ndarray of shape (n, n_classes)
    n_labels : ndarray of shape (n,)
    tables : ndarray of shape (n, n_classes, n_answers)
        P(answer | class) of the worker who would be asked.
    law : Dependence
        The weight t of each of n labels.
    """
    now, then = law.weight(np.asarray(n_labels, np.float64)), law.weight(np.asarray(n_labels + 1, np.float64))
    evidence = np.log(np.maximum(posterior, 1e-300)) - log_prior
    weights = log_prior + (then / now)[:, None] * evidence
    moved = then[:, None, None] * np.log(np.maximum(tables, SMALL_PROBABILITY)).transpose(0, 2, 1)
    after = np.add(weights[:, None, :], moved, order="C").reshape(-1, posterior.shape[1])
    after -= row_max(after)[:, None]
    np.exp(after, out=after)
    after /= row_sum(after)[:, None]
    answers = np.einsum("nc,nck->nk", posterior, tables)
    return answers / row_sum(answers)[:, None], after.reshape(moved.shape)


def spread(answers: FloatArray, after: FloatArray) -> FloatArray:
    r"""Return how far the answer is expected to move the class probabilities, shape (n,).

    .. math::  \sum_c \operatorname{Var}_k q'_c(k)

    That is the expected fall of :math:`1 - \sum_c q_c^2`, the chance that a class drawn by an item's probabilities is wrong.
    The chance that the likeliest class is wrong does not fall by a label that cannot overturn the others, so a plan by it
    would never begin on items that need two.
    """
    mean = np.einsum("nk,nkc->nc", answers, after)
    return np.maximum(np.einsum("nk,nkc,nkc->n", answers, after, after) - row_sum(mean**2), 0.0)


def likeliest(posterior: FloatArray, only: int | None = None) -> IntArray:
    """Return the classes of each item that are looked at, shape (n_items, up to 4); of one class, it and its first rival."""
    n_items, n_classes = posterior.shape
    if only is not None:
        rivals = posterior.copy()
        rivals[:, only] = -1.0
        return np.column_stack([np.full(n_items, only), rivals.argmax(axis=1)])
    if n_classes <= LOOKED_AT:
        return np.broadcast_to(np.arange(n_classes), posterior.shape)
    return np.sort(np.argpartition(-posterior, LOOKED_AT - 1, axis=1)[:, :LOOKED_AT], axis=1)


def label_gain(
    state: State,
    items: IntArray,
    workers: IntArray | None = None,
    *,
    rate: int | None = None,
    pending: IntArray | None = None,
) -> FloatArray:
    """Return what a label is expected to gain for each pair of item and worker, shape (n,).

    Parameters
    ----------
    state : State
    items : ndarray of int, shape (n,)
    workers : ndarray of int, shape (n,), optional
        Without, a typical worker is asked.
    rate : int, optional
        A class whose share among the items is to be known: the gain is then the expected fall of the variance of its share,
        times the square of the number of items. Otherwise the expected fall of the error, in items.
    pending : ndarray of int, shape (n_items,), optional
        Labels that are asked for and not in yet: they count among the labels an item has.
    """
    found = np.empty(len(items))
    n_labels = state.n_labels if pending is None else state.n_labels + pending
    n_classes = state.posterior.shape[1]
    step = max(1, CELLS // (n_classes * min(n_classes, LOOKED_AT) * 2))
    for first in range(0, len(items), step):
        part = slice(first, first + step)
        rows = items[part]
        codes = likeliest(state.posterior[rows], rate)
        q = np.maximum(np.take_along_axis(state.posterior[rows], codes, axis=1), SMALL_PROBABILITY)
        q /= row_sum(q)[:, None]
        tables = state.crowd[codes] if workers is None else state.tables[workers[part][:, None], codes]
        after = look_ahead(q, state.log_prior[codes], n_labels[rows], tables, state.law)
        found[part] = spread(*after) / (1.0 if rate is None else 2.0)  # of two classes the probabilities move as one
    return found


def labels_missing(n_labels: IntArray) -> IntArray:
    """Return how many labels items lack that every item gets first, (n,): without a second opinion nobody can be judged.

    >>> labels_missing(np.array([0, 1, 2, 9])).tolist()
    [2, 1, 0, 0]
    """
    return np.maximum(FIRST_LABELS - np.asarray(n_labels, np.int64), 0)


def expert_gain(state: State, items: IntArray, *, rate: int | None = None) -> FloatArray:
    """Return what knowing the class is expected to gain, shape (n,), measured as by `label_gain`."""
    if rate is not None:
        q = state.posterior[items, rate]
        return np.asarray(q * (1 - q))
    return np.asarray(1 - row_sum(state.posterior[items] ** 2))
