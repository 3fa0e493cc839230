import pytest

from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, rows_of, write

HEADER = ["HITID", "Link", "Worker1", "Answer1", "Worker2", "Answer2", "Agreement", "Answer"]
LINES = [
    ("h1", "http://a", "ann", "toy", "bob", "tool", "No", "none"),
    ("h2", "http://b", "cat", "tool", "ann", "tool", "Yes", "tool"),
    ("h3", "http://c", "bob", "toy", "", "", "", ""),
]
ROWS = [("h1", "ann", "toy"), ("h1", "bob", "tool"), ("h2", "ann", "tool"), ("h2", "cat", "tool"), ("h3", "bob", "toy")]


def test_pairs_of_columns_are_judgements_and_worker_ids_no_labels(tmp_path):
    labels = read_labels(write(tmp_path / "results.csv", csv_text(HEADER, LINES)))
    assert rows_of(labels) == ROWS
    assert (labels.report.format, labels.report.question, labels.report.dropped) == ("pairs", "Answer", {})
    by_link = read_labels(write(tmp_path / "results.csv", csv_text(HEADER, LINES)), item_column="Link")
    assert by_link.items.to_pylist() == ["http://a", "http://b", "http://c"]


def test_several_labels_of_each_worker_are_questions(tmp_path):
    header = ["id", "annotator_1", "label_1", "rating_1", "annotator_2", "label_2", "rating_2"]
    path = write(
        tmp_path / "two.csv", csv_text(header, [("1", "a", "x", "3", "b", "y", "4"), ("2", "a", "y", "3", "c", "y", "5")])
    )
    with pytest.raises(ParameterError, match=r"several questions \('label', 'rating'\)"):
        read_labels(path)
    assert rows_of(read_labels(path, question="label")) == [("1", "a", "x"), ("1", "b", "y"), ("2", "a", "y"), ("2", "c", "y")]


def test_without_a_column_for_the_item_one_is_asked_for(tmp_path):
    path = write(
        tmp_path / "none.csv", csv_text(["link", "worker1", "label1", "worker2", "label2"], [("l", "a", "x", "b", "y")])
    )
    with pytest.raises(ColumnError, match=r"No item column found.*`item_column`"):
        read_labels(path)
    assert rows_of(read_labels(path, item_column="link")) == [("l", "a", "x"), ("l", "b", "y")]


def test_workers_alone_are_columns_of_labels(tmp_path):
    path = write(
        tmp_path / "wide.csv",
        csv_text(["id", "annotator1", "annotator2", "label"], [("1", "x", "y", "x"), ("2", "y", "y", "y")]),
    )
    assert read_labels(path, worker_columns=["annotator1", "annotator2"]).report.format == "wide"
