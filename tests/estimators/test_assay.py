from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from crowdassay.estimators.assay_trial import (
    ALIKE,
    STRONG,
    compare,
    every_nth_item,
    loose_anchor,
    refuse_items,
    sample_gain,
    soften,
)

from crowdassay import Assay, DawidSkene, MajorityVote, aggregate, as_labels
from crowdassay.data.labels import Labels
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.errors import ParameterError
from crowdassay.metrics.scores import error_rate
from crowdassay.simulation.simulate import simulate
from crowdassay.simulation.story import birds
from crowdassay.solvers.anchored import fit_anchored
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


def test_items_have_effects_where_they_do_and_have_none_where_they_do_not():
    with_effects, truth = crowd(0, n_items=150, per_item=25, n_workers=40, effect=2.0)
    result = Assay().fit(with_effects).result_
    assert result.parameters["items"]
    assert result.parameters["gain"] >= (1 + result.parameters["turned"]) * np.log(STRONG)
    assert "strong" in result.notes[0]
    without, _ = crowd(0, n_items=150, per_item=25, n_workers=40, effect=0.0)
    assert not Assay().fit(without).result_.parameters["items"]
    # Effects take away the false certainty.
    log_loss = {
        items: -np.log(Assay(items=items).fit(with_effects).result_.posterior[np.arange(150), truth]).mean()
        for items in (True, False)
    }
    assert log_loss[True] < log_loss[False]


def test_the_votes_are_worth_three_answers_a_row_and_never_more_than_the_usual():
    labels = random_labels(1, n_items=2000, n_workers=10, n_classes=3)
    engine = RandomItemsEngine(labels)
    assert loose_anchor(engine) == pytest.approx(90 / (labels.n_labels + 90))
    assert loose_anchor(RandomItemsEngine(random_labels(1, n_items=20, n_workers=10))) == 0.3


def test_where_dawid_and_skenes_model_is_true_the_votes_count_for_little():
    """The story of the birds: most volunteers are wrong about a species, which votes cannot know."""
    labels, truth = birds(np.random.default_rng(0))
    loose, tight, own = (estimator.fit(labels).result_ for estimator in (Assay(), Assay(anchor=0.3), DawidSkene()))
    assert loose.parameters["anchor"] == pytest.approx(3 * 29 * 3 / (2800 + 3 * 29 * 3))
    assert tight.parameters["anchor"] == 0.3
    errors = [error_rate(result.winners, truth) for result in (own, loose, tight)]
    assert errors[1] < errors[0] + 0.02
    assert errors[1] < errors[2] - 0.05


def test_where_items_have_effects_the_votes_keep_their_weight():
    labels, _ = crowd(0, n_items=150, per_item=25, n_workers=40, effect=2.0)
    assert Assay().fit(labels).result_.parameters["anchor"] == 0.3
    with patch("crowdassay.estimators.assay_trial.MOST_CELLS", 1):
        refused = Assay().fit(labels).result_
    assert refused.notes == (f"{ALIKE} would take too much time and memory.",)
    assert refused.parameters["anchor"] == 0.3


def test_labels_are_not_turned_round_on_weak_evidence():
    labels, _ = crowd(0, n_items=150, per_item=25, n_workers=40, effect=2.0)
    engine = RandomItemsEngine(labels)
    plain, effects = (fit_anchored(engine, items=items, **RUN) for items in (False, True))
    strong = compare(plain, effects)
    assert strong.chosen
    needed = (1 + strong.turned) * np.log(STRONG)
    weak = replace(effects, evidence=plain.evidence + 0.9 * needed)
    assert not compare(plain, weak).chosen
    assert "weak evidence" in compare(plain, weak).reason
    assert compare(plain, replace(effects, evidence=plain.evidence + 1.1 * needed)).chosen
    assert "explains the labels no better" in compare(plain, replace(effects, evidence=plain.evidence - 1.0)).reason
    same = replace(plain, evidence=plain.evidence + 1.01 * np.log(STRONG))
    assert "no label" in compare(plain, same).reason


def test_a_sample_of_the_items_says_whether_a_fit_is_worth_it():
    for effect, sign in ((2.0, 1), (0.0, -1)):
        labels, _ = crowd(1, n_items=300, per_item=25, n_workers=40, effect=effect)
        plain = fit_anchored(RandomItemsEngine(labels), **RUN)
        gain, n_items = sample_gain(labels, plain, None)
        assert n_items == 300
        assert np.sign(gain) == sign
        refusal = refuse_items(labels, plain, None)
        assert refusal is None if sign > 0 else refusal.alike


def test_every_third_item():
    labels = random_labels(2, n_items=20, gold=5)
    some = every_nth_item(labels, 3)
    assert some.items.to_pylist() == labels.items.to_pylist()[::3]
    np.testing.assert_array_equal(some.votes(), labels.votes()[::3])
    np.testing.assert_array_equal(some.gold, labels.gold[::3])
    assert some.n_workers == labels.n_workers


def test_evidence_is_that_of_the_labels():
    """Without items, the marginal likelihood of the labels at the workers' mean tables, however items were judged."""
    labels = random_labels(6, n_items=50)
    engine = RandomItemsEngine(labels)
    for average in (True, False):
        found = fit_anchored(engine, average=average, **RUN)
        p = found.population.tables(found.counts)
        each = np.log(p)[labels.worker, :, labels.label]
        joint = found.log_prior + np.stack([np.bincount(labels.label_item, weights=w, minlength=50) for w in each.T], axis=1)
        assert found.evidence == pytest.approx(np.log(np.exp(joint).sum(axis=1)).sum(), rel=1e-9)


def test_the_note_says_what_was_chosen_and_why():
    labels, _ = crowd(0, n_items=40, per_item=3, n_workers=10, effect=0.0)
    assert Assay().fit(labels).result_.notes == (f"{ALIKE} explains the labels no better.",)
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


@pytest.mark.parametrize(
    ("name", "error", "items"),
    [
        ("bluebirds", 7.41, True),
        ("flags", 0.79, True),
        ("ducks", 4.17, True),
        ("rte", 7.0, False),
        ("web_search", 15.94, False),
    ],
)
def test_errors_on_real_data(real, name, error, items):
    labels, truth = real(name)
    result = Assay().fit(labels).result_
    assert result.parameters["items"] is items
    assert 100 * error_rate(result.winners, truth) == pytest.approx(error, abs=0.2)


@pytest.mark.parametrize("name", ["netflix_dtype", "athlete_dtype", "trivia", "zencrowd_us", "wordsim"])
def test_never_much_worse_than_a_vote(real, name):
    labels, truth = real(name)
    vote = error_rate(MajorityVote().fit(labels).result_.winners, truth)
    assert error_rate(Assay().fit(labels).result_.winners, truth) < vote + 0.03
