r"""Where ratings depart from the model together: interactions of facets, groups treated differently, severity that drifts.

Each is a score test. With residuals r, variances v and an indicator (or a time) u of each rating,

.. math::  b = \frac{\sum_n u_n r_n}{I}, \quad
           I = \sum_n v_n u_n^2 - \sum_i \frac{(\sum_{n \in i} v_n u_n)^2}{\sum_{n \in i} v_n}

estimates by how many logits the ratings differ. The second term is what the objects' own measures, fitted to the same
ratings, have taken away; without it the tests would find too little where an object has few ratings.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.special import chdtrc, ndtr

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.measurement.design import Design
from crowdassay.measurement.ratings import Ratings
from crowdassay.measurement.residuals import Residuals
from crowdassay.statistics import q_values
from crowdassay.tables import Column, TableOf

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


def cell_sums(residuals: Residuals, codes: IntArray, size: int, u: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the sum of u r and the information about b in every cell, both (size,)."""
    u = np.ones(len(codes)) if u is None else u
    total = np.bincount(codes, u * residuals.residual, size)
    information = np.bincount(codes, u * u * residuals.variance, size)
    each, place = np.unique(codes * (residuals.owner.max() + 1) + residuals.owner, return_inverse=True)
    shared = np.bincount(place, u * residuals.variance)
    objects = np.bincount(residuals.owner, residuals.variance)
    lost = shared**2 / np.maximum(objects[each % (residuals.owner.max() + 1)], 1e-300)
    taken = np.bincount(each // (residuals.owner.max() + 1), lost, size)
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
    with np.errstate(divide="ignore", invalid="ignore"):
        good = (count >= LEAST_RATINGS) & (information > 1e-3)
        bias = np.where(good, total / information, np.nan)
        error = np.where(good, 1.0 / np.sqrt(information), np.nan)
    p = 2 * ndtr(-np.abs(bias / error))
    score = np.bincount(codes, residuals.residual, len(cells)) / count
    return _most_telling(
        BIASES,
        facet=[ratings.facets[one]] * len(cells),
        other_facet=[ratings.facets[two]] * len(cells),
        element=ratings.names[one].take(pa.array(cells // width)),
        other_element=ratings.names[two].take(pa.array(cells % width)),
        ratings=count,
        surplus=score,
        bias=bias,
        standard_error=error,
        z=bias / error,
        p=p,
        q=q_values(p),
    )


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
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(good, total / information, np.nan)
    weight = np.where(good, information, 0.0)
    for _ in range(50):  # take off what the group and the element have in common with the rest
        before = shift.copy()
        shift -= np.nansum(weight * shift, axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
        shift -= (np.nansum(weight * shift, axis=1) / np.maximum(weight.sum(axis=1), 1e-300))[:, None]
        if np.nanmax(np.abs(shift - before)) < 1e-9:
            break
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
    with np.errstate(divide="ignore", invalid="ignore"):
        good = (count > LEAST_RATINGS) & (length > 0) & (information > 1e-9 * length**2)
        slope = np.where(good, sign * total / information, np.nan)
        error = np.where(good, 1.0 / np.sqrt(information), np.nan)
    p = 2 * ndtr(-np.abs(slope / error))
    return _most_telling(
        DRIFT,
        facet=[ratings.facets[facet]] * size,
        element=ratings.names[facet],
        ratings=count,
        drift=slope,
        standard_error=error,
        over_all_its_time=slope * length,
        z=slope / error,
        p=p,
        q=q_values(p),
    )


def _most_telling(table: TableOf, **columns: Any) -> pa.Table:
    """Return a table with the smallest p first, what could not be tested last."""
    order = np.argsort(np.nan_to_num(np.asarray(columns["p"], dtype=float), nan=2.0), kind="stable")
    return table.fill(**columns).take(pa.array(order))
