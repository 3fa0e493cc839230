import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import digamma
from scipy.stats import beta

from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.solvers.em import coin_tables, coin_update, fit_em, free_tables, mean_field_update
from support.problems import random_labels


@pytest.fixture
def counts():
    labels = random_labels(2, n_items=30)
    return LocalEngine(labels).count(np.full((6, 3, 3), -np.log(3)), np.zeros(3), Weights.VOTES).counts


@pytest.mark.parametrize("projection", [0.0, 0.4])
def test_the_update_is_the_best_coin(counts, projection):
    log_p, density = coin_update(4.0, 1.0, per_class=False, projection=projection)(counts)
    for table, seen in zip(log_p, counts, strict=True):

        def loss(p, seen=seen):
            own = coin_tables(np.log([[p]]), np.log([[1 - p]]), 3)[0]
            return -(seen * own).sum() - 4 * np.log(p) - np.log(1 - p)

        low, high = max(projection, 1e-9), 1 - max(projection, 1e-9)
        best = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
        assert loss(np.exp(table[0, 0])) <= best.fun + 1e-9
        np.testing.assert_allclose(np.exp(table).sum(axis=1), 1.0)
    right = log_p[:, 0, 0]
    assert density == pytest.approx((4 * right + np.log1p(-np.exp(right))).sum())


def test_the_mean_field_update_returns_minus_the_divergence(counts):
    log_p, gain = mean_field_update(2.0, 1.5)(counts)
    right = np.einsum("icc->i", counts)
    wrong = counts.sum(axis=(1, 2)) - right
    divergence = 0.0
    for a, b in zip(2.0 + right, 1.5 + wrong, strict=True):
        q, p = beta(a, b), beta(2.0, 1.5)
        divergence += quad(lambda x, q=q, p=p: q.pdf(x) * (q.logpdf(x) - p.logpdf(x)), 0, 1, limit=200)[0]
    assert gain == pytest.approx(-divergence, rel=1e-6)
    np.testing.assert_allclose(log_p[:, 1, 1], digamma(2.0 + right) - digamma(3.5 + right + wrong))


@pytest.mark.parametrize(
    "update", [coin_update(0, 0, per_class=True), coin_update(2, 1, per_class=False, projection=0.1), mean_field_update(2, 1)]
)
@pytest.mark.parametrize("estimate_prior", [True, False])
def test_em_only_rises_whatever_the_update(update, estimate_prior):
    engine = LocalEngine(random_labels(7, n_items=80, gold=4))
    found = fit_em(engine, estimate_prior=estimate_prior, max_iter=3000, tol=1e-12, update=update)
    history, converged = found.history, found.converged
    assert converged
    assert np.diff(history).min() >= -1e-10 * abs(history[-1])


def test_em_goes_on_from_given_tables():
    engine = LocalEngine(random_labels(7, n_items=80))
    options = {"estimate_prior": False, "tol": 0.0, "update": free_tables(0.5)}
    middle, end = (fit_em(engine, max_iter=max_iter, **options) for max_iter in (5, 9))
    again = fit_em(engine, max_iter=4, start=middle.sigma, **options)
    np.testing.assert_allclose(middle.history + again.history, end.history)
    np.testing.assert_allclose(again.sigma, end.sigma)
