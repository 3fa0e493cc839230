import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, aggregate, as_labels
from crowdassay.data.labels import Labels
from crowdassay.data.votes import soften
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.errors import ParameterError
from crowdassay.metrics.scores import error_rate
from crowdassay.simulation.simulate import simulate
from crowdassay.solvers.population import Population
from problems import random_labels

RUN = {"anchor": 0.3, "max_iter": 100, "tol": 1e-3}


def crowd(seed, n_items, per_item, n_workers, effect):
    """Binary labels of workers of different ability; items are harder or easier by `effect` logits, some misleading."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(2, size=n_items)
    ability = generator.normal(1.2, 0.8, n_workers)
    item = np.repeat(np.arange(n_items), per_item)
    worker = np.concatenate([generator.choice(n_workers, per_item, replace=False) for _ in range(n_items)])
    hard = generator.normal(0.0, 1.0, n_items) * effect
    right = generator.random(len(item)) < 1 / (1 + np.exp(-(ability[worker] + hard[item])))
    label = np.where(right, truth[item], 1 - truth[item])
    names = [pa.array([str(n) for n in range(size)]) for size in (n_items, n_workers, 2)]
    return Labels.from_codes(item, worker, label, items=names[0], workers=names[1], classes=names[2]), truth


def test_anchor_one_is_one_step_from_the_votes_and_reports_the_votes():
    """All but those of items about which one step from the votes says something else."""
    labels = random_labels(4, n_items=30)
    result = Assay(anchor=1.0, items=False).fit(labels).result_
    votes = labels.votes() + 1 / 3
    votes /= votes.sum(axis=1, keepdims=True)
    step = np.empty((30, 3))
    RandomItemsEngine(labels).count(result.sigma, result.log_prior, posterior=step)
    agreed = step.argmax(axis=1) == votes.argmax(axis=1)
    assert 15 < agreed.sum() < 30
    np.testing.assert_allclose(result.posterior[agreed], votes[agreed])
    np.testing.assert_array_equal(result.posterior.argmax(axis=1), step.argmax(axis=1))


@pytest.mark.parametrize("anchor", [0.3, 0.6, 1.0])
def test_votes_make_a_label_less_certain_and_never_turn_it(anchor):
    labels = random_labels(4, n_items=300, n_classes=2)
    own = np.random.default_rng(0).dirichlet([1, 1], 300)
    votes = labels.votes() + 0.5
    plain = (1 - anchor) * own + anchor * votes / votes.sum(axis=1, keepdims=True)
    turned = plain.argmax(axis=1) != own.argmax(axis=1)
    assert 5 < turned.sum() < 200
    soft = soften(own, labels, anchor)
    np.testing.assert_allclose(soft[~turned], plain[~turned])
    np.testing.assert_allclose(np.ptp(soft[turned], axis=1), 0.5 * np.ptp(own[turned], axis=1))
    np.testing.assert_array_equal(soft.argmax(axis=1), own.argmax(axis=1))
    more = random_labels(4, n_items=300, n_classes=4)
    own = np.random.default_rng(0).dirichlet(np.ones(4), 300)
    soft = soften(own, more, anchor)
    np.testing.assert_array_equal(soft.argmax(axis=1), own.argmax(axis=1))
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)


def test_votes_choose_where_the_model_is_tied():
    labels = random_labels(4, n_items=30)
    tied, votes = np.full((30, 3), 1 / 3), labels.votes() + 1 / 3
    expected = 0.7 * tied + 0.3 * votes / votes.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(soften(tied, labels, 0.3), expected)


def test_soft_probabilities_are_possible_and_known_classes_certain():
    labels = random_labels(4, n_items=30, gold=5)
    posterior = np.eye(3)[np.maximum(labels.gold, 0)]
    soft = soften(posterior, labels, 0.3)
    np.testing.assert_array_equal(soft[:5], posterior[:5])
    np.testing.assert_allclose(soft.sum(axis=1), 1.0)
    assert soft[5:].min() > 0
    np.testing.assert_array_equal(soften(posterior, labels, 0.0), posterior)


def test_a_worker_seen_once_is_taken_for_an_average_one():
    """Two good workers and a newcomer: the newcomer's lone label counts, but not for more than the crowd's."""
    labels, _ = simulate(np.random.default_rng(2), n_items=200, n_workers=9, n_classes=3, item_spread=0.0)
    fitted = Assay(items=False).fit(labels)
    new = fitted.predict_proba((["new"], ["a stranger"], labels.classes.to_pylist()[:1]))
    stranger = np.array([new.column(k + 1)[0].as_py() for k in range(3)])
    assert stranger.argmax() == 0
    assert stranger[0] < fitted.result_.probability.mean()


def test_workers_with_few_labels_are_better_shrunk_to_their_population():
    """Six labels a worker: too few for a table each, enough for the crowd's."""
    generator = np.random.default_rng(0)
    mean = np.array([[0.7, 0.25, 0.05], [0.1, 0.8, 0.1], [0.05, 0.4, 0.55]])
    n_items, n_workers = 300, 250
    truth = generator.integers(3, size=n_items)
    tables = np.stack([generator.dirichlet(8 * mean[c], n_workers) for c in range(3)], axis=1)
    item, worker = np.repeat(np.arange(n_items), 5), generator.permutation(np.repeat(np.arange(n_workers), 6))
    label = np.array([generator.choice(3, p=tables[i, truth[j]]) for i, j in zip(worker, item, strict=True)])
    names = [pa.array([str(n) for n in range(size)]) for size in (n_items, n_workers, 3)]
    labels = Labels.from_codes(item, worker, label, items=names[0], workers=names[1], classes=names[2])
    population, vote, own = (
        error_rate(estimator.fit(labels).result_.winners, truth)
        for estimator in (Assay(anchor=0.0, items=False), MajorityVote(), DawidSkene())
    )
    assert population < min(vote, own) - 0.03


