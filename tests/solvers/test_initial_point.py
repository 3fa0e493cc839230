import numpy as np
import pytest
from scipy.optimize import approx_fprime

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.models.family import Model
from crowdassay.models.structures import resolve
from crowdassay.solvers import profiled
from crowdassay.solvers.profiled import WorkerProblem, fit_counts


@pytest.fixture(scope="module")
def labels():
    return simulate(np.random.default_rng(3), n_items=400, n_workers=10, n_classes=3, labels_per_item=6)[0]


@pytest.mark.parametrize("name", ["nominal", "ordinal"])
def test_opening_without_items_rises_to_the_same_optimum(labels, name):
    basis = resolve(name, 3).basis()
    model, run = Model(basis, basis, 1.0, 20.0), {"starts": 1, "max_iter": 500, "tol": 1e-11}
    slow = profiled.fit_profiled(LocalEngine(labels), model, np.zeros(3), **run)
    engine, heard = LocalEngine(labels, gathered=False), []
    fast = profiled.fit_profiled(engine, model, np.zeros(3), progress=lambda sweeps, _: heard.append(sweeps), **run)
    assert fast.objective == pytest.approx(slow.objective, rel=1e-8)
    assert np.diff(fast.history).min() >= -1e-9 * abs(fast.objective)
    assert heard[-1] <= fast.n_iter
    np.testing.assert_allclose(fast.sigma, slow.sigma, atol=1e-2)


def test_counts_are_fitted_to_a_summit(labels):
    basis = resolve("nominal", 3).basis()
    model, engine = Model(basis, None, 2.0, 0.0), LocalEngine(labels)
    counts = engine.count(np.full((10, 3, 3), -np.log(3)), np.zeros(3), Weights.VOTES).counts
    problem = WorkerProblem(engine, model, np.zeros(3), 100)
    point = fit_counts(problem, counts)

    def value(flat):
        tables = problem.tables(flat)
        log_p = tables - np.log(np.exp(tables).sum(axis=2, keepdims=True))
        return float(np.sum(counts * log_p)) - problem.penalise(flat)[0]

    gain = 0.5 * approx_fprime(point, value, 1e-6) ** 2 * problem.scales() ** 2 / model.alpha
    assert gain.sum() < 1e-3 * abs(value(point))
    assert value(point) > value(0 * point)


def test_learnt_units_are_the_trace_of_the_curvature(labels):
    basis = resolve("nominal", 3).basis()
    problem = WorkerProblem(LocalEngine(labels), Model(basis, None, 2.0, 0.0), np.zeros(3), 100)
    generator = np.random.default_rng(0)
    counts, p = generator.random((10, 3, 3)), generator.dirichlet(np.ones(3), size=(10, 3))
    problem.learn_scales(counts, p)
    for i, c in ((0, 0), (4, 2)):
        matrix = counts[i, c].sum() * (np.diag(p[i, c]) - np.outer(p[i, c], p[i, c]))
        assert problem.curvature[i, 2 * c : 2 * c + 2].sum() == pytest.approx(np.trace(matrix))
