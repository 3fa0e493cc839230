"""The paper's mathematics on fitted models."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import DawidSkene, Labels, MajorityVote, MinimaxEntropy, reference_sets, simulate
from crowdassay.engines.confusion import observed_counts
from crowdassay.errors import ParameterError
from crowdassay.findings.scores import error_rate
from crowdassay.statistics import log_softmax


@pytest.fixture(scope="module")
def three():
    return simulate(np.random.default_rng(7), n_items=120, n_workers=10, n_classes=3, labels_per_item=5)


@pytest.fixture(scope="module")
def ordered():
    return simulate(
        np.random.default_rng(8),
        n_items=120,
        n_workers=10,
        n_classes=4,
        structure="ordinal",
        worker_spread=0.4,
        item_spread=0.2,
    )


def recode(labels, *, item=None, worker=None, label=None):
    """Rename by permuting codes; vocabularies stay."""
    return Labels.from_codes(
        labels.label_item if item is None else item[labels.label_item],
        labels.worker if worker is None else worker[labels.worker],
        labels.label if label is None else label[labels.label],
        items=labels.items,
        workers=labels.workers,
        classes=labels.classes,
    )


def fit(labels, **parameters):
    return MinimaxEntropy(tol=1e-12, **parameters).fit(labels).result_


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["nominal", "ordinal"])
def test_renaming_items_and_workers_changes_nothing(three, structure):
    labels, _ = three
    generator = np.random.default_rng(0)
    item, worker = generator.permutation(labels.n_items), generator.permutation(labels.n_workers)
    plain, renamed = fit(labels, structure=structure), fit(recode(labels, item=item, worker=worker), structure=structure)
    assert renamed.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(renamed.posterior[item], plain.posterior, atol=1e-4)
    np.testing.assert_allclose(renamed.sigma[worker], plain.sigma, atol=1e-3)


def test_renaming_classes_permutes_the_nominal_model(three):
    labels, _ = three
    permutation = np.array([2, 0, 1])
    plain, renamed = fit(labels), fit(recode(labels, label=permutation))
    assert renamed.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(renamed.posterior[:, permutation], plain.posterior, atol=1e-4)


def test_reversing_the_scale_reverses_the_ordinal_model(ordered):
    labels, _ = ordered
    reverse = np.arange(4)[::-1]
    plain, reversed_ = fit(labels, structure="ordinal"), fit(recode(labels, label=reverse), structure="ordinal")
    assert reversed_.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(reversed_.posterior[:, reverse], plain.posterior, atol=1e-4)


def test_two_classes_ordinal_equals_nominal():
    labels, _ = simulate(np.random.default_rng(9), n_items=100, n_workers=8)
    nominal, ordinal = fit(labels, structure="nominal"), fit(labels, structure="ordinal")
    assert ordinal.objective == pytest.approx(nominal.objective, rel=1e-9)
    np.testing.assert_allclose(ordinal.posterior, nominal.posterior, atol=1e-4)


def test_thresholds_are_reference_sets(ordered):
    labels, _ = ordered
    sets = reference_sets(4, [{1, 2, 3}, {2, 3}, {3}])
    assert fit(labels, structure=sets).objective == pytest.approx(fit(labels, structure="ordinal").objective, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["nominal", "ordinal"])
def test_simulated_truth_is_recovered(structure):
    for seed in range(3):
        labels, truth = simulate(
            np.random.default_rng(seed), n_items=800, n_workers=20, n_classes=3, structure=structure, spammers=0.2
        )
        vote = error_rate(MajorityVote().fit(labels).result_.winners, truth)
        assert error_rate(fit(labels, structure=structure).winners, truth) < 0.8 * vote


def test_worker_tables_are_recovered():
    labels, truth = simulate(
        np.random.default_rng(10), n_items=4000, n_workers=6, n_classes=3, labels_per_item=6, item_spread=0.0
    )
    result = fit(labels, item_structure="none", alpha=0.1)
    known = observed_counts(labels, np.eye(3)[truth])
    np.testing.assert_allclose(result.confusion, known / known.sum(axis=2, keepdims=True), atol=0.05)
    assert result.tau is None
    assert result.parameters["beta"] is None


def test_the_papers_figure_2():
    """Three workers' labels of six items whose classes are known: the empirical confusion counts printed in the paper."""
    said = np.array([[1, 2, 2, 1, 3, 2], [2, 1, 2, 2, 1, 3], [1, 1, 1, 2, 2, 3]]) - 1
    labels = Labels.from_codes(
        np.tile(np.arange(6), 3),
        np.repeat(np.arange(3), 6),
        said.ravel(),
        items=pa.array(list("abcdef")),
        workers=pa.array(["1", "2", "3"]),
        classes=pa.array(["1", "2", "3"]),
    )
    counts = observed_counts(labels, np.eye(3)[[0, 0, 1, 1, 2, 2]])
    np.testing.assert_array_equal(counts[0], [[1, 1, 0], [1, 1, 0], [0, 1, 1]])
    np.testing.assert_array_equal(counts[1], [[1, 1, 0], [0, 2, 0], [1, 0, 1]])
    np.testing.assert_array_equal(counts[2], [[2, 0, 0], [1, 1, 0], [0, 1, 1]])


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 2.0), (1e-3, 1e-3)])
def test_theorem_2_1(three, alpha, beta):
    """With deterministic truth, KL(Q || P) = H(X|Y) - log P(Y), less the slack that the penalties allow."""
    labels, truth = three
    result = MinimaxEntropy(alpha=alpha, beta=beta, tol=1e-15, max_iter=20000).fit(labels.with_gold(truth)).result_
    log_p = log_softmax(result.sigma[labels.worker] + result.tau[labels.label_item])
    given = log_p[np.arange(labels.n_labels), truth[labels.label_item]]
    entropy = -np.sum(np.exp(given) * given)
    divergence = -given[np.arange(labels.n_labels), labels.label].sum() + labels.n_items * np.log(3)
    slack = alpha * np.sum(result.sigma**2) + beta * np.sum(result.tau**2)
    assert divergence == pytest.approx(entropy + labels.n_items * np.log(3) - slack, rel=2e-4)


