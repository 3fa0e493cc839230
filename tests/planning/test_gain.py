"""What one more label gains."""

from dataclasses import replace

import numpy as np
import pytest

from crowdassay import DawidSkene, Labels, MajorityVote, simulate
from crowdassay.models.assay.dependence import Dependence
from crowdassay.planning.gain import expert_gain, fall_of_error, fall_of_variance, label_gain, next_items, worth_of
from crowdassay.planning.state import State
from crowdassay.results.saved.update import update


@pytest.fixture(scope="module")
def state():
    labels, _ = simulate(np.random.default_rng(1), n_items=120, n_workers=12, n_classes=3, labels_per_item=4)
    return State.of(MajorityVote().fit(labels).result_)


def test_the_expected_fall_is_what_normal_log_odds_bring():
    """By simulation: log-odds move by a normal with mean d and variance 2 d towards the truth."""
    generator = np.random.default_rng(0)
    for q, apart in ((0.7, 0.5), (0.9, 2.0), (0.5, 0.1)):
        truth = generator.random(400_000) < q
        odds = np.log(q / (1 - q)) + generator.normal(np.where(truth, apart, -apart), np.sqrt(2 * apart))
        wrong = np.mean((odds > 0) != truth)
        found = fall_of_error(np.array([q]), np.array([1 - q]), np.array([apart]))[0]
        assert found == pytest.approx(1 - q - wrong, abs=0.003)


def test_the_fall_of_the_variance_is_exact_for_a_yes_or_no():
    q, right = 0.3, 0.8
    told = (2 * right - 1) ** 2
    yes = q * right + (1 - q) * (1 - right)
    after = np.array([q * right / yes, q * (1 - right) / (1 - yes)])
    fall = q * (1 - q) - (np.array([yes, 1 - yes]) * after * (1 - after)).sum()
    assert fall_of_variance(np.array([q]), np.array([2 * np.arctanh(told)]))[0] == pytest.approx(fall)


def test_a_perfect_worker_gains_what_an_expert_does(state):
    perfect = replace(state, tables=np.repeat(np.eye(3)[None], 12, axis=0), law=Dependence(0.0))
    two = perfect.posterior.copy()
    two[np.arange(120), two.argmin(axis=1)] = 0.0
    perfect = replace(perfect, posterior=two / two.sum(axis=1, keepdims=True))
    items = np.arange(120)
    assert np.allclose(label_gain(perfect, items, np.zeros(120, int)), expert_gain(perfect, items), atol=0.01)


def test_a_guesser_gains_nothing(state):
    guessing = replace(state, tables=np.full((12, 3, 3), 1 / 3))
    assert np.allclose(label_gain(guessing, np.arange(5)[:, None], np.arange(12)), 0.0)


def test_the_more_labels_depend_the_less_a_further_one_gains(state):
    items = np.flatnonzero(state.probability < 0.9)
    gains = []
    for overlap in (0.0, 0.3, 0.9):
        gains.append(label_gain(replace(state, law=Dependence(overlap)), items).mean())
    assert gains[0] > gains[1] > gains[2] > 0


def test_the_gain_for_a_rate_looks_at_its_class():
    labels, _ = simulate(np.random.default_rng(2), n_items=40, n_classes=3)
    state = State.of(MajorityVote().fit(labels).result_)
    items = np.arange(40)
    share = state.posterior[:, 1]
    gain = label_gain(state, items, rate=1)
    assert np.allclose(expert_gain(state, items, rate=1), share * (1 - share))
    assert (gain >= 0).all()
    assert (gain[share > 0] > 0).all()  # whoever has said the class may be wrong, or right
    assert (gain <= expert_gain(state, items, rate=1) + 1e-9).all()
    assert (state.rivals(1)[0] == 1).all()
    assert (state.rivals(1)[1] != 1).all()


