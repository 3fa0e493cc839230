"""What a reader of a many-facet fit should know, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from crowdassay.labels.values import counted, listed
from crowdassay.measurement.facets_tables import FEW_RATINGS, thresholds_table

if TYPE_CHECKING:
    from crowdassay.measurement.facets import ManyFacet


def notes(model: ManyFacet) -> Iterator[str]:
    """Yield notes on the data, the design, the estimates and the scale."""
    ratings, design = model._fitted(), model._design
    yield from ratings.notes
    for reason, count in ratings.dropped.items():
        yield f"{counted(count, 'row')} left out: {reason}."
    yield from _connection(model)
    aside: dict[int, int] = {}
    for one in model._extremes:
        for facet, elements in one:
            aside[facet] = aside.get(facet, 0) + len(elements)
    for facet, count in aside.items():
        yield (
            f"{count:,} of {len(ratings.names[facet]):,} elements of {ratings.facets[facet]} have only the lowest or only the "
            "highest scores. Their measures are infinite; those shown are as if their total were 0.3 points inside the scale."
        )
    if model.estimation == "joint":
        counts = np.diff(design.starts)
        mean = 1.0 / float((1.0 / counts[counts > 0]).mean())
        if not model.correct and mean < 30:
            yield (
                f"Joint estimates lie too far apart, here by about {1 / max(mean - 1, 0.1):.0%}, since each "
                f"{ratings.facets[model._item]} has about {mean:.0f} ratings; --estimation marginal does not."
            )
    if model._fit.covariance.ndim == 1:
        yield (
            f"There are {design.n_parameters:,} parameters, too many to invert their information as a whole; standard errors "
            "take the other parameters for known and are a little too small."
        )
    if not model.converged_:
        yield f"Not converged after {model.n_iter_} steps: the measures are usable but not final; raise --max-iter."
    yield from _scale(model)


def _connection(model: ManyFacet) -> Iterator[str]:
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


def _scale(model: ManyFacet) -> Iterator[str]:
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
