import numpy as np
import pyarrow as pa
import pytest

from crowdassay import Assay, DawidSkene, MajorityVote, aggregate, as_labels
from crowdassay.data.labels import Labels
from crowdassay.errors import ParameterError
from crowdassay.estimators.assay_trial import log_predictions, soften, try_items
from crowdassay.metrics.scores import error_rate
from crowdassay.model.simulate import simulate
from crowdassay.selection.heldout import heldout_log_likelihood
from crowdassay.solvers.anchored import Anchored
from crowdassay.solvers.population import Population
from problems import random_labels

RUN = {"anchor": 0.3, "precision": 4.0, "max_sweeps": 100, "tolerance": 1e-3, "threads": None, "seed": 0}


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
    labels = random_labels(4, n_items=30)
    result = Assay(anchor=1.0, items=False).fit(labels).result_
    votes = labels.votes() + 1 / 3
    np.testing.assert_allclose(result.posterior, votes / votes.sum(axis=1, keepdims=True))


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


def test_items_have_effects_where_they_do_and_have_none_where_they_do_not():
    with_effects, truth = crowd(0, n_items=150, per_item=25, n_workers=40, effect=2.0)
    trial = try_items(with_effects, **RUN)
    assert trial.chosen
    assert trial.gain > 0.025
    assert trial.standard_errors > 3
    without, _ = crowd(0, n_items=150, per_item=25, n_workers=40, effect=0.0)
    assert not try_items(without, **RUN).chosen
    # Effects take away the false certainty.
    log_loss = {
        items: -np.log(Assay(items=items).fit(with_effects).result_.posterior[np.arange(150), truth]).mean()
        for items in (True, False)
    }
    assert log_loss[True] < log_loss[False]


def test_effects_that_turn_many_items_round_are_refused():
    """Something other than the truth divides the items as evenly, and the workers more: not what the labels are about."""
    generator = np.random.default_rng(1)
    n_items, n_workers = 300, 40
    truth, other = generator.integers(2, size=(2, n_items))
    pull = generator.normal(0.0, 0.9, n_workers)  # half follow the other division, half its opposite
    logit = 0.6 * (2 * truth[:, None] - 1) + pull * (2 * other[:, None] - 1)
    label = (generator.random((n_items, n_workers)) < 1 / (1 + np.exp(-logit))).astype(int).ravel()
    item, worker = (cells.ravel() for cells in np.indices((n_items, n_workers)))
    names = [pa.array([str(n) for n in range(size)]) for size in (n_items, n_workers, 2)]
    labels = Labels.from_codes(item, worker, label, items=names[0], workers=names[1], classes=names[2])
    result = Assay().fit(labels).result_
    assert result.parameters["gain"] > 0.025
    assert "labels round" in result.notes[0]
    assert result.parameters["items"] is False
    assert error_rate(result.winners, truth) < 0.05
    assert error_rate(Assay(items=True).fit(labels).result_.winners, truth) > 0.4


def test_folds_do_not_depend_on_the_order_of_rows():
    labels, _ = crowd(3, n_items=60, per_item=12, n_workers=20, effect=1.0)
    order = np.random.default_rng(0).permutation(labels.n_labels)
    shuffled = Labels.from_codes(
        labels.label_item[order], labels.worker[order], labels.label[order],
        items=labels.items, workers=labels.workers, classes=labels.classes,
    )  # fmt: skip
    assert try_items(labels, **RUN).gain == pytest.approx(try_items(shuffled, **RUN).gain, rel=1e-6)


def test_held_out_scores_are_those_of_the_selection_module():
    labels, _ = crowd(3, n_items=60, per_item=12, n_workers=20, effect=1.0)
    held = np.arange(labels.n_labels) % 7 == 0
    for items in (True, False):
        fitted = Assay(items=items).fit(labels)
        result = fitted.result_
        effects = result.pairs.args[1] if items else None
        model = Anchored(
            result.sigma, result.confusion, fitted.population_, result.log_prior, result.posterior, effects, 0, True
        )
        scores = log_predictions(model, labels, labels, np.flatnonzero(held), 0.0)
        assert scores.mean() == pytest.approx(heldout_log_likelihood(result, labels, held), rel=1e-9)


def test_the_note_says_what_was_chosen_and_why():
    labels, _ = crowd(0, n_items=40, per_item=3, n_workers=10, effect=0.0)
    assert Assay().fit(labels).result_.notes == ("Workers only: with 3.0 labels an item, below 5, items cannot be told apart.",)
    assert "as asked" in Assay(items=True).fit(labels).result_.notes[0]


def test_one_label():
    lone = aggregate(as_labels((["a"], ["x"], ["no"]), classes=["no", "yes"]))
    assert lone.labels_["label"].to_pylist() == ["no"]


def test_known_classes_stay_certain():
    labels, truth = crowd(5, n_items=80, per_item=8, n_workers=12, effect=0.5)
    gold = np.where(np.arange(80) < 40, truth, -1)
    for items in (True, False):
        result = Assay(items=items).fit(labels.with_gold(gold)).result_
        np.testing.assert_array_equal(result.posterior[:40], np.eye(2)[truth[:40]])


@pytest.mark.parametrize("parameters", [{"anchor": 1.5}, {"anchor": -0.1}, {"items": "some"}, {"max_sweeps": 0}])
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


@pytest.mark.parametrize(
    ("name", "error", "items"), [("bluebirds", 7.41, True), ("rte", 6.63, False), ("web_search", 16.4, False)]
)
def test_errors_on_real_data(real, name, error, items):
    labels, truth = real(name)
    result = Assay().fit(labels).result_
    assert result.parameters["items"] is items
    assert 100 * error_rate(result.winners, truth) == pytest.approx(error, abs=0.2)


@pytest.mark.parametrize("name", ["netflix_dtype", "athlete_dtype", "fact_eval", "zencrowd_us", "ducks"])
def test_never_much_worse_than_a_vote(real, name):
    labels, truth = real(name)
    vote = error_rate(MajorityVote().fit(labels).result_.winners, truth)
    assert error_rate(Assay().fit(labels).result_.winners, truth) < vote + 0.03