def test_objective_measurement_principle(three):
    """Section 4: two items compare the same whichever worker judges them, two workers whichever item they judge."""
    labels, _ = three
    result = fit(labels)
    p = np.exp(log_softmax(result.sigma[:, None] + result.tau[None, :6]))  # (worker, item, c, k)
    c, k = 0, 2
    log_odds = np.log(p[:, :, c, k] / p[:, :, c, c])
    items = log_odds[:, 0] - log_odds[:, 1]
    assert np.ptp(items) < 1e-10
    assert abs(items[0]) > 1e-3
    assert np.ptp(log_odds[0] - log_odds[1]) < 1e-10


def test_ordinal_objective_measurement_principle(ordered):
    """Section 5.3: likewise for adjacent classes, and the same for all true classes on one side of the pair."""
    labels, _ = ordered
    result = fit(labels, structure="ordinal")
    p = np.exp(log_softmax(result.sigma[:, None] + result.tau[None, :6]))
    k = 1
    ratio = np.log(p[:, 0, :, k] * p[:, 1, :, k + 1] / (p[:, 0, :, k + 1] * p[:, 1, :, k]))  # (worker, c)
    assert np.ptp(ratio, axis=0).max() < 1e-9
    assert abs(ratio[0, 0] - ratio[0, 1]) < 1e-9  # c = 0, 1 < k + 1
    assert abs(ratio[0, 2] - ratio[0, 3]) < 1e-9  # c = 2, 3 >= k + 1


