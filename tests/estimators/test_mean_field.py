from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, logsumexp

from crowdassay import MeanField, OneCoin
from crowdassay.checks.simulate import simulate
from crowdassay.errors import ParameterError
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def exact_evidence(labels, a, b):
    """Sum the joint probability over all truths, accuracies integrated out."""
    n_classes, terms = labels.n_classes, []
    for truth in product(range(n_classes), repeat=labels.n_items):
        agree = labels.label == np.array(truth)[labels.label_item]
        right = np.bincount(labels.worker, agree, minlength=labels.n_workers)
        wrong = np.bincount(labels.worker, ~agree, minlength=labels.n_workers)
        terms.append(
            (betaln(a + right, b + wrong) - betaln(a, b) - wrong * np.log(n_classes - 1)).sum()
            - labels.n_items * np.log(n_classes)
        )
    return logsumexp(terms)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_objective_is_a_bound_on_the_evidence(n_classes):
    labels = random_labels(3, n_items=7, n_workers=4, n_classes=n_classes)
    evidence = exact_evidence(labels, 4.0, 1.0)
    assert evidence - 2.0 < MeanField(a=4.0, b=1.0).fit(labels).objective_ < evidence


def test_the_bound_is_tight_when_the_prior_is_certain():
    """With no doubt about accuracies the items are independent and mean field is exact."""
    labels = random_labels(3, n_items=7, n_workers=4, n_classes=2)
    fitted = MeanField(a=8e6, b=2e6).fit(labels).result_
    assert fitted.objective == pytest.approx(exact_evidence(labels, 8e6, 2e6), abs=1e-4)
    odds = 4.0 ** labels.votes()
    np.testing.assert_allclose(fitted.posterior, odds / odds.sum(axis=1, keepdims=True), atol=1e-5)


def test_the_bound_only_rises_and_gold_is_kept():
    labels = random_labels(4, n_items=80, gold=6)
    fitted = MeanField(max_iter=500).fit(labels).result_
    assert np.diff(fitted.history).min() >= -1e-10 * abs(fitted.objective)
    np.testing.assert_array_equal(fitted.posterior[:6], np.eye(3)[labels.gold[:6]])


def test_with_many_labels_it_is_one_coin():
    labels, _ = simulate(
        np.random.default_rng(2), n_items=4000, n_workers=6, labels_per_item=5, structure="agreement", item_spread=0.0
    )
    np.testing.assert_allclose(MeanField().fit(labels).result_.posterior, OneCoin().fit(labels).result_.posterior, atol=0.01)


@pytest.mark.parametrize("nonsense", [{"a": 0.0}, {"b": -1.0}, {"a": np.inf}])
def test_nonsense_is_refused(nonsense):
    with pytest.raises(ParameterError, match=f"{next(iter(nonsense))} must be"):
        MeanField(**nonsense).fit(random_labels(0))


@pytest.mark.parametrize(
    ("name", "error"), [("bluebirds", 27.78), ("rte", 7.50), ("temp", 6.06), ("dog", 16.98), ("web_search", 16.21)]
)
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    assert 100 * error_rate(MeanField().fit(labels).result_.winners, truth) == pytest.approx(error, abs=0.006)
