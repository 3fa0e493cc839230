import pytest

from crowdassay.errors import DataError
from crowdassay.labels import source
from crowdassay.labels.files import read_labels
from support.exports import APPEN, appen_csv, csv_text, rows_of, write

# item, worker, label, gold, tainted, missed
ROWS = [
    ("1", "ann", "warm", "", "false", "false"),
    ("1", "bob", "cold", "", "false", ""),
    ("1", "cat", "cold", "", "true", "false"),
    ("2", "ann", "warm", "warm", "false", "false"),
    ("2", "bob", "cold", "warm", "false", "true"),
    ("3", "ann", "warm\ncold", "", "false", "false"),
    ("4", "ann", "cold", "warm\ncold", "false", "false"),
]


def test_tainted_and_missed_are_left_out(tmp_path):
    labels = read_labels(appen_csv(ROWS, tmp_path), allow_drops=True)
    assert rows_of(labels) == [("1", "ann", "warm"), ("1", "bob", "cold"), ("2", "ann", "warm"), ("4", "ann", "cold")]
    assert labels.report.dropped == {"tainted": 1, "missed test question": 1, "more than one choice": 1}
    assert (labels.report.rows_read, labels.report.format, labels.report.question) == (7, "appen", "tone")


def test_the_way_to_keep_what_missed_a_test_question_is_named_and_reads_it(tmp_path):
    path = appen_csv([row for row in ROWS if "\n" not in row[2]], tmp_path)
    way = "--from plain --item-column '_unit_id' --worker-column _worker_id --label-column 'tone'"
    assert any(
        note.endswith(f"To keep them, and those that are tainted, say {way}.") for note in read_labels(path).report.notes
    )
    kept = read_labels(path, format="plain", item_column="_unit_id", worker_column="_worker_id", label_column="tone")
    assert kept.n_labels == 6


def test_test_questions_are_gold_when_they_have_one_answer(tmp_path):
    labels = read_labels(appen_csv(ROWS, tmp_path), allow_drops=True)
    assert labels.report.gold == 1
    assert "several answers are not counted as gold: 1" in " ".join(labels.report.notes)
    assert "--use-gold" in labels.report.notes[-1]
    assert read_labels(appen_csv(ROWS, tmp_path), allow_drops=True, use_gold=True).gold.tolist() == [-1, 1, -1]


def test_personal_columns_are_never_read(tmp_path, monkeypatch):
    queries = []
    run = source.ask
    monkeypatch.setattr(source, "SAMPLE_BYTES", 0)  # as a large file is read
    monkeypatch.setattr(source, "ask", lambda query, *rest: queries.append(query) or run(query, *rest))
    labels = read_labels(appen_csv(ROWS, tmp_path), allow_drops=True)
    read = {
        name.strip().split(" AS ")[0]
        for query in queries
        for name in query.split(" FROM ")[0].removeprefix("SELECT ").split(",")
    }
    personal = {f"c{APPEN.index(name)}" for name in ("_city", "_ip")}
    assert f"c{APPEN.index('_worker_id')}" in read
    assert not personal & read
    assert "Secretville" not in repr(labels.report)


def test_an_aggregated_report_is_refused(tmp_path):
    header = [
        "_unit_id",
        "_golden",
        "_unit_state",
        "_trusted_judgments",
        "_last_judgment_at",
        "tone",
        "tone:confidence",
        "tone_gold",
    ]
    path = write(tmp_path / "a.csv", csv_text(header, [["1", "false", "finalized", "3", "2024", "warm", "0.6", ""]]))
    with pytest.raises(DataError, match=r"aggregated report.*full report"):
        read_labels(path)


def test_without_gold_columns_the_question_is_what_differs_within_a_unit(tmp_path):
    path = write(
        tmp_path / "a.csv", csv_text(["_unit_id", "_worker_id", "text", "tone"], [["1", "a", "t", "x"], ["1", "b", "t", "y"]])
    )
    assert read_labels(path).report.question == "tone"  # which differs within a unit
    named = write(tmp_path / "b.csv", path.read_text().replace("tone", "category"))
    assert read_labels(named).report.question == "category"
    assert rows_of(read_labels(path, question="tone")) == [("1", "a", "x"), ("1", "b", "y")]


def test_check_boxes_may_be_a_list_in_json(tmp_path):
    header = ["_unit_id", "_worker_id", "frame", "seen", "frame_gold", "seen_gold"]
    rows = [
        ("1", "ann", "f1", '["fox"]', "", ""),
        ("1", "bob", "f1", '["fox","owl"]', "", ""),
        ("2", "ann", "f2", '["none"]', "", ""),
        ("2", "bob", "f2", "[]", "", ""),
    ]
    labels = read_labels(write(tmp_path / "f1.csv", csv_text(header, rows)), allow_drops=True)
    assert labels.report.question == "seen"  # the frame never differs within a unit, though it has a column of gold
    assert rows_of(labels) == [("1", "ann", "fox"), ("2", "ann", "none")]
    assert labels.report.dropped == {"more than one choice": 1, "no answer": 1}
