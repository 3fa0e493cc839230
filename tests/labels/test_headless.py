"""Tables without a header, and headers whose names come again below."""

import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.delimited import SAMPLE_BYTES
from crowdassay.labels.files import read_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.read_options import ReadOptions
from support.exports import rows_of, write

# Who, with what system, on which segment, in which language, with what score, from when to when.
RATED = [
    (who, "ref", str(100 + n), "deu", str(n % len(who)), f"17284{n:05}.5", f"17285{n:05}.5")
    for who, first in (("ann", 0), ("jo", 4))
    for n in range(first, first + 10)
]
FOUND = sorted((segment, who, score) for who, _, segment, _, score, *_ in RATED)
NUMBERED = {"no_header": True, "item_column": "3", "worker_column": "1", "label_column": "5"}


def lines(rows, separator=","):
    return "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_without_names_are_called_by_their_number(tmp_path, separator):
    path = write(tmp_path / "x.csv", lines(RATED, separator))
    labels = read_labels(path, **NUMBERED)
    assert sorted(rows_of(labels)) == FOUND
    assert "The first row of 'x.csv' was taken for labels: columns are called by their number, from 1." in labels.report.notes
    assert labels.report.columns == {"item": "3", "worker": "1", "label": "5"}
    assert sorted(rows_of(read_labels(path, **NUMBERED | {"format": "plain"}))) == FOUND
    assert sorted(rows_of(read_labels(path, no_header=True, item_column=3, worker_column=1, label_column=5))) == FOUND
    together = read_labels(path, **NUMBERED | {"item_column": [2, 3]})
    assert (together.n_labels, together.n_items) == (20, 14)


def test_a_long_table_and_a_workbook_without_names(tmp_path):
    rows = [(f"i{n // 2}", f"w{n % 2}", "ab"[n % 2]) for n in range(40_000)]
    path = write(tmp_path / "x.csv", lines(rows))
    assert path.stat().st_size > SAMPLE_BYTES
    named = {"no_header": True, "item_column": "1", "worker_column": "2", "label_column": "3"}
    assert rows_of(read_labels(path, **named)) == sorted(rows)
    blank = write(tmp_path / "y.csv", "\n\n" + lines(rows[:4]))
    assert rows_of(read_labels(blank, **named)) == rows[:4]
    short = write(tmp_path / "z.csv", "\n" + lines([*rows[:4], rows[4][:2]]))
    with pytest.raises(DataError, match=r"Line 6 of 'z\.csv' has 2 fields, not the 3 of the first line"):
        read_labels(short, **named)


def test_without_a_number_for_any_column_it_stays_a_matrix(tmp_path):
    path = write(tmp_path / "x.csv", "1,2,1\n2,2,1\n1,1,1\n")
    assert read_labels(path, no_header=True).n_labels == 9
    with pytest.raises(ColumnError, match=r"There is no column '4' for the item; the columns are '1', '2', '3'"):
        read_labels(path, no_header=True, item_column="4")
    json = write(tmp_path / "x.json", '[{"a": 1, "b": 2, "c": 3}]')
    with pytest.raises(
        ParameterError, match=r"`no_header=True` goes with rows of cells, as in CSV, and 'x\.json' names its columns"
    ):
        read_labels(json, no_header=True, item_column="1")


def test_a_first_row_of_labels_is_told_from_a_header(tmp_path):
    path = write(tmp_path / "x.csv", lines(RATED))
    said = (
        r"The first row of 'x\.csv' looks like labels, not like names of columns: 'ann' and 'ref' come again below\. If there "
        r"is no header, say `no_header=True` and name columns by their number, from 1, such as `item_column` '3' "
        r"`worker_column` '1' `label_column` '5'\."
    )
    with pytest.raises(ColumnError, match=said):
        read_labels(path)
    with pytest.raises(ColumnError, match=said):
        read_labels(path, item_column="100", worker_column="ann", label_column="0")
    with pytest.raises(ColumnError, match="If these are names, rename them"):
        read_labels(path, item_column="100", worker_column="ann", label_column="0")
    (tmp_path / "spool").mkdir()
    for named in ({}, {"item_column": "100", "worker_column": "ann", "label_column": "0"}):
        with pytest.raises(ColumnError, match=said):
            spool_files([path], tmp_path / "spool", ReadOptions(**named), memory=10**9, threads=1)


