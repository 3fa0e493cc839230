"""Passes over few labels equal the compiled ones."""

import subprocess
import sys
from dataclasses import fields, replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay.engines.base import Weights
from crowdassay.engines.kernels import agreement, passes, small, small_agreement, small_items
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.engines.memory.random_items import RandomItemsEngine
from crowdassay.findings import agreement as metrics
from crowdassay.findings.connection import shared_items
from support.problems import random_labels


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
    engine.set_weights(held)
    for mode, given in ((Weights.FREE, None), (Weights.VOTES, votes), (Weights.GIVEN, held)):
        posterior = np.empty_like(held)
        expected = engine.count(log_p, log_prior, mode, posterior)
        objective, counts, totals, weights = small.count(labels, log_p, log_prior, given)
        assert objective == pytest.approx(expected.objective, rel=1e-12)
        np.testing.assert_allclose(counts, expected.counts, atol=1e-12)
        np.testing.assert_allclose(totals, expected.totals, atol=1e-12)
        np.testing.assert_allclose(weights, posterior, atol=1e-12)


def test_repeats(labels):
    weight, raters = small.share_out(labels.starts, labels.worker, labels.n_workers)
    expected = agreement.share_out(labels.starts, labels.worker, labels.n_workers)
    np.testing.assert_array_equal(weight, expected[0])
    np.testing.assert_array_equal(raters, expected[1])
    assert weight.min() < 1, "no label is repeated, so the test shows nothing"


@pytest.mark.parametrize("votes", [True, False])
def test_comparison_with_others(labels, votes, monkeypatch):
    generator = np.random.default_rng(1)
    n_classes = labels.n_classes
    log_p, log_prior = np.log(tables(labels, generator)), np.log(generator.dirichlet(np.ones(n_classes)))
    if votes:
        log_p, log_prior = None, np.zeros(n_classes)
    habit, crowd = generator.dirichlet(np.ones(n_classes), size=labels.n_workers), tables(labels, np.random.default_rng(3))[0]
    counted = (generator.random(labels.n_labels) < 0.8) & shared_items(labels)[labels.label_item]
    both(monkeypatch, passes.compare_with_others, labels, counted, log_p, log_prior, habit, crowd)


@pytest.mark.parametrize("timed", [True, False])
def test_behaviour(labels, timed, monkeypatch):
    generator = np.random.default_rng(4)
    n_classes = labels.n_classes
    p, prior = tables(labels, generator), generator.dirichlet(np.ones(n_classes))
    p[0, 0] = np.eye(n_classes)[0] * (1 - n_classes * 1e-12) + 1e-12  # some classes weigh nothing
    habit, crowd = generator.dirichlet(np.ones(n_classes), size=labels.n_workers), tables(labels, np.random.default_rng(5))[0]
    counted = (generator.random(labels.n_labels) < 0.8) & shared_items(labels)[labels.label_item]
    posterior = generator.dirichlet(np.ones(n_classes), size=labels.n_items)
    bins = generator.integers(-1, 4, size=labels.n_labels if timed else 0)
    both(monkeypatch, passes.add_behaviour, labels, counted, np.log(p), np.log(prior), habit, crowd, 0.9, posterior, bins, 4)


def test_pairs_of_workers(labels, monkeypatch):
    generator = np.random.default_rng(2)
    p, code = tables(labels, generator), generator.integers(labels.n_classes, size=labels.n_items)
    first = np.unique(labels.label_item * labels.n_workers + labels.worker, return_index=True)[1]
    rows = labels.label_item[first], labels.worker[first], labels.label[first]
    compiled = passes.compare_tables(*rows, code, p, 2, 10_000, np.linspace(-20, 20, 4001))
    monkeypatch.setattr(small, "FEW_LABELS", labels.n_labels)
    few = passes.compare_tables(*rows, code, p, 2, 10_000, np.linspace(-20, 20, 4001))
    assert few[0] == compiled[0] == len(few[2]) > 0
    np.testing.assert_array_equal(few[1], compiled[1])
    np.testing.assert_allclose(*(table[np.lexsort((table[:, 5], table[:, 4]))] for table in (few[2], compiled[2])), atol=1e-9)


@pytest.mark.parametrize("precision", [0.1, 1.0])
def test_items_with_effects(labels, precision, monkeypatch):
    generator = np.random.default_rng(6)
    p, log_prior = tables(labels, generator), np.log(generator.dirichlet(np.ones(labels.n_classes)))
    found = []
    for few in (False, True):
        monkeypatch.setattr(small, "FEW_LABELS", labels.n_labels if few else 0)
        monkeypatch.setattr(small_items, "is_few", lambda _: True)
        effects = np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
        engine = RandomItemsEngine(labels)
        for _ in range(2):  # the second time from where the first has ended
            sums = engine.integrate(p, log_prior, anchor=0.2, precision=precision, effects=effects)
        found.append([*(getattr(sums, field.name) for field in fields(sums)), effects])
    for compiled, in_numpy in zip(*found, strict=True):
        np.testing.assert_allclose(in_numpy, compiled, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_agreement(labels, level, monkeypatch):
    labels, found = replace(labels, classes=pa.array([str(k * k) for k in range(labels.n_classes)])), []
    for few in (False, True):
        monkeypatch.setattr(small_agreement, "is_few", lambda _, few=few: few)
        found.append(metrics.agreement(labels, level, resamples=20).tables)
    for name, compiled in found[0].items():
        for column, other in zip(compiled.columns, found[1][name].columns, strict=True):
            if pa.types.is_floating(column.type):
                np.testing.assert_allclose(column.to_numpy(), other.to_numpy(), rtol=1e-9, atol=1e-12)
            else:
                assert column.to_pylist() == other.to_pylist()


def both(monkeypatch, run, labels, *arguments):
    """Compare the compiled pass with the one in NumPy."""
    compiled = run(labels, *arguments)
    monkeypatch.setattr(small, "FEW_LABELS", labels.n_labels)
    for few, expected in zip(run(labels, *arguments), compiled, strict=True):
        np.testing.assert_allclose(few, expected, atol=1e-10)


def test_it_loads_no_compiler():
    code = "import sys, crowdassay.engines.kernels.small; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_blocks_add_up_to_the_whole(labels, monkeypatch):
    generator = np.random.default_rng(7)
    n_classes = labels.n_classes
    habit, crowd = generator.dirichlet(np.ones(n_classes), size=labels.n_workers), tables(labels, generator)[0]
    log_p, log_prior = np.log(tables(labels, generator)), np.zeros(n_classes)
    whole = passes.compare_with_others(labels, np.ones(labels.n_labels, bool), log_p, log_prior, habit, crowd)
    monkeypatch.setattr(passes, "LEAST_BLOCK", 30)
    parts = passes.compare_with_others(labels, np.ones(labels.n_labels, bool), log_p, log_prior, habit, crowd)
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
