import numpy as np
import pytest

from crowdassay import DawidSkene, OneCoin, ProjectedEM, TwoCoin
from crowdassay.checks.simulate import simulate
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.findings.scores import error_rate
from crowdassay.models.family import Model
from crowdassay.models.structures import resolve
from crowdassay.solvers.em import coin_tables
from crowdassay.solvers.profiled import fit_profiled
from support.problems import random_labels

THREE, _ = simulate(np.random.default_rng(1), n_items=200, n_workers=12, n_classes=3, structure="agreement", item_spread=0.0)


@pytest.mark.parametrize("seed", [0, 1])
def test_two_coins_are_dawid_skene_for_two_classes(seed):
    labels = random_labels(seed, n_items=60, n_classes=2, gold=3)
    two, free = TwoCoin(prior="estimated").fit(labels).result_, DawidSkene(prior="estimated").fit(labels).result_
    np.testing.assert_allclose(two.posterior, free.posterior, atol=1e-10)
    np.testing.assert_allclose(two.accuracy, free.accuracy, atol=1e-10)
    assert two.history == pytest.approx(free.history)


@pytest.mark.parametrize(("coin", "structure"), [(OneCoin, "agreement"), (TwoCoin, "class-accuracy")])
def test_coins_are_rows_of_the_family(coin, structure):
    """With no item block and a vanishing penalty the family's own solver reaches the same likelihood."""
    ours = coin(max_iter=20000, tol=1e-14).fit(THREE).result_
    model = Model(resolve(structure, 3).basis(), None, 1e-8, 0.0)
    engine = LocalEngine(THREE)
    family = fit_profiled(engine, model, np.full(3, -np.log(3)), starts=1, max_iter=5000, tol=1e-13)
    assert ours.objective == pytest.approx(family.objective, rel=1e-6)
    np.testing.assert_allclose(ours.posterior, family.predict(engine).posterior, atol=2e-3)


@pytest.mark.parametrize("successes", [0.0, 3.0])
def test_no_other_accuracy_is_better(successes):
    """At the end the objective, computed afresh, falls whichever way any worker's coin is bent."""
    fitted = OneCoin(successes=successes, failures=successes / 3, max_iter=5000, tol=1e-15).fit(THREE).result_
    engine, log_prior = LocalEngine(THREE), np.full(3, -np.log(3))

    def objective(p):
        tables = coin_tables(np.log(p)[:, None], np.log1p(-p)[:, None], 3)
        prior = successes * np.log(p).sum() + successes / 3 * np.log1p(-p).sum()
        return engine.count(tables, log_prior).objective + prior

    best = np.exp(fitted.sigma[:, 0, 0])
    assert objective(best) == pytest.approx(fitted.objective, rel=1e-9)
    for worker in np.flatnonzero((best > 0.01) & (best < 0.99)):
        for step in (-0.003, 0.003):
            bent = best.copy()
            bent[worker] += step
            assert objective(bent) < fitted.objective


@pytest.mark.parametrize("prior", ["uniform", "estimated"])
@pytest.mark.parametrize("make", [OneCoin, TwoCoin, ProjectedEM])
def test_the_objective_only_rises(make, prior):
    labels = random_labels(4, n_items=80, gold=5)
    history = make(prior=prior, successes=1.0, failures=0.5, max_iter=500).fit(labels).history_
    assert len(history) > 2
    assert np.diff(history).min() >= -1e-10 * abs(history[-1])


def test_accuracies_of_a_simulation_are_found():
    generator = np.random.default_rng(5)
    labels, truth = simulate(
        generator, n_items=3000, n_workers=15, n_classes=4, labels_per_item=8, structure="agreement", item_spread=0.0
    )
    fitted = OneCoin().fit(labels).result_
    actual = np.bincount(labels.worker, labels.label == truth[labels.label_item]) / np.bincount(labels.worker)
    np.testing.assert_allclose(fitted.accuracy, actual, atol=0.02)
    assert error_rate(fitted.winners, truth) < 0.05


def test_a_projection_bounds_accuracies_and_a_tiny_one_does_nothing():
    labels = random_labels(1, n_items=60, n_classes=2)
    p = np.exp(ProjectedEM(projection=0.45).fit(labels).sigma_[:, 0, 0])
    assert p.min() == pytest.approx(0.45)
    assert p.max() == pytest.approx(0.55)
    free, tiny = OneCoin().fit(labels).result_, ProjectedEM(projection=1e-13).fit(labels).result_
    np.testing.assert_allclose(tiny.posterior, free.posterior, atol=1e-6)


def test_many_pseudo_counts_make_everyone_alike():
    votes = THREE.votes()
    fitted = OneCoin(successes=8e7, failures=2e7).fit(THREE).result_
    expected = 8.0**votes  # the odds of 0.8 against half of 0.2, for each vote
    np.testing.assert_allclose(fitted.posterior, expected / expected.sum(axis=1, keepdims=True), atol=1e-4)


@pytest.mark.parametrize(
    "nonsense",
    [{"prior": "flat"}, {"successes": -1}, {"failures": np.inf}, {"successes": "many"}, {"max_iter": 0}],
)
def test_nonsense_is_refused(nonsense):
    with pytest.raises(ParameterError, match=next(iter(nonsense))):
        OneCoin(**nonsense).fit(THREE)


@pytest.mark.parametrize("projection", [0.0, 0.5, -0.1, np.nan])
def test_a_projection_out_of_range_is_refused(projection):
    with pytest.raises(ParameterError, match="projection"):
        ProjectedEM(projection=projection).fit(THREE)


@pytest.mark.parametrize(
    ("name", "one", "two", "projected"),
    [
        ("bluebirds", 27.78, 10.19, 27.78),
        ("rte", 7.50, 7.25, 7.50),
        ("temp", 6.06, 5.84, 6.06),
        ("dog", 16.98, 15.99, 16.98),
        ("web_search", 16.02, 14.59, 16.02),
    ],
)
def test_errors_on_real_data(real, name, one, two, projected):
    labels, truth = real(name)
    for estimator, error in ((OneCoin(), one), (TwoCoin(), two), (ProjectedEM(), projected)):
        assert 100 * error_rate(estimator.fit(labels).result_.winners, truth) == pytest.approx(error, abs=0.006)
