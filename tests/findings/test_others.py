"""What is added up over labels for the verdicts is what plain loops over the same labels give."""

import numpy as np
import pytest

from crowdassay.findings import sums
from crowdassay.findings.copies import Answers, telling
from crowdassay.findings.drift import Clock
from crowdassay.findings.sums import Meetings
from crowdassay.findings.workers import TYPICAL_AT_PAR, WorkerExpectation
from crowdassay.labels.labels import Labels
from crowdassay.statistics import tail_of_sums
from support import plain_passes
from support.problems import random_labels


@pytest.fixture(params=[(0, 2), (1, 3), (2, 5)])
def labels(request):
    seed, n_classes = request.param
    return random_labels(seed, n_items=40, n_classes=n_classes, gold=3)


@pytest.fixture(params=["whole", "cut"])
def blocks(request, monkeypatch):
    """Look at all labels together, or in blocks and chunks of a few."""
    if request.param == "cut":
        monkeypatch.setattr(sums, "LEAST_BLOCK", 30)
        monkeypatch.setattr(sums, "CELLS_IN_CACHE", 1)
        monkeypatch.setattr(sums, "FEWEST_IN_CHUNK", 11)


def tables(labels, generator):
    return generator.dirichlet(np.ones(labels.n_classes), size=(labels.n_workers, labels.n_classes))


def expectation(labels, seed, *, votes=False):
    generator = np.random.default_rng(seed)
    p, prior = tables(labels, generator), generator.dirichlet(np.ones(labels.n_classes))
    p[0, 0] = np.eye(labels.n_classes)[0] * (1 - labels.n_classes * 1e-12) + 1e-12  # some classes weigh nothing
    answers, crowd = generator.integers(1, 9, (labels.n_workers, labels.n_classes)), tables(labels, generator)[0]
    return WorkerExpectation(answers, crowd, *(() if votes else (p, prior)))


def counted(labels, seed):
    return (np.random.default_rng(seed).random(labels.n_labels) < 0.8) & labels.shared_items[labels.label_item]


def test_labels_of_a_worker_on_an_item_share_one_judgement(labels):
    pairs = labels.label_item * labels.n_workers + labels.worker
    times = np.array([(pairs == pair).sum() for pair in pairs])
    np.testing.assert_array_equal(labels.repeat_weight, 1 / times)
    assert times.max() > 1, "no label is repeated, so the test shows nothing"
    each = [len(set(labels.worker[low:high])) for low, high in zip(labels.starts[:-1], labels.starts[1:], strict=True)]
    assert labels.workers_each.tolist() == each
    first = [pair not in pairs[:n] for n, pair in enumerate(pairs)]
    assert labels.first_judgements.tolist() == first
    shared = (np.array(each) > 1) | (labels.gold >= 0) & (np.array(each) > 0)
    assert labels.shared_items.tolist() == shared.tolist()
    assert labels.compared.tolist() == (np.array(first) & shared[labels.label_item]).tolist()


@pytest.mark.parametrize("votes", [True, False])
def test_agreement_with_the_others(labels, votes, blocks):
    found, chosen = expectation(labels, 1, votes=votes), counted(labels, 2)
    n_classes = labels.n_classes
    expected = np.zeros((labels.n_workers, 5)), *np.zeros((2, labels.n_workers, n_classes))
    habit = found.answers / found.answers.sum(axis=1, keepdims=True)
    log_p = np.zeros((1, n_classes, n_classes)) if votes else np.log(found.tables)
    log_prior = np.zeros(n_classes) if votes else np.log(found.prior)
    plain_passes.compare_with_others(
        labels.starts, labels.worker, labels.label, labels.repeat_weight, labels.gold, chosen, log_p, log_prior, votes,
        habit, found.crowd, *expected,
    )  # fmt: skip
    np.testing.assert_allclose(found.compare(labels, chosen)[0].T, np.column_stack(expected), atol=1e-10)


