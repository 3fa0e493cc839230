from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betaln, logit

from crowdassay import BeliefPropagation, Labels
from crowdassay.checks.simulate import simulate
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators import message_passing as bp
from crowdassay.estimators.two_classes import item_scores, label_signs
from crowdassay.findings.scores import error_rate
from support.problems import random_labels


def make(item, worker, label, gold=None):
    names = [pa.array([f"{kind}{n}" for n in range(max(codes) + 1)]) for kind, codes in (("i", item), ("w", worker))]
    labels = Labels.from_codes(
        *map(np.array, (item, worker, label)), items=names[0], workers=names[1], classes=pa.array(["n", "y"])
    )
    return labels if gold is None else labels.with_gold(np.array(gold))


def exact_posterior(labels, a, b):
    """Sum over all truths, accuracies integrated out, for every item."""
    posterior = np.zeros((labels.n_items, 2))
    for truth in product(range(2), repeat=labels.n_items):
        code = np.array(truth)
        if np.any((labels.gold >= 0) & (code != labels.gold)):
            continue
        agree = labels.label == code[labels.label_item]
        right = np.bincount(labels.worker, agree, minlength=labels.n_workers)
        wrong = np.bincount(labels.worker, ~agree, minlength=labels.n_workers)
        posterior[np.arange(labels.n_items), code] += np.exp(betaln(a + right, b + wrong).sum())
    return posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("prior", [(2.0, 1.0), (0.5, 0.3), (7.5, 4.0)])
@pytest.mark.parametrize("gold", [None, [1, -1, -1, -1, -1]])
def test_exact_where_the_labels_form_a_tree(prior, gold):
    labels = make([0, 0, 1, 2, 2, 3, 4], [0, 1, 0, 0, 2, 2, 2], [1, 0, 0, 1, 1, 1, 0], gold)
    found = BeliefPropagation(a=prior[0], b=prior[1], tol=1e-12).fit(labels).result_
    assert found.converged
    np.testing.assert_allclose(found.posterior, exact_posterior(labels, *prior), atol=1e-9)


@pytest.mark.parametrize("prior", [(2.0, 1.0), (0.2, 0.1), (300.0, 100.0)])
def test_the_quadrature_is_fine_enough(prior):
    """Workers with a thousand labels need no more nodes than they are given."""
    labels, _ = simulate(np.random.default_rng(0), n_items=1500, n_workers=4, labels_per_item=3)
    right = np.random.default_rng(1).random(labels.n_labels)
    right[::7] = 1.0
    ours = bp.hear_workers(labels, right, *bp.beta_quadrature(*prior, int(np.bincount(labels.worker).max())))
    finer = bp.hear_workers(labels, right, *bp.beta_quadrature(*prior, 16 * labels.n_items))
    np.testing.assert_allclose(ours[0], finer[0], rtol=1e-6)
    np.testing.assert_allclose(ours[1], finer[1], rtol=1e-6)


def test_a_message_is_the_integral_it_says():
    labels = make([0, 1, 2], [0, 0, 0], [1, 1, 1])
    right = np.array([0.9, 0.3, 0.6])
    messages, belief = bp.hear_workers(labels, right, *bp.beta_quadrature(2.0, 1.0, 3))
    p = (np.arange(100000) + 0.5) / 100000
    factors = p * right[:, None] + (1 - p) * (1 - right[:, None])
    for n in range(3):
        density = p * np.delete(factors, n, axis=0).prod(axis=0)
        assert messages[n] == pytest.approx(np.log((p * density).sum() / ((1 - p) * density).sum()), rel=1e-6)
    density = p * factors.prod(axis=0)
    assert belief[0] == pytest.approx(np.log((p * density).sum() / ((1 - p) * density).sum()), rel=1e-6)


def test_the_haldane_limit_is_kos():
    """As the prior's parameters vanish the messages become the sums of Karger, Oh and Shah, as Liu, Peng and Ihler show."""
    labels, _ = simulate(np.random.default_rng(4), n_items=12, n_workers=8, labels_per_item=3)
    signs, known = label_signs(labels, "kos"), np.zeros(labels.n_labels)
    linear = 0.01 * bp.first_messages(labels, known, np.random.default_rng(0))
    messages = linear.copy()
    nodes, log_weights = bp.beta_quadrature(1e-10, 1e-10, labels.n_labels)
    for _ in range(3):
        heard = bp.hear_items(labels, signs, known, linear)
        linear = np.bincount(labels.worker, heard)[labels.worker] - heard
        right = bp.belief_messages(labels, signs, known, messages)
        np.testing.assert_allclose(logit(right), heard, rtol=1e-4, atol=1e-6)
        messages, _ = bp.hear_workers(labels, right, nodes, log_weights)
        np.testing.assert_allclose(messages, linear, rtol=1e-4, atol=1e-6)


def test_a_tiny_prior_gives_the_scores_of_kos():
    labels, _ = simulate(np.random.default_rng(2), n_items=300, n_workers=300, labels_per_item=5, spammers=0.3)
    signs = label_signs(labels, "kos")
    heard = bp.hear_items(labels, signs, np.zeros(labels.n_labels), np.ones(labels.n_labels))
    scores = item_scores(labels, signs * (np.bincount(labels.worker, heard)[labels.worker] - heard))
    posterior = BeliefPropagation(a=1e-14, b=1e-14, max_iter=1).fit(labels).result_.posterior
    middle = np.abs(scores) < 12  # beyond, the odds of ever being right and ever being wrong are both lost in the prior
    assert middle.mean() > 0.2
    np.testing.assert_allclose(logit(posterior[middle, 1]), scores[middle], atol=0.01)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(DataError, match="two classes and these labels have 3; use one-coin"):
        BeliefPropagation().fit(random_labels(0))
    with pytest.raises(ParameterError, match="a must be"):
        BeliefPropagation(a=0.0).fit(random_labels(0, n_classes=2))
    with pytest.raises(ParameterError, match="at most 10,000"):
        BeliefPropagation(b=1e9).fit(random_labels(0, n_classes=2))


@pytest.mark.parametrize(("name", "error"), [("bluebirds", 27.78), ("rte", 7.50), ("temp", 6.06)])
def test_errors_on_real_data(real, name, error):
    labels, truth = real(name)
    result = BeliefPropagation().fit(labels).result_
    assert result.converged
    assert 100 * error_rate(result.winners, truth) == pytest.approx(error, abs=0.006)
