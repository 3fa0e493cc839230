"""Spammers and adversaries are found, the innocent are not."""

import numpy as np
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, as_labels, simulate
from crowdassay.engines.confusion import observed_counts
from crowdassay.findings.verdicts import Fault
from crowdassay.findings.workers import WorkerExpectation, count_answers
from crowdassay.planning.state import crowd_table
from crowdassay.statistics import discoveries
from support.crowds import draw_workers

ADVERSARY, SPAMMER = Fault.AGAINST, Fault.GUESSES


def tally(labels, counted, tables=None, prior=None):
    expectation = WorkerExpectation(count_answers(labels, counted), np.eye(labels.n_classes), tables, prior)
    return expectation.agreement(expectation.compare(labels, counted)[0])


def verdicts(method, seed, **crowd):
    labels, _, _ = draw_workers(np.random.default_rng(seed), low=0.65, **crowd)
    return np.array(method.fit(labels).result_.insight.verdicts)


def test_the_guilty_are_named_and_the_innocent_hardly_ever():
    guilty, innocent = [], []
    for seed in range(8):
        found = verdicts(DawidSkene(smoothing=0.5), seed, n_items=400, spammers=6, adversaries=3)
        guilty.append(np.isin(found[:9], (SPAMMER, ADVERSARY)))
        assert (found[6:9] == ADVERSARY).mean() >= 2 / 3
        innocent.append(np.isin(found[9:], (SPAMMER, ADVERSARY)))
    named = np.sum(guilty) + np.sum(innocent)
    assert np.mean(guilty) > 0.8
    assert np.sum(innocent) <= 0.05 * named


@pytest.mark.parametrize("method", [Assay(), MajorityVote()], ids=lambda m: m.method)
def test_whatever_the_method(method):
    found = verdicts(method, 0, n_items=1000, spammers=4, adversaries=2)
    assert set(found[4:6]) == {ADVERSARY}
    assert (found[:4] == SPAMMER).mean() >= 0.75
    assert set(found[6:]) <= {"informative", "below par"}
    assert (found[6:] == "informative").mean() > 0.7


@pytest.mark.slow
def test_noise_is_called_noise():
    strange = []
    for seed in range(20):
        labels, _ = simulate(np.random.default_rng(seed), n_classes=3, skill=0, worker_spread=0, item_spread=0)
        found = MajorityVote().fit(labels).result_.insight
        strange.append(found.beyond_chance)
        if found.chance:
            assert set(found.verdicts) == {"not estimable"}
            assert any("no better than chance" in note for note in found.notes)
    assert np.mean(np.array(strange) > 1.645) <= 0.15
    assert np.std(strange) == pytest.approx(1.0, abs=0.4)


def test_chance_is_the_mean_and_variance_of_permutations():
    labels, _, _ = draw_workers(np.random.default_rng(3), n_items=40, n_workers=6)
    counted = np.ones(labels.n_labels, bool)
    found = tally(labels, counted)
    votes, generator = labels.votes(), np.random.default_rng(4)
    mine = np.flatnonzero(labels.worker == 2)
    others = votes[labels.label_item[mine]] - np.eye(3)[labels.label[mine]]
    others /= others.sum(axis=1, keepdims=True)
    assert found.agreed[2] == pytest.approx(others[np.arange(len(mine)), labels.label[mine]].sum())
    drawn = [others[np.arange(len(mine)), generator.permutation(labels.label[mine])].sum() for _ in range(20_000)]
    assert found.chance[2] == pytest.approx(np.mean(drawn), abs=0.03)
    assert found.chance_variance[2] == pytest.approx(np.var(drawn), rel=0.05)


def test_others_weights_leave_out_all_labels_of_the_worker():
    data = as_labels((list("aaaab"), list("xxyzx"), [0, 0, 1, 0, 1]), classes=[0, 1])
    first = data.first_judgements
    assert first.tolist() == [True, False, True, True, True]
    tables = np.tile(np.array([[0.8, 0.2], [0.3, 0.7]]), (3, 1, 1))
    shared = first & (data.label_item == 0)
    agreed = tally(data, shared, tables, np.array([0.5, 0.5])).agreed
    weight = np.array([0.2 * 0.8, 0.7 * 0.3])  # of y and z for the classes 0 and 1
    assert agreed[0] == pytest.approx(weight[0] / weight.sum())
    weight = np.array([0.8 * 0.8 * 0.8, 0.3 * 0.3 * 0.3])  # of x, x and z
    assert agreed[1] == pytest.approx(weight[1] / weight.sum())
    assert tally(data, shared).agreed.tolist() == pytest.approx([1 / 2, 0.0, 2 / 3])


def test_gold_decides():
    data = as_labels((list("aabb"), list("xyxy"), [0, 1, 0, 1])).with_gold(np.array([1, 1]))
    assert tally(data, np.ones(4, bool)).agreed.tolist() == [0.0, 2.0]


def test_discoveries_follow_benjamini_and_hochberg():
    p = np.array([0.01, 0.02, 0.03, 0.5, 0.001])
    assert discoveries(p, np.array([True, True, True, True, False]), 0.05).tolist() == [True, True, True, False, False]
    assert not discoveries(p, np.zeros(5, bool), 0.05).any()


def test_the_crowds_table_has_no_zero():
    labels, _, _ = draw_workers(np.random.default_rng(0), n_items=40, n_workers=6)
    table = crowd_table(observed_counts(labels, np.eye(3)[np.zeros(40, int)]))
    assert (table > 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1)
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    mine = labels.worker < 2
    pooled = weights[labels.label_item[mine]].T @ np.eye(3)[labels.label[mine]] + 0.5 / 3
    found = crowd_table(observed_counts(labels, weights)[:2])
    np.testing.assert_allclose(found, pooled / pooled.sum(axis=1, keepdims=True))


def test_too_many_tables_are_done_without(monkeypatch):
    monkeypatch.setattr("crowdassay.findings.passes.MOST_TABLE_CELLS", 10)
    found = verdicts(MajorityVote(), 0, n_items=1000, spammers=4, adversaries=2)
    assert set(found[4:6]) == {ADVERSARY}
    assert set(found[6:]) == {"informative"}
