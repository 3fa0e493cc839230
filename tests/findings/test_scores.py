import numpy as np
import pytest

from crowdassay import MajorityVote
from crowdassay.findings.scores import distance_errors, error_rate
from crowdassay.labels.frames import as_labels


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


def test_a_class_that_was_given_is_not_scored():
    items, workers, labels = list("aabbcc"), list("vwvwvw"), [0, 0, 1, 1, 2, 2]
    data = as_labels((items, workers, labels))
    truth = {"a": 1, "b": 1, "c": 0, "elsewhere": 0}
    free = MajorityVote().fit(data).result_.score(truth)
    assert free == {
        "error_rate": pytest.approx(2 / 3), "rmse": pytest.approx((5 / 3) ** 0.5), "mae": 1.0, "distance": "values",
        "truth_items": 3, "truth_items_gold": 0, "truth_items_without_labels": 1,
    }  # fmt: skip
    told = MajorityVote().fit(data.with_gold(np.array([1, -1, -1]))).result_
    assert told.score(truth)["error_rate"] == 0.5
    assert told.score(np.array([1, 1, 0]))["truth_items_gold"] == 1
    nothing = told.score({"a": 1})
    assert (nothing["error_rate"], nothing["rmse"], nothing["truth_items"]) == (None, None, 0)


def test_distances_are_those_of_the_numbers_or_of_the_steps():
    """Classes 1, 2 and 10: taking 10 for 2 is off by 8, not by one step; words have steps, if their order is given."""
    data = as_labels((list("abcd"), list("vvvv"), [1, 2, 10, 2]))
    found = MajorityVote().fit(data).result_.score({"a": 1, "b": 2, "c": 2, "d": 10})
    assert (found["rmse"], found["mae"], found["distance"]) == (pytest.approx((128 / 4) ** 0.5), 4.0, "values")
    words = (list("abcd"), list("vvvv"), ["low", "mid", "high", "mid"])
    truth = {"a": "low", "b": "mid", "c": "mid", "d": "high"}
    found = MajorityVote().fit(as_labels(words, classes=["low", "mid", "high"])).result_.score(truth)
    assert (found["rmse"], found["distance"]) == (pytest.approx(0.5**0.5), "steps")
    assert "rmse" not in MajorityVote().fit(as_labels(words)).result_.score(truth)
    assert "rmse" in MajorityVote().fit(as_labels(words)).result_.score(truth, ordered=True)
    yes = MajorityVote().fit(as_labels((list("ab"), list("vv"), [True, False]))).result_
    assert "rmse" not in yes.score({"a": True, "b": True})


def test_a_truth_in_small_integers_counts_the_same_cells():
    """Codes of cells are products of classes: 20 classes do not fit into int8."""
    codes = np.arange(60) % 20
    names = [f"c{code:02d}" for code in codes]
    result = MajorityVote().fit(([f"i{j}" for j in range(60)] * 2, ["v"] * 60 + ["w"] * 60, names * 2)).result_
    assert result.score(codes.astype(np.int8)) == result.score(codes)
