import json

import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import doccano_zip, json_lines, response, rows_of, sagemaker, write

ROWS = [("0", "private.eu.A", "cat"), ("0", "private.eu.B", "dog"), ("1", "private.eu.A", "dog")]


@pytest.mark.parametrize(
    "inside", ["", "annotations", "annotations/worker-response", "annotations/worker-response/iteration-1"]
)
def test_any_folder_above_the_responses_will_do(tmp_path, inside):
    labels = read_labels(sagemaker(ROWS, tmp_path) / inside)
    assert rows_of(labels) == ROWS
    assert labels.report.format == "sagemaker"
    assert labels.report.question == "crowd-image-classifier"


def test_what_else_a_job_writes_is_not_read(tmp_path):
    job = sagemaker(ROWS, tmp_path)
    merged = job / "annotations" / "consolidated-annotation"
    merged.mkdir()
    write(merged / "0.json", json.dumps({"answers": [response("nobody", {"label": "x"})]}))
    assert rows_of(read_labels(job)) == ROWS


def test_a_zip_of_the_folder(tmp_path):
    files = {
        f"worker-response/i/{item}/{worker}.json": json.dumps(response(worker, {"q": label})) for item, worker, label in ROWS
    }
    assert rows_of(read_labels(doccano_zip(tmp_path / "a.zip", files))) == ROWS


@pytest.mark.parametrize("content", [{"q": "cat"}, {"q": {"label": "cat"}}, {"q": {"cat": True, "dog": False}}, '{"q": "cat"}'])
def test_shapes_of_the_answer(tmp_path, content):
    path = write(tmp_path / "0.json", json.dumps({"answers": [response("A", content), response("B", {"q": "dog"})]}))
    assert rows_of(read_labels(path)) == [("0", "A", "cat"), ("0", "B", "dog")]


def test_several_choices_are_no_class(tmp_path):
    answers = [response("A", {"q": {"labels": ["cat", "dog"]}}), response("B", {"q": {"labels": ["dog"]}})]
    path = write(tmp_path / "0.json", json.dumps({"answers": answers}))
    labels = read_labels(path, classes=["cat", "dog"], allow_drops=True)
    assert labels.report.dropped == {"more than one choice": 1}


def test_several_questions(tmp_path):
    path = write(
        tmp_path / "0.json", json.dumps({"answers": [response("A", {"q": "cat", "sure": {"yes": True, "no": False}})]})
    )
    with pytest.raises(ParameterError, match=r"'q', 'sure'"):
        read_labels(path)


@pytest.mark.parametrize("name", ["output.manifest", "output.jsonl"])
def test_consolidated_labels_are_refused(tmp_path, name):
    record = {
        "source-ref": "s3://x",
        "job": 0,
        "job-metadata": {"class-name": "cat", "confidence": 0.9, "human-annotated": "yes"},
    }
    with pytest.raises(DataError, match=r"one consolidated label per object.*annotations/worker-response"):
        read_labels(write(tmp_path / name, json_lines([record])))


def test_a_custom_manifest_may_name_items_otherwise(tmp_path):
    every = [
        {"workerId": who, "annotationData": {"content": json.dumps({"q": what})}} for who, what in (("A", "x"), ("B", "y"))
    ]
    record = {"source-ref": "s3://x", "key": 7, "job": {"annotationsFromAllWorkers": every}}
    path = write(tmp_path / "output.manifest", json_lines([record]))
    assert read_labels(path).items.to_pylist() == ["s3://x"]
    assert read_labels(path, item_column="key").items.to_pylist() == ["7"]
