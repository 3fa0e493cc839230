"""How many independent judges a panel is worth, where that is known."""

import numpy as np
import pytest

from crowdassay.judges.redundancy import find_likeness


def panel(generator, groups, n=400, accuracy=0.75):
    """Return readings of groups of identical judges, independent between groups, and the truth."""
    truth = generator.integers(3, size=n)
    columns = []
    for size in groups:
        wrong = generator.random(n) >= accuracy
        said = np.where(wrong, (truth + generator.integers(1, 3, size=n)) % 3, truth)
        columns += [said] * size
    return np.stack(columns, axis=1), truth


@pytest.mark.parametrize(("groups", "worth"), [([5], 1.0), ([1] * 5, 5.0), ([3, 3], 2.0), ([2, 2, 2], 3.0)])
def test_worth_of_known_dependence(groups, worth):
    generator = np.random.default_rng(4)
    found = find_likeness(*panel(generator, groups, 3000), generator)
    assert found.worth == pytest.approx(worth, rel=0.1)
    assert found.low <= found.worth <= found.high <= len(found.correlation) + 1e-9


def test_partial_dependence_has_the_formulas_value():
    generator = np.random.default_rng(0)
    n, k, share = 6000, 6, 0.5
    truth = np.zeros(n, int)
    common = generator.random(n) < 0.3
    own = generator.random((n, k)) < 0.3
    wrong = np.where(generator.random((n, k)) < np.sqrt(share), common[:, None], own)
    found = find_likeness(wrong.astype(int), truth, generator)
    assert found.worth == pytest.approx(k / (1 + (k - 1) * share), rel=0.1)


def test_a_judge_of_uneven_skill_is_not_taken_for_a_copy():
    generator = np.random.default_rng(1)
    truth = generator.integers(2, size=4000)
    lenient = [np.where(generator.random(4000) < np.where(truth == 1, 0.98, 0.5), truth, 1 - truth) for _ in range(4)]
    found = find_likeness(np.stack(lenient, axis=1), truth, generator)
    assert found.worth == pytest.approx(4, rel=0.1)
    assert found.clusters == ()


def test_judges_who_make_the_same_mistakes_are_put_together():
    generator = np.random.default_rng(2)
    found = find_likeness(*panel(generator, [3, 1, 2], 300), generator)
    assert found.clusters == ((0, 1, 2), (4, 5))


def test_too_few_common_items_leave_it_open():
    generator = np.random.default_rng(3)
    reading, truth = panel(generator, [1, 1], 6)
    found = find_likeness(reading, truth, generator)
    assert np.isnan(found.worth)
    assert found.clusters == ()


def test_one_judge_is_worth_one_and_perfect_judges_all():
    generator = np.random.default_rng(5)
    truth = generator.integers(2, size=50)
    assert find_likeness(truth[:, None], truth, generator).worth == 1
    assert find_likeness(np.stack([truth] * 3, axis=1), truth, generator).worth == 3
