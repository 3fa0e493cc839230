from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from crowdassay.models.assay.constants import default_constants
from crowdassay.solvers.assay.gold import contradiction, correct, learn, objective, read_gold, score_workers
from crowdassay.solvers.assay.pool import predict_proba
from support.pools import a_pool
from support.problems import random_labels


def a_gold_fit(seed=0, n_items=12, trust=None):
    labels = random_labels(seed, n_items=n_items)
    truth = np.random.default_rng(seed).integers(3, size=n_items)
    pool = replace(a_pool(labels), bias=np.zeros(3), trust=trust)
    return pool, read_gold(labels, pool, np.eye(3)[truth]), truth


@pytest.mark.parametrize("trusted", [False, True])
def test_gradient_by_finite_differences(trusted):
    trust = np.array([np.nan, 3.0, np.nan, np.nan, np.nan, np.nan]) if trusted else None
    _, gold, _ = a_gold_fit(trust=trust)
    ridge = np.repeat([2.0, 3.0, 0.5], [3, 3, 6])
    theta = np.random.default_rng(1).normal(size=12) / 3
    error = check_grad(lambda x: objective(x, gold, ridge)[0], lambda x: objective(x, gold, ridge)[1], theta)
    assert error < 1e-5


def test_what_was_learned_is_what_judges():
    """The corrected pool says of the known items what the model that was fitted to them says."""
    pool, gold, _ = a_gold_fit(3)
    constants = replace(default_constants(), ridge_pool=1.0, ridge_class=1.0, ridge_worker=1.0)
    theta = np.concatenate(learn(gold, constants))
    value, _ = objective(theta, gold, np.zeros(len(theta)))
    posterior = predict_proba(gold.labels, correct(pool, gold, constants), use_gold=False)
    assert -(gold.target * np.log(posterior)).sum() == pytest.approx(value, rel=1e-9)


def test_strong_ridges_leave_the_pool_alone_and_weak_ones_take_over():
    pool, gold, truth = a_gold_fit(5, n_items=30)
    held = replace(default_constants(), ridge_pool=1e9, ridge_class=1e9, ridge_worker=1e9)
    np.testing.assert_allclose(
        predict_proba(gold.labels, correct(pool, gold, held)), predict_proba(gold.labels, pool), atol=1e-6
    )
    free = replace(default_constants(), ridge_pool=1e-3, ridge_class=1e-3, ridge_worker=1e-3)
    right = [(predict_proba(gold.labels, one).argmax(axis=1) == truth).mean() for one in (pool, correct(pool, gold, free))]
    assert right[1] > right[0]


def test_scores_of_workers():
    labels = random_labels(2)
    truth = np.where(np.arange(labels.n_items) < 6, 1, -1)
    scores = score_workers(labels, truth)
    known = labels.label_item < 6
    assert scores[:, 0].sum() == known.sum()
    assert scores[:, 1].sum() == (known & (labels.label == 1)).sum()


def test_a_contradiction_is_said_and_chance_is_not():
    labels = random_labels(0, n_items=60)
    pool = replace(a_pool(labels), bias=np.zeros(3), tables=3 * a_pool(labels).tables)
    posterior = predict_proba(labels, pool, use_gold=False)
    generator = np.random.default_rng(0)
    drawn = np.array([generator.choice(3, p=q) for q in posterior])
    assert contradiction(read_gold(labels, pool, np.eye(3)[drawn])) == ""
    wrong = (posterior.argmax(axis=1) + 1) % 3
    assert "60 of 60 would have got a wrong label" in contradiction(read_gold(labels, pool, np.eye(3)[wrong]))
