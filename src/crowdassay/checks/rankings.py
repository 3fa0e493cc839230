"""Conformance suite for rankings: what every model of comparisons must do.

Each check takes a function that makes a fresh model and a frame with the columns left, right, winner and worker, and fails with
an `AssertionError` in words: ``for check in RANKING_CHECKS: check(make, table)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.checks.estimators import RUNS_TOLERANCE, refuses
from crowdassay.errors import NotFittedError

Make = Callable[[], Any]
PAIR_COLUMNS = ("left", "right", "winner", "worker")


def check_ranking(make: Make, table: pa.Table) -> None:
    """Every item has one row, best first, with an interval around its score."""
    ranking = make().fit(table).ranking_
    named = set(table["left"].to_pylist()) | set(table["right"].to_pylist())
    assert sorted(ranking["item"].to_pylist()) == sorted(named), "not one row for each item"
    score, low, high = (np.asarray(ranking[name]) for name in ("score", "low", "high"))
    assert (np.diff(score) <= 0).all(), "the best is not first"
    assert abs(score.mean()) < 1e-6, "the mean of the scores is not zero"
    assert (low < score).all(), "an interval begins above its score"
    assert (score < high).all(), "an interval ends below its score"


def check_probabilities(make: Make, table: pa.Table) -> None:
    """Chances lie between 0 and 1 and sum to one; turning a pair around turns the chances around, but for the side."""
    model = make().fit(table)
    chances = model.predict_proba(table)
    assert chances.shape == (table.num_rows, 3), "one row for each comparison; left, right and tie"
    assert ((chances >= 0) & (chances <= 1)).all(), "a chance is outside [0, 1]"
    assert np.abs(chances.sum(axis=1) - 1).max() < 1e-9, "the chances of a comparison do not sum to 1"
    matrix = model.win_matrix()
    assert np.abs(matrix + matrix.T - 1).max() < 1e-9, "the chance to win and that to lose do not sum to 1"


def check_repeatable(make: Make, table: pa.Table) -> None:
    """The same input gives the same output."""
    first, second = (make().fit(table).ranking_ for _ in range(2))
    assert first.equals(second), "two fits of the same comparisons differ"


def check_row_order(make: Make, table: pa.Table) -> None:
    """Shuffling the rows changes nothing but rounding."""
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))
    _same(make, table, shuffled, lambda name: name, "the order of rows")


def check_item_names(make: Make, table: pa.Table) -> None:
    """Renaming what is compared changes nothing but the names."""
    new = {name: f"renamed {n:04d}" for n, name in enumerate(sorted(set(table["left"].to_pylist()), reverse=True))}
    for name in table["right"].to_pylist():
        new.setdefault(name, f"renamed too {name}")
    renamed = _with(table, **{c: [new.get(v, v) for v in table[c].to_pylist()] for c in ("left", "right", "winner")})
    _same(make, table, renamed, new.__getitem__, "names of items")


def check_worker_names(make: Make, table: pa.Table) -> None:
    """Renaming the workers changes no score."""
    renamed = _with(table, worker=[None if v is None else f"someone {v[::-1]}" for v in table["worker"].to_pylist()])
    _same(make, table, renamed, lambda name: name, "names of workers")


def check_sides(make: Make, table: pa.Table) -> None:
    """Swapping left and right everywhere changes no score, and turns the advantage of a side around."""
    names = {"left": "right", "right": "left"}
    winner = [names.get(v, v) for v in table["winner"].to_pylist()]
    turned = _with(table, left=table["right"].to_pylist(), right=table["left"].to_pylist(), winner=winner)
    _same(make, table, turned, lambda name: name, "the sides")
    there, back = make().fit(table).position_bias_, make().fit(turned).position_bias_
    assert abs(there + back) < RUNS_TOLERANCE, "the advantage of a side did not turn around"


def check_more_of_the_same(make: Make, table: pa.Table) -> None:
    """Twice the comparisons make a better likelihood for each, never a worse one, and narrower intervals."""
    once, twice = make().fit(table), make().fit(pa.concat_tables([table, table]))
    assert twice.log_likelihood_ >= 2 * once.log_likelihood_ - 1e-6 * abs(once.log_likelihood_), "the objective fell"
    error = [float(np.mean(np.asarray(model.ranking_["standard_error"]))) for model in (once, twice)]
    assert error[1] < error[0], "twice the comparisons did not narrow the intervals"


def check_refusals(make: Make, table: pa.Table) -> None:
    """Nothing to compare, a winner who did not take part, and asking before fitting: each is refused in words."""
    for bad in (table.slice(0, 0), _with(table.slice(0, 1), winner=["somebody else"])):
        assert refuses(make(), bad), "comparisons that make no sense were taken"
    try:
        make().ranking_  # noqa: B018
    except NotFittedError:
        return
    raise AssertionError("there is a ranking before there is a fit")


def _with(table: pa.Table, **columns: list[Any]) -> pa.Table:
    return pa.table({name: columns.get(name, table[name].to_pylist()) for name in PAIR_COLUMNS})


def _same(make: Make, one: pa.Table, two: pa.Table, renamed: Callable[[str], str], what: str) -> None:
    first, second = make().fit(one).ranking_, make().fit(two).ranking_
    after = dict(zip(second["item"].to_pylist(), second["score"].to_pylist(), strict=True))
    for item, score in zip(first["item"].to_pylist(), first["score"].to_pylist(), strict=True):
        moved = abs(after[renamed(item)] - score)
        assert moved < RUNS_TOLERANCE, f"{what} moved a score by {moved:.1e}"


RANKING_CHECKS = (
    check_ranking, check_probabilities, check_repeatable, check_row_order, check_item_names, check_worker_names, check_sides,
    check_more_of_the_same, check_refusals,
)  # fmt: skip
