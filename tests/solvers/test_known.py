from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from crowdassay.models.assay.constants import shipped
from crowdassay.solvers.assay.gold import contradiction, correct, learn, objective, read_lesson, score_workers
from crowdassay.solvers.assay.pool import judge
from support.pools import a_pool
from support.problems import random_labels


def a_lesson(seed=0, n_items=12, trust=None):
    labels = random_labels(seed, n_items=n_items)
    truth = np.random.default_rng(seed).integers(3, size=n_items)
    pool = replace(a_pool(labels), bias=np.zeros(3), trust=trust)
    return pool, read_lesson(labels, pool, np.eye(3)[truth]), truth


@pytest.mark.parametrize("trusted", [False, True])
def test_gradient_by_finite_differences(trusted):
    trust = np.array([np.nan, 3.0, np.nan, np.nan, np.nan, np.nan]) if trusted else None
    _, lesson, _ = a_lesson(trust=trust)
    ridge = np.repeat([2.0, 3.0, 0.5], [3, 3, 6])
    theta = np.random.default_rng(1).normal(size=12) / 3
    error = check_grad(lambda x: objective(x, lesson, ridge)[0], lambda x: objective(x, lesson, ridge)[1], theta)
    assert error < 1e-5


def test_what_was_learned_is_what_judges():
    """The corrected pool says of the known items what the model that was fitted to them says."""
    pool, lesson, _ = a_lesson(3)
    constants = replace(shipped(), ridge_pool=1.0, ridge_class=1.0, ridge_worker=1.0)
    theta = np.concatenate(learn(lesson, constants))
    value, _ = objective(theta, lesson, np.zeros(len(theta)))
    posterior = judge(lesson.labels, correct(pool, lesson, constants), told=False)
    assert -(lesson.target * np.log(posterior)).sum() == pytest.approx(value, rel=1e-9)


def test_strong_ridges_leave_the_pool_alone_and_weak_ones_take_over():
    pool, lesson, truth = a_lesson(5, n_items=30)
    held = replace(shipped(), ridge_pool=1e9, ridge_class=1e9, ridge_worker=1e9)
    np.testing.assert_allclose(judge(lesson.labels, correct(pool, lesson, held)), judge(lesson.labels, pool), atol=1e-6)
    free = replace(shipped(), ridge_pool=1e-3, ridge_class=1e-3, ridge_worker=1e-3)
    right = [(judge(lesson.labels, one).argmax(axis=1) == truth).mean() for one in (pool, correct(pool, lesson, free))]
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
    posterior = judge(labels, pool, told=False)
    generator = np.random.default_rng(0)
    drawn = np.array([generator.choice(3, p=q) for q in posterior])
    assert contradiction(read_lesson(labels, pool, np.eye(3)[drawn])) == ""
    wrong = (posterior.argmax(axis=1) + 1) % 3
    assert "60 of 60 would have got a wrong label" in contradiction(read_lesson(labels, pool, np.eye(3)[wrong]))
