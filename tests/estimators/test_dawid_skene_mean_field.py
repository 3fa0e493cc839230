from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from crowdassay import DawidSkeneMeanField
from crowdassay.checks.simulate import simulate
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.solvers.em import dirichlet_prior
from support.problems import random_labels


def log_beta(rows):
    return gammaln(rows).sum(axis=-1) - gammaln(rows.sum(axis=-1))


def log_joint(labels, truth, c1, c2):
    """Exact log P(labels, truth), the tables integrated out."""
    counts = np.zeros((labels.n_workers, labels.n_classes, labels.n_classes))
    np.add.at(counts, (labels.worker, truth[labels.label_item], labels.label), 1)
    prior = dirichlet_prior(labels.n_classes, c1, c2)
    return (log_beta(prior + counts) - log_beta(prior)).sum() - labels.n_items * np.log(labels.n_classes)


@pytest.mark.parametrize(("c1", "c2"), [(1.0, 1.0), (3.0, 0.5), (0.3, 0.1)])
def test_the_bound_rises_and_stays_below_the_marginal_likelihood(c1, c2):
    labels = random_labels(2, n_items=8, n_workers=3, n_classes=2)
    result = DawidSkeneMeanField(diagonal=c1, off_diagonal=c2, tol=1e-13).fit(labels).result_
    every = [log_joint(labels, np.array(truth), c1, c2) for truth in product(range(2), repeat=8)]
    assert result.converged
    assert np.diff(result.history).min(initial=0.0) >= -1e-10
    assert max(every) < result.objective < logsumexp(every)


def test_the_bound_is_exact_when_all_classes_are_known():
    labels = random_labels(7, n_items=12, n_classes=3, gold=12)
    result = DawidSkeneMeanField(diagonal=2.0, off_diagonal=0.7).fit(labels).result_
    assert result.objective == pytest.approx(log_joint(labels, labels.gold, 2.0, 0.7), rel=1e-12)


def test_a_prior_without_doubt_is_a_weighted_vote():
    labels = random_labels(5, n_items=20)
    result = DawidSkeneMeanField(diagonal=4e9, off_diagonal=1e9).fit(labels).result_
    shares = np.exp(labels.votes() * np.log(4.0))
    np.testing.assert_allclose(result.posterior, shares / shares.sum(axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(result.confusion, np.where(np.eye(3), 2 / 3, 1 / 6) + np.zeros((6, 1, 1)), atol=1e-6)


def test_the_grid_is_the_papers_and_the_highest_bound_wins():
    labels, _ = simulate(np.random.default_rng(0), n_items=50, n_workers=7, n_classes=2)
    grid = [trial.settings for trial in DawidSkeneMeanField()._trials(LocalEngine(labels))]
    assert len(grid) == 121
    assert grid[0] == pytest.approx({"diagonal": 0.1, "off_diagonal": 0.1})
    assert grid[-1] == pytest.approx({"diagonal": 100.0, "off_diagonal": 10.0})
    result = DawidSkeneMeanField(off_diagonal=1.0).fit(labels).result_
    fits = [DawidSkeneMeanField(diagonal=c1, off_diagonal=1.0).fit(labels).result_ for c1 in 10 ** np.linspace(0, 1, 11)]
    best = max(fits, key=lambda fit: fit.objective)
    assert result.objective == pytest.approx(best.objective, rel=1e-9)
    assert result.parameters["diagonal"] == pytest.approx(best.parameters["diagonal"])
    assert result.n_iter == sum(fit.n_iter for fit in fits)


def test_a_stranger_is_taken_for_what_the_prior_says():
    labels, _ = simulate(np.random.default_rng(0), n_items=50, n_workers=7, n_classes=2)
    fitted = DawidSkeneMeanField(diagonal=4e9, off_diagonal=1e9).fit(labels)
    new = fitted.predict_proba((["new"], ["a stranger"], labels.classes.to_pylist()[:1]))
    assert new.column(1)[0].as_py() == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("parameters", [{"diagonal": 0.0}, {"off_diagonal": -1.0}, {"diagonal": "many"}, {"max_iter": 0}])
def test_nonsense_is_refused(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        DawidSkeneMeanField(**parameters).fit(random_labels(0))


# The paper prints 10.19, 6.63, 5.84 and 18.24 (RMSE 0.559): at most 0.4 points, eight items of web_search, away.
@pytest.mark.slow
@pytest.mark.parametrize(("name", "error"), [("bluebirds", 10.19), ("rte", 6.87), ("temp", 5.84)])
def test_errors_on_the_papers_data(real, name, error):
    labels, truth = real(name)
    assert 100 * error_rate(DawidSkeneMeanField().fit(labels).result_.winners, truth) == pytest.approx(error, abs=0.006)


@pytest.mark.slow
def test_web_search_with_the_chosen_prior(real):
    """The grid chooses c1 = 10^0.2 and c2 = 10^-0.2 there; its neighbours are lower."""
    labels, truth = real("web_search")
    c1, c2 = 10**0.2, 10**-0.2
    result = DawidSkeneMeanField(diagonal=c1, off_diagonal=c2).fit(labels).result_
    assert 100 * error_rate(result.winners, truth) == pytest.approx(17.94, abs=0.05)
    assert distance_errors(result.winners, truth)[0] == pytest.approx(0.556, abs=0.001)
    for near in ((c1 * 10**0.1, c2), (c1 / 10**0.1, c2), (c1 * 10**0.2, c2 * 10**0.2), (c1 / 10**0.2, c2 / 10**0.2)):
        assert DawidSkeneMeanField(diagonal=near[0], off_diagonal=near[1]).fit(labels).objective_ < result.objective
