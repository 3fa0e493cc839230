"""Intervals for what workers get right, for their confusion tables and for how hard items are."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import normalise
from crowdassay.special import betaincinv
from crowdassay.threads import on_all_cores

CONFIDENCE = 0.95
INTERVALS_AT_ONCE = 1 << 16  # items looked at by one thread; so many go through SciPy, see `crowdassay.special`


def share_interval(share: FloatArray, n: FloatArray, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
    """Return the limits of a share seen in n trials, n not necessarily whole: Jeffreys' equal-tailed interval.

    >>> low, high = share_interval(np.array([0.9]), np.array([20.0]))
    >>> [round(float(limit), 3) for limit in (low[0], high[0])]
    [0.716, 0.979]
    """
    share = np.clip(share, 0.0, 1.0)
    a, b, tail = share * n + 0.5, (1 - share) * n + 0.5, (1 - confidence) / 2
    return np.minimum(betaincinv(a, b, tail), share), np.maximum(betaincinv(a, b, 1 - tail), share)


def accuracy_interval(
    n: FloatArray, right: FloatArray, unsure: FloatArray, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    r"""Return the share of each worker's labels that are right, its limits, and the effective number of labels behind them.

    .. math::  \hat p_i = \frac{1}{n_i} \sum_n r_n, \qquad
               n_i^{\text{eff}} = n_i - \sum_n \frac{r_n (1 - r_n)}{\hat p_i (1 - \hat p_i)}

    Shape (n_workers,) each. r is the probability that a label is right, after the fit; ``right`` is its sum over the worker's
    ``n`` labels, ``unsure`` that of r (1 - r). The effective number is how many labels on items of known class would tell as
    much about the worker: what the labels would tell, less what is missing because the classes are not known (Louis 1982), the
    other workers taken as fitted.

    References
    ----------
    T. A. Louis. Finding the observed information matrix when using the EM algorithm. 1982.
    """
    share = right / np.maximum(n, 1)
    p = (share * n + 0.5) / (n + 1)  # at 0 or 1 the information would be infinite
    effective = np.maximum(n - unsure / (p * (1 - p)), 0.0)
    return share, *share_interval(share, effective, confidence), effective


def confusion_interval(
    counts: FloatArray, unsure: FloatArray, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return confusion tables from the fit's expected counts, and their limits; (n_workers, n_classes, n_classes) each.

    A cell p(c, k) is a share of the worker's labels on items of class c. Their number is the sum of the class weights Q; what
    is missing about it is :math:`\sum_n Q_{nc} (1 - Q_{nc}) (1[x_n = k] - p)^2 / (p (1 - p))`, as in `accuracy_interval`.
    ``counts`` sums Q by answer, ``unsure`` Q (1 - Q).
    """
    n = counts.sum(axis=2, keepdims=True)
    p = (counts + 0.5) / (n + 1)
    missing = (unsure * (1 - p) ** 2 + (unsure.sum(axis=2, keepdims=True) - unsure) * p**2) / (p * (1 - p))
    share = normalise(counts)[0]
    return share, *share_interval(share, np.maximum(n - missing, 0.0), confidence)


def difficulty_interval(
    votes: np.ndarray, posterior: FloatArray, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray]:
    r"""Return the limits of the probability that one more worker like an item's own gets it wrong, shape (n_items,) each.

    If the class were c, m labels of which e are not c would give Beta(e + 1/2, m - e + 1/2). The interval is that of the Beta
    with the mean and the variance of their mixture over the item's class probabilities. Both arrays (n_items, n_classes).
    """
    low, high = np.empty((2, len(votes)))

    def some(first: int) -> None:
        part = slice(first, first + INTERVALS_AT_ONCE)
        low[part], high[part] = _difficulty_limits(votes[part], posterior[part], confidence)

    on_all_cores(some, range(0, len(votes), INTERVALS_AT_ONCE))  # most of the time that a table of millions of items takes
    return low, high


def _difficulty_limits(votes: np.ndarray, posterior: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    m = votes.sum(axis=1, keepdims=True).astype(np.float64)
    mean = (m - votes + 0.5) / (m + 1)
    total = (posterior * mean).sum(axis=1)
    square = (posterior * (mean * (1 - mean) / (m + 2) + mean**2)).sum(axis=1)
    size = np.maximum(total * (1 - total) / np.maximum(square - total**2, 1e-12) - 1, 0.1)
    tail = (1 - confidence) / 2
    a, b = total * size, (1 - total) * size
    return betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)
