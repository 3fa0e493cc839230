"""Intervals of shares, tails of sums and counts, false discoveries, softmax and connected parts: each once for all packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.special import betainc, gammainc, ndtr

ROUNDED_VARIANCE = 1e-12  # a smaller variance is rounding
CHERNOFF_TILTS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 40.0)  # tried in turn; any gives a bound


def q_values(p: FloatArray, *, dependent: bool = False) -> FloatArray:
    r"""Return q-values (n,): among the tests with a q of at most :math:`\alpha`, at most that share is expected to be false.

    .. math::  q_{(k)} = \min_{l \geq k} \frac{n\, c\, p_{(l)}}{l}

    with c = 1 (Benjamini and Hochberg 1995), or :math:`\sum_l 1/l` for tests that depend on each other in any way (Benjamini
    and Yekutieli 2001). Tests whose p is NaN were not made: their q is NaN, and they do not count.

    Examples
    --------
    >>> q_values(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    made = np.flatnonzero(~np.isnan(p))
    order, n = made[np.argsort(p[made], kind="stable")], len(made)
    penalty = (1.0 / np.arange(1, n + 1)).sum() if dependent else 1.0
    q = np.full(len(p), np.nan)
    raised = penalty * n * p[order] / np.arange(1, n + 1)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return q


def discoveries(p: FloatArray, tested: BoolArray, rate: float, *, dependent: bool = False) -> BoolArray:
    """Mark the tests, in an array of any shape, that are significant at a false discovery rate, of those that were made.

    >>> discoveries(np.array([0.001, 0.02, 0.5, 0.0]), np.array([True, True, True, False]), 0.05).tolist()
    [True, True, False, False]
    """
    with np.errstate(invalid="ignore"):
        q = q_values(np.where(tested, p, np.nan).ravel(), dependent=dependent)
        return np.asarray(q <= rate).reshape(np.shape(p))


def wilson(share: Any, n: Any, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's limits (1927) of a share seen among n, which need not be whole; NaN where n is 0.

    >>> [round(float(limit), 3) for limit in wilson(0.9, 10)]
    [0.596, 0.982]
    """
    from scipy.special import ndtri  # noqa: PLC0415  slow to load

    z, n = float(ndtri((1 + confidence) / 2)), np.asarray(n, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - np.asarray(share)) / n + z**2 / (4 * n**2))
    return np.asarray(np.maximum(centre - reach, 0.0)), np.asarray(np.minimum(centre + reach, 1.0))


def upper_tail(
    seen: FloatArray, mean: FloatArray, variance: FloatArray, rate: FloatArray | float = 0.0, *, whole: bool = True
) -> FloatArray:
    r"""Return the probability that a count is at least as large as the one seen; arrays of any one shape.

    The count is a sum of independent parts between 0 and 1, of known mean m and variance v. It stands for a Poisson count with
    the same mean, variance and skewness,

    .. math::  X = m + f\,(Y - v / f^2), \quad Y \sim \text{Poisson}(v / f^2), \quad f = 1 - 2r,

    r being about the chance of each part, ``rate``; near one half a count is as good as normal. Unlike a normal distribution
    this does not understate rare events: where one error is expected in 20 labels, four are seen once in 60 times, not once in
    1,000. Where counts are ``whole`` half a step is taken off; they need not be.

    >>> from scipy.stats import binom
    >>> trials = ((4, 20, 0.05), (60, 100, 0.5), (9, 30, 0.15))
    >>> [round(float(upper_tail(x, n * p, n * p * (1 - p), p)), 4) for x, n, p in trials]
    [0.0164, 0.029, 0.0284]
    >>> [round(float(binom.sf(x - 1, n, p)), 4) for x, n, p in trials]
    [0.0159, 0.0284, 0.0278]
    """
    seen, mean, variance = (np.asarray(array, float) for array in (seen, mean, variance))
    jump = np.clip(1 - 2 * np.asarray(rate, float), 0.05, 1.0)
    size = np.maximum(variance, ROUNDED_VARIANCE) / jump**2
    place = (seen - (1 - jump if whole else 0.0) / 2 - mean) / jump + size
    return np.where((place <= 0) | (variance <= ROUNDED_VARIANCE), 1.0, gammainc(np.maximum(place, ROUNDED_VARIANCE), size))


def tail_of_sums(seen: FloatArray, chance: FloatArray, group: IntArray) -> FloatArray:
    r"""Return a bound of the probability that so many of each group's events happen, (n_groups,).

    .. math::  P(S \geq s) \leq \min_t e^{-ts} \prod_n (1 - p_n + p_n e^t)

    (Chernoff 1952). Events are independent, with a ``chance`` p (n_events,) each; if all of a group's are seen the bound is
    their product, as it should be.

    >>> tail_of_sums(np.array([2.0, 1.0]), np.array([0.5, 0.1, 0.01, 0.01]), np.array([0, 0, 1, 1])).round(3).tolist()
    [0.05, 0.041]
    """
    bound = np.zeros(len(seen))
    for t in CHERNOFF_TILTS:
        bound = np.minimum(bound, np.bincount(group, np.log1p(chance * np.expm1(t)), len(seen)) - t * seen)
    return np.asarray(np.exp(bound))


def sign_tail(below: FloatArray, n: FloatArray) -> FloatArray:
    """Return the probability of at least so many of n values below a limit if the limit is their median.

    >>> round(float(sign_tail(np.array([9.0]), np.array([10.0]))[0]), 4)
    0.0107
    """
    least = np.maximum(below, 1)
    chance = betainc(least, np.maximum(n, 1) - least + 1, 0.5)
    return np.where(below > 0, chance, 1.0)


def crossing(highest: FloatArray, edge: float) -> FloatArray:
    r"""Return the probability that the largest of all standardised splits of a series is this high, on one side.

    A series that does not change, split at every share from ``edge`` to 1 - ``edge``, gives a standardised Brownian bridge.
    The chance that it ever exceeds b is about

    .. math::  \tfrac12 \varphi(b) \left[ 2 (b - 1/b) \log\frac{1 - e}{e} + 4 / b \right].

    References
    ----------
    R. Miller, D. Siegmund. Maximally selected chi square statistics. 1982.
    """
    b = np.maximum(np.asarray(highest, float), 1.0)
    density = np.exp(-b * b / 2) / np.sqrt(2 * np.pi)
    chance = 0.5 * density * (2 * (b - 1 / b) * np.log((1 - edge) / edge) + 4 / b)
    return np.where(highest < 1.0, 1.0, np.clip(np.maximum(chance, ndtr(-b)), 0.0, 1.0))


def as_deviations(p: FloatArray) -> FloatArray:
    """Return one-sided probabilities as standard deviations of a normal distribution."""
    from scipy.special import ndtri  # noqa: PLC0415  slow to load, seldom needed

    return np.asarray(-ndtri(np.clip(p, 1e-300, 1 - 1e-16)))


def softmax(logits: FloatArray) -> FloatArray:
    """Return probabilities that add up to one along the last axis.

    >>> softmax(np.log([[1.0, 3.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithms of `softmax`, of arrays of NumPy or on a GPU.

    >>> log_softmax(np.log([[1.0, 3.0]])).round(4).tolist()
    [[-1.3863, -0.2877]]
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def connected_parts(one: np.ndarray, other: np.ndarray, size: int) -> IntArray:
    """Return the connected part of each of ``size`` nodes from the ends of all edges; parts are numbered by their first node.

    Every node points to another of its part, in the end to the first: edges make the first of one end's part point to that of
    the other, and pointers are shortened, until no edge joins two parts.

    >>> connected_parts(np.array([4, 0]), np.array([1, 3]), 5).tolist()
    [0, 1, 2, 0, 1]
    """
    first = np.arange(size)
    while len(one):
        a, b = first[one], first[other]
        apart = a != b
        one, other, a, b = one[apart], other[apart], a[apart], b[apart]
        np.minimum.at(first, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(first, shorter := first[first]):
            first = shorter
    return np.unique(first, return_inverse=True)[1]
