import numpy as np
import pytest

from crowdassay.metrics.scores import distance_errors, error_rate


def test_unknown_truth_does_not_count():
    winners = np.eye(3, dtype=bool)
    assert error_rate(winners, np.array([0, 2, -1])) == 0.5


def test_a_tie_counts_in_part_only_where_the_truth_is_in_it():
    winners = np.array([[True, True, False], [True, True, False]])
    assert error_rate(winners, np.array([0, 2])) == pytest.approx((0.5 + 1.0) / 2)


def test_distances_are_positions_on_the_scale():
    winners = np.array([[True, False, False], [False, True, True]])
    root, absolute = distance_errors(winners, np.array([2, 1]))
    assert root == pytest.approx(np.sqrt((4 + 0.5) / 2))
    assert absolute == pytest.approx((2 + 0.5) / 2)
