"""The bootstrap over items: resamples of sums, without going back to the labels."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels

MOST_LOTS = 10_000
LEAST_LOTS = 200
LEAST_SHARE_WITH_VALUE = 0.9  # of the resamples must have a value, or there is no interval
WEIGHTS_AT_A_TIME = 1 << 21  # weights drawn at a time


def deal_lots(labels: Labels, cells: int, generator: np.random.Generator) -> tuple[IntArray, int]:
    """Deal items at random into lots that are resampled as one; return each item's lot and the number of lots.

    Up to 10 000 items each is a lot of its own, which is the plain bootstrap. Beyond, the variance between lots of equal
    size still is an unbiased estimate, from 9999 differences. Fewer lots where each holds many ``cells``. Items are dealt in
    the order of a hash of their labels, each with its weight, so that the order of rows does not matter.
    """
    words = np.random.default_rng(0).integers(1 << 62, size=labels.n_classes, dtype=np.uint64)
    times = np.rint(1 / labels.repeat_weight).astype(np.uint64)
    full = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[labels.label] * times, dtype=np.uint64)])
    sums = full[labels.starts[1:]] - full[labels.starts[:-1]]  # modulo 2^64, the same for the same labels
    n_lots = min(labels.n_items, max(LEAST_LOTS, min(MOST_LOTS, 4_000_000 // cells)))
    lot = np.empty(labels.n_items, np.int64)
    lot[np.argsort(sums, kind="stable")] = generator.permutation(labels.n_items) % n_lots
    return lot, n_lots


def resample(lots: FloatArray, resamples: int, generator: np.random.Generator) -> Iterator[FloatArray]:
    """Draw as many lots as there are, with replacement, and yield their sums in chunks (some, n_columns) of the resamples."""
    n_lots = len(lots)
    step = max(1, WEIGHTS_AT_A_TIME // n_lots)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = generator.integers(n_lots, size=(size, n_lots)) + n_lots * np.arange(size)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=size * n_lots).reshape(size, n_lots)
        yield weights.astype(np.float64) @ lots


def percentile(values: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of the percentile interval over the first axis, NaN where too many resamples have no value."""
    if not len(values):
        nothing = np.full(values.shape[1:], np.nan)
        return nothing, nothing
    defined = np.isfinite(values)
    enough = defined.mean(axis=0) >= LEAST_SHARE_WITH_VALUE
    filled = np.where(defined | ~enough, np.nan_to_num(values), np.nan)
    low, high = np.nanquantile(filled, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)
