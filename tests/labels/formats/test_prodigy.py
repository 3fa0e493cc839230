import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import json_lines, prodigy_choice, rows_of, write


def export(tmp_path, *records):
    return write(tmp_path / "dump.jsonl", json_lines(records))


def test_ignored_rejected_and_several(tmp_path):
    path = export(
        tmp_path,
        prodigy_choice(-77, "ds-alex", [1]),
        prodigy_choice(-77, "ds-bea", ["2"]),
        prodigy_choice(5, "ds-alex", [1], answer="ignore"),
        prodigy_choice(5, "ds-bea", [1], answer="reject"),
        prodigy_choice(5, "ds-cy", [1, 2]),
        prodigy_choice(5, "ds-dee", []),
    )
    labels = read_labels(path, allow_drops=True)
    assert rows_of(labels) == [("-77", "ds-alex", "1"), ("-77", "ds-bea", "2")]
    assert labels.report.dropped == {"ignored": 1, "rejected": 1, "more than one choice": 1, "no answer": 1}
    assert labels.report.format == "prodigy"


def binary(item, worker, answer):
    return {"text": "x", "label": "SPAM", "_input_hash": 1, "_task_hash": item, "answer": answer, "_session_id": worker}


def test_binary_tasks_are_told_by_the_task_hash(tmp_path):
    path = export(tmp_path, binary(8, "ann", "accept"), binary(8, "bob", "reject"), binary(9, "ann", "ignore"))
    labels = read_labels(path)
    assert rows_of(labels) == [("8", "ann", "accept"), ("8", "bob", "reject")]
    assert labels.report.question == "answer"
    assert labels.report.dropped == {"ignored": 1}


def test_both_kinds_in_one_file_are_two_questions(tmp_path):
    path = export(tmp_path, binary(8, "ann", "accept"), prodigy_choice(8, "bob", ["x"]), prodigy_choice(8, "ann", ["y"]))
    with pytest.raises(ParameterError, match=r"'answer', 'accept'"):
        read_labels(path)
    assert read_labels(path, question="accept").class_names == ("x", "y")


def test_sessions_without_a_name_are_warned_of(tmp_path):
    path = export(tmp_path, prodigy_choice(1, "2023-07-25_14-50-21", ["x"]), prodigy_choice(1, "ds-2023-07-26_14-50-21", ["y"]))
    assert "Sessions without a name: 2" in read_labels(path).report.notes[0]


def test_an_export_without_annotators_is_refused(tmp_path):
    records = [prodigy_choice(1, "w", ["x"]), prodigy_choice(1, "w", ["y"])]
    for record in records:
        del record["_annotator_id"], record["_session_id"]
    with pytest.raises(DataError, match=r"does not say who gave which answer.*session=name"):
        read_labels(export(tmp_path, *records))


def test_spans_are_no_classes(tmp_path):
    manual = {**binary(1, "ann", "accept"), "spans": [], "_view_id": "ner_manual"}
    with pytest.raises(DataError, match=r"No labels found"):
        read_labels(export(tmp_path, manual))


def test_the_item_may_be_another_field(tmp_path):
    path = export(tmp_path, prodigy_choice(1, "a", ["x"], meta={"doc": 7}), prodigy_choice(2, "a", ["y"], meta={"doc": 8}))
    assert read_labels(path, item_column="meta.doc").items.to_pylist() == ["7", "8"]
    assert read_labels(path, item_column="text").items.to_pylist() == ["Hello"]
