"""Tests of sums of many small chances, and how many of them may be wrong."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.special import betainc, gammainc, ndtr

FALSE_DISCOVERIES = 0.1  # of false discoveries among everything that is said against workers
ROUNDED_VARIANCE = 1e-12  # a smaller variance is rounding


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
