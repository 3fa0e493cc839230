"""What one more label gains."""

import numpy as np
import pytest

from crowdassay import DawidSkene, Labels, MajorityVote, simulate
from crowdassay.planning.dependence import Dependence
from crowdassay.planning.gain import expert_gain, label_gain, likeliest, look_ahead, spread
from crowdassay.planning.items import next_items, worth_of
from crowdassay.planning.state import State


@pytest.fixture(scope="module")
def state():
    labels, _ = simulate(np.random.default_rng(1), n_items=120, n_workers=12, n_classes=3, labels_per_item=4)
    return State.of(MajorityVote().fit(labels).result_)


def test_independent_labels_are_judged_by_bayes_rule():
    q, prior = np.array([[0.7, 0.3]]), np.log(np.array([[0.5, 0.5]]))
    table = np.array([[[0.8, 0.2], [0.4, 0.6]]])
    answers, after = look_ahead(q, prior, np.array([3]), table, Dependence(first=1.0, overlap=0.0))
    assert np.allclose(answers, [[0.7 * 0.8 + 0.3 * 0.4, 0.7 * 0.2 + 0.3 * 0.6]])
    assert np.allclose(after[0, 0], np.array([0.56, 0.12]) / 0.68)
    gini = 1 - (q**2).sum()
    later = (answers[0] * (1 - (after[0] ** 2).sum(axis=1))).sum()
    assert np.allclose(spread(answers, after), gini - later)  # the expected fall, exactly


def test_a_perfect_worker_gains_what_an_expert_does():
    q = np.array([[0.6, 0.3, 0.1]])
    answers, after = look_ahead(q, np.log(np.full((1, 3), 1 / 3)), np.array([0]), np.eye(3)[None], Dependence(1.0, 0.0))
    assert np.allclose(spread(answers, after), 1 - (q**2).sum(), atol=1e-6)


def test_a_guesser_gains_nothing(state):
    q = state.posterior[:5]
    table = np.full((5, 3, 3), 1 / 3)
    law = Dependence(1.0, 0.0)
    assert np.allclose(spread(*look_ahead(q, np.zeros((5, 3)), state.n_labels[:5], table, law)), 0.0)


def test_the_more_labels_depend_the_less_a_further_one_gains(state):
    items = np.flatnonzero(state.probability < 0.9)
    gains = []
    for overlap in (0.0, 0.3, 1.0):
        law = Dependence(1.0, overlap)
        gains.append(label_gain(State(**{**vars(state), "law": law}), items).mean())
    assert gains[0] > gains[1] > gains[2] > 0


def test_classes_that_are_not_looked_at_are_the_unlikeliest():
    q = np.random.default_rng(0).dirichlet(np.ones(9), 50)
    codes = likeliest(q)
    assert codes.shape == (50, 4)
    assert np.allclose(np.sort(np.take_along_axis(q, codes, 1)), np.sort(q, axis=1)[:, -4:])


def test_the_gain_for_a_rate_is_the_variance_of_its_class():
    labels, _ = simulate(np.random.default_rng(2), n_items=40, n_classes=2)
    state = State.of(MajorityVote().fit(labels).result_)
    items = np.arange(40)
    assert np.allclose(label_gain(state, items, rate=1), label_gain(state, items) / 2)  # with two classes the same order
    assert np.allclose(expert_gain(state, items, rate=1), state.posterior[:, 0] * state.posterior[:, 1])


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
    copied = State(**{**vars(state), "copies": np.array([[3, 5]])})
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
