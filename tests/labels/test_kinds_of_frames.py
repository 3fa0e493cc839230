"""Frames of every kind are taken, or refused with what to do; results say in which kind they come (M18)."""

import builtins
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crowdassay import BradleyTerry, MajorityVote, as_labels, load_model
from crowdassay.errors import ColumnError, DataError, MissingExtraError, ParameterError
from crowdassay.labels.frames import to_frame

RECORDS = [
    {"task": task, "annotator": who, "answer": said}
    for task, who, said in zip("aabbcc", "xyxyxy", ["no", "no", "yes", "no", "yes", "yes"], strict=True)
]
FRAME = pd.DataFrame(RECORDS)


class Capsule:
    """Whatever hands over its columns by Arrow's PyCapsule interface, and is no frame that Narwhals knows."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


ARROW = pa.Table.from_pandas(FRAME)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: RECORDS, pd.DataFrame),
        (lambda: Capsule(ARROW), pa.Table),
        (ARROW.to_reader, pa.Table),  # which can be read but once
        (lambda: ARROW.to_batches()[0], pa.Table),
        (lambda: pl.from_pandas(FRAME), pl.DataFrame),
    ],
)
def test_m18_records_and_capsules_are_taken(make, kind):
    labels = as_labels(make())
    assert (labels.n_labels, labels.items.to_pylist(), labels.class_names) == (6, ["a", "b", "c"], ("no", "yes"))
    found = MajorityVote().fit(make()).labels_
    assert isinstance(found, kind)
    assert list(found.column_names if kind is pa.Table else found.columns) == ["task", "answer", "probability", "tied"]


def test_records_may_have_gaps_mixed_values_and_gold():
    records = [*RECORDS, {"task": "d", "annotator": "x", "answer": 3}, {"task": "d", "annotator": "y"}]
    with pytest.warns(UserWarning, match="missing label"):
        labels = as_labels(records)
    assert labels.class_names == ("3", "no", "yes")
    known = MajorityVote().fit(RECORDS, gold=[{"item": "b", "label": "no"}]).result_
    assert known.labels.gold.tolist() == [-1, 0, -1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (FRAME.set_index(["task", "annotator"]), r"'task', 'annotator' are in the frame's index; give frame.reset_index\(\)"),
        (FRAME.set_index("task"), r"'task' is in the frame's index; give frame.reset_index\(\)"),
    ],
)
def test_m18_an_index_is_named_with_the_remedy(data, words):
    with pytest.raises(ColumnError, match=words):
        as_labels(data)
    assert as_labels(data.reset_index()).n_labels == 6


def test_m18_columns_of_several_levels_are_refused():
    pivoted = FRAME.assign(seconds=1).pivot(index="task", columns="annotator", values=["answer", "seconds"])
    with pytest.raises(DataError, match="names of several levels; give each one name"):
        as_labels(pivoted)


@pytest.mark.parametrize("data", [FRAME.set_index(["task", "annotator"])["answer"], pl.Series([1, 2]), ARROW["answer"]])
def test_m18_a_single_column_is_refused_with_the_remedy(data):
    with pytest.raises(DataError, match=r"is one column, and labels need three.*series.reset_index\(\)"):
        as_labels(data)


def test_what_cannot_be_read_names_records_too():
    with pytest.raises(DataError, match="a list of records such as"):
        as_labels([["a", "x", "no"], ["a", "y", "no"]])


@pytest.fixture
def path(tmp_path):
    FRAME.to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path / "labels.csv"


def test_m18_results_of_a_path_and_a_matrix_are_pandas(path):
    fitted = MajorityVote().fit(path)
    for frame in (fitted.labels_, fitted.posterior_, fitted.workers_, fitted.items_, fitted.next_, fitted.predict(path)):
        assert isinstance(frame, pd.DataFrame)
    matrix = MajorityVote().fit(np.array([[0, 0, 1], [1, 1, np.nan], [0, 1, 1]]))
    assert isinstance(matrix.labels_, pd.DataFrame)
    assert isinstance(fitted.result_.frame("labels", kind="polars"), pl.DataFrame)
    assert isinstance(fitted.result_.frame("workers", kind="pyarrow"), pa.Table)
    with pytest.raises(ParameterError, match="'pandas', 'polars' or 'pyarrow'"):
        fitted.result_.frame("labels", kind="cudf")
    own = MajorityVote().fit(pl.from_pandas(FRAME)).result_
    assert own.frame("labels", kind="pandas").columns[0] == "task"


def test_m18_results_of_a_path_are_arrow_where_pandas_is_missing(path, monkeypatch):
    fitted, real = MajorityVote().fit(path), builtins.__import__

    def without_pandas(name, *more, **named):
        if name.split(".")[0] == "pandas":
            raise ModuleNotFoundError(name)
        return real(name, *more, **named)

    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert isinstance(fitted.labels_, pa.Table)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        to_frame(pa.table({"a": [1]}), "pandas")


def test_a_saved_model_of_a_path_keeps_its_kind(path, tmp_path):
    MajorityVote().fit(path).save(tmp_path / "model")
    assert isinstance(load_model(tmp_path / "model").labels_, pd.DataFrame)


def test_studies_of_a_path_or_records_are_pandas(tmp_path):
    games = [{"left": "a", "right": "b", "winner": "left"}, {"left": "b", "right": "c", "winner": "right"}] * 3
    pd.DataFrame(games).to_csv(tmp_path / "games.csv", index=False)
    for data in (games, tmp_path / "games.csv"):
        assert isinstance(BradleyTerry().fit(data).ranking_, pd.DataFrame)
