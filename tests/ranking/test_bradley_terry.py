"""Rankings: against choix and evalica, derivatives, coverage, one-sided judges, and what is said of bad comparisons."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.errors import DataError, ParameterError
from crowdassay.ranking.likelihood import PairsLikelihood, make_rows
from crowdassay.ranking.pairs import Pairs
from support.comparisons import draw_pairs


def plain(**settings):
    return BradleyTerry(**({"prior": None, "reliability": False, "position": False, "intervals": "model"} | settings))


def test_scores_equal_choix():
    choix = pytest.importorskip("choix")
    pairs, _ = draw_pairs(np.random.default_rng(0), n=300, tie=-50)
    wins = [
        (left, right) if won == 0 else (right, left)
        for left, right, won in zip(pairs.left, pairs.right, pairs.outcome, strict=True)
    ]
    found = plain().fit(pairs).scores_
    expected = choix.opt_pairwise(pairs.n_items, wins, alpha=0.0, tol=1e-10)
    np.testing.assert_allclose(found, expected - expected.mean(), atol=1e-4)
    np.testing.assert_allclose(found, choix.ilsr_pairwise(pairs.n_items, wins, alpha=0.0), atol=1e-4)
    # choix' ridge alpha / 2 |s|^2 ... is a population of standard deviation 1 / sqrt(2 alpha).
    shrunk = plain(prior=1 / np.sqrt(2 * 5.0)).fit(pairs).scores_
    expected = choix.opt_pairwise(pairs.n_items, wins, alpha=5.0, tol=1e-10)
    np.testing.assert_allclose(shrunk, expected - expected.mean(), atol=1e-4)


def test_scores_with_ties_as_half_wins_equal_evalica():
    evalica = pytest.importorskip("evalica")
    pairs, _ = draw_pairs(np.random.default_rng(1))
    names = pairs.items.to_pylist()
    winner = [(evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw)[outcome] for outcome in pairs.outcome]
    expected = evalica.bradley_terry([names[i] for i in pairs.left], [names[i] for i in pairs.right], winner, tolerance=1e-10)
    expected = np.log(expected.scores.loc[names].to_numpy())
    np.testing.assert_allclose(plain(ties="half").fit(pairs).scores_, expected - expected.mean(), atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper", "half"])
def test_derivatives_and_probabilities(ties):
    pairs, _ = draw_pairs(np.random.default_rng(2), n=300)
    rows = make_rows(pairs, ties=ties, by_worker=False)
    problem = PairsLikelihood(rows, ties=ties, position=True)
    point = problem.initial_point() + 0.3 * np.random.default_rng(3).normal(size=problem.size)
    variances = {"scores": 1.0, "reliability": 0.1, "bias": 0.1}
    _, gradient, matrix = problem.evaluate(point, variances)
    for k in range(problem.size - (ties == "half")):
        shift = np.zeros(problem.size)
        shift[k] = 1e-5
        up, down = problem.evaluate(point + shift, variances), problem.evaluate(point - shift, variances)
        assert (up[0] - down[0]) / 2e-5 == pytest.approx(gradient[k], abs=1e-3)
        np.testing.assert_allclose(-(up[1] - down[1]) / 2e-5, matrix[k], atol=1e-3)
    chances = BradleyTerry(ties=ties).fit(pairs).predict_proba(pairs)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-9)
    shares = np.bincount(pairs.outcome, minlength=3) / pairs.n_pairs
    if ties != "half":
        np.testing.assert_allclose(chances.mean(axis=0), shares, atol=0.05)


def test_profiled_gradient_with_workers():
    pairs, _ = draw_pairs(np.random.default_rng(4), n=400, workers=8)
    problem = PairsLikelihood(make_rows(pairs, ties="davidson", by_worker=True), ties="davidson", position=True)
    variances = {"scores": 1.0, "reliability": 0.2, "bias": 0.2}
    point = problem.initial_point() + 0.3 * np.random.default_rng(5).normal(size=problem.size)
    _, gradient, _ = problem.evaluate(point, variances)
    for k in range(problem.size):
        shift = np.zeros(problem.size)
        shift[k] = 1e-4
        up, down = problem.evaluate(point + shift, variances), problem.evaluate(point - shift, variances)
        assert (up[0] - down[0]) / 2e-4 == pytest.approx(gradient[k], abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(("intervals", "reliability"), [("sandwich", True), ("sandwich", False), ("model", False)])
def test_intervals_cover(intervals, reliability):
    """Of 320 intervals and more; the standard deviation of the share is 0.012: intervals twice as wide would show."""
    rng, hits = np.random.default_rng(6), []
    for _ in range(40 if reliability else 80):
        pairs, score = draw_pairs(rng, n=400, items=8, workers=40, reliability=0.0, bias=0.0)
        model = BradleyTerry(intervals=intervals, reliability=reliability).fit(pairs)
        error = np.sqrt(np.diag(model._covariance))
        hits += list(np.abs(model.scores_ - score) < 1.96 * error)
    assert 0.90 < np.mean(hits) < 0.985


def test_profiled_curvature_is_exact_near_the_mode():
    pairs, _ = draw_pairs(np.random.default_rng(16), n=600, workers=6)
    problem = PairsLikelihood(make_rows(pairs, ties="davidson", by_worker=True), ties="davidson", position=True)
    variances = {"scores": 1.0, "reliability": 0.3, "bias": 0.3}
    point = problem.initial_point() + 0.3 * np.random.default_rng(5).normal(size=problem.size)

    def gradient_at(where):
        for _ in range(4):
            found = problem.evaluate(where, variances, near=True)
        return found

    problem.evaluate(point, variances)
    matrix = gradient_at(point)[2]
    for k in range(problem.size):
        shift = np.zeros(problem.size)
        shift[k] = 1e-4
        slope = -(gradient_at(point + shift)[1] - gradient_at(point - shift)[1]) / 2e-4
        np.testing.assert_allclose(slope, matrix[k], atol=2e-3 * np.abs(matrix).max())


def test_many_comparisons_converge_although_some_workers_do_not_look(monkeypatch):
    """Workers who answer at random have no reliability at all; the scale is that of the average worker all the same."""
    monkeypatch.setattr("crowdassay.ranking.fit.TRIED_UP_TO", 0)  # as with more than 100,000 comparisons
    pairs, score = draw_pairs(
        np.random.default_rng(17), n=8000, items=12, workers=40, tie=-50, position=0.0, reliability=0, bias=0
    )
    lost = pairs.worker < 6
    outcome = np.where(lost, np.random.default_rng(0).integers(2, size=pairs.n_pairs), pairs.outcome)
    model = BradleyTerry().fit(dataclasses.replace(pairs, outcome=outcome))
    assert model.converged_
    assert model.n_iter_ < 60
    reliability = np.array([row["reliability"] for row in model.workers_.to_pylist()])
    assert abs(np.log(reliability).mean()) < 1e-3
    assert reliability[:6].max() < reliability[6:].min()
    assert np.corrcoef(model.scores_, score)[0, 1] > 0.99


def test_bootstrap_and_sandwich_agree():
    pairs, _ = draw_pairs(np.random.default_rng(7), n=3000, workers=80)
    errors = {
        name: BradleyTerry(intervals=name, resamples=60).fit(pairs).ranking_["standard_error"].to_numpy()
        for name in ("sandwich", "bootstrap", "model")
    }
    assert 0.75 < np.median(errors["bootstrap"] / errors["sandwich"]) < 1.3
    assert 0.75 < np.median(errors["sandwich"] / errors["model"]) < 1.3


def test_one_sided_judges_do_not_take_over():
    rng = np.random.default_rng(8)
    pairs, score = draw_pairs(rng, n=1500, workers=15, position=0.0, bias=0.0, reliability=0.0)
    # Five judges who always say left, each with as many comparisons, and the worst item is always on their left.
    worst, extra = int(np.argmin(score)), 500
    left = np.concatenate([pairs.left, np.full(extra, worst)])
    others = np.array([i for i in range(pairs.n_items) if i != worst])
    right = np.concatenate([pairs.right, others[rng.integers(len(others), size=extra)]])
    outcome = np.concatenate([pairs.outcome, np.zeros(extra, np.int64)])
    worker = np.concatenate([pairs.worker, 15 + rng.integers(5, size=extra)])
    names = pa.array([f"w{i:03d}" for i in range(20)])
    spoiled = Pairs(left, right, outcome, worker, pairs.items, names, np.zeros((len(left), 0)))
    fair, naive = BradleyTerry().fit(spoiled), BradleyTerry(reliability=False).fit(spoiled)
    assert np.abs(fair.scores_ - score).max() < 0.6 * np.abs(naive.scores_ - score).max()
    bias = {row["worker"]: row["left_bias"] for row in fair.workers_.to_pylist()}
    assert min(bias[f"w{i:03d}"] for i in range(15, 20)) > max(bias[f"w{i:03d}"] for i in range(15))


def test_swapping_sides_and_rows_changes_nothing_but_the_side():
    pairs, _ = draw_pairs(np.random.default_rng(9))
    order = np.random.default_rng(0).permutation(pairs.n_pairs)
    flip = np.array([1, 0, 2])
    turned = Pairs(
        pairs.right[order],
        pairs.left[order],
        flip[pairs.outcome[order]],
        pairs.worker[order],
        pairs.items,
        pairs.workers,
        pairs.style,
    )
    one, two = BradleyTerry().fit(pairs), BradleyTerry().fit(turned)
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-5)
    assert one.position_bias_ == pytest.approx(-two.position_bias_, abs=1e-5)


def test_style_is_allowed_for():
    rng = np.random.default_rng(10)
    score, n = np.array([0.5, 0.0, -0.5]), 4000
    left = rng.integers(3, size=n)
    right = (left + rng.integers(1, 3, size=n)) % 3
    length = np.array([0.0, 0.0, 2.0])  # the worst talks most
    gap = length[left] - length[right] + rng.normal(size=n)
    won = rng.random(n) < 1 / (1 + np.exp(-(score[left] - score[right] + 0.8 * gap)))
    names = np.array(["good", "fair", "poor"])
    table = pa.table({"left": names[left], "right": names[right], "winner": np.where(won, "left", "right"), "length": gap})
    model = BradleyTerry().fit(table, style=["length"])
    assert model.ranking_["item"].to_pylist() == ["good", "fair", "poor"]
    assert BradleyTerry().fit(table).ranking_["item"].to_pylist()[0] == "poor"
    effect = model.style_.to_pylist()[0]
    assert effect["effect"] / gap.std() == pytest.approx(0.8, abs=4 * effect["standard_error"])


def test_items_that_cannot_be_told_apart_share_a_letter():
    rng = np.random.default_rng(11)
    pairs, _ = draw_pairs(rng, n=60, items=4)
    table = BradleyTerry().fit(pairs).ranking_.to_pylist()
    for row in table:
        assert row["best_rank"] <= row["rank"] <= row["worst_rank"]
    big, score = draw_pairs(rng, n=60_000, items=4)
    table = BradleyTerry().fit(big).ranking_.to_pylist()
    assert [row["group"] for row in table] == ["a", "b", "c", "d"]
    assert [row["item"] for row in table] == [f"m{i:03d}" for i in np.argsort(-score)]


def test_next_pairs_are_near_each_other_and_named_once():
    pairs, score = draw_pairs(np.random.default_rng(12), n=1500, items=8)
    rows = BradleyTerry().fit(pairs).next_pairs(6).to_pylist()
    named = {frozenset((row["left"], row["right"])) for row in rows}
    assert len(named) == 6
    place = {f"m{i:03d}": value for i, value in enumerate(score)}
    assert abs(place[rows[0]["left"]] - place[rows[0]["right"]]) < np.ptp(score) / 2
    assert len(BradleyTerry().fit(pairs).next_pairs(100).to_pylist()) == 28


def test_parts_that_never_met_are_said_and_maximum_likelihood_refuses():
    table = pa.table(
        {"left": list("abab") + list("cdcd"), "right": list("baba") + list("dcdc"), "winner": list("aabb") + list("ccdd")}
    )
    model = BradleyTerry().fit(table)
    assert "2 parts of 2, 2 items" in " ".join(model.notes_)
    assert len(set(model.ranking_["part"].to_pylist())) == 2
    with pytest.raises(DataError, match="Without a prior some scores are infinite"):
        plain().fit(table)
    with pytest.raises(DataError, match="always won"):
        plain().fit(pa.table({"left": ["x", "x", "y"], "right": ["y", "z", "z"], "winner": ["x", "x", "y"]}))


def test_many_items_are_ranked_without_the_whole_matrix():
    rng = np.random.default_rng(13)
    items, n = 3200, 60_000
    score = rng.normal(size=items)
    left = rng.integers(items, size=n)
    right = (left + rng.integers(1, items, size=n)) % items
    outcome = (rng.random(n) > 1 / (1 + np.exp(score[right] - score[left]))).astype(np.int64)
    names = pa.array([f"i{i:05d}" for i in range(items)])
    model = BradleyTerry().fit(Pairs(left, right, outcome, np.full(n, -1), names, pa.array([], pa.string()), np.zeros((n, 0))))
    assert np.corrcoef(model.scores_, score)[0, 1] > 0.9
    table = model.ranking_
    inside = np.abs(model.scores_ - score) < 1.96 * np.sqrt(model._covariance)
    assert 0.88 < inside.mean() < 0.98
    assert table["group"][0].as_py() == ""
    assert "3,200 items" in " ".join(model.notes_)


@pytest.mark.parametrize("settings", [{"ties": "x"}, {"intervals": "x"}, {"prior": "x"}, {"prior": 0.0}, {"confidence": 1.0}])
def test_bad_settings_are_refused(settings):
    pairs, _ = draw_pairs(np.random.default_rng(14), n=50)
    with pytest.raises(ParameterError):
        BradleyTerry(**settings).fit(pairs)


def test_unknown_items_cannot_be_predicted():
    pairs, _ = draw_pairs(np.random.default_rng(15), n=100)
    with pytest.raises(DataError, match="does not know 'zz'"):
        BradleyTerry().fit(pairs).predict_proba(pa.table({"left": ["zz"], "right": ["m001"], "winner": ["left"]}))


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
@pytest.mark.parametrize("said", ["tie", "left"])
def test_one_answer_for_all_stays_finite(said, ties):
    """Nothing but ties, or but the left side: the propensity has no finite maximum, and the items cannot be told apart."""
    table = pa.table(
        {"left": list("abca") * 6, "right": list("bcab") * 6, "winner": [said] * 24, "worker": [f"w{n % 4}" for n in range(24)]}
    )
    model = BradleyTerry(ties=ties).fit(table)
    assert model.converged_
    assert np.isfinite(model.ranking_["standard_error"].to_numpy()).all()
    assert set(model.ranking_["group"].to_pylist()) == {"a"}
    assert abs(model.position_bias_) < 15
