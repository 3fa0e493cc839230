"""Cells that list the workers of an item and their labels have a row for each pair."""

from __future__ import annotations

import pandas as pd
import pytest

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.files import read_labels, table_of
from crowdassay.labels.frames import as_labels
from crowdassay.labels.ingest import as_parquet, spool_files
from crowdassay.read_options import ReadOptions

SPELLINGS = {
    "Python": ("['ann', 'bob']", "['x', 'y']"),
    "JSON": ('["ann","bob"]', '["x","y"]'),
    "NumPy": ("['ann' 'bob']", "['x'\n 'y']"),
    "numbers": ("[7, 8]", "[1, 0]"),
    "NumPy's numbers": ("[7 8]", "[1. 0.]"),
    "typed numbers": ("[np.int64(7), np.int64(8)]", "[np.float64(1.0), np.float64(0.0)]"),
    "inner lists": ("['ann', 'bob']", "[['x'], ['y']]"),
}
NAMED = {"worker_column": "crew", "label_column": "said"}


def written(tmp_path, rows, name="a.csv", **columns):
    path = tmp_path / name
    frame = pd.DataFrame(rows, columns=["id", "crew", "said"]).assign(**columns)
    frame.to_csv(path, index=False, sep="\t" if name.endswith("tsv") else ",")
    return path


def rows_of(labels):
    return [(row["item"], row["worker"], row["label"]) for row in table_of(labels).to_pylist()]


@pytest.mark.parametrize(("crew", "said"), SPELLINGS.values(), ids=SPELLINGS)
def test_each_worker_in_a_list_has_a_row(tmp_path, crew, said):
    path = written(tmp_path, [("a", crew, said), ("b", crew, said)])
    labels = read_labels(path, **NAMED)
    who, classes = (("7", "8"), ("1", "0")) if "7" in crew else (("ann", "bob"), ("x", "y"))
    assert rows_of(labels) == [(item, *pair) for item in "ab" for pair in zip(who, classes, strict=True)]
    note = "'crew' and 'said' hold lists, of workers and of their labels in the same order: each pair was read as a row"
    assert any(one.startswith(note) and "2 rows became 4" in one for one in labels.report.notes)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_lists_that_names_tell_are_found_and_times_are_repeated(tmp_path, name):
    rows = [(n, str(["ann", "bob", "eve"][: 2 + n % 2]), str(["x", "y", "x"][: 2 + n % 2])) for n in range(4)]
    path = written(tmp_path, rows, name, time=[f"2024-01-0{n + 1}" for n in range(4)])
    path.write_text(path.read_text().replace("crew", "worker").replace("said", "label"))
    labels = read_labels(path)
    assert (labels.n_labels, labels.n_items, labels.n_workers) == (10, 4, 3)
    assert labels.time is not None
    assert len(labels.time) == 10


def test_labels_that_are_empty_or_several_choices(tmp_path):
    rows = [("a", "['ann', 'bob']", "[['x', 'y'], []]"), ("b", "['ann', 'bob']", "[['y', 'x'], ['x']]"), ("c", "['eve']", None)]
    path = written(tmp_path, rows)
    with pytest.raises(DataError, match=r"Some labels name several choices, such as .*x.*y"):
        read_labels(path, **NAMED)
    labels = read_labels(path, **NAMED, options="set")
    assert rows_of(labels) == [("a", "ann", "x|y"), ("b", "ann", "x|y"), ("b", "bob", "x")]
    plain = written(tmp_path, [("a", "['ann', 'bob']", "[['x'], []]"), ("b", "['ann', 'bob']", "['y', nan]"), rows[2]])
    plain_labels = read_labels(plain, **NAMED, allow_drops=True)
    assert rows_of(plain_labels) == [("a", "ann", "x"), ("b", "ann", "y")]
    assert plain_labels.report.dropped == {"missing label": 3}


@pytest.mark.parametrize("options", [{}, {"options": "set"}, {"options": "each"}, {"classes": ["x", "y"]}])
def test_lists_of_different_lengths_are_refused_with_their_row(tmp_path, options):
    path = written(tmp_path, [("a", "['ann', 'bob']", "['x', 'y']"), ("b", "['ann', 'bob', 'eve']", "['x', 'y']")])
    with pytest.raises(DataError, match=r"in data row 2 of 'a\.csv' they list 3 workers and 2 labels"):
        read_labels(path, **NAMED, **options)
    path = written(tmp_path, [("a", "['ann', 'bob']", "['x', 'y']"), ("b", "ann", "x")])
    with pytest.raises(DataError, match=r"in data row 2 of 'a\.csv' 'crew' holds 'ann'"):
        read_labels(path, **NAMED, **options)


