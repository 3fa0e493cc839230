"""The E-step by products equals the E-step by logarithms."""

import numpy as np
import pytest
from scipy.special import logsumexp

from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from support.problems import random_labels


def by_logs(labels, log_p, log_prior):
    joint = np.tile(log_prior, (labels.n_items, 1))
    np.add.at(joint, labels.label_item, log_p[labels.worker, :, labels.label])
    marginal = logsumexp(joint, axis=1)
    posterior = np.exp(joint - marginal[:, None])
    for j in np.flatnonzero(labels.gold >= 0):
        marginal[j] = joint[j, labels.gold[j]]
        posterior[j] = np.eye(labels.n_classes)[labels.gold[j]]
    return marginal.sum(), posterior


@pytest.mark.parametrize("n_classes", [2, 3, 5, 8])
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("gold", [0, 3])
def test_products_equal_logarithms(n_classes, spread, gold):
    """Also where the products are far below the smallest float."""
    labels = random_labels(n_classes, n_classes=n_classes, gold=gold, n_items=60)
    generator = np.random.default_rng(n_classes)
    log_p = -spread * generator.exponential(size=(labels.n_workers, n_classes, n_classes))
    log_prior = np.log(generator.dirichlet(np.ones(n_classes)))
    objective, expected = by_logs(labels, log_p, log_prior)
    posterior = np.empty((labels.n_items, n_classes))
    sums = LocalEngine(labels).count(log_p, log_prior, posterior=posterior)
    assert sums.objective == pytest.approx(objective, rel=1e-12)
    np.testing.assert_allclose(posterior, expected, atol=1e-12)
    np.testing.assert_allclose(sums.counts, observed_counts(labels, expected), atol=1e-11)
    np.testing.assert_allclose(sums.totals, expected.sum(axis=0))


def test_tallies_given_weights_as_a_sparse_product_does():
    labels = random_labels(0, n_classes=3, n_items=60)
    weights = np.random.default_rng(0).normal(size=(60, 3))
    np.testing.assert_allclose(LocalEngine(labels).tally(weights), observed_counts(labels, weights), atol=1e-12)
