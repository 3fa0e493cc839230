"""A few special functions for small data, without waiting for SciPy to load; large data go through SciPy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray

FEW_NUMBERS = 20_000.0  # numbers times terms up to which NumPy is done about when SciPy has loaded
FROM_HERE = 10.0  # where Stirling's series is exact to the last digit
PRECISION = 2.0**-53
SMALLEST_POSITIVE = 1e-300
NEWTON_STEPS, MOST_TERMS = 100, 10_000
SERIES_SHIFT = 8  # places by which an argument is moved to where the series of digamma and trigamma are exact

_erfc, _log_gamma = np.frompyfunc(math.erfc, 1, 1), np.frompyfunc(math.lgamma, 1, 1)


def expit(x: FloatArray) -> FloatArray:
    """Return 1 / (1 + exp(-x)).

    >>> expit(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(np.asarray(x) >= 0, 1.0, small) / (1.0 + small))


def logit(p: FloatArray | float) -> FloatArray:
    """Return log(p / (1 - p)).

    >>> float(logit(0.5))
    0.0
    """
    return np.asarray(np.log(p) - np.log1p(-np.asarray(p)))


def ndtr(x: FloatArray | float) -> FloatArray:
    """Return the normal distribution function.

    >>> ndtr(np.array([0.0, -1.96])).round(3).tolist()
    [0.5, 0.025]
    """
    if np.size(x) > FEW_NUMBERS:
        from scipy.special import ndtr as many  # noqa: PLC0415  slow to load

        return np.asarray(many(x))
    return np.asarray(0.5 * _erfc(-np.asarray(x) * math.sqrt(0.5))).astype(np.float64)


def gammainc(a: FloatArray, x: FloatArray) -> FloatArray:
    """Return the regularised lower incomplete gamma function, for a, x > 0.

    >>> gammainc(np.array([1.0]), np.array([2.0])).round(6).tolist()
    [0.864665]
    """
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    if _are_many(a, x):
        from scipy.special import gammainc as many  # noqa: PLC0415  slow to load

        return np.asarray(many(a, x))
    # x**a exp(-x) / gamma(a), written around its peak so that nothing large cancels.
    front = np.exp(a * _log_share(x, a) - (x - a) - _stirling(a)) * np.sqrt(a / (2 * math.pi))
    below = x < a + 1
    far = np.maximum(x, a + 1)
    term = total = 1.0 / a
    for k in range(1, MOST_TERMS):
        term = term * np.minimum(x, a + 1) / (a + k)
        total = total + term
        if np.all(term <= PRECISION * total):
            break
    rest = _fraction(lambda k: k * (a - k), lambda k: far - a + 2 * k + 1)
    return np.asarray(np.where(below, front * total, 1.0 - front * rest))


def betainc(a: FloatArray, b: FloatArray, x: FloatArray | float) -> FloatArray:
    """Return the regularised incomplete beta function, for a, b > 0 and x from 0 to 1.

    >>> betainc(np.array([2.0]), np.array([1.0]), 0.5).round(12).tolist()
    [0.25]
    """
    a, b, x = np.broadcast_arrays(*(np.asarray(array, float) for array in (a, b, x)))
    if _are_many(a, b):
        from scipy.special import betainc as many  # noqa: PLC0415  slow to load

        return np.asarray(many(a, b, x))
    turned = x * (a + b + 2) > a + 1  # the fraction converges fast on one side of the peak
    one, other, near, far = np.where(turned, (b, a, 1 - x, x), (a, b, x, 1 - x))

    def above(k: int) -> FloatArray:
        m, place = k // 2, one + k
        product = m * (other - m) if k % 2 == 0 else -(one + m) * (one + other + m)
        return product * near / ((place - 1) * place)

    share = _beta_front(one, other, near, far) * _fraction(above, lambda _: np.ones_like(one)) / one
    return np.asarray(np.where(turned, 1.0 - share, share))


def betaincinv(a: FloatArray, b: FloatArray, p: float) -> FloatArray:
    """Return the x at which `betainc` is p, for 0 < p < 1: Halley's steps within an interval that shrinks.

    >>> betaincinv(np.array([0.5]), np.array([0.5]), 0.5).round(12).tolist()
    [0.5]
    """
    a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
    if _are_many(a, b):
        from scipy.special import betaincinv as many  # noqa: PLC0415  slow to load

        return np.asarray(many(a, b, p))
    # About where it is: by the powers at the ends of the distribution of beta(a, b), or from its mean.
    share = a / (a + b)
    left, right = np.exp(a * np.log(share)) / a, np.exp(b * np.log1p(-share)) / b
    whole = left + right
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.where(p < left / whole, (a * whole * p) ** (1 / a), 1 - (b * whole * (1 - p)) ** (1 / b))
    x = np.clip(np.where((a >= 1) & (b >= 1), share, ends), SMALLEST_POSITIVE, 1 - PRECISION)
    low, high = np.zeros_like(x), np.ones_like(x)
    for _ in range(NEWTON_STEPS):
        excess = betainc(a, b, x) - p
        low, high = np.where(excess < 0, x, low), np.where(excess > 0, x, high)
        newton = excess * x * (1 - x) / np.maximum(_beta_front(a, b, x, 1 - x), SMALLEST_POSITIVE)
        bend = np.minimum(newton * ((a - 1) / x - (b - 1) / (1 - x)), 1.0)
        moved = x - newton / (1 - bend / 2)
        moved = np.where(moved <= low, (x + low) / 2, np.where(moved >= high, (x + high) / 2, moved))
        done = np.abs(moved - x) <= 4 * PRECISION * x
        x = np.clip(moved, SMALLEST_POSITIVE, 1 - PRECISION)
        if done.all():
            break
    return x


