r"""Rates from a few people's labels and a prediction for every item.

Of :math:`N` items people saw :math:`n`, drawn at random, perhaps within strata :math:`h` of which stratum :math:`h` holds a
share :math:`W_h`. With :math:`y` what people say and :math:`f` a prediction that has not seen it,

.. math:: \hat\theta = \sum_h W_h\,[\bar y_h + \lambda(\bar f_{h,\text{all}} - \bar f_{h,\text{seen}})], \qquad
   \hat V = \sum_h W_h^2 \Big(1 - \frac{n_h}{N_h}\Big) \frac{S_h^2}{n_h},

where :math:`S_h^2` is the variance of :math:`y - \lambda f`, in which :math:`z^2` labels more are counted for which the
prediction is worthless: they have the variance of :math:`y`. Without them a few labels on which the prediction happens to be
right would make it look perfect. Wilson's interval (1927) does the same for a share, of which it says nothing better than that
:math:`z^2` labels more, half of each kind, were seen (Agresti and Coull 1998); :math:`z = 1.96` for 95 %.

This is prediction-powered inference with the tuned weight of PPI++ (Angelopoulos, Duchi and Zrnic 2023) for a finite number of
items; with ``beyond=True`` it is PPI++ itself, about the process that made the items. The interval is Wilson's, with as many
labels as the variance is worth, :math:`n^* = \hat\theta(1-\hat\theta)/\hat V`, as Korn and Graubard (1998) do for surveys: it
holds near 0 and 1, where a normal one fails. No constant here was fitted to data.

Where items share a question (a cluster), what is left of one, :math:`u_i = W_h (y_i - \lambda f_i - \text{mean}_h) / n_h`, goes
with what is left of the others, and the variance grows by

.. math:: \Big(1 - \frac{\sum \pi_i \pi_j}{m}\Big) \sum_{i \neq j} u_i u_j ,

over pairs of one cluster: :math:`m` of them were seen, and the first sum, over all there are, is how many would have been seen
if every item had been drawn for itself, with :math:`\pi` the share of a stratum that was (Horvitz and Thompson 1952). So
nothing is added where items were drawn one by one, since the rate of *these* items is then as certain as ever, and all of it
where questions were. With ``beyond`` the questions themselves are a draw. Few clusters tell little about the variance: the
number of labels is then less by the squared ratio of Student's limits, as Korn and Graubard have it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm, t

from crowdassay import statistics
from crowdassay.arrays import FloatArray, IntArray

WIDEST = 1.05  # against people's labels alone; an interval that would be wider gives way to theirs
FEWEST_ITEMS = 10  # seen by people, below which the prediction is not used


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
    cluster : ndarray of int, shape (n,), optional
        Items of one question have the same code.
    together : float
        How far people's items were drawn by cluster: 0 where each was drawn for itself, 1 where only whole clusters were, of
        endlessly many.
    pairs : float
        Share of all pairs of items, among which the rate is asked for, that are in one cluster.
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
    cluster: IntArray | None = None
    together: float = 0.0
    pairs: float = 0.0


def pair_sum(values: FloatArray, cluster: IntArray) -> float:
    """Return the sum of the products of two different values of one cluster, each (n,), centred by a mean that was estimated.

    Never below zero: that items of a cluster differ more than others is chance, or not to be relied upon.

    >>> round(pair_sum(np.array([1.0, 1.0, -1.0, -1.0]), np.array([0, 0, 1, 1])), 3), pair_sum(np.ones(3), np.arange(3))
    (10.667, 0.0)
    """
    sums = np.bincount(cluster, values)
    n, n_clusters = len(values), len(np.unique(cluster))
    if n_clusters < 2:
        return 0.0
    whole = float(sums @ sums) * n_clusters / (n_clusters - 1)
    return max(whole - float(values @ values) * n / (n - 1), 0.0)


def effective_size(values: FloatArray, cluster: IntArray | None) -> float:
    """Return how many independent values (n,) would give as certain a mean as those of clusters do."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    if cluster is None or not squares:
        return float(len(values) if cluster is None else len(np.unique(cluster)))
    return len(values) / (1 + pair_sum(centred, cluster) / squares)


def wilson(share: float, n: float, confidence: float = 0.95) -> Interval:
    """Return Wilson's interval for a share that was seen among `n`, which need not be whole.

    >>> wilson(0.5, 100).as_dict()
    {'estimate': 0.5, 'low': 0.403832, 'high': 0.596168}
    """
    share = min(max(share, 0.0), 1.0)
    if not np.isfinite(n):
        return Interval(share, share, share, n)
    low, high = statistics.wilson(share, n, confidence)
    return Interval(share, min(float(low), share), max(float(high), share), n)


