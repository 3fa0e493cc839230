"""The population block, the learned prior and the learned penalty of the family."""

import numpy as np
import pytest

from crowdassay import MinimaxEntropy
from crowdassay.checks.simulate import simulate
from crowdassay.engines.base import Weights
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.files.place import FilesPlace
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.minimax import make_model
from crowdassay.findings.scores import error_rate
from crowdassay.labels.labels import Labels
from crowdassay.models.family import VANISHING, Model, centred_metric, usual_gamma
from crowdassay.models.structures import nominal
from crowdassay.solvers.empirical import learned_prior
from crowdassay.solvers.profiled import WorkerProblem
from support.problems import random_labels
from support.spools import spool_labels


def model(n_classes, *, population=True, metric=False):
    basis = nominal(n_classes).basis()
    return Model(basis, None, 2.0, 1.0, centred_metric(basis) if metric else None, population)


@pytest.mark.parametrize("metric", [False, True])
def test_the_shared_block_is_where_it_costs_least(metric):
    family = model(3, metric=metric)
    coordinates = np.random.default_rng(0).normal(size=(5, family.worker.size))
    shape = np.eye(family.worker.size) if family.metric is None else family.metric

    def cost(shared):
        apart = coordinates - shared
        return 0.5 * (2.0 * np.einsum("ir,rs,is->", apart, shape, apart) + VANISHING * shared @ shape @ shared)

    penalty, _ = family.penalise(coordinates)
    best = (coordinates - family.deviations(coordinates))[0]
    assert penalty == pytest.approx(cost(best), rel=1e-12)
    for other in np.random.default_rng(1).normal(best, 0.1, (5, family.worker.size)):
        assert cost(other) >= penalty


def test_gradient_with_a_population_by_finite_differences():
    labels = random_labels(0)
    problem = WorkerProblem(LocalEngine(labels), model(3), np.zeros(3), 10**6)
    generator = np.random.default_rng(2)
    point, way = generator.normal(size=(2, len(problem.origin())))
    for weights in (Weights.VOTES, Weights.FREE):
        _, gradient = problem.evaluate(point, weights)
        ahead, behind = (problem.evaluate(point + h * way, weights)[0] for h in (1e-5, -1e-5))
        assert gradient @ way == pytest.approx((ahead - behind) / 2e-5, rel=1e-5)


def test_at_the_same_tables_a_population_never_costs_more():
    labels = random_labels(1)
    coordinates = np.random.default_rng(3).normal(size=(labels.n_workers, nominal(3).basis().size))
    with_it, without = (
        problem.evaluate(problem.point(coordinates), Weights.FREE)[0]
        for problem in (WorkerProblem(LocalEngine(labels), model(3, population=on), np.zeros(3), 99) for on in (True, False))
    )
    assert with_it >= without


def test_pooled_counts_match_and_each_workers_nearly():
    """The primal meaning: the crowd's confusion counts as expected, each worker's up to alpha times its deviation."""
    labels, _ = simulate(np.random.default_rng(0), n_items=120, n_workers=8, n_classes=3)
    fitted = MinimaxEntropy(population=True, item_structure="none", alpha=5.0, tol=1e-13).fit(labels).result_
    observed = observed_counts(labels, fitted.posterior)
    rows = observed.sum(axis=2, keepdims=True)
    left = observed - rows * np.exp(fitted.sigma) / np.exp(fitted.sigma).sum(axis=2, keepdims=True)
    deviation = fitted.sigma - fitted.sigma.mean(axis=0)
    np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=0.02)
    np.testing.assert_allclose(left, 5.0 * deviation, atol=0.02)
    assert np.abs(left).max() > 0.5


def test_a_strong_penalty_makes_workers_alike_not_random():
    labels, truth = simulate(np.random.default_rng(1), n_items=200, n_workers=10, n_classes=3, item_spread=0.0)
    alike = MinimaxEntropy(population=True, item_structure="none", alpha=1e6).fit(labels).result_
    assert np.abs(alike.sigma - alike.sigma.mean(axis=0)).max() < 1e-2
    assert error_rate(alike.winners, truth) < 0.3
    flat = MinimaxEntropy(item_structure="none", alpha=1e6).fit(labels).result_
    assert flat.posterior.max() < 0.4


