import pytest

from crowdassay.errors import ParameterError
from crowdassay.labels.files import read_labels
from support.exports import json_lines, labelbox_label, labelbox_record, radio, rows_of, write

CHECKLIST = {"name": "Topics", "checklist_answers": [{"name": "a"}, {"name": "b"}]}
TEXT = {"name": "Why", "text_answer": {"content": "because"}}


def export(tmp_path, *records):
    return write(tmp_path / "export.ndjson", json_lines(records))


def test_radio_checklist_and_text(tmp_path):
    labels = [
        labelbox_label("ann@x.org", [radio("Tone", "warm"), CHECKLIST, TEXT]),
        labelbox_label("bob@x.org", [radio("Tone", "cold")]),
    ]
    path = export(tmp_path, labelbox_record("d1", labels), labelbox_record("d2", []))
    with pytest.raises(ParameterError, match=r"\('Tone', 'Topics'\)"):
        read_labels(path)
    tone = read_labels(path, question="Tone")
    assert rows_of(tone) == [("d1", "ann@x.org", "warm"), ("d1", "bob@x.org", "cold")]
    assert tone.report.format == "labelbox"
    assert read_labels(path, question="Tone", item_column="global_key").items.to_pylist() == ["key d1"]


def test_skipped_labels_and_several_projects(tmp_path):
    skipped = {**labelbox_label("cat@x.org", []), "performance_details": {"skipped": True}}
    record = labelbox_record("d1", [labelbox_label("ann@x.org", [radio("Tone", "warm")]), skipped])
    record["projects"]["p2"] = {"labels": [labelbox_label("bob@x.org", [radio("Tone", "cold")])]}
    report = read_labels(export(tmp_path, record)).report
    assert report.dropped == {"skipped": 1}
    assert report.notes == ("Labels of 2 projects were taken together.",)


def test_the_oldest_exports_name_no_data_rows(tmp_path):
    said = [("a.jpg", "ann", {"Wet?": "yes"}), ("a.jpg", "bob", {"Wet?": "no"}), ("b.jpg", "ann", "Skip")]
    records = [
        {"ID": f"c{n}", "Labeled Data": url, "Created By": who, "Label": label} for n, (url, who, label) in enumerate(said)
    ]
    labels = read_labels(write(tmp_path / "labelbox.json", json_lines(records)))
    assert rows_of(labels) == [("a.jpg", "ann", "yes"), ("a.jpg", "bob", "no")]
    assert (labels.report.format, labels.report.dropped) == ("labelbox", {"skipped": 1})
