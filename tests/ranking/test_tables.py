"""The tables of a ranking: what stands in them, in which order, and in the caller's kind of frame."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.errors import ParameterError
from crowdassay.ranking.page import RankingView
from crowdassay.ranking.tables import NEXT_PAIRS, RANKED_WORKERS, RANKING, STYLES, rankings_by_group
from support.comparisons import draw_pairs


@pytest.fixture(scope="module")
def pairs():
    return draw_pairs(np.random.default_rng(0), n=900, items=5, workers=8)[0]


@pytest.fixture(scope="module")
def model(pairs):
    return BradleyTerry().fit(pairs)


def test_the_ranking_counts_what_was_compared(model, pairs):
    rows = {row["item"]: row for row in model.ranking_.to_pylist()}
    for i, name in enumerate(pairs.items.to_pylist()):
        won = ((pairs.left == i) & (pairs.outcome == 0)).sum() + ((pairs.right == i) & (pairs.outcome == 1)).sum()
        tied = (((pairs.left == i) | (pairs.right == i)) & (pairs.outcome == 2)).sum()
        met = ((pairs.left == i) | (pairs.right == i)).sum()
        row = rows[name]
        assert (row["wins"], row["ties"], row["comparisons"]) == (won, tied, met)
        assert row["losses"] == met - won - tied
    assert sum(row["wins"] for row in rows.values()) == sum(row["losses"] for row in rows.values())


def test_the_ranking_is_as_declared_and_best_first(model):
    table = model.ranking_
    assert table.column_names == [column.name for column in RANKING.columns]
    assert table["rank"].to_pylist() == [1, 2, 3, 4, 5]
    score, error, low, high = (table[name].to_numpy() for name in ("score", "standard_error", "low", "high"))
    np.testing.assert_allclose(high - low, 2 * 1.959964 * error, rtol=1e-6)
    np.testing.assert_allclose((low + high) / 2, score)
    assert (np.diff(table["win_rate"].to_numpy()) <= 0).all()


def test_confidence_widens_intervals_and_what_ranks_may_be(pairs):
    narrow, wide = (BradleyTerry(confidence=level).fit(pairs).ranking_ for level in (0.6, 0.999))
    for one, two in zip(narrow.to_pylist(), wide.to_pylist(), strict=True):
        assert two["low"] < one["low"] < one["high"] < two["high"]
        assert two["best_rank"] <= one["best_rank"] <= one["worst_rank"] <= two["worst_rank"]


def test_letters_and_ranks_tell_the_same_story(pairs):
    """Whoever may be first shares no letter with an item that is surely below the best."""
    rows = BradleyTerry().fit(pairs.only(np.arange(pairs.n_pairs) < 200)).ranking_.to_pylist()
    for row in rows:
        assert row["best_rank"] <= row["rank"] <= row["worst_rank"]
        assert row["group"]
    best = rows[0]
    for row in rows[1:]:
        if not set(best["group"].split()) & set(row["group"].split()):
            assert row["best_rank"] > 1


def test_the_table_of_workers(model, pairs):
    table = model.workers_
    assert table.column_names == [column.name for column in RANKED_WORKERS.columns]
    count = np.bincount(pairs.worker, minlength=8)
    assert table["comparisons"].to_pylist() == count.tolist()
    low, value, high = (table[name].to_numpy() for name in ("reliability_low", "reliability", "reliability_high"))
    assert ((low < value) & (value < high)).all()
    place = dict(zip(pairs.items.to_pylist(), model.scores_, strict=True))
    names = pairs.items.to_pylist()
    decided = [n for n in range(pairs.n_pairs) if pairs.worker[n] == 3 and pairs.outcome[n] != 2]
    agreed = [(place[names[pairs.left[n]]] > place[names[pairs.right[n]]]) == (pairs.outcome[n] == 0) for n in decided]
    assert table["agreement"][3].as_py() == pytest.approx(np.mean(agreed))


def test_workers_who_are_taken_to_be_alike_have_no_figures(pairs):
    table = BradleyTerry(reliability=False).fit(pairs).workers_
    assert np.isnan(table["reliability"].to_numpy()).all()
    assert not np.isnan(table["agreement"].to_numpy()).any()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_come_back_in_the_callers_kind(kind):
    library = pytest.importorskip(kind)
    columns = {"left": list("abcab") * 4, "right": list("bcacc") * 4, "winner": list("abaac") * 4, "worker": list("uvwx") * 5}
    columns["length"] = np.random.default_rng(0).normal(size=20)
    model = BradleyTerry().fit(library.DataFrame(columns), style=["length"])
    for table, declared in (
        (model.ranking_, RANKING), (model.workers_, RANKED_WORKERS), (model.style_, STYLES), (model.next_pairs(2), NEXT_PAIRS)
    ):  # fmt: skip
        assert isinstance(table, library.DataFrame)
        assert list(table.columns) == [column.name for column in declared.columns]


def test_the_matrix_of_wins_agrees_with_predictions(model, pairs):
    matrix = model.win_matrix()
    best, worst = (model.ranking_["item"][n].as_py() for n in (0, 4))
    table = pa.table({"left": [best, worst], "right": [worst, best], "winner": ["left", "left"]})
    win = model.predict_proba(table)
    both_sides = (win[0, 0] + win[1, 1]) / 2 + (win[0, 2] + win[1, 2]) / 4
    assert matrix[0, 4] == pytest.approx(both_sides, abs=0.01)
    np.testing.assert_allclose(np.diag(matrix), 0.5)


def test_rankings_by_group_are_those_of_the_groups_alone(pairs):
    group = np.where(pairs.left % 2 == 0, 0, 1)
    group[:5] = 2  # too few for a ranking of their own
    grouped = dataclasses.replace(pairs, group=group, groups=pa.array(["even", "odd", "few"]))
    model = BradleyTerry().fit(grouped)
    rankings = dict(rankings_by_group(model))
    assert list(rankings) == ["even", "odd"]
    alone = BradleyTerry().fit(dataclasses.replace(pairs.only(group == 0), group=None))
    found = {row["item"]: row["score"] for row in rankings["even"].to_pylist()}
    for row in alone.ranking_.to_pylist():
        assert found[row["item"]] == pytest.approx(row["score"], abs=1e-6)
    assert model.notes_[-1] == "The group 'few' has only 5 comparisons, so no ranking of its own."


def test_groups_that_saw_some_items_only_rank_these():
    left, right = ["a", "b", "c", "d"] * 15, ["b", "a", "d", "c"] * 15
    table = pa.table(
        {"left": left, "right": right, "winner": ["left", "left", "right", "left"] * 15, "kind": ["x", "x", "y", "y"] * 15}
    )
    rankings = dict(rankings_by_group(BradleyTerry().fit(table, group_column="kind")))
    assert {name: sorted(one["item"].to_pylist()) for name, one in rankings.items()} == {"x": ["a", "b"], "y": ["c", "d"]}


def test_the_view_has_every_table_that_was_asked_for(pairs):
    style = np.random.default_rng(1).normal(size=(pairs.n_pairs, 1))
    full = dataclasses.replace(
        pairs, group=pairs.left % 2, groups=pa.array(["x", "y"]), style=style, styles=("length",)
    )  # fmt: skip
    view = RankingView(BradleyTerry().fit(full), n_next=3)
    assert list(view.tables) == ["ranking", "workers", "wins", "groups", "style", "next"]
    assert view.tables["groups"].column_names[0] == "group_name"
    assert len(view.tables["next"]) == 3
    assert list(RankingView(BradleyTerry().fit(pairs)).tables) == ["ranking", "workers", "wins"]
    reliability = view.least_reliable["reliability"].to_numpy()
    assert (np.diff(reliability) >= 0).all()
    figures = view.figures()
    assert figures["n_parts"] == 1
    best = view.ranking["item"][0].as_py()
    assert figures[f"{best}.rank"] == 1


def test_the_page_shows_what_the_tables_say(pairs):
    view = RankingView(BradleyTerry().fit(pairs), n_next=2)
    page = view.page(None)
    sections = {section.id: section for section in page.sections}
    assert list(sections) == ["ranking", "matrix", "workers", "next"]
    assert [row[0] for row in sections["ranking"].rows] == view.ranking["item"].to_pylist()
    assert len(sections["next"].rows) == 2
    assert set(page.charts) == {"ranking", "matrix"}


@pytest.mark.parametrize("count", [0, -1])
def test_next_pairs_need_a_number(model, count):
    with pytest.raises(ParameterError, match="at least 1"):
        model.next_pairs(count)


def test_next_pairs_are_those_in_doubt_and_a_comparison_makes_them_less_so(pairs):
    model = BradleyTerry().fit(pairs)
    rows = model.next_pairs(10).to_pylist()
    assert [row["worth"] for row in rows] == sorted((row["worth"] for row in rows), reverse=True)
    assert all(0 <= row["order_may_be_wrong"] <= 0.5 for row in rows)
    names = pairs.items.to_pylist()
    one, two = (names.index(rows[0][side]) for side in ("left", "right"))
    extra = 400
    asked = dataclasses.replace(
        pairs,
        left=np.concatenate([pairs.left, np.full(extra, one)]),
        right=np.concatenate([pairs.right, np.full(extra, two)]),
        outcome=np.concatenate([pairs.outcome, (np.arange(extra) % 4 == 0).astype(np.int64)]),
        worker=np.concatenate([pairs.worker, np.arange(extra) % 8]),
        style=np.zeros((pairs.n_pairs + extra, 0)),
    )
    again = {frozenset((row["left"], row["right"])): row for row in BradleyTerry().fit(asked).next_pairs(10).to_pylist()}
    assert again[frozenset((rows[0]["left"], rows[0]["right"]))]["order_may_be_wrong"] < 0.01
