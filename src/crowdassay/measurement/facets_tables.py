"""The tables of a many-facet fit."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.measurement.design import Design
from crowdassay.measurement.fit import FacetsFit
from crowdassay.measurement.fit_statistics import Residuals, mean_squares, separation
from crowdassay.measurement.ratings import Ratings

if TYPE_CHECKING:
    from crowdassay.measurement.facets import ManyFacet

EXACT = 50_000_000  # objects times parameters up to which the other facets' errors enter those of objects
RATINGS_AT_A_TIME = 200_000  # ratings at a time
FEW_RATINGS = 10  # ratings below which a score is called rare


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
    if fit.covariance.ndim == 2 and design.n_objects * design.n_beta <= EXACT:
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


def residuals(ratings: Ratings, design: Design, fit: FacetsFit, *, joint: bool) -> Residuals:
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


def graph_subsets(design: Design) -> tuple[IntArray, IntArray]:
    """Return subsets of parameters and objects by the graph of objects and the largest facet, for large designs."""
    widest = int(np.argmax(np.diff(design.first)))
    size = design.n_beta + design.n_objects
    ends = (design.code[:, widest], design.n_beta + design.owner)
    graph = sparse.coo_array((np.ones(len(design.rows), np.int8), ends), shape=(size, size))
    label = np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)
    part = np.zeros(design.n_beta, np.int64)
    span = slice(design.first[widest], design.first[widest + 1])
    part[span] = label[: design.n_beta][span]
    group = np.where(np.diff(design.starts) > 0, label[design.n_beta :], -1)
    return part, group


def measures_table(model: ManyFacet) -> pa.Table:
    """Return one row for each element of each facet."""
    ratings, residuals = model._fitted(), model._residuals
    whole, part, group = model._joint_design
    aside = [np.zeros(len(names), bool) for names in ratings.names]
    for one in model._extremes:
        for facet, elements in one:
            aside[facet][elements] = True
    tables = []
    for f, names in enumerate(ratings.names):
        size, codes = len(names), ratings.code[:, f]
        count = np.bincount(codes, minlength=size)
        fit = mean_squares(residuals, ratings.code[residuals.rows, f], size)
        if f == model._item:
            subset = group
        else:
            place = model._design.others.index(f)
            subset = part[model._design.first[place] : model._design.first[place + 1]]
        columns: dict[str, Any] = {
            "facet": [ratings.facets[f]] * size,
            "element": names,
            "ratings": count,
            "mean_rating": np.bincount(codes, ratings.values[ratings.score], size) / count,
            "measure": model._measures[f],
            "standard_error": model._errors[f],
            "fair_average": fair_averages(model, f),
            **fit,
            "extreme": aside[f] | (_only_ends(model, f) if f == model._item else False),
            "subset": np.zeros(size, np.int64) if whole[f] else np.unique(subset, return_inverse=True)[1].ravel(),
        }
        tables.append(pa.table(columns))
    return pa.concat_tables(tables)


def _only_ends(model: ManyFacet, facet: int) -> np.ndarray:
    """Mark elements that have the lowest scores only or the highest only, shape (n_elements,)."""
    ratings = model._fitted()
    size, top = len(ratings.names[facet]), len(ratings.values) - 1
    codes = ratings.code[:, facet]
    up = np.bincount(codes[ratings.score > 0], minlength=size) > 0
    down = np.bincount(codes[ratings.score < top], minlength=size) > 0
    return ~(up & down)


def fair_averages(model: ManyFacet, facet: int) -> FloatArray:
    """Return the rating that each element would get (or give) on average if it met average elements of the other facets."""
    ratings, design = model._fitted(), model._design
    if model._steps is not None:
        return np.full(len(ratings.names[facet]), np.nan)
    table = design.tables(model._fit.parameters)[0]
    sign = 1.0 if facet in model._positive else -1.0
    logit = sign * model._measures[facet] + (0.0 if facet == model._item else model.centre_)
    chance = np.exp(np.arange(len(table)) * logit[:, None] - table)
    chance /= chance.sum(axis=1, keepdims=True)
    return np.asarray(chance @ ratings.values)


def facets_table(model: ManyFacet) -> pa.Table:
    """Return one row for each facet."""
    ratings = model._fitted()
    rows = []
    for f, name in enumerate(ratings.facets):
        row: dict[str, Any] = {"facet": name, "elements": len(ratings.names[f])}
        row["higher_means"] = "higher ratings" if f in model._positive else "lower ratings"
        measure, error = model._measures[f], model._errors[f]
        row |= separation(measure, error)
        if f == model._item and model.estimation == "marginal":  # these are means given the ratings, already shrunk
            within, between = float(np.nanmean(error**2)), float(np.nanvar(measure))
            row["reliability"] = between / (between + within)
            row["separation"] = float(np.sqrt(between / within))
            row["strata"] = (4 * row["separation"] + 1) / 3
            row["chi_square"] = row["p"] = np.nan
        row["df"] = int(row["df"])
        rows.append(row)
    return pa.Table.from_pylist(rows)


def categories_table(model: ManyFacet) -> pa.Table:
    """Return one row for each score: how often, at which logits and how surprisingly it was given.

    Infit and outfit divide the squared residuals of the ratings with that score by those the model expects of it.
    """
    ratings, residuals, design = model._fitted(), model._residuals, model._design
    size = len(ratings.values)
    codes, scores = ratings.score[residuals.rows], np.arange(size)
    table = design.tables(model._fit.parameters)
    step = np.zeros(len(codes), np.int64) if model._steps is None else ratings.code[residuals.rows, model._steps]
    seen, expected = np.zeros((4, size)), np.zeros((4, size))
    for first in range(0, len(codes), RATINGS_AT_A_TIME):
        part = slice(first, first + RATINGS_AT_A_TIME)
        chance = np.exp(np.clip(scores * residuals.logit[part, None] - table[step[part]], -700, 700))
        chance /= chance.sum(axis=1, keepdims=True)
        off = scores - (chance @ scores)[:, None]
        allowed = (residuals.variance / residuals.allowed)[part, None]
        logit = np.broadcast_to(residuals.logit[part, None], off.shape)
        own = codes[part, None] == scores
        parts = (np.ones_like(off), logit, off**2, off**2 / residuals.variance[part, None])
        for n, value in enumerate(parts):
            seen[n] += np.where(own, value * (allowed if n > 1 else 1.0), 0.0).sum(axis=0)
            expected[n] += (chance * value).sum(axis=0)
    count = np.bincount(ratings.score, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        return pa.table(
            {
                "score": ratings.values,
                "ratings": count,
                "share": count / count.sum(),
                "average_logit": seen[1] / seen[0],
                "expected_logit": expected[1] / expected[0],
                "infit": seen[2] / expected[2],
                "outfit": seen[3] / expected[3],
            }
        )


def thresholds_table(model: ManyFacet) -> pa.Table:
    """Return one row for each threshold; with steps of their own, for each element of the facet."""
    ratings, design, fit = model._fitted(), model._design, model._fit
    table = design.tables(fit.parameters)
    rows = []
    for s in range(len(table)):
        seen = np.flatnonzero(design.seen[s])
        if len(seen) < 2:
            continue
        before = -np.inf
        for lower, upper in pairwise(seen.tolist()):
            width = upper - lower
            value = (table[s, upper] - table[s, lower]) / width
            error = _difference_error(fit, design.slot[s, upper], design.slot[s, lower]) / width
            row: dict[str, Any] = {} if model._steps is None else {"element": ratings.names[model._steps][s].as_py()}
            row |= {
                "from": float(ratings.values[lower]),
                "to": float(ratings.values[upper]),
                "threshold": float(value),
                "standard_error": float(error),
                "disordered": bool(value < before),
            }
            before = value
            rows.append(row)
    return pa.Table.from_pylist(rows)


def _difference_error(fit: FacetsFit, one: int, two: int) -> float:
    """Return the standard error of the difference of two parameters, either of which may be fixed (-1)."""
    places = [int(place) for place in (one, two) if place >= 0]
    if not places:
        return 0.0
    if fit.covariance.ndim == 1:
        return float(np.sqrt(fit.covariance[places].sum()))
    weight = np.array([1.0 if place == one else -1.0 for place in places])
    return float(np.sqrt(max(weight @ fit.covariance[np.ix_(places, places)] @ weight, 0.0)))
