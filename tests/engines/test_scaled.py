import numpy as np
import pytest

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.statistics import log_softmax
from support.problems import random_labels


def slow(labels, tables, log_scale, weights):
    """The model, written out label by label."""
    objective, posterior = 0.0, np.empty((labels.n_items, labels.n_classes))
    for j in range(labels.n_items):
        joint = np.full(labels.n_classes, -np.log(labels.n_classes))
        for n in range(labels.starts[j], labels.starts[j + 1]):
            joint += log_softmax(np.exp(log_scale[j]) * tables[labels.worker[n]])[:, labels.label[n]]
        if labels.gold[j] >= 0:
            posterior[j] = np.eye(labels.n_classes)[labels.gold[j]]
        elif weights == Weights.VOTES:
            posterior[j] = labels.votes()[j] / labels.votes()[j].sum()
        else:
            posterior[j] = np.exp(joint) / np.exp(joint).sum()
        some = posterior[j] > 0
        objective += posterior[j][some] @ (joint[some] - np.log(posterior[j][some]))
    return objective, posterior


@pytest.mark.parametrize("weights", [Weights.FREE, Weights.VOTES])
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_a_pass_is_the_model(n_classes, weights):
    labels = random_labels(4, n_classes=n_classes, gold=3)
    generator = np.random.default_rng(1)
    tables = generator.standard_normal((labels.n_workers, n_classes, n_classes))
    log_scale = generator.standard_normal(labels.n_items)
    engine = LocalEngine(labels)
    sums = engine.scaled(tables, log_scale, weights)
    objective, posterior = slow(labels, tables, log_scale, weights)
    assert sums.objective == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(sums.posterior, posterior, atol=1e-12)

    def value(change, of_tables):
        if of_tables:
            return engine.scaled(tables + change.reshape(tables.shape), log_scale, weights).objective
        return engine.scaled(tables, log_scale + change, weights).objective

    for gradient, of_tables in ((sums.gradient.ravel(), True), (sums.slope, False)):
        for _ in range(4):
            way = generator.standard_normal(gradient.shape)
            slope = (value(1e-5 * way, of_tables) - value(-1e-5 * way, of_tables)) / 2e-5
            assert slope == pytest.approx(gradient @ way, rel=1e-6, abs=1e-8)


def test_observed_minus_expected_counts_do_not_carry_the_scales():
    labels = random_labels(6)
    tables = np.random.default_rng(0).standard_normal((labels.n_workers, 3, 3))
    engine, flat = LocalEngine(labels), np.zeros(labels.n_items)
    np.testing.assert_array_equal(
        engine.scaled(tables, flat, plain=True).gradient, engine.scaled(tables, flat).gradient
    )  # all scales are one
    np.testing.assert_allclose(engine.scaled(tables, flat + 1, plain=True).gradient.sum(axis=2), 0.0, atol=1e-12)


def test_absurd_scales_stay_finite():
    labels = random_labels(6)
    tables = 5 * np.random.default_rng(0).standard_normal((labels.n_workers, 3, 3))
    for extreme in (-800.0, 800.0):
        sums = LocalEngine(labels).scaled(tables, np.full(labels.n_items, extreme))
        assert np.isfinite(sums.objective)
        assert np.isfinite(sums.gradient).all()
        assert np.isfinite(sums.posterior).all()


def test_threads_change_nothing():
    labels, _ = simulate(np.random.default_rng(0), n_items=4000, n_workers=20, n_classes=3)
    tables = np.random.default_rng(1).standard_normal((20, 3, 3))
    one, two = (LocalEngine(labels, threads=threads).scaled(tables, np.zeros(4000)) for threads in (1, 2))
    assert one.objective == two.objective
    np.testing.assert_array_equal(one.gradient, two.gradient)