def test_one_label():
    lone = aggregate(as_labels((["a"], ["x"], ["no"]), classes=["no", "yes"]))
    assert lone.labels_["label"].to_pylist() == ["no"]


def test_known_classes_stay_certain():
    labels, truth = crowd(5, n_items=80, per_item=8, n_workers=12, effect=0.5)
    gold = np.where(np.arange(80) < 40, truth, -1)
    for items in (True, False):
        result = Assay(items=items).fit(labels.with_gold(gold)).result_
        np.testing.assert_array_equal(result.posterior[:40], np.eye(2)[truth[:40]])


@pytest.mark.parametrize(
    "parameters", [{"anchor": 1.5}, {"anchor": -0.1}, {"items": "some"}, {"max_iter": 0}, {"prior": "flat"}, {"precision": 0}]
)
def test_nonsense_is_refused(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        Assay(**parameters).fit(random_labels(0))


def test_population_is_learned():
    generator = np.random.default_rng(0)
    mean = np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.02, 0.28, 0.7]])
    rows = np.stack([generator.dirichlet(10 * mean[c], 2000) for c in range(3)], axis=1)
    counts = np.array([[generator.multinomial(30, row) for row in worker] for worker in rows]).astype(float)
    population = Population(3)
    for _ in range(20):
        population.learn(counts)
    np.testing.assert_allclose(population.mean, mean, atol=0.02)
    np.testing.assert_allclose(population.concentration, 10, rtol=0.1)


def test_without_a_population_nothing_is_learned_and_strangers_answer_at_random():
    population = Population(3, shared=False)
    population.learn(np.random.default_rng(0).random((5, 3, 3)) * 20)
    np.testing.assert_allclose(population.tables(np.zeros((3, 3))), 1 / 3)
    labels, _ = simulate(np.random.default_rng(2), n_items=100, n_workers=9, n_classes=3, item_spread=0.0)
    fitted = Assay(population=False, items=False, anchor=0.0, prior="uniform").fit(labels)
    new = fitted.predict_proba((["new"], ["a stranger"], labels.classes.to_pylist()[:1]))
    np.testing.assert_allclose([new.column(k + 1)[0].as_py() for k in range(3)], 1 / 3)


def test_a_uniform_prior_is_uniform():
    labels, _ = crowd(5, n_items=80, per_item=8, n_workers=12, effect=0.5)
    for items in (True, False):
        np.testing.assert_allclose(Assay(prior="uniform", items=items).fit(labels).result_.log_prior, -np.log(2))


def test_the_precision_of_effects_can_be_given():
    labels, _ = crowd(5, n_items=80, per_item=8, n_workers=12, effect=0.5)
    fixed, stiff = (Assay(precision=precision, items=True).fit(labels).result_ for precision in (4.0, 1e8))
    assert fixed.parameters["precision"] == 4.0
    plain = Assay(items=False, average=False).fit(labels).result_
    np.testing.assert_allclose(stiff.posterior, plain.posterior, atol=2e-3)


@pytest.mark.parametrize("name", ["netflix_dtype", "athlete_dtype", "trivia", "zencrowd_us", "wordsim"])
def test_never_much_worse_than_a_vote(real, name):
    labels, truth = real(name)
    vote = error_rate(MajorityVote().fit(labels).result_.winners, truth)
    assert error_rate(Assay().fit(labels).result_.winners, truth) < vote + 0.03
