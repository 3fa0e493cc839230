import pytest

from crowdassay.errors import ParameterError
from crowdassay.io.files import read_labels
from exports import json_lines, labelbox_label, labelbox_record, radio, rows_of, write

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
