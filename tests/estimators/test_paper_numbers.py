"""Numbers of the paper, and of an independent implementation, on the paper's own data."""

import numpy as np
import pytest

from crowdassay import DawidSkene, MajorityVote, MinimaxEntropy
from crowdassay.findings.scores import distance_errors, error_rate

pytestmark = pytest.mark.slow

# data, structure, objective at gamma = 1/4, error in percent when converged, error in percent with the authors' stop rule
MINIMAX = [
    ("bluebirds", "nominal", -1743.0557, 8.33, 8.33),
    ("temp", "nominal", -1126.0591, 5.63, 5.63),
    ("rte", "nominal", -3332.6811, 7.63, 7.63),
    ("web_search", "nominal", -16900.6244, 11.08, 11.12),
    ("web_search", "ordinal", -15435.9688, 10.29, 10.33),
]


def percent(result, truth):
    return 100 * error_rate(result.winners, truth)


@pytest.mark.parametrize(("name", "error"), [("bluebirds", 24.07), ("temp", 6.39), ("rte", 10.31), ("web_search", 26.93)])
def test_majority_vote(real, name, error):
    labels, truth = real(name)
    assert percent(MajorityVote().fit(labels).result_, truth) == pytest.approx(error, abs=0.006)


def test_table_3_prints_root_mean_square_errors(real):
    labels, truth = real("web_search")
    assert distance_errors(MajorityVote().fit(labels).result_.winners, truth)[0] == pytest.approx(0.930, abs=0.0006)


@pytest.mark.parametrize(("name", "error"), [("bluebirds", 10.19), ("temp", 5.84), ("rte", 7.25), ("web_search", 16.92)])
def test_dawid_skene(real, name, error):
    labels, truth = real(name)
    result = DawidSkene(prior="uniform", smoothing=0.0, max_iter=100).fit(labels).result_
    assert percent(result, truth) == pytest.approx(error, abs=0.006)


@pytest.mark.parametrize(("name", "structure", "objective", "error", "_"), MINIMAX)
def test_profiled_solver(real, name, structure, objective, error, _):
    labels, truth = real(name)
    result = MinimaxEntropy(structure=structure, gamma=0.25).fit(labels).result_
    assert result.converged
    assert result.objective >= objective - 1e-6 * abs(objective)
    assert percent(result, truth) == pytest.approx(error, abs=0.006)
    if structure == "ordinal":
        assert distance_errors(result.winners, truth)[0] == pytest.approx(0.3834, abs=0.0001)


@pytest.mark.parametrize(("name", "structure", "objective", "error", "_"), MINIMAX)
def test_algorithm_1_converged(real, name, structure, objective, error, _):
    labels, truth = real(name)
    result = MinimaxEntropy(structure=structure, solver="algorithm1", tol=2e-5).fit(labels).result_
    assert np.diff(result.history).min() > -1e-9 * abs(objective)
    assert result.objective >= objective - 1e-6 * abs(objective)
    assert percent(result, truth) == pytest.approx(error, abs=0.006)


@pytest.mark.parametrize(("name", "structure", "_", "__", "error"), MINIMAX)
def test_algorithm_1_with_the_authors_stop_rule(real, name, structure, _, __, error):
    labels, truth = real(name)
    result = MinimaxEntropy(structure=structure, solver="algorithm1", tol=5e-3, max_iter=50).fit(labels).result_
    assert percent(result, truth) == pytest.approx(error, abs=0.006)
    if structure == "ordinal":
        assert distance_errors(result.winners, truth)[0] == pytest.approx(0.384, abs=0.0006)
