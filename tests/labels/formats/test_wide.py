import json

import numpy as np
import pandas as pd
import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import rows_of, write

VOTES = pd.DataFrame({"ann": [0, 1, None], "bob": [1, None, 2]}, index=["i0", "i1", "i2"])
ROWS = [("i0", "ann", "0"), ("i0", "bob", "1"), ("i1", "ann", "1"), ("i2", "bob", "2")]


def test_a_wide_frame_with_its_index_is_recognised(tmp_path):
    VOTES.to_csv(tmp_path / "wide.csv")  # the integers are now 0.0 and 1.0
    labels = read_labels(tmp_path / "wide.csv")
    assert rows_of(labels) == ROWS
    assert labels.report.format == "wide"
    assert labels.report.dropped == {}


def test_a_long_frame_with_its_index_is_not(tmp_path):
    pd.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [0, 1]}).to_csv(tmp_path / "long.csv")
    assert read_labels(tmp_path / "long.csv").report.format == "plain"


def test_without_an_index_rows_are_numbered(tmp_path):
    VOTES.to_csv(tmp_path / "wide.csv", index=False)
    labels = read_labels(tmp_path / "wide.csv", format="cleanlab")
    assert [row[0] for row in rows_of(labels)] == ["0", "0", "1", "2"]
    assert labels.report.notes == ("Items are numbered by row, from 0.",)


@pytest.mark.parametrize("name", ["item", "task_id", "sample"])
def test_a_named_index(tmp_path, name):
    VOTES.rename_axis(name).to_csv(tmp_path / "wide.csv")
    assert rows_of(read_labels(tmp_path / "wide.csv", format="cleanlab")) == ROWS
    VOTES.rename_axis("strange").to_csv(tmp_path / "wide.csv")
    assert rows_of(read_labels(tmp_path / "wide.csv", format="cleanlab", item_column="strange")) == ROWS
    with pytest.raises(ColumnError, match=r"no column 'other'"):
        read_labels(tmp_path / "wide.csv", format="cleanlab", item_column="other")


L = np.array([[0, -1, 1], [-1, -1, -1], [1, 1, 0]])


def saved(tmp_path, kind):
    if kind == "npy":
        np.save(tmp_path / "L.npy", L)
    elif kind == "savetxt":
        np.savetxt(tmp_path / "L.csv", L, delimiter=",")
    elif kind == "white space":
        np.savetxt(tmp_path / "L.txt", L, fmt="%d")
    else:
        pd.DataFrame(L, columns=["lf_a", "lf_b", "lf_c"]).to_csv(tmp_path / "L.csv", index=False)
    return next(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["npy", "savetxt", "white space", "frame"])
def test_minus_one_must_be_explained(tmp_path, kind):
    path = saved(tmp_path, kind)
    with pytest.raises(ParameterError, match=r"holds -1.*`missing='-1'` if nobody answered there, or `missing='none'`"):
        read_labels(path, format="snorkel")
    absent = read_labels(path, format="snorkel", missing="-1")
    assert absent.class_names == ("0", "1")
    assert (absent.n_labels, absent.items.to_pylist(), absent.report.notes[-1]) == (
        5,
        ["0", "2"],
        "Items are numbered by row, from 0.",
    )
    label = read_labels(path, format="snorkel", missing="none")
    assert label.class_names == ("-1", "0", "1")
    assert (label.n_labels, label.n_items) == (9, 3)
    assert label.workers.to_pylist() == (["lf_a", "lf_b", "lf_c"] if kind == "frame" else ["0", "1", "2"])


def words_table(tmp_path, *rows):
    path = tmp_path / "wide.csv"
    path.write_text("id,rater1,rater2,rater3\n" + "".join(f"{n},{','.join(row)}\n" for n, row in enumerate(rows)))
    return path


def test_none_among_words_may_be_a_class_and_is_asked_about(tmp_path):
    """A third of the labels was lost without a word: 'none' is what a rater may answer, and what a program may write."""
    path = words_table(tmp_path, ("joy", "none", "none"), ("none", "none", "joy"), ("fear", "joy", "fear"))
    with pytest.raises(
        ParameterError, match="'none' stands in 4 of 9 cells; if nobody answered there, say `missing` 'none'; if"
    ):
        read_labels(path)
    assert read_labels(path, missing="none").n_labels == 5
    assert read_labels(path, classes=["fear", "joy", "none"]).n_labels == 9


