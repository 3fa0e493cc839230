"""Conformance suite for many-facet measurement: what every model of ratings must do.

Each check takes a function that makes a fresh model of the facets essay and rater, and a frame with the columns essay, rater
and score, and fails with an `AssertionError` in words: ``for check in FACET_CHECKS: check(make, table)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.checks.estimators import RUNS_TOLERANCE, refuses
from crowdassay.errors import NotFittedError

Make = Callable[[], Any]
Measures = dict[tuple[str, str], tuple[float, float]]
RATING_COLUMNS = ("essay", "rater", "score")


def check_measures(make: Make, table: pa.Table) -> None:
    """Every element has one row, with a measure and a standard error above zero; severities sum to zero."""
    measures = _measures(make().fit(table))
    named = {(facet, str(name)) for facet in RATING_COLUMNS[:2] for name in table[facet].to_pylist()}
    assert set(measures) == named, "not one row for each element"
    for (facet, name), (measure, error) in measures.items():
        assert np.isfinite(measure), f"the measure of {facet} {name} is not a number"
        assert error > 0, f"the standard error of {facet} {name} is not above zero"
    severity = [value[0] for (facet, _), value in measures.items() if facet == "rater"]
    assert abs(np.mean(severity)) < 1e-6, "the raters' mean severity is not zero"


def check_severity(make: Make, table: pa.Table) -> None:
    """Among raters of the same essays, who gives higher ratings is less severe."""
    measures = _measures(make().fit(table))
    mean: dict[str, list[float]] = {}
    for rater, score in zip(table["rater"].to_pylist(), table["score"].to_pylist(), strict=True):
        mean.setdefault(str(rater), []).append(float(score))
    severity = [measures["rater", name][0] for name in mean]
    assert np.corrcoef(severity, [np.mean(scores) for scores in mean.values()])[0, 1] < 0, "severity goes with high ratings"


def check_repeatable(make: Make, table: pa.Table) -> None:
    """The same input gives the same output."""
    first, second = (make().fit(table).measures_ for _ in range(2))
    for name in first.column_names:
        one, two = (np.asarray(fitted[name].to_pylist()) for fitted in (first, second))
        same = np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
        assert same, f"two fits of the same ratings differ in {name}"


def check_row_order(make: Make, table: pa.Table) -> None:
    """Shuffling the rows changes nothing but rounding."""
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    _same(make, table, shuffled, lambda facet, name: name, "the order of rows")


def check_names(make: Make, table: pa.Table) -> None:
    """Renaming essays and raters changes nothing but the names."""
    new = {facet: [f"x{str(name)[::-1]}" for name in table[facet].to_pylist()] for facet in RATING_COLUMNS[:2]}
    _same(make, table, _with(table, **new), lambda facet, name: f"x{name[::-1]}", "names")


def check_scale(make: Make, table: pa.Table) -> None:
    """Ratings count in their order: other numbers in the same order change nothing."""
    _same(
        make, table, _with(table, score=[3 * s + 2 for s in table["score"].to_pylist()]), lambda facet, name: name, "the scale"
    )


def check_mirror(make: Make, table: pa.Table) -> None:
    """Ratings turned around turn severities around."""
    top = max(table["score"].to_pylist())
    turned = _measures(make().fit(_with(table, score=[top - s for s in table["score"].to_pylist()])))
    for (facet, name), (measure, _) in _measures(make().fit(table)).items():
        if facet == "rater":
            assert abs(measure + turned[facet, name][0]) < 1e-3, f"the severity of {name} did not turn around"


def check_more_of_the_same(make: Make, table: pa.Table) -> None:
    """A second set of essays with the same ratings narrows the raters' errors and leaves their severities."""
    more = _with(table, essay=[f"again {name}" for name in table["essay"].to_pylist()])
    once, twice = _measures(make().fit(table)), _measures(make().fit(pa.concat_tables([_with(table), more])))
    for key, (measure, error) in once.items():
        if key[0] == "rater":
            assert abs(twice[key][0] - measure) < 1e-3, "the same ratings again moved a severity"
            assert abs(twice[key][1] / error - np.sqrt(0.5)) < 0.02, (
                "twice the ratings did not narrow an error by the root of 2"
            )


def check_refusals(make: Make, table: pa.Table) -> None:
    """No ratings, one score for all, and asking before fitting: each is refused in words."""
    for bad in (table.slice(0, 0), _with(table, score=[1] * table.num_rows)):
        assert refuses(make(), bad), "ratings that say nothing were taken"
    try:
        make().measures_  # noqa: B018
    except NotFittedError:
        return
    raise AssertionError("there are measures before there is a fit")


def _with(table: pa.Table, **columns: list[Any]) -> pa.Table:
    plain = {name: columns.get(name, table[name].to_pylist()) for name in RATING_COLUMNS}
    return pa.table({name: [str(v) for v in values] if name != "score" else values for name, values in plain.items()})


def _measures(model: Any) -> Measures:
    rows = model.measures_.to_pylist()
    return {(row["facet"], row["element"]): (row["measure"], row["standard_error"]) for row in rows}


def _same(make: Make, one: pa.Table, two: pa.Table, renamed: Callable[[str, str], str], what: str) -> None:
    before, after = _measures(make().fit(one)), _measures(make().fit(two))
    for (facet, name), (measure, _) in before.items():
        moved = abs(after[facet, renamed(facet, name)][0] - measure)
        assert moved < RUNS_TOLERANCE, f"{what} moved a measure by {moved:.1e}"


FACET_CHECKS = (
    check_measures, check_severity, check_repeatable, check_row_order, check_names, check_scale, check_mirror,
    check_more_of_the_same, check_refusals,
)  # fmt: skip
