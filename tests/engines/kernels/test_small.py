"""Passes over few labels equal the compiled ones."""

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest

from crowdassay.engines.base import Weights
from crowdassay.engines.kernels import small
from crowdassay.engines.memory.engine import LocalEngine
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


@pytest.mark.slow
@pytest.mark.parametrize("precision", [0.1, 1.0])
def test_items_with_effects(labels, precision, monkeypatch):
    generator = np.random.default_rng(6)
    p, log_prior = tables(labels, generator), np.log(generator.dirichlet(np.ones(labels.n_classes)))
    found = []
    for few in (False, True):
        monkeypatch.setattr(small, "FEW_LABELS", labels.n_labels if few else 0)
        monkeypatch.setattr(small, "has_few_effects", lambda _: True)
        effects = np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
        engine = LocalEngine(labels)
        for _ in range(2):  # the second time from where the first has ended
            sums = engine.integrate(p, log_prior, anchor=0.2, precision=precision, effects=effects)
        found.append([*(getattr(sums, field.name) for field in fields(sums)), effects])
    for compiled, in_numpy in zip(*found, strict=True):
        np.testing.assert_allclose(in_numpy, compiled, rtol=1e-9, atol=1e-9)


def test_it_loads_no_compiler():
    code = "import sys, crowdassay.engines.kernels.small; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
