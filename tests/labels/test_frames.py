from __future__ import annotations

import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.errors import ColumnError, DataError, MissingExtraError, ParameterError
from crowdassay.labels.frames import as_labels, to_frame

DATA = {"task": ["a", "a", "b", "b"], "worker": [7, 8, 7, 8], "answer": ["no", "yes", "yes", "yes"]}
ROWS = [("a", 7, "no"), ("a", 8, "yes"), ("b", 7, "yes"), ("b", 8, "yes")]


def rows_of(labels):
    items, workers, classes = (v.to_pylist() for v in (labels.items, labels.workers, labels.classes))
    return [(items[i], workers[w], classes[k]) for i, w, k in zip(labels.label_item, labels.worker, labels.label, strict=True)]


FRAMES = {
    "pandas": (pd.DataFrame, "pandas"),
    "polars": (pl.DataFrame, "polars"),
    "polars lazy": (pl.LazyFrame, "polars"),
    "pyarrow": (pa.table, "pyarrow"),
    "duckdb": (lambda data: duckdb.from_arrow(pa.table(data)), "pyarrow"),
}


@pytest.mark.parametrize("name", FRAMES)
def test_every_kind_of_frame(name):
    make, kind = FRAMES[name]
    labels = as_labels(make({"noise": [[1]] * 4, **DATA}))
    assert rows_of(labels) == ROWS
    assert labels.frame == kind
    assert labels.report.columns == {"item": "task", "worker": "worker", "label": "answer"}


VALUES = st.one_of(st.none(), st.integers(-5, 5), st.text("ab \t", max_size=2))


@pytest.mark.slow
@given(st.lists(st.tuples(VALUES, st.integers(0, 3), st.sampled_from(["x", "y"])), min_size=1, max_size=15))
def test_pandas_frames_of_mixed_values_round_trip_as_text(rows):
    frame = pd.DataFrame(
        {name: pd.Series(column, dtype=object) for name, column in zip(DATA, zip(*rows, strict=True), strict=True)}
    )
    kept = [row for row in rows if row[0] is not None and str(row[0]).strip()]
    if not kept:
        with pytest.raises(DataError, match="No labels found"):
            as_labels(frame, classes=["x", "y"])
        return
    labels = as_labels(frame, classes=["x", "y"], allow_drops=True)
    texts = [(str(item), worker, label) for item, worker, label in kept]
    first_seen = list(dict.fromkeys(item for item, _, _ in texts))
    assert [(str(item), worker, label) for item, worker, label in rows_of(labels)] == sorted(
        texts, key=lambda row: first_seen.index(row[0])
    )
    assert labels.report.dropped.get("missing item", 0) == len(rows) - len(kept)


def test_pandas_missing_values_and_floats():
    frame = pd.DataFrame({"item": [1.0, np.nan, 2.0, 3.0], "worker": pd.array([1, 2, None, 4], dtype="Int64")})
    frame["label"] = pd.Series(["x", "y", "x", pd.NA], dtype=object)
    labels = as_labels(frame, classes=["x", "y"], allow_drops=True)
    assert labels.items.to_pylist() == [1]
    assert labels.report.dropped == {"missing item": 1, "missing worker": 1, "missing label": 1}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.Categorical(["lo", "hi", "lo", "hi"], ["lo", "mid", "hi"], ordered=True)),
        pl.Series(["lo", "hi", "lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"])),
    ],
)
def test_an_ordered_categorical_gives_the_class_order(column):
    frame = (pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame)({**DATA, "answer": column})
    assert as_labels(frame).class_names == ("lo", "mid", "hi")
    assert as_labels(frame, classes=["hi", "lo"]).class_names == ("hi", "lo")


def test_categoricals_without_order_are_decoded():
    for column in (pd.Categorical(DATA["answer"], ["yes", "no", "never"]), pd.Categorical([3, 1, 3, 1], [3, 2, 1])):
        labels = as_labels(pd.DataFrame({**DATA, "answer": column}))
        assert labels.classes.to_pylist() == sorted(set(column))


def test_ordered_whole_numbers_keep_their_type():
    labels = as_labels(pd.DataFrame({**DATA, "answer": pd.Categorical([3, 1, 3, 1], [3, 2, 1], ordered=True)}))
    assert labels.classes.to_pylist() == [3, 2, 1]


def test_triples():
    labels = as_labels((DATA["task"], np.array(DATA["worker"]), pd.Series(DATA["answer"])))
    assert rows_of(labels) == ROWS
    assert labels.frame == "pyarrow"
    with pytest.raises(DataError, match="4 items, 3 workers"):
        as_labels((DATA["task"], DATA["worker"][:3], DATA["answer"]))
    with pytest.raises(DataError, match="sequence of values, not 'a'"):
        as_labels(("a", "b", "c"))
    with pytest.raises(ParameterError, match="'task'"):
        as_labels((DATA["task"], DATA["worker"], DATA["answer"]), item_column="task")


def test_paths_and_labels(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("item,worker,label,other\na,w,x,1\na,v,y,2\n")
    labels = as_labels(str(path), label_column="other", classes=["2", "1"])
    assert labels.class_names == ("2", "1")
    assert as_labels(labels) is labels
    for options in ({"classes": ["x", "y"]}, {"repeats": "last"}, {"item_column": "item"}):
        with pytest.raises(ParameterError, match="encoded already"):
            as_labels(labels, **options)


@pytest.mark.parametrize("data", [3, {"item": [1]}, ([1], [2])])
def test_what_cannot_be_read(data):
    with pytest.raises(DataError, match=f"cannot be read from a {type(data).__name__}"):
        as_labels(data)


def test_frames_with_odd_columns():
    assert rows_of(as_labels(pd.DataFrame(ROWS), item_column="0", worker_column="1", label_column="2")) == ROWS
    with pytest.raises(ColumnError, match="same name"):
        as_labels(pd.DataFrame(ROWS, columns=["item", "item", "label"]))
    with pytest.raises(DataError, match="The item column holds list"):
        as_labels(pl.DataFrame({**DATA, "task": [[1]] * 4}))


def test_to_frame_gives_the_callers_kind():
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert to_frame(table, "pyarrow") is table
    assert isinstance(to_frame(table, "pandas"), pd.DataFrame)
    assert to_frame(table, "polars").equals(pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
    with pytest.raises(ParameterError, match="'dask'"):
        to_frame(table, "dask")


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_to_frame_names_what_to_install(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=f"pip install {name}"):
        to_frame(pa.table({"a": [1]}), name)
