r"""Rates from a few people's labels and a prediction for every item.

Of :math:`N` items people saw :math:`n`, drawn at random, perhaps within strata :math:`h` of which stratum :math:`h` holds a
share :math:`W_h`. With :math:`y` what people say and :math:`f` a prediction that has not seen it,

.. math:: \hat\theta = \sum_h W_h\,[\bar y_h + \lambda(\bar f_{h,\text{all}} - \bar f_{h,\text{seen}})], \qquad
   \hat V = \sum_h W_h^2 \Big(1 - \frac{n_h}{N_h}\Big) \frac{S_h^2}{n_h},

where :math:`S_h^2` is the variance of :math:`y - \lambda f`, in which two labels more are counted that have that of :math:`y`.

This is prediction-powered inference with the tuned weight of PPI++ (Angelopoulos, Duchi and Zrnic 2023) for a finite number of
items; with ``beyond=True`` it is PPI++ itself, about the process that made the items. The weight is pulled towards 1, where a
calibrated prediction belongs: :math:`\lambda = (n\lambda^* + 10) / (n + 10)`.

The interval is Wilson's, with as many labels as the variance is worth, :math:`n^* = \hat\theta(1-\hat\theta)/\hat V`, as Korn
and Graubard (1998) do for surveys: it holds near 0 and 1, where a normal one fails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, t

from crowdassay.arrays import FloatArray, IntArray

PULL = 10.0  # labels that the pull of the weight towards 1 is worth
DOUBT = 2.0  # labels added for which the prediction is worthless, so that a lucky few do not make it look perfect
LEAST_FREEDOM = 3.0
WIDER = 1.05  # how much wider than people's labels alone an interval may be
FEW = 10  # items below which the prediction is not used


@dataclass(frozen=True)
class Interval:
    """An estimate between two limits.

    Attributes
    ----------
    estimate, low, high : float
    effective : float
        Labels of people, drawn at random from endless items, that would give as narrow an interval.
    """

    estimate: float
    low: float
    high: float
    effective: float = 0.0

    @property
    def width(self) -> float:
        return self.high - self.low

    def as_dict(self) -> dict[str, float]:
        """Return plain values for JSON."""
        return {name: round(float(getattr(self, name)), 6) for name in ("estimate", "low", "high")}


@dataclass(frozen=True, eq=False)
class Sample:
    """People's answers on some items and predictions for all, for one class.

    Attributes
    ----------
    truth, predicted : ndarray, shape (n,)
        What people say, and a prediction made without it.
    stratum : ndarray of int, shape (n,)
    sizes : ndarray of int, shape (n_strata,)
        Items of each stratum, seen by people or not.
    means : ndarray, shape (n_strata,)
        Mean prediction over all items of a stratum.
    noise : ndarray, shape (n,)
        Variance of what people say about the real truth.
    doubt : ndarray, shape (n,)
        Variance of the truth that what people say leaves open.
    slope : ndarray, shape (n,)
        Change of `truth` with people's error rate.
    error_se : float
        Standard error of that rate.
    """

    truth: FloatArray
    predicted: FloatArray
    stratum: IntArray
    sizes: IntArray
    means: FloatArray
    noise: FloatArray
    doubt: FloatArray
    slope: FloatArray
    error_se: float = 0.0


def wilson(share: float, n: float, confidence: float = 0.95, df: float = np.inf) -> Interval:
    """Return Wilson's interval for a share that was seen among `n`, which need not be whole; by Student's t if `df` is finite.

    >>> wilson(0.5, 100).as_dict()
    {'estimate': 0.5, 'low': 0.403832, 'high': 0.596168}
    """
    share = min(max(share, 0.0), 1.0)
    if not np.isfinite(n):
        return Interval(share, share, share, n)
    square = float(t.ppf(0.5 + confidence / 2, df)) ** 2 / n
    centre = (share + square / 2) / (1 + square)
    half = np.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return Interval(share, min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share), n)


def exact(share: float, n: float, confidence: float = 0.95) -> Interval:
    """Return the interval of Clopper and Pearson, never too narrow, for few labels."""
    share, tail = min(max(share, 0.0), 1.0), (1 - confidence) / 2
    hits = share * n
    low = 0.0 if hits <= 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits >= n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return Interval(share, low, high, n)


def tuned_weight(truth: FloatArray, predicted: FloatArray, pull: float = PULL) -> float:
    """Return the weight of the prediction, between 0 and 1, each of shape (n,) about the mean of its stratum."""
    square = float(predicted @ predicted)
    if square <= 1e-12 * len(predicted):
        return 0.0
    best = float(truth @ predicted) / square
    return min(max((len(truth) * best + pull) / (len(truth) + pull), 0.0), 1.0)


def estimate_rate(
    sample: Sample, *, confidence: float = 0.95, beyond: bool = False, powered: bool = True, pull: float = PULL
) -> Interval:
    """Return the rate of a class with its interval.

    Parameters
    ----------
    sample : Sample
    confidence : float
    beyond : bool
        Estimate the rate of the process that made the items instead of that of these items.
    powered : bool
        Use the prediction; otherwise people's labels alone.
    pull : float
        Labels that the pull of the prediction's weight towards 1 is worth.
    """
    alone = _interval(sample, 0.0, confidence, beyond)
    if not powered or len(sample.truth) < FEW:
        return alone
    truth, predicted = _centred(sample.truth, sample.stratum), _centred(sample.predicted, sample.stratum)
    weight = tuned_weight(truth, predicted, pull)
    residual = truth - weight * predicted
    if residual @ residual >= truth @ truth:
        return alone  # the prediction is worth nothing
    found = _interval(sample, weight, confidence, beyond)
    return found if found.width <= WIDER * alone.width else alone


def rate_moments(sample: Sample, weight: float, *, beyond: bool = False) -> tuple[float, float]:
    """Return the estimate for a weight of the prediction, and its variance."""
    share, n, total = sample.sizes / sample.sizes.sum(), len(sample.truth), float(sample.sizes.sum())
    residual = sample.truth - weight * sample.predicted
    rate, variance, spread, slope = 0.0, 0.0, 0.0, 0.0
    for h, (part, size) in enumerate(zip(share, sample.sizes, strict=True)):
        here = sample.stratum == h
        count = int(here.sum())
        free, doubt = max(count - 1, 1), DOUBT * count / n
        plain = float(((sample.truth[here] - sample.truth[here].mean()) ** 2).sum()) / free
        squares = float(((residual[here] - residual[here].mean()) ** 2).sum())
        square = (squares + doubt * plain) / (free + doubt)
        rate += part * (float(residual[here].mean()) + weight * float(sample.means[h]))
        variance += part**2 * (square * (1 - count / size) + float(sample.doubt[here].mean())) / count
        spread += part * plain
        slope += part * float(sample.slope[here].mean())
    # People's errors do not shrink as the last items are seen; the spread of items to come holds them already.
    variance += (spread if beyond else float(sample.noise.mean())) / total
    return rate, variance + (slope * sample.error_se) ** 2


def _interval(sample: Sample, weight: float, confidence: float, beyond: bool) -> Interval:
    rate, variance = rate_moments(sample, weight, beyond=beyond)
    n, total = len(sample.truth), float(sample.sizes.sum())
    rate = min(max(rate, 0.0), 1.0)
    inner = min(max(rate, 0.5 / n), 1 - 0.5 / n)
    worth = variance / (inner * (1 - inner)) * (n - 1) / n  # with n, not n - 1, below, as Wilson has it
    if not _centred(sample.truth, sample.stratum).any():  # people said one thing only, which has no variance to go by
        worth += (1.0 if beyond else 1 - n / total) / n
    effective = 1 / worth if worth > 0 else np.inf
    if n < FEW:
        return exact(rate, min(effective, n), confidence)
    return wilson(rate, effective, confidence, _freedom(sample, weight))


def _freedom(sample: Sample, weight: float) -> float:
    r"""Return the degrees of freedom of the variance, infinite for people alone.

    A prediction that is nearly always right leaves a few large residuals, and their variance is known as badly as they are few:
    :math:`4n / (\kappa - \kappa_y)`, with the kurtosis :math:`\kappa` of residuals beyond that of people's labels, which
    Wilson's interval allows for already. Satterthwaite has 2 for 4; half of it is in the labels that `DOUBT` adds.
    """
    truth = _centred(sample.truth, sample.stratum)
    residual = _centred(sample.truth - weight * sample.predicted, sample.stratum)
    square, n = float((truth**2).mean()), len(truth)
    if not weight or square <= 0:
        return np.inf
    fourth = float((truth**4).mean())
    second = (float((residual**2).sum()) + DOUBT * square) / (n + DOUBT)
    excess = (float((residual**4).sum()) + DOUBT * fourth) / (n + DOUBT) / second**2 - fourth / square**2
    return max(4 * n / excess, LEAST_FREEDOM) if excess > 0 else np.inf


def _centred(values: FloatArray, stratum: IntArray) -> FloatArray:
    means = np.bincount(stratum, weights=values) / np.maximum(np.bincount(stratum), 1)
    return np.asarray(values - means[stratum])
