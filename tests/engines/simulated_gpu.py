"""What the kernels for a graphics card compute, in numba's simulator; `test_gpu.py` runs this file with it switched on."""

import sys

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import DawidSkene, MinimaxEntropy
from crowdassay.data.labels import Labels
from crowdassay.engines import gpu, gpu_layout
from crowdassay.engines.base import Weights
from crowdassay.engines.gpu import GpuEngine
from crowdassay.kernels import reference
from crowdassay.model.family import Model
from crowdassay.model.simulate import simulate
from crowdassay.model.structures import nominal, reference_sets, resolve
from problems import random_labels


@pytest.fixture(autouse=True)
def few_threads(monkeypatch):
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # the simulator's threads wait for each other all the time
    monkeypatch.setattr(gpu, "BLOCKS", 2)
    monkeypatch.setattr(gpu, "THREADS", 2)
    monkeypatch.setattr(gpu_layout, "TEAMS", (2, 3))
    yield
    sys.setswitchinterval(interval)


def item_basis(name, n_classes):
    if name is None:
        return None
    return (reference_sets(n_classes, [{0}, {0, 1}]) if name == "sets" else resolve(name, n_classes)).basis()


def compare(labels, basis, *modes):
    """Hold a sweep against the readable one."""
    n_classes, generator = labels.n_classes, np.random.default_rng(0)
    sigma = generator.normal(size=(labels.n_workers, n_classes, n_classes)) + np.eye(n_classes)
    log_prior = np.log(generator.dirichlet(np.ones(n_classes)))
    model = Model(nominal(n_classes).basis(), basis, 1.0, 0.8)
    engine = GpuEngine.of(labels, item_tolerance=1e-11)
    held = generator.dirichlet(np.ones(n_classes), size=labels.n_items)
    held[np.flatnonzero(labels.gold >= 0)] = np.eye(n_classes)[labels.gold[labels.gold >= 0]]
    engine.hold(held)
    votes = labels.votes() / np.maximum(labels.votes().sum(axis=1, keepdims=True), 1)
    fixed = {Weights.FREE: None, Weights.VOTES: votes, Weights.GIVEN: held}
    for weights in modes:
        engine.restart()
        objective, gradient, posterior, phi = reference.sweep(labels, sigma, log_prior, basis, 0.8, fixed[weights])
        sums = engine.sweep(model, sigma, log_prior, weights)
        assert sums.objective == pytest.approx(objective, rel=1e-6)
        np.testing.assert_allclose(sums.gradient, gradient, atol=3e-5)
        np.testing.assert_allclose(sums.totals, posterior.sum(axis=0), atol=3e-5)
        if basis is not None:
            np.testing.assert_allclose(engine.coordinates(model), phi, atol=1e-4)
    return engine, model, sigma


@pytest.mark.parametrize(
    ("name", "n_classes"), [("nominal", 2), ("nominal", 3), ("ordinal", 3), ("sets", 3), (None, 2), (None, 4)]
)
def test_items_of_a_thread_equal_the_reference(name, n_classes):
    labels = random_labels(n_classes, n_items=6, n_classes=n_classes, gold=1)
    compare(labels, item_basis(name, n_classes), *Weights)


@pytest.mark.parametrize(("name", "n_classes"), [("nominal", 2), ("ordinal", 3), (None, 2)])
def test_items_of_a_block_equal_the_reference(name, n_classes, monkeypatch):
    monkeypatch.setattr(gpu, "MOST_LABELS", 2)
    monkeypatch.setattr(gpu_layout, "LONG", 4)
    labels = random_labels(0, n_items=4, n_classes=n_classes, gold=1)
    engine, _, _ = compare(labels, item_basis(name, n_classes), Weights.FREE)
    assert {group.threads for group in engine.layout.groups} == {1, 2, 3}


def test_a_worker_of_many_places_has_one_sum(monkeypatch):
    monkeypatch.setattr(gpu_layout, "LEAST_CAP", 2)
    generator = np.random.default_rng(0)
    worker = np.where(generator.random(24) < 0.7, 1, generator.integers(20, size=24))
    names = [pa.array([str(n) for n in range(size)]) for size in (8, 20, 2)]
    labels = Labels.from_codes(
        np.repeat(np.arange(8), 3), worker, generator.integers(2, size=24), items=names[0], workers=names[1], classes=names[2]
    )
    engine, _, _ = compare(labels, item_basis("nominal", 2), Weights.FREE)
    assert engine.layout.n_places > 20
    compare(labels, None, Weights.FREE)


def test_sums_do_not_depend_on_the_order_of_additions(monkeypatch):
    labels = random_labels(1, n_items=8, n_classes=2)
    engine, model, sigma = compare(labels, item_basis("nominal", 2), Weights.FREE)
    one = engine.sweep(model, sigma, np.zeros(2)).gradient
    engine, model, sigma = compare(labels, item_basis("nominal", 2), Weights.FREE)
    monkeypatch.setattr(gpu, "BLOCKS", 1)
    monkeypatch.setattr(gpu, "THREADS", 2)
    np.testing.assert_array_equal(engine.sweep(model, sigma, np.zeros(2)).gradient, one)


def test_extreme_tables_stay_finite():
    labels = random_labels(3, n_items=6)
    model = Model(nominal(3).basis(), nominal(3).basis(), 1.0, 1.0)
    sigma = 1e4 * np.random.default_rng(0).normal(size=(labels.n_workers, 3, 3))
    sums, posterior = GpuEngine.of(labels).posteriors(model, sigma, np.zeros(3))
    assert np.isfinite(sums.objective)
    assert np.isfinite(sums.gradient).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("make", [lambda **options: MinimaxEntropy(starts=1, **options), DawidSkene])
def test_a_fit_equals_the_local_one(make):
    labels, _ = simulate(np.random.default_rng(0), n_items=12, n_workers=5, labels_per_item=4)
    local, card = (make(engine=engine, max_sweeps=6).fit(labels).result_ for engine in ("local", "gpu"))
    assert card.objective == pytest.approx(local.objective, rel=1e-6)
    np.testing.assert_allclose(card.posterior, local.posterior, atol=1e-3)
    np.testing.assert_array_equal(card.code, local.code)
