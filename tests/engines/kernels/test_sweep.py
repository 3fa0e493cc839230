"""The compiled sweep equals the readable one, and its derivatives are derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.models.family import Model
from crowdassay.models.structures import STRUCTURES, reference_sets, resolve
from crowdassay.statistics import log_softmax
from support import reference
from support.problems import random_labels

NAMES = [*STRUCTURES, "sets", None]


def item_basis(name, n_classes):
    if name is None:
        return None
    return (
        reference_sets(n_classes, [{0}, {0, n_classes - 1}][: n_classes - 1]) if name == "sets" else resolve(name, n_classes)
    ).basis()


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 7, 9, 12])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("gold", [0, 2])
def test_compiled_equals_reference(name, n_classes, gold):
    n_items = 12 if n_classes < 8 else 4  # the readable kernel takes long over large tables
    labels = random_labels(n_classes, n_items=n_items, n_classes=n_classes, gold=gold)
    generator = np.random.default_rng(n_classes)
    sigma = generator.normal(size=(labels.n_workers, n_classes, n_classes)) + np.eye(n_classes)
    log_prior = np.log(generator.dirichlet(np.ones(n_classes)))
    basis, beta = item_basis(name, n_classes), 0.8
    model = Model(resolve("nominal", n_classes).basis(), basis, 1.0, beta)
    engine = LocalEngine(labels, warm=False, item_tolerance=1e-22, item_steps=500)
    held = generator.dirichlet(np.ones(n_classes), size=labels.n_items)
    held[np.flatnonzero(labels.gold >= 0)] = np.eye(n_classes)[labels.gold[labels.gold >= 0]]
    engine.set_weights(held)
    votes = labels.votes() / labels.votes().sum(axis=1, keepdims=True)
    for weights, fixed in ((Weights.FREE, None), (Weights.VOTES, votes), (Weights.GIVEN, held)):
        objective, gradient, posterior, _ = reference.sweep(labels, sigma, log_prior, basis, beta, fixed)
        sums = engine.sweep(model, sigma, log_prior, weights)
        assert sums.objective == pytest.approx(objective, rel=1e-9)
        np.testing.assert_allclose(sums.gradient, gradient, atol=1e-9)
        np.testing.assert_allclose(sums.totals, posterior.sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_gradient_is_the_derivative_of_the_profiled_objective(name):
    """Finite differences through the item solve: the envelope theorem at work."""
    n_classes = 3
    labels = random_labels(1, n_classes=n_classes)
    basis = item_basis(name, n_classes)
    model = Model(resolve("nominal", n_classes).basis(), basis, 1.0, 0.8)
    engine = LocalEngine(labels, warm=False, item_tolerance=1e-20, item_steps=500)
    shape = (labels.n_workers, n_classes, n_classes)
    point = np.random.default_rng(0).normal(size=shape)

    def objective(flat):
        return engine.sweep(model, flat.reshape(shape), np.zeros(n_classes)).objective

    numeric = approx_fprime(point.ravel(), objective, 1e-6)
    np.testing.assert_allclose(numeric, engine.sweep(model, point, np.zeros(n_classes)).gradient.ravel(), atol=2e-5)


def test_item_gradient_vanishes_at_the_items_optimum():
    labels = random_labels(2, n_classes=4)
    basis = resolve("ordinal", 4).basis()
    sigma = np.random.default_rng(0).normal(size=(labels.n_workers, 4, 4))
    _, _, _, phi = reference.sweep(labels, sigma, np.zeros(4), basis, 0.5)
    for j in range(labels.n_items):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        here = (sigma[labels.worker[mine]], labels.label[mine], np.zeros(4), basis, 0.5, None)
        numeric = approx_fprime(phi[j], lambda p, here=here: reference.evaluate_item(*here, p)[0], 1e-6)
        np.testing.assert_allclose(numeric, 0.0, atol=1e-5)


def test_extreme_tables_stay_finite():
    labels = random_labels(3)
    model = Model(resolve("nominal", 3).basis(), resolve("nominal", 3).basis(), 1.0, 1e-12)
    sigma = 1e4 * np.random.default_rng(0).normal(size=(labels.n_workers, 3, 3))
    sums, posterior = LocalEngine(labels).posteriors(model, sigma, np.zeros(3))
    assert np.isfinite(sums.objective)
    assert np.isfinite(sums.gradient).all()
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_log_softmax_does_not_overflow():
    np.testing.assert_allclose(np.exp(log_softmax(np.array([[1e5, 0.0], [0.0, 0.0]]))), [[1, 0], [0.5, 0.5]])
