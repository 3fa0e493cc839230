"""Conformance suites for studies: what every model of ratings, and every model of comparisons, must do.

Each check takes a function that makes a fresh model and a frame, and fails with an `AssertionError` in words:
``for check in FACET_CHECKS: check(make, table)``, for models of the facets essay and rater with the columns essay, rater and
score, or ``for check in RANKING_CHECKS: ...`` with the columns left, right, winner and worker.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.checks.estimators import RUNS_TOLERANCE
from crowdassay.errors import DataError, NotFittedError

MakeStudy = Callable[[], Any]


def check_repeatable(make: MakeStudy, table: pa.Table) -> None:
    """The same input gives the same output."""
    first, second = (_found(make().fit(table)) for _ in range(2))
    for name in first.column_names:
        one, two = (np.asarray(fitted[name].to_pylist()) for fitted in (first, second))
        same = np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
        assert same, f"two fits of the same rows differ in {name}"


def check_row_order(make: MakeStudy, table: pa.Table) -> None:
    """Shuffling the rows changes nothing but rounding."""
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    _same(make, table, shuffled, "the order of rows")


def check_measures(make: MakeStudy, table: pa.Table) -> None:
    """Every element has one row, with a measure and a standard error above zero; severities sum to zero."""
    measures = _measures(make().fit(table))
    named = {(facet, str(name)) for facet in ("essay", "rater") for name in table[facet].to_pylist()}
    assert set(measures) == named, "not one row for each element"
    for (facet, name), (measure, error) in measures.items():
        assert np.isfinite(measure), f"the measure of {facet} {name} is not a number"
        assert error > 0, f"the standard error of {facet} {name} is not above zero"
    severity = [value[0] for (facet, _), value in measures.items() if facet == "rater"]
    assert abs(np.mean(severity)) < 1e-6, "the raters' mean severity is not zero"


def check_severity(make: MakeStudy, table: pa.Table) -> None:
    """Among raters of the same essays, who gives higher ratings is less severe."""
    measures = _measures(make().fit(table))
    mean: dict[str, list[float]] = {}
    for rater, score in zip(table["rater"].to_pylist(), table["score"].to_pylist(), strict=True):
        mean.setdefault(str(rater), []).append(float(score))
    severity = [measures["rater", name][0] for name in mean]
    assert np.corrcoef(severity, [np.mean(scores) for scores in mean.values()])[0, 1] < 0, "severity goes with high ratings"


def check_names(make: MakeStudy, table: pa.Table) -> None:
    """Renaming essays and raters changes nothing but the names."""
    new = {facet: [f"x{str(name)[::-1]}" for name in table[facet].to_pylist()] for facet in ("essay", "rater")}
    _same(make, table, _with(table, **new), "names", lambda key: (key[0], f"x{key[1][::-1]}"))


def check_scale(make: MakeStudy, table: pa.Table) -> None:
    """Ratings count in their order: other numbers in the same order change nothing."""
    _same(make, table, _with(table, score=[3 * s + 2 for s in table["score"].to_pylist()]), "the scale")


def check_mirror(make: MakeStudy, table: pa.Table) -> None:
    """Ratings turned around turn severities around."""
    top = max(table["score"].to_pylist())
    turned = _measures(make().fit(_with(table, score=[top - s for s in table["score"].to_pylist()])))
    for (facet, name), (measure, _) in _measures(make().fit(table)).items():
        if facet == "rater":
            assert abs(measure + turned[facet, name][0]) < 1e-3, f"the severity of {name} did not turn around"


def check_twice_the_essays(make: MakeStudy, table: pa.Table) -> None:
    """A second set of essays with the same ratings narrows the raters' errors and leaves their severities."""
    more = _with(table, essay=[f"again {name}" for name in table["essay"].to_pylist()])
    once, twice = _measures(make().fit(table)), _measures(make().fit(pa.concat_tables([_with(table), more])))
    for key, (measure, error) in once.items():
        if key[0] == "rater":
            assert abs(twice[key][0] - measure) < 1e-3, "the same ratings again moved a severity"
            assert abs(twice[key][1] / error - np.sqrt(0.5)) < 0.02, (
                "twice the ratings did not narrow an error by the root of 2"
            )


def check_ranking(make: MakeStudy, table: pa.Table) -> None:
    """Every item has one row, best first, with an interval around its score."""
    ranking = make().fit(table).ranking_
    named = set(table["left"].to_pylist()) | set(table["right"].to_pylist())
    assert sorted(ranking["item"].to_pylist()) == sorted(named), "not one row for each item"
    score, low, high = (np.asarray(ranking[name]) for name in ("score", "low", "high"))
    assert (np.diff(score) <= 0).all(), "the best is not first"
    assert abs(score.mean()) < 1e-6, "the mean of the scores is not zero"
    assert (low < score).all(), "an interval begins above its score"
    assert (score < high).all(), "an interval ends below its score"


