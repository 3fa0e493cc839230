import numpy as np
import pytest
from scipy.optimize import minimize

from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import gold_votes, shares
from crowdassay.models.family import Model
from crowdassay.models.structures import STRUCTURES, resolve
from crowdassay.solvers.algorithm1 import fit_algorithm1
from crowdassay.solvers.em import fit_em, free_tables
from crowdassay.solvers.profiled import WorkerProblem, fit_profiled
from support import reference
from support.problems import random_labels


@pytest.fixture(scope="module")
def labels():
    return simulate(np.random.default_rng(3), n_items=40, n_workers=8, n_classes=3, labels_per_item=4)[0]


def family(name, n_classes, alpha=1.5, beta=2.5, item=True):
    basis = resolve(name, n_classes).basis()
    return Model(basis, basis if item else None, alpha, beta)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("item", [True, False])
def test_both_solvers_only_rise_and_meet(labels, name, item):
    model, prior = family(name, 3, item=item), np.zeros(3)
    fast = fit_profiled(LocalEngine(labels), model, prior, starts=2, max_iter=2000, tol=1e-12)
    slow = fit_algorithm1(LocalEngine(labels, item_tolerance=1e-18), model, prior, max_steps=3000, tol=1e-6)
    for outcome in (fast, slow):
        assert outcome.converged
        assert np.diff(outcome.history).min(initial=0.0) >= -1e-9 * abs(outcome.objective)
        assert outcome.objective == pytest.approx(outcome.history[-1], rel=1e-12)
    assert fast.objective >= slow.objective - 1e-6 * abs(slow.objective)


@pytest.mark.slow
def test_m_step_is_the_joint_optimum():
    """Algorithm 1's M-step, solved by profiling, equals a joint maximisation over all parameters by another optimiser."""
    labels = random_labels(5, n_items=6, n_workers=4)
    model = family("ordinal", 3)
    engine = LocalEngine(labels)
    problem = WorkerProblem(engine, model, np.zeros(3), 10**6)
    _, value, _ = problem.maximise(np.zeros(4 * 4), Weights.VOTES, 1e-14)
    held = shares(gold_votes(labels))

    def joint(flat):
        theta, phi = flat[:16].reshape(4, 4), flat[16:].reshape(6, 4)
        total = -0.5 * model.alpha * np.sum(theta**2)
        sigma = model.worker.tables(theta)
        for j in range(6):
            mine = slice(labels.starts[j], labels.starts[j + 1])
            total += reference.evaluate_item(
                sigma[labels.worker[mine]], labels.label[mine], np.zeros(3), model.item, model.beta, held[j], phi[j]
            )[0]
        return -total

    assert value == pytest.approx(-minimize(joint, np.zeros(16 + 24), tol=1e-10).fun, rel=1e-8)


@pytest.mark.parametrize("name", ["nominal", "ordinal"])
def test_primal_constraints_hold_at_the_optimum(labels, name):
    """Expected minus observed counts equal minus alpha sigma and minus beta tau (Equations 9 and 10 with their slacks)."""
    model = family(name, 3)
    engine = LocalEngine(labels, item_tolerance=1e-20)
    solution = fit_profiled(engine, model, np.zeros(3), starts=1, max_iter=5000, tol=1e-15)
    sigma, found = solution.sigma, solution.predict(engine)
    features = np.asarray(resolve(name, 3).features.todense())
    solve = np.linalg.pinv(features - features.reshape(3, 3, -1).mean(axis=1, keepdims=True).repeat(3, axis=1).reshape(9, -1))
    theta = sigma.reshape(-1, 9) @ solve.T
    gradient = observed_counts(labels, found.posterior) - found.expected
    slack = gradient.reshape(-1, 9) @ features  # observed minus expected, in each of the structure's regions
    np.testing.assert_allclose(slack, model.alpha * theta, atol=2e-3)
    tau = model.item.tables(found.phi)
    for j in (0, 7, 31):
        mine = slice(labels.starts[j], labels.starts[j + 1])
        _, weights, residual = reference.evaluate_item(
            sigma[labels.worker[mine]], labels.label[mine], np.zeros(3), model.item, model.beta, None, found.phi[j]
        )
        zeta = (weights[:, None] * residual.sum(axis=0)).ravel() @ features
        np.testing.assert_allclose(zeta, model.beta * (solve @ tau[j].ravel()), atol=1e-6)


def test_gold_is_never_overruled(labels):
    gold = np.full(labels.n_items, -1)
    gold[:10] = (labels.votes()[:10].argmax(axis=1) + 1) % 3
    known = labels.with_gold(gold)
    engine = LocalEngine(known)
    for solution in (
        fit_profiled(engine, family("nominal", 3), np.zeros(3), starts=2, max_iter=500, tol=1e-9),
        fit_algorithm1(LocalEngine(known), family("nominal", 3), np.zeros(3), max_steps=20, tol=1e-3),
    ):
        np.testing.assert_array_equal(solution.predict(engine).posterior[:10], np.eye(3)[gold[:10]])


@pytest.mark.parametrize("n_iter", [1, 2, 7])
def test_running_out_of_iterations_keeps_the_best_so_far(labels, n_iter):
    engine = LocalEngine(labels)
    found = fit_profiled(engine, family("nominal", 3), np.zeros(3), starts=2, max_iter=n_iter, tol=1e-9)
    assert not found.converged
    assert found.n_iter <= n_iter
    assert np.isfinite(found.objective)
    np.testing.assert_allclose(found.predict(engine).posterior.sum(axis=1), 1.0)


@pytest.mark.parametrize("estimate_prior", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_em_only_rises(labels, estimate_prior, smoothing):
    found = fit_em(LocalEngine(labels), estimate_prior=estimate_prior, update=free_tables(smoothing), max_iter=2000, tol=1e-10)
    assert found.converged
    assert found.n_iter == len(found.history)
    assert np.diff(found.history).min() >= -1e-9 * abs(found.objective)
    np.testing.assert_allclose(np.exp(found.sigma).sum(axis=2), 1.0)
    assert np.exp(found.log_prior).sum() == pytest.approx(1.0)


def test_without_items_the_family_is_dawid_skenes():
    """With no item block and a vanishing penalty, the profiled solver finds EM's likelihood."""
    labels, _ = simulate(np.random.default_rng(4), n_items=300, n_workers=6, n_classes=3, labels_per_item=6, item_spread=0.0)
    engine = LocalEngine(labels)
    by_em = fit_em(engine, estimate_prior=False, max_iter=20000, tol=1e-13)
    model = family("nominal", 3, alpha=1e-9, item=False)
    found = fit_profiled(engine, model, np.full(3, -np.log(3)), starts=1, max_iter=20000, tol=1e-13)
    assert found.objective == pytest.approx(by_em.objective, rel=1e-6)
