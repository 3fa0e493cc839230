"""Plain tables in which a column names the question that a row answers: the rows of one question are read by themselves."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.files import read_files, read_labels
from crowdassay.read_options import ReadOptions
from support.exports import csv_text, rows_of, write

ROWS = [
    {"doc": f"d{n}", "who": who, "metric": metric, "score": (n + len(who) * len(metric)) % 3}
    for n in range(8)
    for who in ("ann", "bobo")
    for metric in ("tone", "style ")
]
NAMED = {"item_column": "doc", "worker_column": "who", "label_column": "score"}


def written(folder, kind):
    path = folder / f"verdicts.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
        return path
    texts = {
        "csv": csv_text([*ROWS[0]], [tuple(row.values()) for row in ROWS]),
        "json": json.dumps(ROWS),
        "jsonl": "\n".join(map(json.dumps, ROWS)),
    }
    return write(path, texts[kind])


@pytest.mark.parametrize("kind", ["csv", "json", "jsonl", "parquet"])
def test_the_rows_of_one_question_are_read_whatever_the_file(tmp_path, kind):
    labels = read_labels(written(tmp_path, kind), **NAMED, question="metric=style")
    expected = [(row["doc"], row["who"], str(row["score"])) for row in ROWS if row["metric"] == "style "]
    assert sorted((item, worker, str(label)) for item, worker, label in rows_of(labels)) == sorted(expected)
    assert "Only the rows were read whose 'metric' is 'style'." in labels.report.notes


def test_repeats_are_looked_for_among_the_rows_of_the_question_alone(tmp_path):
    again = [*ROWS, *({**row, "turn": 2} for row in ROWS)]
    path = write(tmp_path / "a.json", json.dumps([{"turn": 1, **row} for row in again]))
    with pytest.raises(ColumnError) as stop:
        read_labels(path, worker_column="who", label_column="score", question="metric=tone")
    assert "`item_column` 'turn,doc'" in str(stop.value) or "`item_column` 'doc,turn'" in str(stop.value)
    assert "metric" not in str(stop.value).split("If ")[1]


def test_a_question_that_no_row_has_and_a_column_that_is_not_there(tmp_path):
    path = written(tmp_path, "csv")
    with pytest.raises(ColumnError, match=r"No row of 'verdicts.csv' has 'mood' in 'metric', only 'style', 'tone'\."):
        read_labels(path, **NAMED, question="metric=mood")
    with pytest.raises(ColumnError, match=r"no column 'metrik' for the question .*did you mean 'metric'"):
        read_labels(path, **NAMED, question="metrik=tone")
    with pytest.raises(ParameterError, match="for the rows of one question say `question` COLUMN=VALUE"):
        read_labels(path, **NAMED, question="tone")


def test_the_sign_of_equality_may_stand_in_a_name(tmp_path):
    path = write(tmp_path / "a.csv", csv_text(["item", "worker", "label", "a=b"], [(1, "u", "x", "c=d"), (1, "v", "y", "e")]))
    assert rows_of(read_labels(path, question="a=b=c=d")) == [("1", "u", "x")]


def test_files_are_read_alike_from_disk_and_spark_says_what_to_do(tmp_path):
    options = ReadOptions.of({**NAMED, "question": "metric=tone"})
    assert options.refusal("files") is None
    assert "choose the rows in Spark first" in str(options.refusal("spark"))
    assert read_files([written(tmp_path, "csv")], options).n_labels == 16


def test_a_column_of_questions_among_those_that_tell_items_is_proposed_question_by_question(tmp_path):
    path = written(tmp_path, "csv")
    with pytest.raises(ColumnError) as stop:
        read_labels(path, label_column="score")
    options = "--worker-column 'who' --label-column 'score'"
    assert stop.value.ways[:2] == (
        f"If 'who' is who labelled and 'doc' and 'metric' tell what was labelled, say --item-column 'doc,metric' {options}.",
        "If 'who' is who labelled and 'metric' names questions of their own, read one at a time: --item-column 'doc' "
        f"{options} --question 'metric=tone'.",
    )
