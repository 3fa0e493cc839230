"""Passes over few labels equal the compiled ones."""

import subprocess
import sys

import numpy as np
import pytest

from crowdassay.engines.base import Weights
from crowdassay.engines.local import LocalEngine
from crowdassay.kernels import agreement, others, pairs, small
from problems import random_labels


@pytest.fixture(params=[(0, 2), (1, 3), (2, 5)])
def labels(request):
    seed, n_classes = request.param
    return random_labels(seed, n_items=40, n_classes=n_classes, gold=3)


def tables(labels, generator):
    return generator.dirichlet(np.ones(labels.n_classes), size=(labels.n_workers, labels.n_classes))


def test_counts(labels):
    generator = np.random.default_rng(0)
    log_p, log_prior = np.log(tables(labels, generator)), np.log(generator.dirichlet(np.ones(labels.n_classes)))
    engine, held = LocalEngine(labels), generator.dirichlet(np.ones(labels.n_classes), size=labels.n_items)
    votes = np.where(labels.votes().sum(axis=1, keepdims=True) > 0, labels.votes(), 1.0)
    votes = votes / votes.sum(axis=1, keepdims=True)
    engine.hold(held)
    for mode, given in ((Weights.FREE, None), (Weights.VOTES, votes), (Weights.GIVEN, held)):
        posterior = np.empty_like(held)
        expected = engine.count(log_p, log_prior, mode, posterior)
        objective, counts, totals, weights = small.count(labels, log_p, log_prior, given)
        assert objective == pytest.approx(expected.objective, rel=1e-12)
        np.testing.assert_allclose(counts, expected.counts, atol=1e-12)
        np.testing.assert_allclose(totals, expected.totals, atol=1e-12)
        np.testing.assert_allclose(weights, posterior, atol=1e-12)


def test_repeats_and_order(labels):
    weight, raters = small.share_out(labels.starts, labels.worker, labels.n_workers)
    expected = agreement.share_out(labels.starts, labels.worker, labels.n_workers)
    np.testing.assert_array_equal(weight, expected[0])
    np.testing.assert_array_equal(raters, expected[1])
    assert weight.min() < 1, "no label is repeated, so the test shows nothing"
    for ours, theirs in zip(
        small.order_by_worker(labels.worker, labels.n_workers),
        agreement.order_by_worker(labels.worker, labels.n_workers),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("votes", [True, False])
def test_comparison_with_others(labels, votes):
    generator = np.random.default_rng(1)
    n_classes = labels.n_classes
    log_p, log_prior = np.log(tables(labels, generator)), np.log(generator.dirichlet(np.ones(n_classes)))
    if votes:
        log_prior = np.zeros(n_classes)
    habit, crowd = generator.dirichlet(np.ones(n_classes), size=labels.n_workers), tables(labels, generator)[0]
    weight, raters = small.share_out(labels.starts, labels.worker, labels.n_workers)
    counted = (generator.random(labels.n_labels) < 0.8) & (raters[labels.label_item] > 1)
    sums, first, second = (np.zeros((labels.n_workers, size)) for size in (5, n_classes, n_classes))
    others.compare_with_others(
        labels.starts, labels.worker, labels.label, weight, labels.gold, counted, log_p, log_prior, votes, habit, crowd,
        sums, first, second,
    )  # fmt: skip
    found = small.compare_with_others(labels, weight, counted, None if votes else log_p, log_prior, habit, crowd)
    for ours, theirs in zip(found, (sums, first, second), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_pairs_of_workers(labels):
    generator = np.random.default_rng(2)
    p, code = tables(labels, generator), generator.integers(labels.n_classes, size=labels.n_items)
    first = np.unique(labels.label_item * labels.n_workers + labels.worker, return_index=True)[1]
    item, worker, label = labels.label_item[first], labels.worker[first], labels.label[first]
    starts = np.append(0, np.cumsum(np.bincount(item, minlength=labels.n_items)))
    edges, rows = np.linspace(-20, 20, 4001), np.full((10_000, 6), -np.inf)
    counts = np.zeros(len(edges) + 1, np.int64)
    by_worker, order = agreement.order_by_worker(worker, labels.n_workers)
    n_pairs = pairs.compare_tables(
        starts, worker, label, code, order, by_worker, item, p, 2, labels.n_workers, edges, counts, rows
    )
    expected = rows[np.isfinite(rows[:, 0])]
    found = small.compare_tables(starts, worker, label, code, p, 2)
    assert len(found) == n_pairs == len(expected) > 0
    by_pair = [table[np.lexsort((table[:, 5], table[:, 4]))] for table in (found, expected)]
    np.testing.assert_allclose(*by_pair, atol=1e-9)


def test_it_loads_no_compiler():
    code = "import sys, crowdassay.kernels.small; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
