"""The kernels for items of few labels against a strong penalty equal the readable sweep, and neglect no more than they say."""

import pickle

import numpy as np
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import ItemCoordinates, Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.models.family import Model
from crowdassay.models.structures import nominal, ordinal
from crowdassay.solvers.profiled import fit_profiled
from crowdassay.solvers.solution import average_difficulty
from support import reference
from support.problems import random_labels

BETA = 25.0


def problem(n_classes, seed=0, gold=0, n_items=12):
    labels = random_labels(seed, n_classes=n_classes, gold=gold, n_items=n_items)
    generator = np.random.default_rng(seed)
    sigma = 1.5 * generator.normal(size=(labels.n_workers, n_classes, n_classes)) + np.eye(n_classes)
    basis = nominal(n_classes).basis()
    return labels, sigma, np.log(generator.dirichlet(np.ones(n_classes))), Model(basis, basis, 1.0, BETA)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("gold", [0, 2])
def test_weak_item_kernels_equal_the_reference(n_classes, gold):
    labels, sigma, log_prior, model = problem(n_classes, gold=gold)
    engine = LocalEngine(labels, warm=False, item_tolerance=1e-18)
    assert engine._has_weak_items(model)
    held = np.random.default_rng(1).dirichlet(np.ones(n_classes), size=labels.n_items)
    held[:gold] = np.eye(n_classes)[labels.gold[:gold]]
    engine.set_weights(held)
    for weights, fixed in ((Weights.FREE, None), (Weights.GIVEN, held)):
        objective, gradient, posterior, phi = reference.sweep(labels, sigma, log_prior, model.item, BETA, fixed)
        sums = engine.sweep(model, sigma, log_prior, weights)
        assert sums.objective == pytest.approx(objective, rel=1e-10)
        np.testing.assert_allclose(sums.gradient, gradient, atol=1e-8)
        np.testing.assert_allclose(sums.totals, posterior.sum(axis=0), atol=1e-8)
        if fixed is None:
            np.testing.assert_allclose(engine.posteriors(model, sigma, log_prior)[1], posterior, atol=1e-8)
            np.testing.assert_allclose(engine.coordinates(model), phi, atol=1e-7)


@pytest.mark.parametrize("tolerance", [1e-10, 1e-6])
@pytest.mark.parametrize("n_classes", [2, 12])
def test_what_is_neglected_is_bounded_by_the_tolerance(n_classes, tolerance):
    """Classes that an item can hardly be keep no table: posteriors stay within the tolerance of the full computation."""
    labels, _ = simulate(np.random.default_rng(3), n_items=400, n_workers=20, n_classes=n_classes, skill=3.0)
    basis = nominal(n_classes).basis()
    model = Model(basis, basis, 1.0, BETA)
    sigma = 3.0 * np.eye(n_classes) + np.random.default_rng(4).normal(size=(20, n_classes, n_classes))
    full = LocalEngine(labels, warm=True, item_tolerance=1e-20).posteriors(model, sigma, np.zeros(n_classes))
    weak = LocalEngine(labels, warm=False, item_tolerance=tolerance)
    found = weak.posteriors(model, sigma, np.zeros(n_classes))
    assert weak._has_weak_items(model)
    assert 0 <= full[0].objective - found[0].objective + 1e-9 <= labels.n_items * tolerance + 1e-9
    np.testing.assert_allclose(found[1], full[1], atol=max(1e-8, 10 * np.sqrt(tolerance / BETA)))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 8])
