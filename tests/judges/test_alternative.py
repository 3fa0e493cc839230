"""The alternative annotator test."""

import numpy as np
import pytest

from crowdassay.judges.panel import may_replace
from crowdassay.statistics import discoveries


def noisy(generator, truth, accuracy):
    return np.where(generator.random(len(truth)) < accuracy, truth, (truth + generator.integers(1, 3, size=len(truth))) % 3)


def crowd(seed, n=100, accuracies=(0.85, 0.85, 0.85)):
    generator = np.random.default_rng(seed)
    truth = generator.integers(3, size=n)
    return generator, truth, np.stack([noisy(generator, truth, accuracy) for accuracy in accuracies], axis=1)


def test_a_judge_who_is_right_may_replace_a_person():
    _, truth, said = crowd(0)
    found = may_replace(said, truth)
    assert found is not None
    assert found.passes
    assert found.winning_rate == 1
    assert found.average_advantage > 0.9
    assert found.people == 3


def test_a_guesser_may_not():
    generator, truth, said = crowd(1)
    found = may_replace(said, generator.integers(3, size=len(truth)))
    assert found is not None
    assert not found.passes
    assert found.winning_rate == 0
    assert found.average_advantage < 0.75


def test_the_average_advantage_counts_ties_for_the_judge():
    said = np.array([[0, 0, 0], [1, 1, 0], [0, 1, 1]] * 20)
    judge = np.array([0, 1, 2] * 20)
    found = may_replace(said, judge)
    assert found is not None
    # In the third row nobody says what the judge says: a tie with the first person, who is alone too, and two losses.
    assert found.average_advantage == pytest.approx(np.mean([1, 2 / 3, 2 / 3]))


def test_fewer_items_use_a_test_without_normality_and_too_few_none():
    _, truth, said = crowd(2, 20)
    assert may_replace(said, truth) is not None
    assert may_replace(said[:9], truth[:9]) is None
    alone = np.where(np.arange(3) == 0, said, -1)
    assert may_replace(alone, truth) is None


def test_false_discoveries_are_held_as_statsmodels_does():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    generator = np.random.default_rng(3)
    for _ in range(20):
        p_values = generator.random(7) ** 4
        theirs = multitest.multipletests(p_values, 0.05, "fdr_by")[0]
        assert discoveries(p_values, np.ones(len(p_values), bool), 0.05, dependent=True).tolist() == theirs.tolist()