def exact(share: float, n: float, confidence: float = 0.95) -> Interval:
    """Return the interval of Clopper and Pearson, never too narrow, for few labels."""
    share, tail = min(max(share, 0.0), 1.0), (1 - confidence) / 2
    hits = share * n
    low = 0.0 if hits <= 0 else float(beta.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits >= n else float(beta.ppf(1 - tail, hits + 1, n - hits))
    return Interval(share, low, high, n)


def difference(one: Interval, two: Interval, correlation: float = 0.0) -> Interval:
    """Return the interval of a difference from two intervals (Newcombe 1998; with correlated estimates, Zou 2008).

    >>> difference(wilson(0.8, 100), wilson(0.8, 100)).as_dict()
    {'estimate': 0.0, 'low': -0.111043, 'high': 0.111043}
    """
    below, above = one.estimate - one.low, one.high - one.estimate
    under, over = two.estimate - two.low, two.high - two.estimate
    estimate = one.estimate - two.estimate
    low = estimate - np.sqrt(max(below**2 + over**2 - 2 * correlation * below * over, 0))
    high = estimate + np.sqrt(max(above**2 + under**2 - 2 * correlation * above * under, 0))
    return Interval(estimate, max(float(low), -1.0), min(float(high), 1.0))


def tuned_weight(truth: FloatArray, predicted: FloatArray) -> float:
    """Return the weight of the prediction, between 0 and 1, each of shape (n,) about the mean of its stratum."""
    square = float(predicted @ predicted)
    if square <= 1e-12 * len(predicted):
        return 0.0
    return min(max(float(truth @ predicted) / square, 0.0), 1.0)


def estimate_rate(sample: Sample, *, confidence: float = 0.95, beyond: bool = False, powered: bool = True) -> Interval:
    """Return the rate of a class with its interval.

    Parameters
    ----------
    sample : Sample
    confidence : float
    beyond : bool
        Estimate the rate of the process that made the items instead of that of these items.
    powered : bool
        Use the prediction; otherwise people's labels alone.
    """
    alone = _interval(sample, 0.0, confidence, beyond)
    if not powered or len(sample.truth) < FEWEST_ITEMS:
        return alone
    truth, predicted = _centred(sample.truth, sample.stratum), _centred(sample.predicted, sample.stratum)
    weight = tuned_weight(truth, predicted)
    residual = truth - weight * predicted
    if residual @ residual >= truth @ truth:
        return alone  # the prediction is worth nothing
    interval = _interval(sample, weight, confidence, beyond)
    return interval if interval.width <= WIDEST * alone.width else alone


def rate_moments(sample: Sample, weight: float, worthless: float, *, beyond: bool = False) -> tuple[float, float]:
    """Return the estimate for a weight of the prediction, and its variance.

    ``worthless`` says how many labels more are counted for which the prediction is worthless.
    """
    share, n, total = sample.sizes / sample.sizes.sum(), len(sample.truth), float(sample.sizes.sum())
    residual = sample.truth - weight * sample.predicted
    rate, variance, spread, slope = 0.0, _shared(sample, weight, worthless), 0.0, 0.0
    for h, (part, size) in enumerate(zip(share, sample.sizes, strict=True)):
        here = sample.stratum == h
        count = int(here.sum())
        free, more = max(count - 1, 1), worthless * count / n
        plain = float(((sample.truth[here] - sample.truth[here].mean()) ** 2).sum()) / free
        squares = float(((residual[here] - residual[here].mean()) ** 2).sum())
        square = (squares + more * plain) / (free + more)
        rate += part * (float(residual[here].mean()) + weight * float(sample.means[h]))
        variance += part**2 * (square * (1 - count / size) + float(sample.doubt[here].mean())) / count
        spread += part * plain
        slope += part * float(sample.slope[here].mean())
    # People's errors do not shrink as the last items are seen; the spread of items to come holds them already.
    variance += (spread if beyond else float(sample.noise.mean())) / total
    if beyond and sample.cluster is not None:  # questions to come are new ones
        counts = np.bincount(sample.cluster)
        seen = float(counts @ (counts - 1))
        variance += sample.pairs * (pair_sum(sample.truth - sample.truth.mean(), sample.cluster) / seen if seen else spread)
    return rate, variance + (slope * sample.error_se) ** 2


def _shared(sample: Sample, weight: float, worthless: float) -> float:
    """Return what items of one cluster add to the variance, since what is left of them goes together."""
    if sample.cluster is None or not sample.together:
        return 0.0
    part = (sample.sizes / sample.sizes.sum() / np.maximum(np.bincount(sample.stratum, minlength=len(sample.sizes)), 1))[
        sample.stratum
    ]
    residual, plain = (
        pair_sum(part * _centred(values, sample.stratum), sample.cluster)
        for values in (sample.truth - weight * sample.predicted, sample.truth)
    )
    n = len(sample.truth)
    return sample.together * (n * residual + worthless * plain) / (n + worthless)


def _interval(sample: Sample, weight: float, confidence: float, beyond: bool) -> Interval:
    rate, variance = rate_moments(sample, weight, float(norm.ppf(0.5 + confidence / 2)) ** 2, beyond=beyond)
    n, total = len(sample.truth), float(sample.sizes.sum())
    rate = min(max(rate, 0.0), 1.0)
    inner = min(max(rate, 0.5 / n), 1 - 0.5 / n)
    worth = variance / (inner * (1 - inner)) * (n - 1) / n  # with n, not n - 1, below, as Wilson has it
    drawn = n if sample.cluster is None or not (sample.together or beyond) else len(np.unique(sample.cluster))
    if not _centred(sample.truth, sample.stratum).any():  # people said one thing only, which has no variance to go by
        worth += (1.0 if beyond else 1 - n / total) / drawn
    if 1 < drawn < n:
        worth *= float(t.isf((1 - confidence) / 2, drawn - 1) / t.isf((1 - confidence) / 2, n - 1)) ** 2
    effective = 1 / worth if worth > 0 else np.inf
    if n < FEWEST_ITEMS:
        return exact(rate, min(effective, n), confidence)
    return wilson(rate, effective, confidence)


def _centred(values: FloatArray, stratum: IntArray) -> FloatArray:
    means = np.bincount(stratum, weights=values) / np.maximum(np.bincount(stratum), 1)
    return np.asarray(values - means[stratum])
