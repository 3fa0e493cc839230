"""Agreement coefficients from sums over items; the same formulas serve the data and every resample of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray

PAIRS_SAME, PAIRS, COINCIDENT, MARGIN, SHARE_SAME, SHARE = range(6)  # rows of `AgreementSums.classes`
ROUNDING = 1e-9  # relative; a smaller denominator is rounding


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
    margin = sums.classes[..., MARGIN, :]
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
    margin, share = sums.classes[..., MARGIN, :], sums.classes[..., SHARE, :]
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
    good = below > ROUNDING * np.maximum(size, ROUNDING)
    return np.asarray(np.where(good, above / np.where(good, below, 1.0), np.nan))