def test_words_for_gaps_are_left_out_where_they_can_be_nothing_else_and_it_is_said(tmp_path):
    scores = read_labels(words_table(tmp_path, ("1", "NA", "2"), ("2", "2", "NA"), ("1", "1", "2")))
    assert (scores.n_labels, scores.class_names) == (7, ("1", "2"))
    assert "'NA' stands in 2 of 9 cells: taken for no label." in scores.report.notes[-1]
    design = [("joy", "fear", "None"), ("None", "joy", "joy"), ("fear", "None", "joy"), ("joy", "None", "joy")] * 3
    paired = read_labels(words_table(tmp_path, *design))  # two of three raters on every item
    assert (paired.n_labels, paired.class_names) == (24, ("fear", "joy"))
    assert read_labels(words_table(tmp_path, ("joy", "nan", ""), ("joy", "fear", "joy"))).n_labels == 4


def test_a_first_line_that_may_be_a_header_is_refused(tmp_path):
    pd.DataFrame(L).to_csv(tmp_path / "L.csv", index=False)
    with pytest.raises(DataError, match=r"may be a header or the labels"):
        read_labels(tmp_path / "L.csv", format="snorkel", missing="-1")


def test_a_bare_array_needs_the_tool(tmp_path):
    with pytest.raises(DataError, match=r"`format`"):
        read_labels(saved(tmp_path, "npy"))


def test_arrays_of_objects_are_never_unpickled(tmp_path):
    np.save(tmp_path / "L.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"not a complete array of numbers"):
        read_labels(tmp_path / "L.npy", format="snorkel")
    np.save(tmp_path / "L.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"items by workers"):
        read_labels(tmp_path / "L.npy", format="snorkel")


@pytest.mark.parametrize("option", [{"question": "q"}, {"item_column": "i"}, {"predictions": True}])
def test_options_that_a_matrix_cannot_honour_are_refused(tmp_path, option):
    with pytest.raises(ParameterError, match=r"leave out `"):
        read_labels(saved(tmp_path, "npy"), format="snorkel", missing="-1", **option)


def test_ragged_and_empty_matrices(tmp_path):
    with pytest.raises(DataError, match=r"Row 3 of 'a.csv' has 2 values, not 3"):
        read_labels(write(tmp_path / "a.csv", ",a,b\n1,0,1\n2,0\n"), format="cleanlab")
    with pytest.raises(DataError, match=r"header only"):
        read_labels(write(tmp_path / "a.csv", ",a,b\n"), format="cleanlab")


TRIPLES = [["c1", "1", "x"], ["c2", "1", "y"], ["c1", "2", "x"]]


@pytest.mark.parametrize("separator", ["\t", ",", " "])
def test_triples_in_text_need_the_tool(tmp_path, separator):
    path = write(tmp_path / "a.txt", "\n".join(separator.join(triple) for triple in TRIPLES))
    labels = read_labels(path, format="nltk")
    assert rows_of(labels) == [
        ("1", "c1", "x"),
        ("1", "c2", "y"),
        ("2", "c1", "x"),
    ]  # coders need not have judged equally often


def test_triples_in_json_are_recognised_and_said(tmp_path):
    labels = read_labels(write(tmp_path / "a.json", json.dumps(TRIPLES)))
    assert labels.report.format == "nltk"
    assert "coder, item and label" in labels.report.notes[0]


def test_triples_that_are_none(tmp_path):
    with pytest.raises(DataError, match=r"Row 2 of 'a.json' has 2 values"):
        read_labels(write(tmp_path / "a.json", '[["c", "i", "x"], ["c", "i"]]'))
    with pytest.raises(DataError, match=r"list of lists"):
        read_labels(write(tmp_path / "a.json", '[["c", "i", "x"], 7]'))
    with pytest.raises(ParameterError, match=r"`missing='-1'`"):
        read_labels(write(tmp_path / "a.json", '[["c", "i", "x"], ["d", "i", -1]]'))


def test_crowd_kit_frames_are_plain(tmp_path):
    path = write(tmp_path / "a.csv", "task,worker,label\nt1,w1,cat\nt1,w2,dog\n")
    labels = read_labels(path)
    assert labels.report.columns == {"item": "task", "worker": "worker", "label": "label"}
    assert rows_of(labels) == [("t1", "w1", "cat"), ("t1", "w2", "dog")]


def test_a_missing_label_may_be_named_in_plain_files_too(tmp_path):
    labels = read_labels(write(tmp_path / "a.csv", "task,worker,label\nt,a,x\nt,b,y\nt,c,-1\n"), missing="-1")
    assert labels.report.dropped == {"missing label": 1}


def test_the_only_worker_is_one_though_no_label_comes_twice(tmp_path):
    for header in ("id,annotator 0", "id,ann"):
        path = write(tmp_path / "one.csv", f"{header}\nq,1\n007,0\n")
        assert [row[2] for row in rows_of(read_labels(path, format="wide"))] == ["0", "1"]