def test_strangers_are_taken_for_the_population():
    labels, _ = simulate(np.random.default_rng(1), n_items=100, n_workers=6, n_classes=3, item_spread=0.0)
    fitted = MinimaxEntropy(population=True, item_structure="none").fit(labels)
    sure = fitted.predict((["new"], ["a stranger"], labels.classes.to_pylist()[:1]))
    assert sure["probability"][0].as_py() > 0.5
    paper = MinimaxEntropy(item_structure="none").fit(labels)
    assert paper.predict((["new"], ["a stranger"], labels.classes.to_pylist()[:1]))["probability"][0].as_py() < 0.34


def skewed(seed, share=0.9):
    """Two classes, one of them rare, and workers who are right four times in five."""
    generator = np.random.default_rng(seed)
    truth = (generator.random(400) > share).astype(int)
    item, worker = np.repeat(np.arange(400), 4), np.tile(np.arange(20), 80)
    label = np.where(generator.random(1600) < 0.8, truth[item], 1 - truth[item])
    problem = random_labels(0, n_items=400, n_workers=20, n_classes=2)
    return Labels.from_codes(item, worker, label, items=problem.items, workers=problem.workers, classes=problem.classes), truth


def test_the_prior_is_learned():
    labels, truth = skewed(0)
    learned = MinimaxEntropy(item_structure="none", prior="learned", alpha=5.0).fit(labels).result_
    uniform = MinimaxEntropy(item_structure="none", alpha=5.0).fit(labels).result_
    assert np.exp(learned.log_prior[0]) == pytest.approx(np.mean(truth == 0), abs=0.05)
    np.testing.assert_allclose(learned.log_prior, learned_prior(learned.posterior), atol=0.02)
    assert error_rate(learned.winners, truth) < error_rate(uniform.winners, truth)
    assert list(learned.history) == sorted(learned.history)


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_penalty_is_learned_from_how_far_workers_lie_apart(spread):
    """Workers drawn about a common table with a known variance: the penalty comes out near its inverse."""
    generator = np.random.default_rng(4)
    basis, n_items, n_workers = nominal(2).basis(), 400, 60
    shared = basis.coordinates(np.array([[[0.8, -0.8], [-0.8, 0.8]]]))
    tables = basis.tables(shared + generator.normal(0, spread, (n_workers, basis.size)))
    truth = generator.integers(2, size=n_items)
    item, worker = (cells.ravel() for cells in np.indices((n_items, n_workers)))
    right = 1 / (1 + np.exp(tables[worker, truth[item], 1 - truth[item]] - tables[worker, truth[item], truth[item]]))
    label = np.where(generator.random(len(item)) < right, truth[item], 1 - truth[item])
    names = random_labels(0, n_items=n_items, n_workers=n_workers, n_classes=2)
    labels = Labels.from_codes(item, worker, label, items=names.items, workers=names.workers, classes=names.classes)
    fitted = MinimaxEntropy(population=True, gamma="learned", item_structure="none").fit(labels).result_
    assert fitted.parameters["alpha"] == pytest.approx(1 / spread**2, rel=0.3)


def test_by_default_nothing_is_learned_and_nothing_shared():
    labels = random_labels(3)
    default = MinimaxEntropy().fit(labels).result_
    gamma = usual_gamma(labels.n_classes, labels.n_workers, labels.n_items, labels.n_labels)
    spelled = MinimaxEntropy(population=False, prior="uniform", gamma=gamma).fit(labels).result_
    np.testing.assert_array_equal(default.posterior, spelled.posterior)
    assert default.parameters["gamma"] == pytest.approx(gamma)
    assert not make_model(MinimaxEntropy(), labels).population


@pytest.mark.parametrize(
    ("parameters", "said"),
    [({"prior": "flat"}, "prior"), ({"gamma": "learned", "solver": "algorithm1"}, "profiled"), ({"gamma": "some"}, "gamma")],
)
def test_nonsense_is_refused(parameters, said):
    with pytest.raises(ParameterError, match=said):
        MinimaxEntropy(**parameters).fit(random_labels(0))


@pytest.mark.parametrize("parameters", [{"prior": "learned"}, {"gamma": "auto"}, {"solver": "algorithm1"}])
def test_learning_choosing_and_algorithm_1_need_labels_in_memory(tmp_path, parameters):
    place = FilesPlace(spool_labels(random_labels(0), tmp_path, size=120))
    with pytest.raises(ParameterError, match="in memory"):
        MinimaxEntropy(**parameters).solve(place.engine(gathered=False))
