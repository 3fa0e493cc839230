import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdassay import MajorityVote, MinimaxEntropy
from crowdassay.labels.record import TIE, find_winners

ROWS = {"task": [1, 1, 2, 2, 3], "worker": ["a", "b", "a", "b", "a"], "answer": ["x", "x", "y", "x", "y"]}


@pytest.mark.parametrize(("make", "kind"), [(pd.DataFrame, pd.DataFrame), (pl.DataFrame, pl.DataFrame), (pa.table, pa.Table)])
def test_results_come_in_the_callers_kind_of_frame(make, kind):
    fitted = MajorityVote().fit(make(ROWS))
    frames = (fitted.labels_, fitted.posterior_, fitted.workers_, fitted.items_, fitted.parameters_, fitted.next_)
    for frame in (*frames, fitted.predict(make(ROWS))):
        assert isinstance(frame, kind)
    assert list(fitted.labels_["task"].to_pylist() if kind is pa.Table else fitted.labels_["task"]) == [1, 2, 3]


def test_results_have_the_callers_own_names_of_columns():
    odd = pd.DataFrame({"image": [1, 1, 2], "who": ["a", "b", "a"], "probability": ["x", "x", "image"]})
    fitted = MajorityVote().fit(odd, item_column="image", worker_column="who", label_column="probability")
    assert list(fitted.labels_) == ["image", "label", "probability", "tied"]  # a name that is taken stays ours
    assert list(fitted.posterior_) == ["item", "image", "x"]
    assert list(fitted.workers_)[:2] == ["who", "n_labels"]
    assert list(fitted.next_)[:2] == ["image", "label"]
    assert list(fitted.predict(odd)) == list(fitted.labels_)  # new labels are read as the fitted ones were
    assert fitted.result_.labels_table().column_names == ["item", "label", "probability", "tied"]


def test_a_tie_goes_to_the_first_class_and_is_flagged():
    table = MajorityVote().fit((ROWS["task"], ROWS["worker"], ROWS["answer"])).labels_
    assert table["label"].to_pylist() == ["x", "x", "y"]
    assert table["tied"].to_pylist() == [False, True, False]
    assert table["probability"].to_pylist() == [1.0, 0.5, 1.0]


def test_ties_up_to_rounding():
    assert find_winners(np.array([[0.5 - TIE / 4, 0.5 + TIE / 4], [0.4, 0.6]])).tolist() == [[True, True], [False, True]]


def test_items_table():
    table = MajorityVote().fit((ROWS["task"], ROWS["worker"], ROWS["answer"])).items_
    names = ["item", "n_labels", "probability", "standing", "entropy", "vote_share"]
    assert table.column_names == [*names, "difficulty_low", "difficulty_high", "difficulty_verdict"]
    assert table["n_labels"].to_pylist() == [2, 2, 1]
    assert table["entropy"].to_pylist() == pytest.approx([0.0, np.log(2), 0.0])


def test_the_workers_table_can_be_read_and_parameters_have_their_own():
    fitted = MinimaxEntropy(alpha=1.0, beta=1.0).fit((ROWS["task"], ROWS["worker"], ROWS["answer"]))
    names = ["worker", "n_labels", "accuracy", "accuracy_low", "accuracy_high", "verdict", "action", "evidence"]
    assert fitted.workers_.column_names == [*names, "looks_like"]
    assert fitted.parameters_["sigma"].to_numpy() == pytest.approx(fitted.sigma_.ravel())
    assert fitted.parameters_.slice(1, 1).select(["true", "observed"]).to_pylist() == [{"true": "x", "observed": "y"}]
    assert fitted.items_["tau:y:x"].to_numpy() == pytest.approx(fitted.tau_[:, 1, 0])
    assert fitted.items_["difficulty"].to_numpy().max() < 1


def test_a_class_called_item_does_not_hide_the_items():
    table = MajorityVote().fit(([1, 2], ["a", "b"], ["item", "other"])).posterior_
    assert table.column_names == ["item", "class:item", "other"]


def test_a_result_is_shown_in_one_line():
    result = MajorityVote().fit((["a", "a", "b"], ["v", "w", "v"], [0, 1, 0])).result_
    assert repr(result) == "Result(majority, 2 items, mean probability 0.750)"