@pytest.mark.parametrize("timed", [True, False])
def test_behaviour(labels, timed, blocks):
    found, chosen, generator = expectation(labels, 4), counted(labels, 5), np.random.default_rng(6)
    time = np.where(generator.random(labels.n_labels) < 0.2, np.nan, generator.random(labels.n_labels)) if timed else None
    clock = Clock.of(labels.worker, labels.n_workers, time, None)
    posterior = generator.dirichlet(np.ones(labels.n_classes), size=labels.n_items)
    shown = Labels(
        *(getattr(labels, name) for name in ("starts", "worker", "label", "items", "workers", "classes", "gold")), time=time
    )
    size, n_classes = labels.n_workers, labels.n_classes
    expected = [
        np.zeros(shape) for shape in ((size, 9), (size, n_classes, n_classes, 3), (size, n_classes, 3), (size, clock.n_bins, 5))
    ]
    habit = found.answers / found.answers.sum(axis=1, keepdims=True)
    plain_passes.add_behaviour(
        labels.starts, labels.worker, labels.label, labels.repeat_weight, labels.gold, chosen,
        np.log(found.tables), np.log(found.prior),
        habit, found.crowd, TYPICAL_AT_PAR, posterior, clock.bins(labels.worker, time), *expected,
    )  # fmt: skip
    agreed, behaviour = found.compare(shown, chosen, posterior, clock)
    np.testing.assert_allclose(agreed, found.compare(labels, chosen)[0])
    assert (expected[3].sum() > 0) == timed
    for name, sums_of in zip(("sums", "cells", "answers", "paces"), expected, strict=True):
        np.testing.assert_allclose(getattr(behaviour, name), sums_of, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("at_once", [1 << 20, 5])
def test_pairs_of_workers(labels, at_once, monkeypatch):
    monkeypatch.setattr("crowdassay.findings.sums.MOST_MET", at_once)
    monkeypatch.setattr("crowdassay.findings.copies.LEAST_LEFT", 1)
    for name, value in (("FALSE_PAIR_RISK", 1.0), ("HABIT_RISK", 1.0), ("LEAST_MATCHED", -np.inf)):
        monkeypatch.setattr(f"crowdassay.findings.copies.{name}", value)
    generator = np.random.default_rng(2)
    counts = 3 * generator.random((labels.n_workers, labels.n_classes, labels.n_classes))
    p, crowd = tables(labels, generator), counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, None]
    prior = np.full(labels.n_classes, 1 / labels.n_classes)
    expected = plain_passes.leave_together(labels, counts, p, crowd, prior)
    monkeypatch.setattr("crowdassay.findings.copies.LEFT_RISK", -1.0)
    rows, n_pairs = Answers(labels, telling(labels), counts, p, crowd, prior).compare()
    assert n_pairs == len(rows) == len(expected) > 0
    np.testing.assert_allclose(*(table[np.lexsort((table[:, 2], table[:, 1]))][:, 1:] for table in (rows, expected)), atol=1e-9)
    check_by_all(labels, (counts, p, crowd, prior), rows, monkeypatch)


def check_by_all(labels, given, rows, monkeypatch):
    """Compare, of pairs whom all their answers show, the chance of so many matches with that of plain sums of chances."""
    monkeypatch.setattr("crowdassay.findings.copies.LEFT_RISK", 1.0)
    both, n_pairs = Answers(labels, telling(labels), *given).compare()
    assert n_pairs == len(rows)
    np.testing.assert_array_equal(both[: len(rows)], rows)
    met = {}
    for i, k, matches, _, chances in plain_passes.meetings_by_item(labels, *given):
        met.setdefault((i, k), []).append((matches, chances[0]))
    assert len(both) == 2 * len(rows)
    for p, i, k, *_ in both[len(rows) :]:
        sides = [np.array(met[pair], float).T for pair in ((i, k), (k, i))]
        tails = [tail_of_sums(matches.sum(keepdims=True), chance, np.zeros(len(chance), int))[0] for matches, chance in sides]
        assert p == pytest.approx(max(tails), rel=1e-6)


def test_everybody_meets_everybody_once(labels):
    meet = Meetings(labels.starts, labels.worker, labels.n_workers, labels.n_classes)
    found = [pair for one, other in meet.each(lambda *pairs: pairs) for pair in zip(one.tolist(), other.tolist(), strict=True)]
    who, item = labels.worker, labels.label_item
    pairs = [(n, o) for n in range(labels.n_labels) for o in range(labels.n_labels) if item[n] == item[o] and who[n] < who[o]]
    assert sorted(found) == sorted(pairs)
    assert [who[n] for n, _ in found] == sorted(who[n] for n, _ in found)


def test_sums_of_blocks_join_field_by_field():
    one = Clock.of(np.array([0, 1]), 2, np.array([5.0, np.nan]), None)
    other = Clock.of(np.array([0, 1]), 2, np.array([3.0, 7.0]), np.array([2.0, 4.0]))
    both = one.join(other)
    assert (both.first.tolist(), both.last.tolist()) == ([3.0, 7.0], [5.0, 7.0])
    np.testing.assert_array_equal(both.took, other.took)
