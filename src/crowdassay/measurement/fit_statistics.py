r"""How well ratings fit the model: mean squares of residuals, by element or by score, and their standardised forms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from crowdassay.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Residuals:
    r"""What the model expects of each rating, all arrays of shape (n_used,).

    Attributes
    ----------
    rows : ndarray of int64
        Which ratings.
    residual, variance, fourth : ndarray of float
        Score less its expectation, the variance and the fourth central moment expected of it.
    logit : ndarray of float
        What the model predicts the score from.
    owner : ndarray of int64
        The object of each rating.
    fitted : bool
        Whether the objects' measures were fitted to these very residuals though everything else was not; each then takes the
        share :math:`v_n / \sum_{m \in i} v_m` of a rating's variance away, and mean squares allow for it.
    """

    rows: IntArray
    residual: FloatArray
    variance: FloatArray
    fourth: FloatArray
    logit: FloatArray
    owner: IntArray
    fitted: bool = False

    @property
    def allowed(self) -> FloatArray:
        """The variance that a residual has, shape (n_used,)."""
        variance = np.maximum(self.variance, 1e-12)
        if not self.fitted:
            return variance
        objects = np.bincount(self.owner, variance)[self.owner]
        return np.maximum(variance * (1.0 - variance / objects), 1e-3 * variance)


def mean_squares(residuals: Residuals, codes: IntArray, size: int) -> dict[str, FloatArray]:
    r"""Return infit, outfit and their standardised forms for each of ``size`` groups of ratings.

    .. math::  \text{outfit} = \frac1N \sum_n \frac{r_n^2}{v_n}, \quad \text{infit} = \frac{\sum_n r_n^2}{\sum_n v_n}, \qquad
               z = (m^{1/3} - 1) \frac3q + \frac q3

    q is the standard deviation of the mean square m under the model (Wright and Masters 1982). About 1 is as expected; above
    1.5 the ratings are noisier than the model, below 0.5 they are too predictable.
    """
    ratings = np.bincount(codes, minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        square, variance, allowed = residuals.residual**2, np.maximum(residuals.variance, 1e-12), residuals.allowed
        outfit = np.bincount(codes, square / allowed, size) / ratings
        whole = np.bincount(codes, variance, size)
        infit = np.bincount(codes, square, size) / np.bincount(codes, allowed, size)
        outfit_q = np.bincount(codes, residuals.fourth / variance**2, size) / ratings**2 - 1.0 / ratings
        infit_q = np.bincount(codes, residuals.fourth - variance**2, size) / whole**2
        return {
            "infit": infit,
            "infit_z": _standardised(infit, np.sqrt(infit_q)),
            "outfit": outfit,
            "outfit_z": _standardised(outfit, np.sqrt(outfit_q)),
        }


def _standardised(square: FloatArray, q: FloatArray) -> FloatArray:
    q = np.clip(q, 1e-6, np.sqrt(2.0))  # Facets caps it likewise: beyond, the cube root is not normal any more
    return (np.cbrt(square) - 1.0) * 3.0 / q + q / 3.0


def separation(measure: FloatArray, error: FloatArray) -> dict[str, float]:
    r"""Return how far the elements of a facet lie apart, measured in errors.

    .. math::  \text{reliability} = \frac{s^2 - \bar e^2}{s^2}, \quad \text{separation} = \sqrt{\frac{s^2 - \bar e^2}{\bar e^2}}

    ``p`` is that of a chi-square test that all elements are alike.
    """
    known = np.isfinite(measure) & np.isfinite(error) & (error > 0)
    value, wrong = measure[known], error[known]
    empty = {"mean": np.nan, "sd": np.nan, "rmse": np.nan, "separation": np.nan, "strata": np.nan, "reliability": np.nan}
    if len(value) < 2:
        return {**empty, "chi_square": np.nan, "df": 0.0, "p": np.nan}
    spread, noise = float(value.var(ddof=1)), float((wrong**2).mean())
    true = max(spread - noise, 0.0)
    ratio = np.sqrt(true / noise)
    weight = wrong**-2
    chi = float((weight * value**2).sum() - (weight * value).sum() ** 2 / weight.sum())
    return {
        "mean": float(value.mean()),
        "sd": float(np.sqrt(spread)),
        "rmse": float(np.sqrt(noise)),
        "separation": float(ratio),
        "strata": float((4 * ratio + 1) / 3),
        "reliability": true / spread if spread > 0 else 0.0,
        "chi_square": chi,
        "df": float(len(value) - 1),
        "p": float(chdtrc(len(value) - 1, max(chi, 0.0))),
    }
