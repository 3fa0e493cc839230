import json

import pytest

from crowdassay.errors import DataError
from crowdassay.labels.files import read_labels
from support.exports import doccano_zip, json_lines, rows_of, write


def lines(*pairs, **more):
    return json_lines({"id": item, "text": "Hello", "label": label, **more} for item, label in pairs)


def test_the_file_name_is_the_worker(tmp_path):
    files = {
        "ann.smith.jsonl": lines((1, ["warm"]), (2, ["warm", "cold"])),
        "bob.jsonl": lines((1, ["cold"]), (2, [])),
        "__MACOSX/._bob.jsonl": "junk",
        "read.me": "junk",
    }
    labels = read_labels(doccano_zip(tmp_path / "export.zip", files), allow_drops=True)
    assert rows_of(labels) == [("1", "ann.smith", "warm"), ("1", "bob", "cold")]
    assert labels.report.dropped == {"more than one choice": 1, "no answer": 1}
    assert (labels.report.format, labels.report.columns["worker"]) == ("doccano", "file name")


def test_csv_joins_labels_with_a_hash_and_json_does_not(tmp_path):
    csv = "id,data,label\n1,Hello,warm\n2,Hello,warm#cold\n3,Hello,\n"
    labels = read_labels(
        doccano_zip(tmp_path / "a.zip", {"ann.csv": csv, "bob.csv": "id,data,label\n1,Hello,cold\n"}), allow_drops=True
    )
    assert rows_of(labels) == [("1", "ann", "warm"), ("1", "bob", "cold")]
    assert labels.report.dropped == {"more than one choice": 1, "no answer": 1}
    found = read_labels(
        doccano_zip(tmp_path / "b.zip", {"ann.json": json.dumps([{"id": 1, "text": "x", "label": ["a#b"]}])}),
        classes=["a#b", "c"],
    )
    assert rows_of(found) == [("1", "ann", "a#b")]


def test_an_unpacked_folder_will_do(tmp_path):
    write(tmp_path / "ann.jsonl", lines((1, ["warm"])))
    write(tmp_path / "bob.jsonl", lines((1, ["cold"])))
    assert read_labels(tmp_path).workers.to_pylist() == ["ann", "bob"]


@pytest.mark.parametrize("zipped", [True, False])
def test_a_shared_export_is_refused_with_what_to_do(tmp_path, zipped):
    text = lines((1, ["warm"]), (2, ["cold"]))
    path = doccano_zip(tmp_path / "a.zip", {"all.jsonl": text}) if zipped else write(tmp_path / "all.jsonl", text)
    with pytest.raises(DataError, match=r"'all.jsonl' does not say who gave which label.*share annotations.*zip"):
        read_labels(path)


def test_old_exports_name_the_user_inside(tmp_path):
    old = [{"doc_id": 1, "text": "x", "labels": [name], "username": user} for user, name in (("ann", "a"), ("bob", "b"))]
    assert rows_of(read_labels(write(tmp_path / "old.jsonl", json_lines(old)))) == [("1", "ann", "a"), ("1", "bob", "b")]
    older = {"id": 1, "text": "x", "annotations": [{"label": 2, "user": 1}, {"label": 3, "user": 5}]}
    assert rows_of(read_labels(write(tmp_path / "older.json", json.dumps([older])))) == [("1", "1", "2"), ("1", "5", "3")]


def test_spans_are_left_out(tmp_path):
    files = {"ann.jsonl": lines((1, [[0, 2, "X"]]), (2, ["a"])), "bob.jsonl": lines((2, ["b"]))}
    assert read_labels(doccano_zip(tmp_path / "a.zip", files)).report.dropped == {"spans, not classes": 1}


def test_a_broken_file_inside_is_named(tmp_path):
    with pytest.raises(DataError, match=r"'bob.jsonl' in 'a.zip' is not complete JSON"):
        read_labels(doccano_zip(tmp_path / "a.zip", {"ann.jsonl": lines((1, ["a"])), "bob.jsonl": '{"id": 1'}))