@pytest.mark.parametrize("how", ["set", "each"])
@pytest.mark.parametrize("cell", ["[['x'], ['y'], []]", "[[0, 5, 'PER'], [7, 9, 'LOC']]"])
def test_options_make_no_classes_of_lists_of_lists(tmp_path, how, cell):
    path = written(tmp_path, [("a", "ann", cell), ("a", "bob", cell), ("b", "ann", cell), ("b", "bob", cell)])
    with pytest.raises(DataError, match="Some labels are lists of spans or other objects"):
        read_labels(path, **NAMED, options=how)


def test_spans_beside_workers_are_no_choices(tmp_path):
    path = written(tmp_path, [("a", "['ann', 'bob']", "[[0, 5, 'PER'], [7, 9, 'LOC']]")] * 2)
    for options in ({}, {"options": "set"}):
        with pytest.raises(DataError, match="lists of spans or other objects"):
            read_labels(path, item_column="id", **NAMED, **options)


def test_what_numpy_lists_of_one_worker_is_a_set_of_choices(tmp_path):
    path = written(
        tmp_path, [("a", "ann", "['x' 'y']"), ("a", "bob", "['y' 'x']"), ("b", "ann", "['x']"), ("b", "bob", "['y']")]
    )
    with pytest.raises(DataError, match="Some labels name several choices"):
        read_labels(path, **NAMED)
    assert [label for *_, label in rows_of(read_labels(path, **NAMED, options="set"))] == ["x|y", "x|y", "x", "y"]


def test_columns_that_list_workers_are_proposed(tmp_path):
    crews = [["w1", "w2", "w3"], ["w2", "w4"], ["w3", "w4", "w1"], ["w2", "w1"]] * 3
    rows = [(n, str(crew), str([["x"] if k % 2 else ["y"] for k in range(len(crew))])) for n, crew in enumerate(crews)]
    path = written(tmp_path, rows)
    way = "If 'crew' lists who labelled and 'said' their labels, say .*worker_column.*'crew'.*label_column.*'said'"
    for given in ({}, {"worker_column": "crew"}, {"label_column": "said"}):
        with pytest.raises(ColumnError, match=way):
            read_labels(path, **given)
    assert read_labels(path, **NAMED).n_workers == 4
    tokens = [("a", "['the', 'cat']", "['D', 'N']"), ("b", "['a', 'dog', 'ran']", "['D', 'N', 'V']"), ("c", "['it']", "['P']")]
    with pytest.raises(ColumnError) as error:
        read_labels(written(tmp_path, tokens))
    assert "lists who labelled" not in str(error.value)


def test_frames_of_such_texts_are_read_alike():
    frame = pd.DataFrame({"id": [1, 2], "crew": ["['ann', 'bob']"] * 2, "said": ["[1, 0]", "[0, 0]"]})
    labels = as_labels(frame, **NAMED)
    assert rows_of(labels) == [(1, "ann", "1"), (1, "bob", "0"), (2, "ann", "0"), (2, "bob", "0")]


def test_what_streams_files_refuses_such_lists(tmp_path):
    path = written(tmp_path, [(n, "['ann', 'bob']", "['x', 'y']") for n in range(4)])
    options = ReadOptions(**NAMED, classes=["x", "y"])
    (tmp_path / "spool").mkdir()
    with pytest.raises(DataError, match="write a row for each first: crowdassay convert"):
        spool_files([path], tmp_path / "spool", options, memory=1 << 30, threads=1)
    with pytest.raises(DataError, match="write a row for each first: crowdassay convert"):
        as_parquet([path], tmp_path / "spool", options)


def test_a_team_that_gave_one_label_is_left_as_it_is(tmp_path):
    rows = [("a", "['ann', 'bob']", "x"), ("a", "eve", "y"), ("b", "['ann', 'bob']", "y"), ("b", "eve", "x")]
    assert read_labels(written(tmp_path, rows), **NAMED).n_workers == 2
