r"""How well ratings fit the model: residuals, their mean squares by element, and how far elements lie apart.

Ratings may depart from the model together: facets interact, groups are treated differently, severity drifts. A score test
finds each. With residuals r, variances v and an indicator (or a time) u of each rating,

.. math::  b = \frac{\sum_n u_n r_n}{I}, \quad
           I = \sum_n v_n u_n^2 - \sum_i \frac{(\sum_{n \in i} v_n u_n)^2}{\sum_{n \in i} v_n}

estimates by how many logits the ratings differ. The second term is what the objects' own measures, fitted to the same
ratings, have taken away; without it the tests would find too little where an object has few ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.special import chdtrc, ndtr

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.measurement.design import Design, only_ends
from crowdassay.measurement.fit import FacetsFit
from crowdassay.measurement.ratings import Ratings
from crowdassay.statistics import q_values
from crowdassay.tables import Column, TableOf

MOST_EXACT_ERRORS = 50_000_000  # objects times parameters up to which the other facets' errors enter those of objects
LEAST_RATINGS = 2  # ratings below which nothing is said about a cell
MOST_EXACT_CELLS = 20_000_000  # cells times parameters up to which the other facets' share is taken off as well

P = (Column("p", format="p"), Column("q", format="p", about="the false discovery rate at which the row would be reported"))
ELEMENT = (Column("facet", format="name"), Column("element", format="name"))
BIASES = TableOf(
    "interactions",
    (
        Column("facet", format="name"),
        Column("other_facet", format="name"),
        Column("element", format="name"),
        Column("other_element", "with", "name"),
        Column("ratings", format="count"),
        Column("surplus", format="number", about="mean rating above what is expected"),
        Column("bias", format="number", about="logits by which two elements together are rated higher than apart"),
        Column("standard_error", "error", "number"),
        Column("z", format="number"),
        *P,
    ),
)
DIFFERENCES = TableOf(
    "differences",
    (
        *ELEMENT,
        Column("rated_higher_in", "higher in", "name"),
        Column("rated_lower_in", "lower in", "name"),
        Column("difference", format="number", about="logits between these two groups, beyond what groups have in common"),
        Column("standard_error", "error", "number"),
        Column("chi_square", format="number"),
        Column("df", format="count"),
        *P,
    ),
)
GROUP_SHIFTS = TableOf(
    "group_shifts",
    (
        *ELEMENT,
        Column("group", format="name"),
        Column("ratings", format="count"),
        Column("shift", format="number", about="logits by which the element is rated higher in the group than elsewhere"),
        Column("standard_error", "error", "number"),
    ),
)
DRIFT = TableOf(
    "drift",
    (
        *ELEMENT,
        Column("ratings", format="count"),
        Column("drift", format="digits", about="logits of severity gained per unit of time"),
        Column("standard_error", "error", "digits"),
        Column("over_all_its_time", format="number"),
        Column("z", format="number"),
        *P,
    ),
)


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


def separation(measure: FloatArray, error: FloatArray) -> dict[str, Any]:
    r"""Return how far the elements of a facet lie apart, measured in errors.

    .. math::  \text{reliability} = \frac{s^2 - \bar e^2}{s^2}, \quad \text{separation} = \sqrt{\frac{s^2 - \bar e^2}{\bar e^2}}

    ``p`` is that of a chi-square test that all elements are alike.
    """
    known = np.isfinite(measure) & np.isfinite(error) & (error > 0)
    value, wrong = measure[known], error[known]
    if len(value) < 2:
        unknown = ("mean", "sd", "rmse", "separation", "strata", "reliability", "chi_square", "p")
        return {**dict.fromkeys(unknown, np.nan), "df": 0}
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
        "df": len(value) - 1,
        "p": float(chdtrc(len(value) - 1, max(chi, 0.0))),
    }


def likeliest(design: Design, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each object's most likely measure and the information about it, both (n_objects,)."""
    from crowdassay.measurement import kernel  # noqa: PLC0415  numba loads on first use

    theta, information = np.zeros(design.n_objects), np.zeros(design.n_objects)
    offset, ease = design.offsets(parameters), design.ease(parameters)
    kernel.likeliest(design.starts, offset, design.score, design.step, ease, theta, information)
    return theta, information


def object_errors(design: Design, fit: FacetsFit, *, refit: bool) -> tuple[FloatArray, FloatArray]:
    """Return the objects' measures and standard errors in a joint fit, the other facets' errors among them."""
    theta, variance = fit.theta, fit.moments[:, 1].copy()
    if refit:
        theta, information = likeliest(design, fit.parameters)
        variance = 1.0 / np.maximum(information, 1e-12)
    variance = np.where(design.filled, variance, 1.0)
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
    mean, variance, fourth = (np.empty(len(design.rows)) for _ in range(3))
    kernel.describe(design.starts, offset, design.step, design.ease(parameters), theta, mean, variance, fourth)
    owner = design.owner
    return Residuals(design.rows, design.score - mean, variance, fourth, theta[owner] + offset, owner)


