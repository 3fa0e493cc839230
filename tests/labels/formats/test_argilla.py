import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ParameterError
from crowdassay.labels.files import read_labels
from support.exports import argilla_flat_records, json_lines, rows_of, write

ROWS = [("r1", "u1", "warm"), ("r1", "u2", "cold")]
FLAT = {
    "id": "r1",
    "text": "Hello",
    "tone.responses": ["warm", "cold", "cold", "warm"],
    "tone.responses.users": ["u1", "u2", "u3", "u4"],
    "tone.responses.status": ["submitted", "submitted", "discarded", "draft"],
    "tone.suggestion": "cold",
    "tone.suggestion.agent": "gpt",
    "tone.suggestion.score": 0.7,
}
EMPTY = {**dict.fromkeys(FLAT), "id": "r2"}


def test_discarded_and_drafts_are_left_out(tmp_path):
    labels = read_labels(write(tmp_path / "a.jsonl", json_lines([FLAT, EMPTY])))
    assert rows_of(labels) == ROWS
    assert labels.report.dropped == {"discarded": 1, "draft": 1}
    assert (labels.report.format, labels.report.question) == ("argilla", "tone")
    assert labels.report.notes == ("Model predictions were left out: 1; --predictions takes each model as a worker.",)


def test_the_agent_is_a_worker_on_request(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([FLAT]))
    assert rows_of(read_labels(path, predictions=True)) == [("r1", "model:gpt", "cold"), *ROWS]


def test_parquet_from_datasets(tmp_path):
    pq.write_table(pa.Table.from_pylist(argilla_flat_records(ROWS)), tmp_path / "a.parquet")
    assert rows_of(read_labels(tmp_path / "a.parquet")) == ROWS


def nested(**responses):
    return {
        "id": "r1",
        "fields": {"text": "Hello"},
        "suggestions": {"tone": {"value": "warm", "agent": None}},
        "responses": responses,
    }


def given(user, value):
    return {"user_id": user, "value": value}


def test_the_nested_form_does_not_tell_drafts(tmp_path):
    path = write(tmp_path / "a.json", json.dumps([nested(tone=[given("u1", "warm"), given("u2", "cold")])]))
    labels = read_labels(path)
    assert rows_of(labels) == ROWS
    assert "does not say which responses are drafts" in labels.report.notes[0]
    assert rows_of(read_labels(path, predictions=True))[0] == ("r1", "model:unnamed", "warm")
    assert read_labels(path, item_column="fields.text").items.to_pylist() == ["Hello"]


def test_ratings_rankings_and_several_labels(tmp_path):
    both = nested(
        stars=[given("u1", 4), given("u2", 5)],
        topics=[given("u1", ["a"]), given("u2", ["a", "b"])],
        rank=[given("u1", [{"value": "a", "rank": 1}])],
    )
    path = write(tmp_path / "a.json", json.dumps([both]))
    with pytest.raises(ParameterError, match=r"'stars', 'topics'"):
        read_labels(path)
    assert read_labels(path, question="stars").class_names == ("4", "5")
    topics = read_labels(path, question="topics", classes=["a", "b"], allow_drops=True)
    assert rows_of(topics) == [("r1", "u1", "a")]
    assert topics.report.dropped == {"more than one choice": 1}
