"""Tails and false discoveries, which verdicts rest on, are what they say."""

import numpy as np
import pytest
from scipy.stats import binom, poisson

from crowdassay.findings.verdicts import FALSE_DISCOVERIES
from crowdassay.statistics import as_deviations, crossing, discoveries, sign_tail, upper_tail


@pytest.mark.parametrize(("n", "p"), [(20, 0.05), (50, 0.1), (100, 0.3), (200, 0.5)])
def test_counts_are_as_likely_as_binomial_ones(n, p):
    seen = np.arange(int(n * p) + 1, n)
    exact = binom.sf(seen - 1, n, p)
    found = upper_tail(seen, np.full(len(seen), n * p), np.full(len(seen), n * p * (1 - p)), p)
    shown = exact > 1e-6
    assert np.all(found[shown] / exact[shown] < 4)
    assert np.all(found[shown] / exact[shown] > 0.8)


def test_rare_events_are_those_of_poisson():
    assert upper_tail(np.array([3.0]), np.array([0.5]), np.array([0.5]))[0] == pytest.approx(poisson.sf(2, 0.5))


def test_nothing_seen_or_certain_proves_nothing():
    assert upper_tail(np.array([0.0, 5.0]), np.array([2.0, 5.0]), np.array([1.0, 0.0])).tolist() == [1.0, 1.0]


def test_what_does_not_depend_on_the_answer_does_not_count():
    # Half of each sum is the same whatever happens: the tail is that of the other half.
    alone = upper_tail(np.array([12.0]), np.array([5.0]), np.array([4.0]))
    np.testing.assert_allclose(upper_tail(np.array([112.0]), np.array([105.0]), np.array([4.0])), alone)


def test_signs_are_binomial():
    np.testing.assert_allclose(sign_tail(np.array([9.0, 0.0]), np.array([10.0, 10.0])), [binom.sf(8, 10, 0.5), 1.0])


def test_splits_of_a_constant_series_exceed_the_limit_as_often_as_is_said():
    generator = np.random.default_rng(0)
    steps = generator.standard_normal((4000, 400)).cumsum(axis=1)
    share = np.arange(1, 400) / 400
    used = (share >= 0.15) & (share <= 0.85)
    bridge = (share * steps[:, -1:] - steps[:, :-1]) / np.sqrt(400 * share * (1 - share))
    highest = bridge[:, used].max(axis=1)
    for limit in (0.1, 0.05, 0.01):
        assert limit / 2 < np.mean(crossing(highest, 0.15) <= limit) < 1.2 * limit  # fewer steps, fewer crossings


def test_deviations_turn_back():
    assert as_deviations(np.array([0.025]))[0] == pytest.approx(1.96, abs=0.001)


def test_false_discoveries_keep_to_their_rate():
    generator = np.random.default_rng(1)
    shares = []
    for _ in range(300):
        p = generator.random((40, 9))
        p[:4, 3] = 1e-6
        found = discoveries(p, np.ones(p.shape, bool), FALSE_DISCOVERIES)
        assert found[:4, 3].all()
        shares.append((found.sum() - 4) / found.sum())
    assert np.mean(shares) == pytest.approx(FALSE_DISCOVERIES, rel=0.25)


def test_what_was_not_tested_is_not_found():
    p = np.full((3, 2), 1e-9)
    tested = np.array([[True, False]] * 3)
    assert (discoveries(p, tested, FALSE_DISCOVERIES) == tested).all()
    assert not discoveries(np.ones((2, 2)), np.ones((2, 2), bool), FALSE_DISCOVERIES).any()