def test_a_product_of_ability_and_easiness_breaks_the_principle():
    """GLAD's odds ratio of two items depends on the worker who compares them."""
    ability, easiness = np.array([0.5, 2.0]), np.array([1.0, 3.0])
    right = 1 / (1 + np.exp(-np.outer(ability, easiness)))
    log_odds = np.log((1 - right) / right)
    assert np.ptp(log_odds[:, 0] - log_odds[:, 1]) > 1


def test_known_difficulty_orders_items():
    labels, _ = simulate(np.random.default_rng(11), n_items=200, n_workers=30, labels_per_item=25, skill=2.0)
    result = MinimaxEntropy().fit(labels).result_
    votes = labels.votes()
    disputed = 1 - votes.max(axis=1) / votes.sum(axis=1)
    assert np.corrcoef(result.difficulty, disputed)[0, 1] > 0.8


@pytest.mark.slow
def test_penalties_follow_from_gamma_unless_given(three):
    labels, _ = three
    assert fit(labels, gamma=0.5).parameters["alpha"] == 0.5 * 9
    assert fit(labels, gamma=0.5).parameters["beta"] == pytest.approx(0.5 * 9 * 120 / 10)
    given = fit(labels, alpha=2.0, beta=3.0).parameters
    assert (given["alpha"], given["beta"], given["gamma"]) == (2.0, 3.0, None)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"gamma": -1}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": "much"}, "gamma"),
        ({"alpha": -1}, "alpha"),
        ({"beta": float("inf")}, "beta"),
        ({"solver": "magic"}, "solver"),
        ({"starts": 0}, "starts"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1e-3}, "tol"),
        ({"structure": "cubic"}, "structure"),
        ({"threads": 0}, "threads"),
    ],
)
def test_nonsense_parameters_are_refused(three, parameters, word):
    with pytest.raises(ParameterError, match=word):
        MinimaxEntropy(**parameters).fit(three[0])


def test_too_much_regularisation_is_said(three):
    """A penalty that leaves nothing of the labels is said, and a weaker one is taken; where alpha is given, it is only said."""
    result = MinimaxEntropy(gamma=100.0).fit(three[0]).result_
    assert result.notes[0].startswith("The fit of MinimaxEntropy(gamma=100.0) tells no class apart")
    assert "MajorityVote() was used instead" in result.notes[0]
    assert result.probability.mean() > 0.5
    stubborn = MinimaxEntropy(alpha=1e5).fit(three[0]).result_
    assert "This fit tells no class apart" in stubborn.notes[0]
    assert MinimaxEntropy(gamma=0.25).fit(three[0]).result_.notes == ()


def test_strangers_are_taken_for_guessers(three):
    labels, _ = three
    fitted = MinimaxEntropy().fit(labels)
    strangers = replace(labels, workers=pa.array([f"new{i}" for i in range(labels.n_workers)]))
    posterior = fitted.solve_items(strangers)[0]
    assert posterior.max() < 0.9
    same = fitted.solve_items(labels)[0]
    np.testing.assert_allclose(same, fitted.result_.posterior, atol=1e-3)


def test_dawid_skene_with_a_prior_learns_it():
    labels, truth = simulate(np.random.default_rng(13), n_items=3000, n_workers=20, n_classes=2, item_spread=0.0)
    rare = np.flatnonzero((truth == 0) | (np.arange(3000) % 10 == 0))
    keep = np.isin(labels.label_item, rare)
    renumber = np.full(3000, -1)
    renumber[rare] = np.arange(len(rare))
    skewed = Labels.from_codes(
        renumber[labels.label_item[keep]],
        labels.worker[keep],
        labels.label[keep],
        items=labels.items.take(pa.array(rare)),
        workers=labels.workers,
        classes=labels.classes,
    )
    result = DawidSkene(prior="estimated", smoothing=0.1).fit(skewed).result_
    assert np.exp(result.log_prior)[1] == pytest.approx((truth[rare] == 1).mean(), abs=0.03)
