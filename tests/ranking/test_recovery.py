"""What was put into simulated comparisons comes out: ties, the side, reliability, bias, and intervals that cover."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.errors import DataError
from support.comparisons import draw_pairs, draw_with_workers


@pytest.mark.parametrize("tie", [-1.5, -0.3, 0.8])
def test_the_propensity_of_ties_is_found(tie):
    pairs, _ = draw_pairs(np.random.default_rng(1), n=8000, tie=tie, reliability=0.0, bias=0.0)
    model = BradleyTerry(reliability=False).fit(pairs)
    assert np.log(model.tie_) == pytest.approx(tie, abs=0.1)
    shares = np.bincount(pairs.outcome, minlength=3) / pairs.n_pairs
    np.testing.assert_allclose(model.predict_proba(pairs).mean(axis=0), shares, atol=0.005)


@pytest.mark.parametrize("threshold", [0.3, 1.0])
def test_the_threshold_of_rao_and_kupper_is_found(threshold):
    pairs, score, _, _ = draw_with_workers(np.random.default_rng(2), 8000, 6, 5, threshold, 0.0, 0.0, 0.0, rao_kupper=True)
    model = BradleyTerry(ties="rao-kupper", reliability=False).fit(pairs)
    assert model.tie_ == pytest.approx(threshold, abs=0.05)
    assert np.abs(model.scores_ - score).max() < 0.2


def test_without_ties_the_models_of_ties_agree():
    pairs, _ = draw_pairs(np.random.default_rng(3), tie=-60)
    scores = [BradleyTerry(ties=ties, reliability=False).fit(pairs).scores_ for ties in ("davidson", "half")]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)
    assert BradleyTerry(reliability=False).fit(pairs).tie_ == 0.0


def test_ties_as_half_wins_lie_between_winning_and_losing():
    rows = {"left": ["a"] * 20, "right": ["b"] * 20}
    scores = {}
    for word in ("left", "tie", "right"):
        table = pa.table({**rows, "winner": ["left"] * 8 + ["right"] * 8 + [word] * 4})
        scores[word] = BradleyTerry(ties="half", position=False, prior=1.0).fit(table).scores_[0]
    assert scores["right"] < scores["tie"] < scores["left"]
    assert scores["tie"] == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("position", [-0.8, 0.0, 0.5])
def test_the_advantage_of_a_side_is_found_and_told(position):
    pairs, score = draw_pairs(np.random.default_rng(4), n=8000, position=position, reliability=0.0, bias=0.0)
    model = BradleyTerry(reliability=False).fit(pairs)
    assert model.position_bias_ == pytest.approx(position, abs=0.1)
    assert np.abs(model.scores_ - score).max() < 0.15
    told = [note for note in model.notes_ if "side is favoured" in note]
    assert bool(told) == (abs(position) > 0.3)
    if told:
        assert ("left" if position > 0 else "right") in told[0]


def test_ignoring_the_side_misleads_where_items_stand_on_one():
    rng = np.random.default_rng(5)
    n, score = 4000, np.array([0.3, 0.0, -0.3])
    left = rng.choice(3, size=n, p=[0.1, 0.1, 0.8])  # the worst stands on the left
    right = (left + rng.integers(1, 3, size=n)) % 3
    won = rng.random(n) < 1 / (1 + np.exp(score[right] - score[left] - 1.0))
    names = np.array(["good", "fair", "poor"])
    table = pa.table({"left": names[left], "right": names[right], "winner": np.where(won, "left", "right")})
    assert BradleyTerry().fit(table).ranking_["item"].to_pylist() == ["good", "fair", "poor"]
    assert BradleyTerry(position=False).fit(table).ranking_["item"].to_pylist()[0] == "poor"


def test_reliability_and_bias_of_workers_are_found():
    pairs, score, rho, side = draw_with_workers(np.random.default_rng(6), 12_000, 8, 40, -1.0, 0.0, 0.6, 0.8)
    model = BradleyTerry().fit(pairs)
    table = model.workers_
    found = np.log(table["reliability"].to_numpy()), table["left_bias"].to_numpy()
    assert np.corrcoef(found[0], rho)[0, 1] > 0.85
    assert np.corrcoef(found[1], side)[0, 1] > 0.9
    assert model.spread_["reliability"] == pytest.approx(0.6, abs=0.2)
    assert model.spread_["bias"] == pytest.approx(0.8, abs=0.2)
    assert np.corrcoef(model.scores_, score)[0, 1] > 0.99
    inside = np.abs(found[1] - (side - side.mean())) < 2.5 * table["left_bias_error"].to_numpy()
    assert inside.mean() > 0.8


def test_workers_who_differ_in_nothing_are_found_alike():
    pairs, _ = draw_pairs(np.random.default_rng(7), n=8000, workers=30, reliability=0.0, bias=0.0)
    model = BradleyTerry().fit(pairs)
    reliability = model.workers_["reliability"].to_numpy()
    assert np.abs(np.log(reliability)).max() < 0.4
    assert model.spread_["bias"] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("intervals", ["sandwich", "model", "bootstrap"])
def test_intervals_of_scores_cover(intervals):
    """Between 240 and 480 intervals of 95%: the standard deviation of the share is at most 0.014."""
    rng, hits = np.random.default_rng(8), []
    for _ in range(40 if intervals == "bootstrap" else 80):
        pairs, score = draw_pairs(rng, n=300, items=6, workers=35, reliability=0.0, bias=0.0)
        table = BradleyTerry(intervals=intervals, reliability=False, resamples=30).fit(pairs).ranking_
        rows = {row["item"]: row for row in table.to_pylist()}
        hits += [rows[f"m{i:03d}"]["low"] < value < rows[f"m{i:03d}"]["high"] for i, value in enumerate(score)]
    assert 0.90 < np.mean(hits) < 0.99


def test_sandwiches_by_worker_are_wider_where_workers_agree_with_themselves():
    """Every worker answers each question ten times alike: the comparisons are fewer than they look."""
    pairs, _ = draw_pairs(np.random.default_rng(9), n=400, workers=60, reliability=0.0, bias=0.0)
    again = {name: np.tile(getattr(pairs, name), 10) for name in ("left", "right", "outcome", "worker")}
    repeated = dataclasses.replace(pairs, **again, style=np.zeros((10 * pairs.n_pairs, 0)))
    error = {
        name: np.median(BradleyTerry(intervals=name, reliability=False).fit(repeated).ranking_["standard_error"].to_numpy())
        for name in ("sandwich", "model")
    }
    once = np.median(BradleyTerry(intervals="model", reliability=False).fit(pairs).ranking_["standard_error"].to_numpy())
    assert error["sandwich"] > 2 * error["model"]
    assert error["sandwich"] == pytest.approx(once, rel=0.35)


def test_the_prior_shrinks_and_the_estimated_one_finds_the_spread():
    pairs, score = draw_pairs(np.random.default_rng(10), n=6000, items=30, workers=3, reliability=0.0, bias=0.0)
    spread = [np.std(BradleyTerry(prior=prior, reliability=False).fit(pairs).scores_) for prior in (0.05, 0.5, 5.0)]
    assert spread[0] < spread[1] < spread[2]
    model = BradleyTerry(reliability=False).fit(pairs)
    assert model.spread_["scores"] == pytest.approx(score.std(), rel=0.2)


def disconnected():
    one, _ = draw_pairs(np.random.default_rng(11), n=400, items=3, workers=6)
    two, _ = draw_pairs(np.random.default_rng(12), n=200, items=2, workers=6)
    return dataclasses.replace(
        one,
        left=np.concatenate([one.left, two.left + 3]),
        right=np.concatenate([one.right, two.right + 3]),
        outcome=np.concatenate([one.outcome, two.outcome]),
        worker=np.concatenate([one.worker, two.worker]),
        items=pa.array([f"m{i:03d}" for i in range(5)]),
        style=np.zeros((600, 0)),
    )


def test_parts_that_were_never_compared_are_told_the_largest_first():
    model = BradleyTerry().fit(disconnected())
    part = dict(zip(model.ranking_["item"].to_pylist(), model.ranking_["part"].to_pylist(), strict=True))
    assert part == {"m000": 0, "m001": 0, "m002": 0, "m003": 1, "m004": 1}
    assert "2 parts of 3, 2 items" in " ".join(model.notes_)


def test_within_a_part_scores_are_those_of_the_part_alone():
    """With a fixed population nothing of one part reaches the other, but for where zero is."""
    whole = disconnected()
    settings = {"reliability": False, "prior": 1.0, "position": False}
    together = BradleyTerry(**settings).fit(whole)
    alone = BradleyTerry(**settings).fit(
        dataclasses.replace(whole.only(whole.left < 3), items=whole.items.slice(0, 3))
    )  # fmt: skip
    np.testing.assert_allclose(np.diff(together.scores_[:3]), np.diff(alone.scores_), atol=0.1)


def test_without_a_prior_parts_are_refused():
    with pytest.raises(DataError, match="never met"):
        BradleyTerry(prior=None).fit(disconnected())


def test_comparisons_that_name_no_worker_are_an_average_workers_and_the_fit_ends():
    """Their reliability is one, so that the scale of the scores is known: shifting it never ended."""
    pairs, score = draw_pairs(np.random.default_rng(3), n=1500, workers=12, reliability=0.4, bias=0.3)
    nobody = np.random.default_rng(3).random(pairs.n_pairs) < 0.4
    model = BradleyTerry().fit(dataclasses.replace(pairs, worker=np.where(nobody, -1, pairs.worker)))
    assert model.converged_
    assert model.n_iter_ < 20
    centred = np.asarray(score) - np.mean(score)
    assert np.corrcoef(model.scores_, centred)[0, 1] > 0.98
    assert 0.8 < model.scores_ @ centred / (centred @ centred) < 1.25
