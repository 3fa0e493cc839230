"""How well ratings fit the model: residuals, their mean squares by element, and how far elements lie apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import chdtrc

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.measurement.design import Design
from crowdassay.measurement.fit import FacetsFit

MOST_EXACT_ERRORS = 50_000_000  # objects times parameters up to which the other facets' errors enter those of objects


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


def likeliest(design: Design, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each object's most likely measure and the information about it, both (n_objects,)."""
    from crowdassay.measurement import kernel  # noqa: PLC0415  numba loads on first use

    theta, information = np.zeros(design.n_objects), np.zeros(design.n_objects)
    ease = np.exp(-np.clip(design.tables(parameters), -300.0, np.inf))
    kernel.likeliest(
        design.starts, design.offsets(parameters), design.score, design.step, ease, theta, information
    )  # fmt: skip
    return theta, information


def object_errors(design: Design, fit: FacetsFit, *, refit: bool) -> tuple[FloatArray, FloatArray]:
    """Return the objects' measures and standard errors in a joint fit, the other facets' errors among them."""
    theta, variance = fit.theta, fit.moments[:, 1].copy()
    filled = np.diff(design.starts) > 0
    if refit:
        theta, information = likeliest(design, fit.parameters)
        variance = 1.0 / np.maximum(information, 1e-12)
    variance = np.where(filled, variance, 1.0)
    if fit.covariance.ndim == 2 and design.n_objects * design.n_beta <= MOST_EXACT_ERRORS:
        rows = residuals_at(design, fit.parameters, theta)
        values = (rows.variance[:, None] * design.sign).ravel()
        cells = (np.repeat(rows.owner, design.code.shape[1]), design.code.ravel())
        pull = sparse.csr_array((values, cells), shape=(design.n_objects, design.n_beta))
        inner = np.nan_to_num(fit.covariance[: design.n_beta, : design.n_beta])
        variance += np.asarray((pull @ inner * pull.toarray()).sum(axis=1)).ravel() * variance**2
    return theta, np.sqrt(variance)


def residuals_at(design: Design, parameters: FloatArray, theta: FloatArray) -> Residuals:
    """Return what the model expects of every rating at given measures of objects (n_objects,)."""
    from crowdassay.measurement import kernel  # noqa: PLC0415

    offset = design.offsets(parameters)
    ease = np.exp(-np.clip(design.tables(parameters), -300.0, np.inf))
    mean, variance, fourth, own = (np.empty(len(design.rows)) for _ in range(4))
    kernel.describe(design.starts, offset, design.score, design.step, ease, theta, mean, variance, fourth, own)
    owner = design.owner
    return Residuals(design.rows, design.score - mean, variance, fourth, theta[owner] + offset, owner)


def find_residuals(design: Design, fit: FacetsFit, *, joint: bool) -> Residuals:
    """Return residuals at the objects' most likely measures; objects with the lowest or highest scores only are left out."""
    theta = fit.theta if joint else likeliest(design, fit.parameters)[0]
    every = residuals_at(design, fit.parameters, theta)
    scores = np.arange(design.seen.shape[1])
    high = np.where(design.seen, scores, -1).max(axis=1)[design.step]
    low = np.where(design.seen, scores, len(scores)).min(axis=1)[design.step]
    owner = every.owner
    up = np.bincount(owner[design.score > low], minlength=design.n_objects) > 0
    down = np.bincount(owner[design.score < high], minlength=design.n_objects) > 0
    rows = (up & down)[owner]
    return Residuals(
        every.rows[rows], every.residual[rows], every.variance[rows], every.fourth[rows], every.logit[rows], owner[rows],
        fitted=not joint,
    )  # fmt: skip
