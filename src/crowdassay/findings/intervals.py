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
    n: FloatArray, right: FloatArray, unsure: FloatArray, spread: float, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    r"""Return the share of each worker's labels that are right, its limits, and the effective number of labels behind them.

    .. math::  \hat p_i = \frac{1}{n_i} \sum_n r_n, \qquad
               n_i^{\text{eff}} = n_i - \sum_n \frac{r_n (1 - r_n)}{\hat p_i (1 - \hat p_i)}, \qquad
               \operatorname{Var} = \frac{\hat p_i (1 - \hat p_i)}{n_i^{\text{eff}}}
               + \Big(\frac{\sigma}{n_i} \sum_n r_n (1 - r_n)\Big)^2

    Shape (n_workers,) each. r is the probability that a label is right, after the fit; ``right`` is its sum over the worker's
    ``n`` labels, ``unsure`` that of r (1 - r). The effective number is how many labels on items of known class would tell as
    much about the worker: what the labels would tell, less what is missing because the classes are not known (Louis 1982), the
    other workers taken as fitted. They are not: all probabilities of a dataset may be off together, by a shift of their logits
    that is known only by its standard deviation between datasets, the ``spread``. A shift of 1 moves a label's r by r (1 - r),
    and so much of the variance comes on top; it stays however many labels there are.

    References
    ----------
    T. A. Louis. Finding the observed information matrix when using the EM algorithm. 1982.
    """
    share = right / np.maximum(n, 1)
    p = (share * n + 0.5) / (n + 1)  # at 0 or 1 the information would be infinite
    effective = _shifted(np.maximum(n - unsure / (p * (1 - p)), 0.0), p, spread * unsure / np.maximum(n, 1))
    return share, *share_interval(share, effective, confidence), effective


def _shifted(n: FloatArray, p: FloatArray, shift: FloatArray) -> FloatArray:
    """Return how many of n trials are left if their share p may be off, as a whole, by a standard deviation ``shift``."""
    return np.asarray(n / (1 + n * shift**2 / (p * (1 - p))))


def confusion_interval(
    counts: FloatArray, unsure: FloatArray, spread: float, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray, FloatArray]:
    r"""Return confusion tables from the fit's expected counts, and their limits; (n_workers, n_classes, n_classes) each.

    A cell p(c, k) is a share of the worker's labels on items of class c. Their number is the sum of the class weights Q; what
    is missing about it is :math:`\sum_n Q_{nc} (1 - Q_{nc}) (1[x_n = k] - p)^2 / (p (1 - p))`, as in `accuracy_interval`.
    ``counts`` sums Q by answer, ``unsure`` Q (1 - Q); the ``spread`` may move the labels of the cell and those beside it apart.
    A limit is 0 where the cell may hold no label at all, and 1 where those beside it may: see `_chance_of_none`.
    """
    n = counts.sum(axis=2, keepdims=True)
    p = (counts + 0.5) / (n + 1)
    beside = unsure.sum(axis=2, keepdims=True) - unsure
    missing = (unsure * (1 - p) ** 2 + beside * p**2) / (p * (1 - p))
    shift = spread * (unsure * (1 - p) + beside * p) / np.maximum(n, 1e-9)
    share, tail = normalise(counts)[0], (1 - confidence) / 2
    low, high = share_interval(share, _shifted(np.maximum(n - missing, 0.0), p, shift), confidence)
    low = np.where(_chance_of_none(counts, unsure) > tail, 0.0, low)
    return share, low, np.where(_chance_of_none(n - counts, beside) > tail, 1.0, high)


def _chance_of_none(expected: FloatArray, unsure: FloatArray) -> FloatArray:
    r"""Return the chance that none of some labels is what it may be: :math:`\prod_n (1 - q_n)`.

    Their sums :math:`C = \sum_n q_n` and :math:`U = \sum_n q_n (1 - q_n)` are those of C / q labels alike, q = 1 - U / C.

    >>> chance = _chance_of_none(np.array([0.4, 0.4, 0.0]), np.array([0.24, 0.39, 0.0]))
    >>> [round(float(one), 2) for one in chance]  # one label with 0.4, many with 0.025, none
    [0.6, 0.67, 1.0]
    """
    expected = np.maximum(expected, 1e-12)
    q = 1 - np.clip(unsure / expected, 0.0, 1 - 1e-12)
    return np.asarray(np.exp(expected / q * np.log1p(-np.minimum(q, 1 - 1e-12))))


def difficulty_interval(
    votes: np.ndarray, posterior: FloatArray, confidence: float = CONFIDENCE
) -> tuple[FloatArray, FloatArray]:
    r"""Return the limits of the probability that one more worker like an item's own gets it wrong, shape (n_items,) each.

    If the class were c, m labels of which e are not c would give Beta(e + 1/2, m - e + 1/2). The interval is that of the Beta
    with the mean and the variance of their mixture over the item's class probabilities. Both arrays (n_items, n_classes).
    """
    low, high, tail = np.empty(len(votes)), np.empty(len(votes)), (1 - confidence) / 2

    def some(first: int) -> None:
        part = slice(first, first + INTERVALS_AT_ONCE)
        m = votes[part].sum(axis=1, keepdims=True).astype(np.float64)
        mean = (m - votes[part] + 0.5) / (m + 1)
        total = (posterior[part] * mean).sum(axis=1)
        square = (posterior[part] * (mean * (1 - mean) / (m + 2) + mean**2)).sum(axis=1)
        size = np.maximum(total * (1 - total) / np.maximum(square - total**2, 1e-12) - 1, 0.1)
        a, b = total * size, (1 - total) * size
        low[part], high[part] = betaincinv(a, b, tail), betaincinv(a, b, 1 - tail)

    on_all_cores(some, range(0, len(votes), INTERVALS_AT_ONCE))  # most of the time that a table of millions of items takes
    return low, high
