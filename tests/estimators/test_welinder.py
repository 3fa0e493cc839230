import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import approx_fprime
from scipy.special import ndtr
from scipy.stats import norm

from crowdassay import MajorityVote, Welinder
from crowdassay.checks.estimators import check_gold, check_row_order
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.welinder import PlanesProblem
from crowdassay.findings.scores import error_rate
from crowdassay.labels.labels import Labels
from support.problems import random_labels


def draw(seed, n_items, n_workers, dimension, spread, flip=1.0):
    """Labels by all workers on all items, drawn from the model; ``flip`` of -1 turns every label around."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(2, size=n_items)
    positions = generator.normal(size=(n_items, dimension))
    positions[:, 0] += 2.0 * truth - 1.0
    directions = spread * generator.normal(size=(n_workers, dimension))
    directions[:, 0] += 1.0
    thresholds = spread * generator.normal(size=n_workers)
    chance = ndtr(positions @ directions.T - thresholds)
    label = (generator.random(chance.shape) < chance) ^ (flip < 0)
    item, worker = np.divmod(np.arange(label.size), n_workers)
    names = [pa.array([f"{kind}{n}" for n in range(size)]) for kind, size in (("i", n_items), ("w", n_workers), ("c", 2))]
    labels = Labels.from_codes(item, worker, label.ravel().astype(int), items=names[0], workers=names[1], classes=names[2])
    return labels, truth, positions, directions, thresholds


@pytest.mark.parametrize("dimension", [1, 3])
@pytest.mark.parametrize("held", [False, True])
def test_gradient(dimension, held):
    labels = random_labels(1, n_classes=2, gold=3)
    generator = np.random.default_rng(0)
    workers = (generator.normal(size=(6, dimension)), generator.normal(size=6)) if held else None
    problem = PlanesProblem(labels, dimension, 0.7, workers)
    point = generator.normal(size=problem.n_free)
    numeric = approx_fprime(point, lambda flat: problem.evaluate(flat)[0], 1e-6)
    np.testing.assert_allclose(problem.evaluate(point)[1], numeric, rtol=1e-4, atol=1e-4)


def test_objective_is_the_log_posterior():
    labels = random_labels(1, n_classes=2, gold=3)
    problem = PlanesProblem(labels, 2, 0.7)

    def by_hand(flat):
        positions, directions, thresholds = problem.split(flat)
        total = norm.logpdf(directions, [1.0, 0.0], 0.7).sum() + norm.logpdf(thresholds, 0.0, 0.7).sum()
        for j, place in enumerate(positions):
            sides = np.array([np.prod(norm.pdf(place, [side, 0.0])) for side in (-1.0, 1.0)])
            known = labels.gold[j]
            total += np.log(0.5 * sides.sum() if known < 0 else sides[known])
            for n in range(labels.starts[j], labels.starts[j + 1]):
                margin = place @ directions[labels.worker[n]] - thresholds[labels.worker[n]]
                total += norm.logcdf(margin if labels.label[n] else -margin)
        return total

    one, two = np.random.default_rng(0).normal(size=(2, problem.n_free))
    assert problem.evaluate(one)[0] - problem.evaluate(two)[0] == pytest.approx(by_hand(one) - by_hand(two), abs=1e-9)


def test_class_probability_is_bayes_rule_at_the_position():
    labels, *_ = draw(0, 30, 8, 2, 0.5)
    fit = Welinder(dimension=2).fit(labels)
    sides = np.array([[np.prod(norm.pdf(v, [side, 0.0])) for side in (-1.0, 1.0)] for v in fit.positions_])
    np.testing.assert_allclose(fit.result_.posterior, sides / sides.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 2])
def test_recovers_what_was_drawn(dimension):
    labels, truth, positions, directions, thresholds = draw(3, 300, 60, dimension, 0.8)
    fit = Welinder(dimension=dimension, spread=0.8).fit(labels)
    assert fit.converged_
    assert np.diff(fit.history_).min() >= 0
    assert np.corrcoef(fit.positions_[:, 0], positions[:, 0])[0, 1] > 0.9
    assert np.corrcoef(fit.directions_[:, 0], directions[:, 0])[0, 1] > 0.9
    assert np.corrcoef(fit.thresholds_, thresholds)[0, 1] > 0.9
    if dimension == 2:  # the second axis is free to point either way
        assert abs(np.corrcoef(fit.positions_[:, 1], positions[:, 1])[0, 1]) > 0.8
    # No method can tell the class better than the sign of the true position does.
    assert error_rate(fit.result_.winners, truth) < np.mean((positions[:, 0] > 0) != truth) + 0.03


def test_one_start_is_enough_in_one_dimension():
    labels, *_ = draw(5, 80, 10, 1, 1.0)
    one, many = (Welinder(starts=starts, seed=4, tol=1e-12).fit(labels) for starts in (1, 5))
    assert one.objective_ == pytest.approx(many.objective_, rel=1e-9)


def test_renaming_the_classes_turns_the_answer():
    one, two = (Welinder(dimension=2).fit(draw(1, 40, 9, 2, 0.6, flip)[0]) for flip in (1.0, -1.0))
    np.testing.assert_allclose(one.result_.posterior, two.result_.posterior[:, ::-1], atol=1e-4)


@pytest.mark.parametrize("check", [check_row_order, check_gold])
def test_in_two_dimensions(check):
    check(lambda: Welinder(dimension=2), draw(2, 40, 9, 2, 0.6)[0])


def test_new_labels_are_judged_with_the_workers_as_fitted():
    labels, *_ = draw(0, 60, 12, 1, 0.5)
    fit = Welinder(tol=1e-13).fit(labels)
    posterior = np.column_stack(fit.predict_proba(labels).columns[1:])
    np.testing.assert_allclose(posterior, fit.result_.posterior, atol=1e-4)


def test_refusals():
    with pytest.raises(DataError, match="two classes and these labels have 3"):
        Welinder().fit(random_labels(0))
    labels = random_labels(0, n_classes=2)
    for options in ({"dimension": 0}, {"spread": 0.0}, {"starts": 0}, {"tol": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            Welinder(**options).fit(labels)


def test_bluebirds(real):
    labels, truth = real("bluebirds")
    vote = error_rate(MajorityVote().fit(labels).result_.winners, truth)
    one, two = (error_rate(Welinder(dimension=d).fit(labels).result_.winners, truth) for d in (1, 2))
    assert vote == pytest.approx(0.2407, abs=1e-4)
    assert one == pytest.approx(13 / 108)
    assert two == pytest.approx(16 / 108)
