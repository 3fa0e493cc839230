import pytest

from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, rows_of, toloka_tsv, write

# INPUT:image, OUTPUT:tone, GOLDEN:tone, HINT:text, task, worker, status
ROWS = [
    ("i1", "warm", "", "", "t1", "ann", "APPROVED"),
    ("i1", "cold", "", "", "t1", "bob", "SUBMITTED"),
    ("i1", "cold", "", "", "t1", "cat", "REJECTED"),
    ("i1", "", "", "", "t1", "dan", "SKIPPED"),
    ("i1", "", "", "", "t1", "eve", "EXPIRED"),
    ("i2", "warm", "cold", "", "t2", "ann", "APPROVED"),
    ("i2", "cold", "cold", "", "t2", "bob", "APPROVED"),
    ("i3", "warm", "warm", "look closely", "t3", "ann", "APPROVED"),
]


def test_rejected_skipped_expired_and_training_are_left_out(tmp_path):
    labels = read_labels(toloka_tsv(ROWS, tmp_path))
    assert rows_of(labels) == [("i1", "ann", "warm"), ("i1", "bob", "cold"), ("i2", "ann", "warm"), ("i2", "bob", "cold")]
    assert labels.report.dropped == {"rejected": 1, "skipped": 1, "expired": 1, "training task": 1}
    assert (labels.report.rows_read, labels.report.format, labels.report.question) == (8, "toloka", "tone")


def test_golden_is_counted_and_clamped_on_request(tmp_path):
    path = toloka_tsv(ROWS, tmp_path)
    assert read_labels(path).report.gold == 2
    assert read_labels(path, use_gold=True).gold.tolist() == [-1, 0]


def other(tmp_path, header, *rows):
    return write(tmp_path / "a.tsv", csv_text(header, rows, "\t"))


def test_several_outputs_and_inputs(tmp_path):
    header = ["INPUT:a", "INPUT:b", "OUTPUT:x", "OUTPUT:y", "ASSIGNMENT:task_id", "ASSIGNMENT:worker_id"]
    path = other(tmp_path, header, ["1", "2", "p", "q", "t", "w"], ["1", "2", "r", "s", "t", "v"])
    with pytest.raises(ParameterError, match=r"'x', 'y'"):
        read_labels(path)
    for name in ("y", "OUTPUT:y"):
        assert rows_of(read_labels(path, question=name)) == [("t", "v", "s"), ("t", "w", "q")]
    assert read_labels(path, question="x", item_column="b").items.to_pylist() == ["2"]
    with pytest.raises(ColumnError, match=r"no column 'z'"):
        read_labels(path, question="x", item_column="z")


def test_an_output_left_empty_is_a_missing_label(tmp_path):
    header = ["INPUT:a", "OUTPUT:x", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
    rows = [["1", "p", "w", "APPROVED"], ["1", "q", "v", "APPROVED"], ["1", "", "u", "APPROVED"], ["1", "q", "t", "REJECTED"]]
    report = read_labels(other(tmp_path, header, *rows)).report
    assert report.dropped == {"rejected": 1, "no answer": 1}
    assert (report.rows_read, report.rows_kept) == (4, 2)
