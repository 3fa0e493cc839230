from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from crowdassay import LatentTraitAnalysis, MajorityVote
from crowdassay.errors import ParameterError
from crowdassay.estimators.scaled import prior_mean, threshold_tables
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.labels.labels import Labels
from crowdassay.statistics import log_softmax
from support.problems import random_labels


def simulate_trait(seed, n_items=500, n_workers=20, n_classes=5, labels_per_item=7):
    """Labels from the model itself, with the truth and each worker's log discrimination."""
    generator = np.random.default_rng(seed)
    theta = prior_mean(n_classes) + generator.normal(0, 0.7, (n_workers, n_classes))
    scale = np.exp(generator.normal(0, 0.5, n_items))
    truth = generator.integers(n_classes, size=n_items)
    item = np.repeat(np.arange(n_items), labels_per_item)
    worker = np.concatenate([generator.permutation(n_workers)[:labels_per_item] for _ in range(n_items)])
    tables = threshold_tables(theta)[worker, truth[item]]
    noise = generator.gumbel(size=tables.shape)
    labels = Labels.from_codes(
        item,
        worker,
        (scale[item, None] * tables + noise).argmax(axis=1),
        items=pa.array(range(n_items)),
        workers=pa.array(range(n_workers)),
        classes=pa.array(range(n_classes)),
    )
    return labels, truth, theta[:, 0]


def test_tables_are_the_equation():
    theta = np.random.default_rng(0).standard_normal((4, 5))
    tables = threshold_tables(theta)
    for i in range(4):
        for c in range(5):
            for k in range(5):
                exponent = sum(np.exp(theta[i, 0]) * (c - theta[i, s]) for s in range(1, k + 1))
                assert tables[i, c, k] == pytest.approx(exponent, abs=1e-12)


def test_a_worker_at_a_threshold_is_undecided():
    theta = np.array([[0.3, 0.5, 2.0, 2.5]])
    p = np.exp(log_softmax(threshold_tables(theta)))
    assert p[0, 2, 1] == pytest.approx(p[0, 2, 2])  # class 2 lies on the second threshold, between answers 1 and 2
    typical = np.exp(log_softmax(threshold_tables(prior_mean(4)[None])))[0]
    assert (typical.argmax(axis=1) == np.arange(4)).all()


@pytest.mark.slow
def test_the_scale_can_be_read_from_either_end():
    """Reversing the order of the classes mirrors the probabilities: the model has no preferred end."""
    labels, *_ = simulate_trait(1, n_items=80)
    reversed_labels = replace(labels, label=(4 - labels.label).astype(np.int16))
    one, other = (LatentTraitAnalysis(tol=1e-13).fit(data).result_ for data in (labels, reversed_labels))
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    np.testing.assert_allclose(one.posterior, other.posterior[:, ::-1], atol=1e-3)


@pytest.mark.slow
def test_simulated_truth_and_workers_are_found():
    labels, truth, discrimination = simulate_trait(0)
    result = LatentTraitAnalysis().fit(labels).result_
    vote = MajorityVote().fit(labels).result_
    assert distance_errors(result.winners, truth)[0] < 0.8 * distance_errors(vote.winners, truth)[0]
    rows = result.sigma.transpose(0, 2, 1)
    found = np.log((rows[:, 1, 1] - rows[:, 0, 1]) - (rows[:, 1, 0] - rows[:, 0, 0]))  # d_i, out of the tables
    assert np.corrcoef(found, discrimination)[0, 1] > 0.8
    assert np.diff(result.history).min() >= 0


def test_without_discrimination_all_workers_are_as_sharp():
    labels, *_ = simulate_trait(2, n_items=60)
    sigma = LatentTraitAnalysis(discrimination=False).fit(labels).sigma_
    np.testing.assert_allclose(sigma[:, 2, 3] - sigma[:, 1, 3] - sigma[:, 2, 2] + sigma[:, 1, 2], 1.0)
    sigma = LatentTraitAnalysis().fit(labels).sigma_
    assert np.ptp(sigma[:, 2, 3] - sigma[:, 1, 3] - sigma[:, 2, 2] + sigma[:, 1, 2]) > 0.1


@pytest.mark.parametrize("n_classes", [1, 2])
def test_few_classes(n_classes):
    result = LatentTraitAnalysis().fit(random_labels(1, n_classes=n_classes)).result_
    assert result.converged
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1.0)


def test_gold_teaches():
    labels, truth, _ = simulate_trait(3, n_items=200, labels_per_item=3)
    gold = np.where(np.arange(200) < 100, truth, -1)
    unknown = np.where(gold < 0, truth, -1)
    with_gold = LatentTraitAnalysis().fit(labels.with_gold(gold)).result_
    without = LatentTraitAnalysis().fit(labels).result_
    np.testing.assert_array_equal(with_gold.posterior[:100], np.eye(5)[truth[:100]])
    assert error_rate(with_gold.winners, unknown) < error_rate(without.winners, unknown)


@pytest.mark.parametrize("parameters", [{"easiness": np.nan}, {"max_iter": 1.5}])
def test_nonsense_is_refused(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        LatentTraitAnalysis(**parameters).fit(random_labels(0))


@pytest.mark.slow
def test_web_search(real):
    """The paper prints 0.481; nearby local optima give 0.469 to 0.476."""
    labels, truth = real("web_search")
    result = LatentTraitAnalysis(tol=1e-8).fit(labels).result_
    assert distance_errors(result.winners, truth)[0] == pytest.approx(0.475, abs=0.01)
    assert result.objective == pytest.approx(-18402.5, abs=0.5)
