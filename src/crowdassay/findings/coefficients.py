"""Agreement coefficients from sums over items, and the bootstrap over items: the same formulas serve every resample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels

PAIRS_SAME, PAIRS, COINCIDENT, MARGINS, SHARE_SAME, SHARE = range(6)  # rows of `AgreementSums.classes`
ROUNDED_RATIO = 1e-9  # relative; a smaller denominator is rounding
MOST_LOTS = 10_000
LEAST_LOTS = 200
LEAST_SHARE_WITH_VALUE = 0.9  # of the resamples must have a value, or there is no interval
WEIGHTS_AT_A_TIME = 1 << 21  # weights drawn at a time


@dataclass(frozen=True, eq=False)
class AgreementSums:
    """Sums over items with judgements by at least two workers; leading axes (...) are lots or resamples.

    Attributes
    ----------
    classes : ndarray of shape (..., 6, n_classes)
        By class: agreeing pairs of judgements and pairs; the same over m - 1 (Krippendorff's coincidences and margins); the
        same over m (m - 1) (Fleiss' shares), m being the workers of an item.
    spread : ndarray of shape (...)
        Coincidences times squared distance of positions.
    full : ndarray of shape (..., n_classes, n_classes) or None
        Coincidences, for the ordinal level, whose distances depend on the margins.
    """

    classes: FloatArray
    spread: FloatArray
    full: FloatArray | None


def raw_agreement(sums: AgreementSums) -> FloatArray:
    r"""Return the share of pairs of judgements that agree, :math:`\sum_j a_j / \sum_j m_j (m_j - 1)`."""
    return ratio(sums.classes[..., PAIRS_SAME, :].sum(-1), sums.classes[..., PAIRS, :].sum(-1))


def krippendorff(sums: AgreementSums, level: str, x: FloatArray) -> FloatArray:
    r"""Return Krippendorff's alpha, :math:`1 - (n - 1) \sum_{ck} o_{ck} d_{ck} / \sum_{ck} n_c n_k d_{ck}`.

    The distance d is 1 between different classes (nominal), or the square of the difference of positions: the classes'
    numbers ``x`` (interval), or the middle ranks of their labels (ordinal).

    References
    ----------
    K. Krippendorff. Computing Krippendorff's alpha-reliability. 2011.
    """
    margin = sums.classes[..., MARGINS, :]
    n = margin.sum(-1)
    if level == "nominal":
        observed = n - sums.classes[..., COINCIDENT, :].sum(-1)
        expected = n * n - (margin**2).sum(-1)
        return 1.0 - ratio((n - 1) * observed, expected, n * n)
    observed = sums.spread
    if level == "ordinal" and sums.full is not None:
        x = middle_ranks(margin)
        observed = np.einsum("...ck,...ck->...", sums.full, (x[..., :, None] - x[..., None, :]) ** 2)
    centred = x - (ratio((margin * x).sum(-1), n))[..., None]
    squares = (margin * centred**2).sum(-1)
    size = n * np.max(np.abs(centred) * (margin > 0), axis=-1) ** 2
    return 1.0 - ratio((n - 1) * observed, 2.0 * n * squares, n * size)


def middle_ranks(margin: FloatArray) -> FloatArray:
    """Return the middle of the ranks that each class's labels take, shape (..., n_classes)."""
    return np.asarray(np.cumsum(margin, axis=-1) - margin / 2)


def fleiss(sums: AgreementSums) -> FloatArray:
    r"""Return Fleiss' kappa, each item counting the same whatever its number of judgements :math:`m_j`.

    .. math::  \kappa = \frac{\bar P - \sum_k p_k^2}{1 - \sum_k p_k^2}, \qquad
               \bar P = \frac1N \sum_j \frac{a_j}{m_j (m_j - 1)}, \quad p_k = \frac1N \sum_j \frac{v_{jk}}{m_j}

    References
    ----------
    J. L. Fleiss. Measuring nominal scale agreement among many raters. 1971.
    """
    share = sums.classes[..., SHARE, :]
    n = share.sum(-1)
    chance = ratio((share**2).sum(-1), n * n)
    return 1.0 - ratio(1.0 - ratio(sums.classes[..., SHARE_SAME, :].sum(-1), n), 1.0 - chance)


def class_coefficients(sums: AgreementSums) -> dict[str, FloatArray]:
    r"""Return agreement, alpha and Fleiss' kappa of each class against all others, each (..., n_classes).

    The agreement of class k is the probability that another worker says k where one says k.
    """
    margin, share = sums.classes[..., MARGINS, :], sums.classes[..., SHARE, :]
    n, items = margin.sum(-1, keepdims=True), share.sum(-1, keepdims=True)
    apart = margin - sums.classes[..., COINCIDENT, :]
    p = ratio(share, items)
    return {
        "agreement": ratio(sums.classes[..., PAIRS_SAME, :], sums.classes[..., PAIRS, :]),
        "alpha": 1.0 - ratio((n - 1) * apart, margin * (n - margin), n * n),
        "fleiss_kappa": 1.0 - ratio(p - ratio(sums.classes[..., SHARE_SAME, :], items), p * (1 - p)),
    }


def ratio(above: FloatArray, below: FloatArray, size: FloatArray | float = 1.0) -> FloatArray:
    """Divide, NaN where the denominator is nothing beside ``size``."""
    good = below > ROUNDED_RATIO * np.maximum(size, ROUNDED_RATIO)
    return np.asarray(np.where(good, above / np.where(good, below, 1.0), np.nan))


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
