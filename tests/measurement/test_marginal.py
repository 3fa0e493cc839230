"""The marginal likelihood, its gradient and its curvature, against what can be had without them."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

from crowdassay import PartialCredit, Rasch, RatingScale
from crowdassay.measurement import fit
from crowdassay.measurement.fit import FacetsLikelihood, fit_facets
from crowdassay.measurement.rasch import design_responses, make_prior, step_rows
from crowdassay.measurement.ratings import read_responses
from support.draws import draw_scores

MODELS = [Rasch(), RatingScale(), PartialCredit()]


class Case:
    """A small problem with gaps; ``cut`` takes the lowest score from some items, as a truth inside a scale does."""

    def __init__(self, model, width=None, n_workers=60, seed=0, cut=True, times=1):
        steps = np.random.default_rng(seed).normal(size=(5, 1 if isinstance(model, Rasch) else 3))
        responses = model._prepare(read_responses(draw_scores(seed, n_workers, steps, share=0.8)[0]))
        if cut and not isinstance(model, Rasch):
            low = np.where(np.arange(len(responses.items)) < 2, 1, 0)
            keep = responses.score >= low[responses.item]
            parts = {name: getattr(responses, name)[keep] for name in ("item", "worker", "score")}
            responses = dataclasses.replace(responses, low=low, **parts)
        many = {name: np.tile(getattr(responses, name), times) for name in ("item", "worker", "score")}
        self.responses, self.own_steps = dataclasses.replace(responses, **many), model.own_steps
        self.design = design_responses(self.responses, own_steps=model.own_steps)
        steps = step_rows(self.responses, self.design, own_steps=model.own_steps)
        self.prior = None if width is None else make_prior(steps, 5, width, own_steps=model.own_steps)
        self.size = self.design.n_parameters

    def problem(self):
        return FacetsLikelihood(self.design, joint=False, prior=self.prior)

    def fitted(self, spread=None):
        return fit_facets(
            self.design, joint=False, max_iter=100, tol=1e-9, prior=self.prior, standard=True, spread=spread
        )  # fmt: skip

    def point(self, seed=1):
        """Parameters drawn at random, the centre at zero and the spread exp(0.3)."""
        return np.concatenate([np.random.default_rng(seed).normal(size=self.size), [0.0, 0.3]])

    def hurdles(self, parameters):
        """The sum of the steps up to each score, (n_items, n_scores), infinite for what an item cannot give."""
        data, n_items = self.responses, len(self.responses.items)
        scores = np.arange(data.n_steps + 1)
        possible = (scores >= data.low[:, None]) & (scores <= data.high[:, None])
        total = scores * parameters[:n_items, None]
        if self.own_steps:
            place = n_items
            for j in range(n_items):
                inner = np.flatnonzero(possible[j])[1:-1]
                total[j, inner] += parameters[place : place + len(inner)]
                place += len(inner)
        else:
            total[:, 1:-1] += parameters[n_items:]
        return np.where(possible, total, np.inf)

    def brute_force(self, parameters, log_spread, points=401):
        """The marginal log-likelihood by a plain sum over evenly spaced abilities."""
        theta, data = np.linspace(-10, 10, points), self.responses
        eta = self.hurdles(parameters)
        log_chance = log_softmax(np.arange(eta.shape[1])[:, None] * theta - eta[:, :, None], axis=1)
        log_joint = np.tile(norm.logpdf(theta, 0, np.exp(log_spread)), (len(data.workers), 1))
        np.add.at(log_joint, data.worker, log_chance[data.item, data.score])
        return logsumexp(log_joint, axis=1).sum() + len(data.workers) * np.log(theta[1] - theta[0])


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_likelihood(model):
    case = Case(model)
    point = case.point()
    assert case.problem().evaluate(point)[0] == pytest.approx(case.brute_force(point[:-2], point[-1]), abs=1e-5)


@pytest.mark.slow
def test_likelihood_of_a_worker_with_thousands_of_responses():
    """Nodes that are the same for all workers would miss so sharp a peak."""
    case = Case(Rasch(), n_workers=10, seed=2, times=400)
    value = case.problem().evaluate(np.zeros(7))[0]
    assert value == pytest.approx(case.brute_force(np.zeros(5), 0.0, 2001), rel=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_gradient(model):
    case = Case(model, width=0.3**-0.5)
    problem, point = case.problem(), case.point()
    numeric = approx_fprime(point, lambda p: problem.evaluate(p)[0], 1e-6)
    np.testing.assert_allclose(problem.evaluate(point)[1], numeric, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_maximum_is_that_of_brute_force(model):
    """Direct numerical maximisation: another integral, no gradient of ours."""
    case = Case(model, n_workers=100)
    found = case.fitted()
    direct = minimize(
        lambda p: -case.brute_force(p[:-1], p[-1]), np.zeros(case.size + 1), method="BFGS", options={"gtol": 1e-3}
    )
    assert found.converged
    np.testing.assert_allclose([*found.parameters, np.log(found.spread)], direct.x, atol=2e-3)
    assert found.log_likelihood == pytest.approx(-direct.fun, abs=1e-4)


@pytest.mark.parametrize("fixed_spread", [False, True])
@pytest.mark.parametrize("width", [None, 0.5**-0.5])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_covariance_is_the_inverse_hessian(model, width, fixed_spread):
    case = Case(model, width, n_workers=150)
    found, problem = case.fitted(1.0 if fixed_spread else None), case.problem()
    point = np.concatenate([found.parameters, [0.0, np.log(found.spread)]])
    free = np.arange(case.size) if fixed_spread else np.append(np.arange(case.size), case.size + 1)
    step = 1e-4 * np.eye(len(point))[free]
    hessian = np.array([(problem.evaluate(point + e)[1] - problem.evaluate(point - e)[1])[free] / 2e-4 for e in step])
    wanted = np.linalg.inv(-hessian)[: case.size, : case.size]
    np.testing.assert_allclose(found.covariance, wanted, atol=1e-6)


def test_a_given_spread_and_the_centre_stay():
    found = Case(Rasch(), n_workers=100).fitted(0.7)
    assert found.spread == pytest.approx(0.7, rel=1e-12)
    assert found.centre == 0.0


def test_beyond_many_parameters_the_diagonal_stands_alone(monkeypatch):
    case = Case(Rasch(), n_workers=150)
    whole = case.fitted(1.0)
    dense = case.problem().evaluate(np.concatenate([whole.parameters, [0.0, 0.0]]))[2]
    monkeypatch.setattr(fit, "MOST_DENSE", 2)
    alone = case.fitted(1.0)
    np.testing.assert_allclose(alone.parameters, whole.parameters, atol=1e-5)
    np.testing.assert_allclose(alone.covariance, 1.0 / np.diag(np.linalg.inv(whole.covariance)), rtol=1e-5)
    diagonal = case.problem().evaluate(np.concatenate([whole.parameters, [0.0, 0.0]]))[2]
    np.testing.assert_allclose(diagonal, np.diag(dense), rtol=1e-9)
