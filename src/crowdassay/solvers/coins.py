"""Workers who toss a coin: right with some probability, otherwise any wrong class alike."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.solvers.em import EPSILON, Update


def coin_tables(log_right: FloatArray, log_wrong: FloatArray, n_classes: int) -> FloatArray:
    """Expand log probabilities of a right and of a wrong answer into log tables (n_workers, n_classes, n_classes).

    Parameters
    ----------
    log_right, log_wrong : ndarray of shape (n_workers, 1) or (n_workers, n_classes)
        For all classes alike, or by true class. The wrong classes share the second equally.
    n_classes : int

    >>> np.exp(coin_tables(np.log([[0.8]]), np.log([[0.2]]), 3)[0]).round(2).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    if n_classes == 1:  # there is no wrong answer
        return np.zeros((len(log_right), 1, 1))
    shared = np.broadcast_to(log_wrong - np.log(n_classes - 1), (len(log_wrong), n_classes))
    tables = np.repeat(shared[:, :, None], n_classes, axis=2)
    tables[:, range(n_classes), range(n_classes)] = log_right
    return tables


def count_right(counts: FloatArray, *, per_class: bool) -> tuple[FloatArray, FloatArray]:
    """Sum counts (n_workers, n_classes, n_classes) into right and wrong answers, (n_workers, 1) or (n_workers, n_classes)."""
    right = np.einsum("icc->ic", counts)
    wrong = np.maximum(counts.sum(axis=2) - right, 0.0)
    return (right, wrong) if per_class else (right.sum(axis=1, keepdims=True), wrong.sum(axis=1, keepdims=True))


def coin_update(successes: float, failures: float, *, per_class: bool, projection: float = 0.0) -> Update:
    r"""Return the M-step of the one-coin model, or with ``per_class`` of the two-coin model.

    .. math::  p = \frac{n_{\text{right}} + s}{n_{\text{right}} + n_{\text{wrong}} + s + f}

    the posterior mode under a Beta(1 + s, 1 + f) prior, moved to the nearest point of [projection, 1 - projection]. What is
    maximised is concave in p, so that the nearest point is the best one there and the objective rises all the same.
    """

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        n_classes = counts.shape[1]
        right, wrong = count_right(counts, per_class=per_class)
        cells = 1 if per_class else n_classes
        right = right + (successes + cells * EPSILON)
        wrong = wrong + (failures + cells * (n_classes - 1) * EPSILON)
        p, q = right / (right + wrong), wrong / (right + wrong)  # 1 - p would round a small q away
        if projection > 0:
            p, q = np.clip(p, projection, 1 - projection), np.clip(q, projection, 1 - projection)
        q = np.maximum(q, EPSILON)  # a lone class leaves none
        log_p, log_q = np.log(p), np.log(q)
        return coin_tables(log_p, log_q, n_classes), float(successes * log_p.sum() + failures * log_q.sum())

    return update


def mean_field_update(a: float, b: float) -> Update:
    r"""Return the variational update of the one-coin model with a Beta(a, b) prior.

    .. math::  q(p_i) = \text{Beta}(a + n_{\text{right}},\ b + n_{\text{wrong}}), \qquad
               E \log p_i = \psi(a_i) - \psi(a_i + b_i)

    In place of a log prior density it returns minus the divergence from the prior, which makes the objective of
    `fit_em` the mean-field lower bound.
    """
    from scipy.special import betaln, digamma  # noqa: PLC0415  slow to load, seldom needed

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        right, wrong = count_right(counts, per_class=False)
        log_p = digamma(a + right) - digamma(a + b + right + wrong)
        log_q = digamma(b + wrong) - digamma(a + b + right + wrong)
        divergence = betaln(a, b) - betaln(a + right, b + wrong) + right * log_p + wrong * log_q
        return coin_tables(log_p, log_q, counts.shape[1]), -float(divergence.sum())

    return update