def test_renaming_classes_and_shuffling_items_changes_nothing(state):
    turned = State(
        state.posterior[:, ::-1], state.log_prior[::-1], state.tables[:, ::-1, ::-1], state.crowd[::-1, ::-1],
        state.labels, state.workers, law=state.law,
    )  # fmt: skip
    items, workers = np.arange(120), np.arange(120) % 12
    assert np.allclose(label_gain(state, items, workers), label_gain(turned, items, workers))
    assert np.allclose(label_gain(state, items[::-1], workers[::-1])[::-1], label_gain(state, items, workers))


def test_next_items_are_open_ones_the_worker_has_not_labelled(state):
    mine = state.labels.label_item[state.labels.worker == 3]
    chosen = next_items(state, 30, worker=3)
    assert not set(chosen) & set(mine)
    assert (np.diff(np.round(label_gain(state, chosen, np.full(30, 3)), 9)) <= 0).all()
    assert np.array_equal(next_items(state, 7, worker=3), chosen[:7])
    copied = replace(state, copies=np.array([[3, 5]]))
    theirs = state.labels.label_item[state.labels.worker == 5]
    assert not set(next_items(copied, 120, worker=3)) & set(theirs)
    allowed = np.zeros(120, bool)
    allowed[7] = True
    assert next_items(state, 5, allowed=allowed).tolist() == [7]
    assert not len(next_items(state, 5, max_per_item=4))


def test_known_items_are_never_asked_for():
    labels, truth = simulate(np.random.default_rng(3), n_items=20)
    gold = np.full(20, -1)
    gold[:15] = truth[:15]
    state = State.of(MajorityVote().fit(labels.with_gold(gold)).result_)
    assert set(next_items(state, 20)) == set(range(15, 20))


def test_worth_counts_the_labels_that_are_needed():
    labels, _ = simulate(np.random.default_rng(1), n_items=120, n_workers=12, skill=3, labels_per_item=2)
    state = State.of(DawidSkene(prior="estimated", smoothing=0.5).fit(labels).result_)
    rows = worth_of(state, np.flatnonzero(state.probability < 0.95)[:30])
    assert [row.rate for row in rows] == sorted((row.rate for row in rows), reverse=True)
    assert all(row.labels is None or row.labels >= 1 for row in rows)
    assert any(row.labels for row in rows)


def test_labels_without_an_item_are_planned_for():
    import pyarrow as pa

    code = np.array([0, 0, 1, 1])
    labels = Labels.from_codes(
        code, np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]),
        items=pa.array(["a", "b", "nobody's"]), workers=pa.array(["x", "y"]), classes=pa.array(["no", "yes"]),
    )  # fmt: skip
    state = State.of(MajorityVote().fit(labels).result_)
    assert next_items(state, 1).tolist() == [2]


def test_typical_workers_need_no_tables():
    labels, _ = simulate(np.random.default_rng(2), n_items=60, n_workers=12, n_classes=3, labels_per_item=4)
    result = MajorityVote().fit(labels).result_
    crowd = result.insight.crowd
    assert worth_of(State.typical(result, crowd), np.arange(30)) == worth_of(State.of(result, crowd=crowd), np.arange(30))


def test_after_an_update_workers_stay_and_new_ones_are_typical():
    labels, _ = simulate(np.random.default_rng(4), n_items=60, n_workers=8, labels_per_item=3)
    model = DawidSkene(smoothing=0.5).fit(labels)
    state = State.of(model.result_)
    item, label = labels.items[0].as_py(), labels.classes[0].as_py()
    later = update(model, ([item, "another"], ["w1", "stranger"], [label, label])).result
    after = state.after(later)
    assert after.n_labels.sum() == state.n_labels.sum() + later.labels.n_labels - labels.n_labels
    assert np.array_equal(after.tables[:8], state.tables)
    assert np.array_equal(after.tables[8], state.crowd)
    assert len(after.workers) == len(after.tables) == 9
    assert np.array_equal(after.posterior, later.posterior)