def test_a_fit_that_skips_classes_equals_the_full_computation(n_classes):
    """Both fitted from the same start, items to 1e-14: every probability within 1e-6, the objective within 1e-10."""
    labels, _ = simulate(
        np.random.default_rng(3), n_items=300, n_workers=20, n_classes=n_classes, skill=6.0, labels_per_item=10
    )
    basis = nominal(n_classes).basis()
    model, uniform = Model(basis, basis, 0.1, BETA), np.full(n_classes, -np.log(n_classes))
    found = []
    for warm in (True, False):
        engine = LocalEngine(labels, warm=warm, item_tolerance=1e-14)
        assert engine._has_weak_items(model) != warm
        solution = fit_profiled(engine, model, uniform, starts=1, max_iter=3000, tol=1e-13)
        found.append((solution.objective, solution.predict(engine)))
    (high, full), (value, weak) = found
    assert value == pytest.approx(high, rel=1e-10)
    np.testing.assert_allclose(weak.posterior, full.posterior, atol=1e-6)
    skipped = full.posterior < np.sqrt(0.05 * 1e-14 * BETA) / 10  # 10 labels an item
    assert n_classes == 2 or skipped.mean() > 0.5  # else nothing was shown


@pytest.mark.parametrize("n_classes", [2, 3])
def test_products_too_small_for_a_float_are_taken_in_logarithms(n_classes):
    labels, sigma, log_prior, model = problem(n_classes, seed=2)
    sigma = 400.0 * sigma
    objective, gradient, posterior, _ = reference.sweep(labels, sigma, log_prior, model.item, BETA)
    engine = LocalEngine(labels, warm=False, item_tolerance=1e-18)
    sums, found = engine.posteriors(model, sigma, log_prior)
    assert sums.objective == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(found, posterior, atol=1e-7)
    np.testing.assert_allclose(sums.gradient, gradient, atol=1e-7)
    assert objective < -400 * labels.n_items / 4  # some products were below the smallest float


def test_only_free_tables_and_short_items_are_weak():
    labels, _, _, model = problem(3)
    engine, longest = LocalEngine(labels, warm=False), int(np.diff(labels.starts).max())
    assert engine._has_weak_items(model)
    assert not engine._has_weak_items(Model(model.worker, model.item, 1.0, 2.0 * longest - 0.1))
    assert not engine._has_weak_items(Model(model.worker, ordinal(3).basis(), 1.0, BETA))
    assert not engine._has_weak_items(Model(model.worker, None, 1.0, BETA))
    assert not LocalEngine(labels)._has_weak_items(model)  # small data keep their items' coordinates
    assert not LocalEngine(labels, warm=True)._has_weak_items(model)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_change_nothing(n_classes):
    labels, _ = simulate(np.random.default_rng(5), n_items=30_000, n_workers=30, n_classes=n_classes)
    basis = nominal(n_classes).basis()
    model = Model(basis, basis, 1.0, 200.0)
    sigma = np.random.default_rng(6).normal(size=(30, n_classes, n_classes)) + np.eye(n_classes)
    one, three = (LocalEngine(labels, threads=threads).posteriors(model, sigma, np.zeros(n_classes)) for threads in (1, 3))
    assert one[0].objective == three[0].objective
    np.testing.assert_array_equal(one[0].gradient, three[0].gradient)
    np.testing.assert_array_equal(one[1], three[1])


@pytest.mark.parametrize("n_classes", [2, 4])
def test_coordinates_and_difficulty_are_computed_when_read(n_classes):
    labels, sigma, log_prior, model = problem(n_classes, seed=3, gold=1)
    weak, warm = LocalEngine(labels, warm=False, item_tolerance=1e-18), LocalEngine(labels, warm=True, item_tolerance=1e-20)
    for engine in (weak, warm):
        posterior = engine.posteriors(model, sigma, log_prior)[1]
    phi, expected = weak.coordinates(model), warm.coordinates(model)
    assert isinstance(phi, ItemCoordinates)
    assert phi.shape == expected.shape
    for key in (slice(None), slice(3, 7), np.array([5, 1]), (slice(None), 0)):
        np.testing.assert_allclose(phi[key], expected[key], atol=1e-7)
    average = sigma.mean(axis=0)
    np.testing.assert_allclose(
        average_difficulty(model.item, average, posterior, phi),
        average_difficulty(model.item, average, posterior, expected),
        atol=1e-7,
    )
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(phi))), np.asarray(phi))