def check_probabilities(make: MakeStudy, table: pa.Table) -> None:
    """Chances lie between 0 and 1 and sum to one; turning a pair around turns the chances around, but for the side."""
    model = make().fit(table)
    chances = model.predict_proba(table)
    assert chances.shape == (table.num_rows, 3), "one row for each comparison; left, right and tie"
    assert ((chances >= 0) & (chances <= 1)).all(), "a chance is outside [0, 1]"
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-9, "the chances of a comparison do not sum to 1"
    matrix = model.win_matrix()
    assert np.abs(matrix + matrix.T - 1).max() < 1e-9, "the chance to win and that to lose do not sum to 1"


def check_item_names(make: MakeStudy, table: pa.Table) -> None:
    """Renaming what is compared changes nothing but the names."""
    new = {name: f"renamed {n:04d}" for n, name in enumerate(sorted(set(table["left"].to_pylist()), reverse=True))}
    for name in table["right"].to_pylist():
        new.setdefault(name, f"renamed too {name}")
    renamed = _with(table, **{c: [new.get(v, v) for v in table[c].to_pylist()] for c in ("left", "right", "winner")})
    _same(make, table, renamed, "names of items", new.__getitem__)


def check_worker_names(make: MakeStudy, table: pa.Table) -> None:
    """Renaming the workers changes no score."""
    renamed = _with(table, worker=[None if v is None else f"someone {v[::-1]}" for v in table["worker"].to_pylist()])
    _same(make, table, renamed, "names of workers")


def check_sides(make: MakeStudy, table: pa.Table) -> None:
    """Swapping left and right everywhere changes no score, and turns the advantage of a side around."""
    names = {"left": "right", "right": "left"}
    winner = [names.get(v, v) for v in table["winner"].to_pylist()]
    turned = _with(table, left=table["right"].to_pylist(), right=table["left"].to_pylist(), winner=winner)
    _same(make, table, turned, "the sides")
    there, back = make().fit(table).position_bias_, make().fit(turned).position_bias_
    assert abs(there + back) < RUNS_TOLERANCE, "the advantage of a side did not turn around"


def check_twice_the_comparisons(make: MakeStudy, table: pa.Table) -> None:
    """Twice the comparisons make a better likelihood for each, never a worse one, and narrower intervals."""
    once, twice = make().fit(table), make().fit(pa.concat_tables([table, table]))
    assert twice.log_likelihood_ >= 2 * once.log_likelihood_ - 1e-6 * abs(once.log_likelihood_), "the objective fell"
    error = [float(np.mean(np.asarray(model.ranking_["standard_error"]))) for model in (once, twice)]
    assert error[1] < error[0], "twice the comparisons did not narrow the intervals"


def check_rating_refusals(make: MakeStudy, table: pa.Table) -> None:
    """No ratings, one score for all, and asking before fitting: each is refused in words."""
    _check_refusals(make, table.slice(0, 0), _with(table, score=[1] * table.num_rows))


def check_comparison_refusals(make: MakeStudy, table: pa.Table) -> None:
    """Nothing to compare, a winner who did not take part, and asking before fitting: each is refused in words."""
    _check_refusals(make, table.slice(0, 0), _with(table.slice(0, 1), winner=["somebody else"]))


def _check_refusals(make: MakeStudy, *senseless: pa.Table) -> None:
    for bad in senseless:
        said = ""
        try:
            make().fit(bad)
        except DataError as error:
            said = error.message.strip()
        assert said.endswith((".", "?")), "rows that say nothing were taken"
    try:
        _found(make())
    except NotFittedError:
        return
    raise AssertionError("there is something found before there is a fit")


def _with(table: pa.Table, **columns: list[Any]) -> pa.Table:
    plain = {name: columns.get(name, table[name].to_pylist()) for name in table.column_names}
    return pa.table(
        {name: values if name == "score" else [v if v is None else str(v) for v in values] for name, values in plain.items()}
    )


def _found(model: Any) -> pa.Table:
    """Return the measures, or the ranking, of a model."""
    return model.measures_ if hasattr(type(model), "measures_") else model.ranking_


def _measures(model: Any) -> dict[tuple[str, str], tuple[float, float]]:
    """Return measure and standard error by facet and element."""
    return {(row["facet"], row["element"]): (row["measure"], row["standard_error"]) for row in model.measures_.to_pylist()}


def _values(model: Any) -> dict[Any, float]:
    """Return what was found by element, or by item."""
    if hasattr(type(model), "measures_"):
        return {key: measure for key, (measure, _) in _measures(model).items()}
    return {row["item"]: row["score"] for row in model.ranking_.to_pylist()}


def _same(
    make: MakeStudy, one: pa.Table, two: pa.Table, what: str, renamed: Callable[[Any], Hashable] = lambda key: key
) -> None:
    before, after = (_values(make().fit(table)) for table in (one, two))
    for key, value in before.items():
        moved = abs(after[renamed(key)] - value)
        assert moved < RUNS_TOLERANCE, f"{what} moved {key} by {moved:.1e}"


FACET_CHECKS = (
    check_measures, check_severity, check_repeatable, check_row_order, check_names, check_scale, check_mirror,
    check_twice_the_essays, check_rating_refusals,
)  # fmt: skip
RANKING_CHECKS = (
    check_ranking, check_probabilities, check_repeatable, check_row_order, check_item_names, check_worker_names, check_sides,
    check_twice_the_comparisons, check_comparison_refusals,
)  # fmt: skip
