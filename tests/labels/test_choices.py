"""Labels that name several choices are no classes of their own: the order of choices says nothing."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pytest

from crowdassay.errors import DataError
from crowdassay.labels.choices import choices_of, refuse_sets
from crowdassay.labels.files import read_labels, table_of
from crowdassay.labels.frames import as_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.write import write_table
from crowdassay.read_options import ReadOptions, split_commas

SETS = {
    "in brackets": ("[A] [B]", "[B] [A]", "[A]", "A|B"),
    "a list": ("['a20', 'a54']", "['a54', 'a20']", "['a20']", "a20|a54"),
    "a list in JSON": ('["x", "y"]', '["y","x"]', '["x"]', "x|y"),
    "commas": ("entailment,neutral", "neutral, entailment", "entailment", "entailment|neutral"),
    "semicolons": ("x;y", "y;x", "y", "x|y"),
    "numbers": ("1,2,3", "3,2,1", "2", "1|2|3"),
}


def written(tmp_path, *labels):
    path = tmp_path / "a.csv"
    rows = [{"item": n // 2, "worker": "ab"[n % 2], "label": label} for n, label in enumerate(labels)]
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(("one", "other", "alone", "name"), SETS.values(), ids=SETS)
def test_several_choices_in_a_cell_are_a_set_in_whatever_order(tmp_path, one, other, alone, name):
    path = written(tmp_path, one, other, alone, alone)
    with pytest.raises(DataError, match=r"Some labels name several choices, such as .*`options='set'`"):
        read_labels(path)
    (tmp_path / "spool").mkdir()
    with pytest.raises(DataError, match="Some labels name several choices"):
        spool_files([path], tmp_path / "spool", ReadOptions(), memory=1 << 30, threads=1)
    plain = name.split("|")
    labels = read_labels(path, options="set")
    assert table_of(labels)["label"].to_pylist()[:2] == [name, name]
    each = table_of(read_labels(path, options="each")).to_pylist()
    assert [row["label"] for row in each if row["item"] == f"0 / {plain[0]}"] == ["yes", "yes"]
    assert len(each) == 4 * len(plain)
    kept = read_labels(path, classes=[one, other, alone])
    assert len(kept.classes) == 3


def test_wide_tables_and_frames_heed_options_too(tmp_path):
    (tmp_path / "w.csv").write_text('item,r1,r2\n1,"a,b",a\n2,b,"b,a"\n3,,a\n')
    wide = table_of(read_labels(tmp_path / "w.csv", format="wide", options="set"))
    assert wide["label"].to_pylist() == ["a|b", "a", "b", "a|b", "a"]
    frame = pd.DataFrame({"item": [1, 1], "worker": ["a", "b"], "label": ["x;y", "y"]})
    assert table_of(as_labels(frame, options="set"))["label"].to_pylist() == ["x|y", "y"]
    nested = {
        "1": {"annotators": "Ann1,Ann2", "annotations": {"Ann1": "n,e", "Ann2": "e"}},
        "2": {"annotators": "Ann1", "annotations": {"Ann1": "n"}},
    }
    (tmp_path / "n.json").write_text(json.dumps(nested))
    with pytest.raises(DataError, match="several choices"):
        read_labels(tmp_path / "n.json", format="nested")
    assert table_of(read_labels(tmp_path / "n.json", format="nested", options="set"))["label"].to_pylist() == ["e|n", "e", "n"]


@pytest.mark.parametrize(
    "texts",
    [
        ["1,5", "1", "5", "2,5"],
        ["yes, but late", "no"],
        ["a|b", "a", "b"],
        ["[A]", "[B]"],
        ["['x']", "['y']"],
        ["a,", ",b", "a", "b"],
        ["[[A]]", "[[B]]"],
        ['[{"tone": "warm"}]', '[{"tone": "cold"}]'],
    ],
)
def test_what_may_be_one_choice_is_left_alone(texts):
    refuse_sets(texts)


def test_a_set_that_was_made_is_read_again(tmp_path):
    path = written(tmp_path, "['b', 'a']", "['a']", "['b']", "['a', 'b']")
    write_table(table_of(read_labels(path, options="set")), tmp_path / "b.csv")
    assert read_labels(tmp_path / "b.csv").classes.to_pylist() == ["a", "a|b", "b"]


def test_an_empty_list_is_no_answer(tmp_path):
    labels = read_labels(written(tmp_path, "['a', 'b']", "[]", "['a']", "['b']"), options="set")
    assert (labels.n_labels, labels.report.dropped) == (3, {"no answer": 1})
    assert choices_of(["[]"]) == {"[]": []}
    assert isinstance(labels.classes, pa.Array)


@pytest.mark.parametrize(
    "cell", ['[{"start": 3, "end": 9, "label": "PER"}]', "[[0, 5, 'PER']]", "[{'answer': 'a'}, {'answer': 'b'}]"]
)
def test_spans_and_objects_in_a_cell_are_no_classes(cell):
    with pytest.raises(DataError, match=r"Some labels are lists of spans or other objects, such as .*, not classes"):
        refuse_sets(["[]", "x", cell])


def test_a_list_in_which_a_choice_comes_again_is_what_several_workers_said(tmp_path):
    path = written(tmp_path, "['warm', 'warm', 'cold']", "['cold', 'cold']", "['warm', 'cold']", "['warm', 'warm']")
    for options in ({}, {"options": "set"}, {"options": "each"}):
        with pytest.raises(DataError, match="they hold the answers of several workers, without saying who gave which"):
            read_labels(path, **options)


def test_classes_that_hold_commas_are_given_in_quotes(tmp_path):
    path = written(tmp_path, "yes,but", "no", "yes,but", "no")
    labels = read_labels(path, classes=split_commas('no,"yes,but"'))
    assert labels.class_names == ("no", "yes,but")


def test_a_slip_among_choices_makes_no_classes_of_them(tmp_path):
    with pytest.raises(DataError, match="Some labels name several choices"):
        read_labels(written(tmp_path, "cat,dog", "dog,cat", "cat,cat", "cat", "dog", "cat"))
