"""When to stop, and what to expect of more labels or of a new job."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, simulate
from crowdassay.errors import ParameterError
from crowdassay.planning.assign import assign
from crowdassay.planning.gain import LABELS_AHEAD, error_curve, labels_needed, look_further
from crowdassay.planning.plan import assess, curve_records, items_table
from crowdassay.planning.sizing import COVERED, kinds, size_job
from crowdassay.planning.state import State
from crowdassay.planning.stop import Law, forecast_law, limit_of, population, shipped_law

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
POLICIES = runpy.run_path(str(BENCHMARKS / "policies.py"))


def records(generator, groups=40, spread=0.5):
    for group in range(groups):
        shift = generator.normal(0, spread)
        for _ in range(4):
            estimated = generator.uniform(0.03, 0.3)
            error = 1 / (1 + np.exp(-(np.log(estimated / (1 - estimated)) + 0.3 + shift)))
            yield {"group": group, "estimated": estimated, "error": generator.binomial(2000, error) / 2000, "items": 2000}


def test_the_limit_holds_on_groups_it_was_not_learned_from():
    fit_law = runpy.run_path(str(BENCHMARKS / "law.py"))["fit_law"]
    law = fit_law(list(records(np.random.default_rng(0))))
    held = [row["error"] <= limit_of(row["estimated"], law).high for row in records(np.random.default_rng(1), 200)]
    assert np.mean(held) > 0.93


def test_known_items_narrow_the_limit_and_correct_the_estimate():
    law = Law(0.8, 40.0, 42)
    highs = [limit_of(0.1, law, wrong=known // 10, known=known).high for known in (0, 20, 100, 2000)]
    assert highs == sorted(highs, reverse=True)
    assert highs[-1] < 0.12
    assert limit_of(0.05, law, wrong=60, known=200).error == pytest.approx(0.3, abs=0.05)
    assert limit_of(0.0, law).high > 0  # nothing is certain


def test_the_shipped_limit_held_on_real_data():
    cover = population()["limit"]["coverage"]
    for held in (cover["held_of_replays"], cover["held_by_known"]):
        assert min(share for known, share in held.items() if known != "hardest") >= 0.95
        assert 0.9 <= held["hardest"] < 0.95  # where only the hardest are known it is no promise, and a note says so
    assert min(share for known, share in cover["inside_by_known"].items() if known != "hardest") >= 0.9
    assert population()["sizing"]["coverage"]["held"] >= COVERED
    assert shipped_law().groups >= 35
    low, high = population()["forecast"]["overlap_without_a_group"]
    assert low <= forecast_law().overlap <= high


def test_the_curve_falls_and_says_what_a_target_needs():
    labels, _ = simulate(np.random.default_rng(2), n_items=200, n_workers=20, skill=2, labels_per_item=3)
    state = State.of(Assay().fit(labels).result_)
    curve = error_curve(state)
    assert (np.diff(curve.error) <= 0).all()
    assert curve.error[0] == pytest.approx(1 - state.probability.mean(), abs=1e-9)
    half = curve.labels_for((curve.error[0] + curve.error[-1]) / 2)
    assert 0 < half < curve.labels[-1]
    assert curve.labels_for(0.0) is None
    again = error_curve(state)
    assert np.array_equal(curve.error, again.error)


def test_more_labels_make_surer_unless_workers_guess():
    labels, _ = simulate(np.random.default_rng(2), n_items=30, n_workers=20, skill=2, labels_per_item=1)
    state = State.of(Assay().fit(labels).result_)
    items = np.arange(30)
    sure = look_further(state, items)
    assert (sure[:, -1] - sure[:, 0]).mean() > 0.01
    guessing = replace(state, crowd=np.full((2, 2), 0.5))
    flat = look_further(guessing, items)
    assert np.allclose(flat, flat[:, :1])
    assert set(labels_needed(guessing, items)) <= {LABELS_AHEAD + 1, 0}


def test_labels_needed_are_the_first_that_settle():
    labels, _ = simulate(np.random.default_rng(2), n_items=200, n_workers=20, skill=2, labels_per_item=2)
    state = replace(State.of(Assay().fit(labels).result_), settled=0.8)
    enough = look_further(state, np.arange(200)) >= state.settled
    first = np.where(enough.any(axis=1), enough.argmax(axis=1), LABELS_AHEAD + 1)
    assert labels_needed(state, np.arange(200)).tolist() == first.tolist()
    assert len(set(first)) > 3


def test_known_items_are_checked_by_a_fit_that_was_not_told():
    labels, truth = simulate(np.random.default_rng(4), n_items=200, n_workers=20, skill=1.0, labels_per_item=3)
    gold = np.full(200, -1)
    gold[:80] = truth[:80]
    result = Assay().fit(labels.with_gold(gold)).result_
    error = result.insight.error
    found = assess(State.of(result), error)
    assert found.limit.known == 80
    dealt = np.random.default_rng(0).permutation(80)
    wrong = 0
    for part in (dealt[first::5] for first in range(5)):  # each item is judged by a fit that was not told its class
        fewer = gold.copy()
        fewer[part] = -1
        wrong += int((Assay().fit(labels.with_gold(fewer)).result_.code[part] != truth[part]).sum())
    assert 0 < found.limit.wrong == wrong < 40
    assert not found.notes
    other = MajorityVote().fit(labels.with_gold(gold)).result_.insight
    assert other.error is None
    assert "the default gives one" in other.why_no_error
    rows = curve_records(found, cost=0.05)
    assert rows[0]["spend"] == 0
    assert all(row["high"] >= row["error"] for row in rows)


def test_where_all_classes_are_known_it_still_says_how_many_were_labelled_wrong():
    labels, truth = simulate(np.random.default_rng(4), n_items=60, n_workers=20, skill=1.0, labels_per_item=3)
    result = Assay().fit(labels.with_gold(truth)).result_
    limit = result.insight.error
    assert (limit.error, limit.high, limit.known) == (0.0, 0.0, 60)
    assert limit.wrong > 0


def test_it_says_when_only_hard_items_are_known():
    labels, truth = simulate(np.random.default_rng(4), n_items=150, n_workers=20, skill=1.5, labels_per_item=4)
    blind = Assay().fit(labels).result_
    order = np.argsort(blind.probability)
    for chosen, said in ((order[:20], True), (order[::8], False)):
        gold = np.full(150, -1)
        gold[chosen] = truth[chosen]
        result = Assay().fit(labels.with_gold(gold)).result_
        notes = assess(State.of(result), result.insight.error).notes
        assert any("at random" in note for note in notes) == said


def test_every_item_gets_a_decision():
    labels, _ = simulate(np.random.default_rng(4), n_items=100, n_workers=20, skill=1.5, labels_per_item=3)
    state = State.of(DawidSkene(prior="estimated", smoothing=0.5).fit(labels).result_)
    made = assign(state, 20)
    table = items_table(state, made).to_pylist()
    assert {row["decision"] for row in table} == {"stop", "label", "wait"}
    assert sum(row["decision"] == "label" for row in table) == 20
    assert all(row["probability"] >= 0.95 for row in table if row["decision"] == "stop")


def test_sizing_answers_for_every_kind():
    for kind in [None, *kinds()]:
        found = size_job(10_000, 3, like=kind)
        errors = [row.error for row in found.rows]
        assert errors == sorted(errors, reverse=True)
        assert all(0 < row.error_low < row.error < row.error_high < 2 / 3 for row in found.rows)
        assert found.advised in found.rows
        highs = [high for _, high in found.known]
        assert highs == sorted(highs, reverse=True)
    loose, tight = (size_job(100, 2, target_error=target).advised for target in (0.4, 0.0001))
    assert loose.labels_per_item == 1
    assert tight is None


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((0, 2, {}), "--items"), ((10, 1, {}), "--classes"), ((10, 2, {"like": "no"}), "relevance"),
     ((10, 2, {"cost": -1}), "cost"), ((10, 2, {"target_error": 5}), "--target-error")],
)  # fmt: skip
def test_sizes_that_make_no_sense_are_refused(arguments, word):
    n_items, n_classes, more = arguments
    with pytest.raises(ParameterError) as error:
        size_job(n_items, n_classes, **more)
    assert word in error.value.message


def test_opt_kg_prefers_ties_to_settled_items():
    scores = POLICIES["optimistic_gradient"](np.array([[0, 0], [1, 1], [1, 0], [5, 0], [5, 5]]))
    assert scores.argmax() == 0
    assert scores[1] > scores[4] > scores[3]
    assert POLICIES["optimistic_gradient"](np.array([[0, 0]]))[0] == pytest.approx(0.25)  # from 1/2 to 3/4


def test_activelab_doubts_split_votes():
    item = np.array([0, 0, 0, 1, 1, 1])
    worker, label = np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 0])
    scores = POLICIES["activelab"](item, worker, label, (3, 3, 2))
    assert scores[1] > scores[0]
    assert scores[2] == pytest.approx(0.5)  # no label at all: one over the number of classes
    assert POLICIES["uncertainty"](np.array([[0.9, 0.1], [0.5, 0.5]])).argmax() == 1
    assert POLICIES["uniform"](np.array([3, 1])).argmax() == 1
