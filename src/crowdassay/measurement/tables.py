"""The tables of a many-facet fit, each column declared once, and the notes for its reader."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.labels.values import counted, listed
from crowdassay.measurement.clusters import ENOUGH_QUESTIONS
from crowdassay.measurement.design import only_ends
from crowdassay.measurement.residuals import mean_squares, separation
from crowdassay.statistics import softmax
from crowdassay.tables import Column, TableOf

if TYPE_CHECKING:
    from crowdassay.measurement.facets import ManyFacet

RATINGS_AT_A_TIME = 200_000  # ratings at a time
FEW_RATINGS = 10  # ratings below which a score is called rare
ERROR_SAYS_NOTHING = 20.0  # logits: an element is then as good as anywhere
FEW_FOR_JOINT = 30  # ratings of an object below which joint estimates lie too far apart

MEASURES_TABLE = TableOf(
    "measures",
    (
        Column("facet", format="name"),
        Column("element", format="name"),
        Column("ratings", format="count"),
        Column("mean_rating", "mean", "number"),
        Column("measure", format="number", about="in logits"),
        Column("standard_error", "error", "number"),
        Column("fair_average", format="number", about="the mean rating had it met average elements of the other facets"),
        Column("infit", format="number", about="1 is as expected; above 1.5 ratings are noisier than the model"),
        Column("infit_z", format="number"),
        Column("outfit", format="number", about="likewise, and sensitive to single surprising ratings"),
        Column("outfit_z", format="number"),
        Column("extreme", about="whether it has the lowest or the highest scores only"),
        Column("subset", format="count", about="elements of different subsets are not connected by ratings"),
    ),
)
FACETS = TableOf(
    "facets",
    (
        Column("facet", format="name"),
        Column("elements", format="count"),
        Column("higher_means", about="whether a higher measure means higher or lower ratings"),
        Column("mean", format="number"),
        Column("sd", format="number"),
        Column("rmse", "error", "number", "root mean square of the standard errors"),
        Column("separation", format="number", about="how far elements lie apart, measured in errors"),
        Column("strata", format="number"),
        Column("reliability", format="number", about="near 1: the order of the elements would come out the same again"),
        Column("chi_square", format="number"),
        Column("df", format="count"),
        Column("p", "alike: p", "p", "of the test that all elements are alike"),
    ),
)
FACETS_SHOWN = ("facet", "elements", "sd", "rmse", "separation", "reliability", "p")
CATEGORIES = TableOf(
    "categories",
    (
        Column("score", format="plain"),
        Column("ratings", format="count"),
        Column("share", format="share"),
        Column("average_logit", format="number", about="mean logit where the score was given; it should rise"),
        Column("expected_logit", "expected", "number"),
        Column("infit", format="number"),
        Column("outfit", format="number"),
    ),
)
THRESHOLDS = TableOf(
    "thresholds",
    (
        Column("element", format="name", about="where each has thresholds of its own"),
        Column("from", format="plain"),
        Column("to", format="plain"),
        Column("threshold", format="number", about="where the two scores are equally likely"),
        Column("standard_error", "error", "number"),
        Column("disordered", about="whether it lies below the threshold before it"),
    ),
)


def measures_table(model: ManyFacet) -> pa.Table:
    """Return one row for each element of each facet."""
    ratings, residuals = model._fitted(), model._residuals
    whole, part, group = model._joint_design
    aside = [np.zeros(len(names), bool) for names in ratings.names]
    for facet, elements in chain.from_iterable(model._extremes):
        aside[facet][elements] = True
    tables = []
    for f, names in enumerate(ratings.names):
        size, codes = len(names), ratings.code[:, f]
        count = np.bincount(codes, minlength=size)
        fit = mean_squares(residuals, ratings.code[residuals.rows, f], size)
        if f == model._item:
            aside[f] |= only_ends(codes, ratings.score > 0, ratings.score < len(ratings.values) - 1, size)
        subset = group if f == model._item else part[model._design.spans[model._design.others.index(f)]]
        tables.append(
            MEASURES_TABLE.fill(
                facet=[ratings.facets[f]] * size,
                element=names,
                ratings=count,
                mean_rating=np.bincount(codes, ratings.values[ratings.score], size) / count,
                measure=model._measures[f],
                standard_error=model._errors[f],
                fair_average=fair_averages(model, f),
                **fit,
                extreme=aside[f],
                subset=np.zeros(size, np.int64) if whole[f] else np.unique(subset, return_inverse=True)[1].ravel(),
            )
        )
    return pa.concat_tables(tables)


def fair_averages(model: ManyFacet, facet: int) -> FloatArray:
    """Return the rating that each element would get (or give) on average if it met average elements of the other facets."""
    ratings, design = model._fitted(), model._design
    if model._steps is not None:
        return np.full(len(ratings.names[facet]), np.nan)
    table = design.tables(model._fit.parameters)[0]
    logit = model._sign[facet] * model._measures[facet] + (0.0 if facet == model._item else model.centre_)
    return np.asarray(softmax(np.arange(len(table)) * logit[:, None] - table) @ ratings.values)


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
        rows.append(row)
    return FACETS.fill(**{name: [row[name] for row in rows] for name in rows[0]})


def categories_table(model: ManyFacet) -> pa.Table:
    """Return one row for each score: how often, at which logits and how surprisingly it was given.

    Infit and outfit divide the squared residuals of the ratings with that score by those the model expects of it.
    """
    ratings, residuals, design = model._fitted(), model._residuals, model._design
    size = len(ratings.values)
    codes, scores = ratings.score[residuals.rows], np.arange(size)
    table = design.tables(model._fit.parameters)
    step = ratings.table_of(model._steps)[residuals.rows]
    seen, expected = np.zeros((4, size)), np.zeros((4, size))
    for first in range(0, len(codes), RATINGS_AT_A_TIME):
        part = slice(first, first + RATINGS_AT_A_TIME)
        chance = softmax(scores * residuals.logit[part, None] - table[step[part]])
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
        return CATEGORIES.fill(
            score=ratings.values,
            ratings=count,
            share=count / count.sum(),
            average_logit=seen[1] / seen[0],
            expected_logit=expected[1] / expected[0],
            infit=seen[2] / expected[2],
            outfit=seen[3] / expected[3],
        )


def thresholds_table(model: ManyFacet) -> pa.Table:
    """Return one row for each threshold; with steps of their own, for each element of the facet."""
    ratings, design = model._fitted(), model._design
    table, score = np.nonzero(design.seen)
    same = table[1:] == table[:-1]
    table, lower, upper = table[1:][same], score[:-1][same], score[1:][same]
    place, width = design.one_each, upper - lower
    value, error = model._fit.linear(place[design.slot[table, upper]] - place[design.slot[table, lower]])
    value /= width
    first = np.append(True, table[1:] != table[:-1])
    columns = {
        "from": ratings.values[lower],
        "to": ratings.values[upper],
        "threshold": value,
        "standard_error": error / width,
        "disordered": ~first & (value < np.roll(value, 1)),
    }
    if model._steps is not None:
        columns["element"] = ratings.names[model._steps].take(pa.array(table))
    return THRESHOLDS.fill(**columns)


def notes(model: ManyFacet) -> list[str]:
    """Return notes on the data, the design, the estimates and the scale."""
    ratings = model._fitted()
    left_out = (f"{counted(count, 'row')} left out: {reason}." for reason, count in ratings.dropped.items())
    return [*ratings.notes, *left_out, *_on_connection(model), *_on_estimates(model), *_on_scale(model)]


def _on_estimates(model: ManyFacet) -> Iterator[str]:
    ratings, design = model._fitted(), model._design
    aside: dict[int, int] = {}
    for facet, elements in chain.from_iterable(model._extremes):
        aside[facet] = aside.get(facet, 0) + len(elements)
    for facet, count in aside.items():
        yield (
            f"Of {counted(len(ratings.names[facet]), 'element')} of {ratings.facets[facet]}, {counted(count, 'has', 'have')} "
            "only the lowest or only the highest scores. The measure of such an element is infinite; the one shown is as if "
            "its total were 0.3 points inside the scale."
        )
    if model.estimation == "joint":
        mean = design.ratings_each
        if not model.correct and mean < FEW_FOR_JOINT:
            yield (
                f"Joint estimates lie too far apart, here by about {1 / max(mean - 1, 0.1):.0%}, since each "
                f"{ratings.facets[model._item]} has about {counted(mean, 'rating')}; --estimation marginal does not."
            )
    if model._fit.covariance.ndim == 1:
        yield (
            f"There are {design.n_parameters:,} parameters, too many to invert their information as a whole; standard errors "
            "take the other parameters for known and are a little too small."
        )
    if ratings.question is not None and model._clusters() is None:
        yield (
            f"With {counted(int(ratings.question.max()) + 1, 'question')}, fewer than {ENOUGH_QUESTIONS}, errors take the "
            "ratings of one question as independent and are too small if they are alike."
        )
    errors = np.concatenate([model._errors[facet] for facet in range(len(ratings.facets))])
    largest = float(np.max(errors[np.isfinite(errors)], initial=0.0))
    if largest > ERROR_SAYS_NOTHING:
        yield (
            f"These ratings do not determine the measures, whose standard errors reach {largest:,.0f} logits: do not use them. "
            "Collect more ratings of each element."
        )
    elif not model.converged_:
        yield f"Not converged after {model.n_iter_} steps: the measures are usable but not final; raise --max-iter."


def _on_connection(model: ManyFacet) -> Iterator[str]:
    ratings = model._fitted()
    whole, _, group = model._joint_design
    if whole.all():
        return
    split = [ratings.facets[f] for f in np.flatnonzero(~whole)]
    sizes = np.bincount(np.unique(group[group >= 0], return_inverse=True)[1])
    object_name = ratings.facets[model._item]
    largest = ", ".join(f"{size:,}" for size in np.sort(sizes)[::-1][:3]) + (" ..." if len(sizes) > 3 else "")
    parts = f"{len(sizes):,} parts of {largest} elements of {object_name}"
    told = (
        f"The ratings fall into parts that nothing connects ({', '.join(split)}): {parts}."
        if len(sizes) > 1
        else (
            f"Some elements of {', '.join(split)} were never used with others of the same facet, so that ratings alone cannot "
            "compare them."
        )
    )
    if model.estimation == "marginal":
        yield (
            f"{told} They are compared here only because every {object_name} is taken to come from one population; that holds "
            "where they were dealt out at random. The column subset says who belongs together."
        )
    else:
        yield (
            f"{told} Measures can be compared within a part only (column subset); every part has its own zero. Let some raters "
            "rate what others have rated, or use --estimation marginal where work was dealt out at random."
        )


def _on_scale(model: ManyFacet) -> Iterator[str]:
    ratings = model._fitted()
    counts = np.bincount(ratings.score, minlength=len(ratings.values))
    rare = np.flatnonzero(counts < FEW_RATINGS)
    if len(rare):
        yield (
            f"Fewer than {FEW_RATINGS} ratings are {listed([f'{ratings.values[k]:g}' for k in rare], limit=5)}; thresholds "
            "beside them are uncertain."
        )
    rows = thresholds_table(model).to_pylist()
    wrong = [row for row in rows if row["disordered"]]
    if not wrong:
        return
    if model._steps is None:
        names = listed([f"{row['from']:g} to {row['to']:g}" for row in wrong], limit=4)
        yield (
            f"Thresholds are in disorder at {names}: the lower score of the step is never the likeliest. Raters may not "
            "tell these scores apart; consider joining them."
        )
    else:
        elements = sorted({row["element"] for row in wrong})
        yield (
            f"Thresholds are in disorder for {len(elements):,} of {len({row['element'] for row in rows}):,} elements of "
            f"{model.steps}: {listed(elements, limit=3)}."
        )
