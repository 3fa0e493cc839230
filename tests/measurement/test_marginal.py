"""The likelihood, its gradient and its curvature, against what can be had without them."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

from crowdassay import PartialCredit, Rasch, RatingScale
from crowdassay.measurement import information
from crowdassay.measurement.information import covariance
from crowdassay.measurement.marginal import Marginal
from crowdassay.measurement.responses import read_responses
from support.draws import draw_scores

MODELS = [Rasch(), RatingScale(), PartialCredit()]


def make(model, precision=0.0, n_workers=60, seed=0, cut=True):
    """A small problem with gaps; ``cut`` takes the lowest score from some items, as a truth inside a scale does."""
    steps = np.random.default_rng(seed).normal(size=(5, 1 if isinstance(model, Rasch) else 3))
    responses = model._prepare(read_responses(draw_scores(seed, n_workers, steps, share=0.8)[0]))
    if cut and not isinstance(model, Rasch):
        low = np.where(np.arange(len(responses.items)) < 2, 1, 0)
        keep = responses.score >= low[responses.item]
        parts = {name: getattr(responses, name)[keep] for name in ("item", "worker", "score")}
        responses = dataclasses.replace(responses, low=low, **parts)
    basis, rows = model._basis(responses)
    return Marginal(responses, basis, (rows.sum(axis=0) > 0).astype(float), precision)


def brute_force(problem, parameters, points=401):
    """The marginal log-likelihood by a plain sum over evenly spaced abilities."""
    theta = np.linspace(-10, 10, points)
    eta = problem.hurdles(parameters[:-1])
    log_chance = log_softmax(np.arange(eta.shape[1])[:, None] * theta - eta[:, :, None], axis=1)
    data = problem.responses
    log_joint = problem.by_worker @ log_chance[data.item, data.score] + norm.logpdf(theta, 0, np.exp(parameters[-1]))
    return logsumexp(log_joint, axis=1).sum() + problem.n_workers * np.log(theta[1] - theta[0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_likelihood(model):
    problem = make(model)
    point = np.append(np.random.default_rng(1).normal(size=problem.basis.shape[1]), 0.3)
    problem.centre(point)
    assert problem.expect(point)[0] == pytest.approx(brute_force(problem, point), abs=1e-5)


def test_likelihood_of_a_worker_with_thousands_of_responses():
    """Nodes that are the same for all workers would miss so sharp a peak."""
    problem = make(Rasch(), n_workers=10, seed=2)
    data = problem.responses
    many = {name: np.tile(getattr(data, name), 400) for name in ("item", "worker", "score")}
    problem = Marginal(dataclasses.replace(data, **many), problem.basis, np.ones(5), 0.0)
    point = np.append(np.zeros(5), 0.0)
    problem.centre(point)
    assert problem.expect(point)[0] == pytest.approx(brute_force(problem, point, 2001), rel=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_gradient(model):
    problem = make(model, precision=0.3)
    point = np.append(np.random.default_rng(1).normal(size=problem.basis.shape[1]), 0.3)
    problem.centre(point)
    numeric = approx_fprime(point, lambda p: problem.evaluate(p)[0], 1e-6)
    np.testing.assert_allclose(problem.evaluate(point)[1], numeric, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_maximum_is_that_of_brute_force(model):
    """Direct numerical maximisation: another integral, no gradient of ours."""
    problem = make(model, n_workers=100)
    found, settled = problem.maximise(None)
    start = np.append(np.zeros(len(found) - 1), 0.0)
    direct = minimize(lambda p: -brute_force(problem, p), start, method="BFGS", options={"gtol": 1e-3})
    assert settled
    np.testing.assert_allclose(found, direct.x, atol=2e-3)


@pytest.mark.parametrize("fixed_spread", [False, True])
@pytest.mark.parametrize("precision", [0.0, 0.5])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_covariance_is_the_inverse_hessian(model, precision, fixed_spread):
    problem = make(model, precision, n_workers=150)
    found, _ = problem.maximise(1.0 if fixed_spread else None)
    step = 1e-4 * np.eye(len(found))
    hessian = np.array([(problem.evaluate(found + e)[1] - problem.evaluate(found - e)[1]) / 2e-4 for e in step])
    wanted = np.linalg.inv(-hessian[:-1, :-1]) if fixed_spread else np.linalg.inv(-hessian)[:-1, :-1]
    np.testing.assert_allclose(covariance(problem, found, fixed_spread=fixed_spread).toarray(), wanted, atol=1e-6)


def test_beyond_many_parameters_the_diagonal_stands_alone(monkeypatch):
    problem = make(Rasch(), n_workers=150)
    found, _ = problem.maximise(None)
    whole = covariance(problem, found, fixed_spread=True).toarray()
    monkeypatch.setattr(information, "DENSE", 2)
    diagonal = covariance(problem, found, fixed_spread=True).toarray()
    np.testing.assert_allclose(np.diag(diagonal), 1.0 / np.diag(np.linalg.inv(whole)), rtol=1e-9)