def _beta_front(a: FloatArray, b: FloatArray, x: FloatArray, rest: FloatArray) -> FloatArray:
    """Return x**a (1 - x)**b / beta(a, b), written around its peak so that nothing large cancels; ``rest`` is 1 - x."""
    n = a + b
    power = a * _log_share(x, a / n) + b * _log_share(rest, b / n) + _stirling(n) - _stirling(a) - _stirling(b)
    return np.exp(power) * np.sqrt(a * b / (2 * math.pi * n))


def _fraction(above: Callable[[int], FloatArray], below: Callable[[int], FloatArray]) -> FloatArray:
    """Return the continued fraction 1 / (below(0) + above(1) / (below(1) + above(2) / ...)) by Lentz's rule."""
    d = 1.0 / below(0)
    c, value = np.full_like(d, 1.0 / SMALLEST_POSITIVE), d
    for k in range(1, MOST_TERMS):
        up, down = above(k), below(k)
        d, c = (np.where(np.abs(x) < SMALLEST_POSITIVE, SMALLEST_POSITIVE, x) for x in (down + up * d, down + up / c))
        d = 1.0 / d
        change = c * d
        value = value * change
        if np.all(np.abs(change - 1) <= 2 * PRECISION):
            break
    return value


def _are_many(a: FloatArray, b: FloatArray) -> bool:
    """Return whether so many numbers, which need about the square root of their size in terms, are for SciPy."""
    return a.size > 0 and not a.size * math.sqrt(max(a.max(), b.max())) <= FEW_NUMBERS


def _log_share(x: FloatArray, centre: FloatArray) -> FloatArray:
    """Return log(x / centre), exact where they are close."""
    off = (x - centre) / centre
    with np.errstate(divide="ignore"):
        return np.where(np.abs(off) < 0.5, np.log1p(off), np.log(np.maximum(x, SMALLEST_POSITIVE) / centre))


def _stirling(z: FloatArray) -> FloatArray:
    """Return by how much log gamma(z) exceeds (z - 1/2) log z - z + log(2 pi) / 2."""
    large, small = np.maximum(z, FROM_HERE), np.minimum(z, FROM_HERE)
    y = 1.0 / (large * large)
    series = (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * (691 / 360360 - y / 156)))))) / large
    near = np.asarray(_log_gamma(small), float) - (small - 0.5) * np.log(small) + small - 0.5 * math.log(2 * math.pi)
    return np.where(z >= FROM_HERE, series, near)


def digamma(x: FloatArray) -> FloatArray:
    r"""Return the first derivative, without waiting for SciPy to load.

    .. math::  \psi(x) = \psi(x + 8) - \sum_{k < 8} \frac1{x + k}, \qquad
               \psi(y) \approx \log y - \frac1{2 y} - \frac1{12 y^2} + \frac1{120 y^4} - \frac1{252 y^6} + \frac1{240 y^8}
               - \frac1{132 y^{10}} + \frac{691}{32760 y^{12}}

    where the last, for y > 8, is right to 1e-13. The sum is one fraction, so that there is one division.

    >>> round(float(digamma(np.array(1.0))), 12)
    -0.577215664902
    """
    above, below = np.ones_like(x), x + 0.0
    for k in range(1, SERIES_SHIFT):
        above *= x + k
        above += below
        below *= x + k
    y = 1.0 / (x + SERIES_SHIFT)
    z = y * y
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760))))))
    return np.log(x + SERIES_SHIFT) - y / 2 - series - above / below


def trigamma(x: FloatArray) -> FloatArray:
    r"""Return the second derivative, many times quicker than SciPy's.

    .. math::  \psi'(x) = \sum_{k < 8} \frac1{(x + k)^2} + \psi'(x + 8), \qquad
               \psi'(y) \approx \frac1y + \frac1{2 y^2} + \frac1{6 y^3} - \frac1{30 y^5} + \frac1{42 y^7} - \frac1{30 y^9}

    where the last, for y > 8, is right to 1e-11.
    """
    value = np.square(1.0 / x)
    for k in range(1, SERIES_SHIFT):
        value += np.square(1.0 / (x + k))
    y = 1.0 / (x + SERIES_SHIFT)
    z = y * y
    return np.asarray(value + y * (1 + y / 2 + z * (1 / 6 - z * (1 / 30 - z * (1 / 42 - z / 30)))))