def test_which_column_is_what_is_not_said_where_several_could_be_workers(tmp_path):
    path = write(
        tmp_path / "x.csv",
        lines([(i, w, "ab"[(i == "i1") == (w == "ann")]) for i in ("i1", "i2", "i3") for w in ("ann", "bob")]),
    )
    with pytest.raises(
        ColumnError, match=r"as in `item_column` 'N' `worker_column` 'N' `label_column` 'N'\. If every line .*nltk"
    ):
        read_labels(path)
    with pytest.raises(ColumnError, match=r"from 1, as in `item_column` 'N' `label_column` 'N'\."):
        read_labels(path, worker_from_filename=True)


def test_empty_rows_above_a_first_row_of_labels_are_none(tmp_path):
    path = write(tmp_path / "x.csv", ",,,,,,\n" + lines(RATED))
    with pytest.raises(ColumnError, match="looks like labels, not like names of columns: 'ann' and 'ref' come again below"):
        read_labels(path)
    assert sorted(rows_of(read_labels(path, **NUMBERED))) == FOUND


HEADERS = [
    "row,1,2,3\na,1,2,2\nb,3,2,3\nc,1,1,3\n",  # workers are numbered as classes are
    "1,2,3\n1,2,2\n3,2,3\n1,1,3\n",
    "stimulus,A,B\na,A,B\nb,B,B\nc,A,A\n",
    "about,,B,A\nx,y,A,B\nv,w,B,A\nt,u,B,B\n",
    "row,ann,kind\na,1,x\nb,2,y\nrow,ann,kind\na,2,y\n",  # put together of two files
    "post,toxic,rude\n1,toxic,\n2,,rude\n3,toxic,rude\n",  # yes is the column's name
    "post,Q1,Q2\ntext,Q1,Q2\na,1,2\nb,2,1\n",  # what was asked is written below
    "who,what,how\nann,x,1\nbob,y,2\n",
]


@pytest.mark.parametrize("text", HEADERS)
def test_names_that_come_again_in_other_ways_are_a_header(tmp_path, text):
    path = write(tmp_path / "x.csv", text)
    names = text.partition("\n")[0].split(",")
    labels = read_labels(path, item_column=names[0], worker_column=names[1], label_column=names[2], allow_drops=True)
    assert labels.n_labels
    with pytest.raises(ColumnError) as error:
        read_labels(path, format="plain")
    assert "looks like labels" not in str(error.value)


def test_judgements_of_relevance_in_a_file_for_each_judge(tmp_path):
    """TREC's qrels: cells separated by blanks, no header, a second column that says nothing."""
    for judge, shift in (("llama", 0), ("nist", 1)):
        rows = [f"{101 + n // 5} q0 p{n % 5} {(n + shift * n % 2) % 4}\n" for n in range(20)]
        (tmp_path / f"{judge}.txt").write_text("".join(rows))
    paths = [tmp_path / "llama.txt", tmp_path / "nist.txt"]
    with pytest.raises(ColumnError, match="such as `item_column` '1,3' `label_column` '4' `worker_from_filename=True`"):
        read_labels(paths)
    labels = read_labels(paths, no_header=True, item_column="1,3", label_column="4", worker_from_filename=True)
    assert (labels.n_labels, labels.n_items, labels.workers.to_pylist()) == (40, 20, ["llama", "nist"])
    assert labels.items[0].as_py() == "101 | p0"


def test_columns_of_different_things_are_no_workers_without_a_header_either(tmp_path):
    path = write(tmp_path / "x.csv", lines([(str(101 + n // 5), f"p{n % 5}", str(n % 3)) for n in range(20)]))
    with pytest.raises(ColumnError, match="hold different things, so that not every one is a worker's"):
        read_labels(path, no_header=True)