def find_residuals(design: Design, fit: FacetsFit, *, joint: bool) -> Residuals:
    """Return residuals at the objects' most likely measures; objects with the lowest or highest scores only are left out."""
    theta = fit.theta if joint else likeliest(design, fit.parameters)[0]
    every = residuals_at(design, fit.parameters, theta)
    low, high = (ends[design.step] for ends in design.ends)
    owner = every.owner
    rows = ~only_ends(owner, design.score > low, design.score < high, design.n_objects)[owner]
    return Residuals(
        every.rows[rows], every.residual[rows], every.variance[rows], every.fourth[rows], every.logit[rows], owner[rows],
        fitted=not joint,
    )  # fmt: skip


def cell_sums(residuals: Residuals, codes: IntArray, size: int, u: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the sum of u r and the information about b in every cell, both (size,)."""
    u = np.ones(len(codes)) if u is None else u
    total = np.bincount(codes, u * residuals.residual, size)
    information = np.bincount(codes, u * u * residuals.variance, size)
    objects = np.bincount(residuals.owner, residuals.variance)
    each, place = np.unique(codes * len(objects) + residuals.owner, return_inverse=True)
    cell, owner = np.divmod(each, len(objects))
    lost = np.bincount(place, u * residuals.variance) ** 2 / np.maximum(objects[owner], 1e-300)
    taken = np.bincount(cell, lost, size)
    return np.asarray(total, float), np.asarray(information - taken, float)


def interactions(
    ratings: Ratings, design: Design, covariance: FloatArray, residuals: Residuals, one: int, two: int
) -> pa.Table:
    """Return the bias of every pair of elements of two facets that met: how much higher they rate together than apart."""
    width = len(ratings.names[two])
    cells, codes = np.unique(ratings.code[residuals.rows, one] * width + ratings.code[residuals.rows, two], return_inverse=True)
    total, information = cell_sums(residuals, codes, len(cells))
    if covariance.ndim == 2 and len(cells) * design.n_beta <= MOST_EXACT_CELLS:
        information -= _taken_by_facets(design, covariance, residuals, codes, len(cells))
    count = np.bincount(codes, minlength=len(cells))
    bias, tests = _score_tests(total, information, (count >= LEAST_RATINGS) & (information > 1e-3))
    return _most_telling(
        BIASES,
        facet=[ratings.facets[one]] * len(cells),
        other_facet=[ratings.facets[two]] * len(cells),
        element=ratings.names[one].take(pa.array(cells // width)),
        other_element=ratings.names[two].take(pa.array(cells % width)),
        ratings=count,
        surplus=np.bincount(codes, residuals.residual, len(cells)) / count,
        bias=bias,
        **tests,
    )


def _score_tests(total: FloatArray, information: FloatArray, good: BoolArray) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return estimates b of good cells, NaN of the others, and the columns of the tests whether each is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, error = np.where(good, total / information, np.nan), np.where(good, 1.0 / np.sqrt(information), np.nan)
    p = 2 * ndtr(-np.abs(value / error))
    return value, {"standard_error": error, "z": value / error, "p": p, "q": q_values(p)}


def _taken_by_facets(design: Design, covariance: FloatArray, residuals: Residuals, codes: IntArray, size: int) -> FloatArray:
    """Return the information that the other facets' own parameters have taken from each cell, shape (size,)."""
    place = np.full(int(design.rows.max()) + 1, -1)
    place[design.rows] = np.arange(len(design.rows))
    code = design.code[place[residuals.rows]]
    n_beta = design.n_beta
    objects = np.maximum(np.bincount(residuals.owner, residuals.variance), 1e-300)
    rows = np.arange(len(codes))
    owner = sparse.csr_array((residuals.variance, (residuals.owner, rows)), shape=(len(objects), len(rows)))
    inside = sparse.csr_array((np.ones(len(rows)), (rows, codes)), shape=(len(rows), size))
    others = sparse.csr_array(
        (np.tile(design.sign, len(rows)), (np.repeat(rows, code.shape[1]), code.ravel())), shape=(len(rows), n_beta)
    )
    weighted = others.T @ sparse.diags_array(residuals.variance) @ inside
    profiled = (owner @ others).T @ sparse.diags_array(1.0 / objects) @ (owner @ inside)
    cross = (weighted - profiled).toarray()
    inner = np.nan_to_num(covariance[:n_beta, :n_beta])
    return np.einsum("pc,pc->c", cross, inner @ cross)


def _without_margins(shift: FloatArray, weight: FloatArray) -> FloatArray:
    """Take off what each row, and each column, has in common with the rest: weighted means of both are 0."""
    for _ in range(50):
        before = shift
        shift = shift - np.nansum(weight * shift, axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        shift = shift - (np.nansum(weight * shift, axis=1) / np.maximum(weight.sum(axis=1), 1e-300))[:, None]
        if np.nanmax(np.abs(shift - before)) < 1e-9:
            break
    return shift


def group_differences(ratings: Ratings, residuals: Residuals, facet: int) -> tuple[pa.Table, pa.Table] | None:
    """Test whether a facet's elements are the same for all groups (differential functioning).

    Groups may differ overall; what is tested is whether an element differs by group from the others. None where every element
    meets one group only, so that nothing can be compared.

    Returns
    -------
    elements : pyarrow.Table
        A chi-square test for each element, and the largest difference between two groups.
    cells : pyarrow.Table
        The difference of each element in each group.
    """
    if ratings.group is None or ratings.groups is None:
        raise ParameterError("No groups were read; name their column with --group.")
    n_groups, size = len(ratings.groups), len(ratings.names[facet])
    group, element = ratings.group[residuals.rows], ratings.code[residuals.rows, facet]
    codes = element * n_groups + group
    total, information = cell_sums(residuals, codes, size * n_groups)
    total, information = total.reshape(size, n_groups), information.reshape(size, n_groups)
    count = np.bincount(codes, minlength=size * n_groups).reshape(size, n_groups)
    good = (count >= LEAST_RATINGS) & (information > 1e-3)
    if not (good.sum(axis=1) >= 2).any():
        return None
    weight = np.where(good, information, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = _without_margins(np.where(good, total / information, np.nan), weight)
    df = np.maximum(good.sum(axis=1) - 1, 0)
    chi = np.nansum(weight * shift**2, axis=1)
    p = np.where(df > 0, chdtrc(np.maximum(df, 1), chi), np.nan)
    high, low = (pick(np.where(good, shift, fill), axis=1) for pick, fill in ((np.argmax, -np.inf), (np.argmin, np.inf)))
    every = np.arange(size)
    contrast = shift[every, high] - shift[every, low]
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(1 / information[every, high] + 1 / information[every, low])
    known, groups = df > 0, np.array(ratings.groups.to_pylist(), dtype=object)
    elements = _most_telling(
        DIFFERENCES,
        facet=[ratings.facets[facet]] * size,
        element=ratings.names[facet],
        rated_higher_in=pa.array(np.where(known, groups[high], None), pa.string()),
        rated_lower_in=pa.array(np.where(known, groups[low], None), pa.string()),
        difference=np.where(known, contrast, np.nan),
        standard_error=np.where(known, error, np.nan),
        chi_square=np.where(known, chi, np.nan),
        df=df,
        p=p,
        q=q_values(p),
    )
    place = np.flatnonzero(good.ravel())
    return elements, GROUP_SHIFTS.fill(
        facet=[ratings.facets[facet]] * len(place),
        element=ratings.names[facet].take(pa.array(place // n_groups)),
        group=ratings.groups.take(pa.array(place % n_groups)),
        ratings=count.ravel()[place],
        shift=shift.ravel()[place],
        standard_error=1 / np.sqrt(information.ravel()[place]),
    )


def drift(ratings: Ratings, residuals: Residuals, facet: int, sign: float) -> pa.Table:
    """Return how an element's parameter moves with time: for a rater, logits of severity gained per unit of time."""
    if ratings.time is None:
        raise ParameterError("No times were read; name their column with --time.")
    size, element = len(ratings.names[facet]), ratings.code[residuals.rows, facet]
    time = ratings.time[residuals.rows]
    if time.max() <= time.min():
        raise DataError("Every rating has the same time, so that nothing can drift; leave out --time.")
    weight = np.maximum(np.bincount(element, residuals.variance, size), 1e-300)
    middle = np.bincount(element, residuals.variance * time, size) / weight
    total, information = cell_sums(residuals, element, size, time - middle[element])
    count = np.bincount(element, minlength=size)
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(first, element, time)
    np.maximum.at(last, element, time)
    length = np.where(count > 0, last - first, 0.0)
    good = (count > LEAST_RATINGS) & (length > 0) & (information > 1e-9 * length**2)
    slope, tests = _score_tests(sign * total, information, good)
    return _most_telling(
        DRIFT,
        facet=[ratings.facets[facet]] * size,
        element=ratings.names[facet],
        ratings=count,
        drift=slope,
        over_all_its_time=slope * length,
        **tests,
    )


def _most_telling(table: TableOf, **columns: Any) -> pa.Table:
    """Return a table with the smallest p first, what could not be tested last."""
    order = np.argsort(np.nan_to_num(np.asarray(columns["p"], dtype=float), nan=2.0), kind="stable")
    return table.fill(**columns).take(pa.array(order))
