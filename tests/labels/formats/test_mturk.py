import json

import pytest

from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, mturk_csv, rows_of, write


def test_rejected_work_is_left_out(tmp_path):
    rows = [("H1", "A", "Approved", "u", "x"), ("H1", "B", "Submitted", "u", "y"), ("H1", "C", "Rejected", "u", "x")]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"]))
    assert rows_of(labels) == [("u", "A", "x"), ("u", "B", "y")]
    assert labels.report.dropped == {"rejected": 1}
    assert labels.report.columns["item"] == "Input.url"


def test_a_reason_to_reject_rejects(tmp_path):
    path = mturk_csv(
        [("H1", "A", "Submitted", "u", "x"), ("H1", "B", "Submitted", "u", "y")], tmp_path, ["Input.url", "Answer.q"]
    )
    text = path.read_text().replace('"B","Submitted","9","u","y","",""', '"B","Submitted","9","u","y","","too fast"')
    path.write_text(text)
    assert read_labels(path, classes=["x", "y"]).report.dropped == {"rejected": 1}


def test_with_several_inputs_the_hit_is_the_item(tmp_path):
    more = [("H2", "A", "Approved", "v", "s", "z", "x"), ("H2", "B", "Approved", "v", "s", "z", "y")]
    rows = [("H1", "A", "Approved", "u", "t", "z", "x"), ("H1", "B", "Approved", "u", "t", "z", "y")]
    labels = read_labels(mturk_csv([*rows, *more], tmp_path, ["Input.url", "Input.title", "Input.kind", "Answer.q"]))
    assert labels.items.to_pylist() == ["H1", "H2"]
    assert labels.report.notes[-1].endswith("one of 'Input.url', 'Input.title'.")  # the kind never differs
    path = mturk_csv(rows, tmp_path, ["Input.url", "Input.title", "Input.kind", "Answer.q"])
    assert not any("to tell them by an input" in note for note in read_labels(path).report.notes)
    for name in ("Input.title", "title"):
        assert read_labels(path, item_column=name).items.to_pylist() == ["t"]
    with pytest.raises(ColumnError, match=r"no column 'nope'"):
        read_labels(path, item_column="nope")


def test_without_input_the_hit_is_the_item(tmp_path):
    rows = [("H1", "A", "Approved", "x"), ("H1", "B", "Approved", "y")]
    assert read_labels(mturk_csv(rows, tmp_path, ["Answer.q"])).items.to_pylist() == ["H1"]


def test_many_items_in_a_hit_are_taken_apart(tmp_path):
    extra = [*(f"Input.image_url{n}" for n in (1, 2, 10)), *(f"Answer.q{n}" for n in (1, 2, 10)), "Answer.comment"]
    rows = [
        ("H1", "A", "Approved", "a", "b", "c", "x", "y", "x", "fine"),
        ("H2", "B", "Approved", "c", "d", "", "y", "y", "", ""),
        ("H3", "C", "Rejected", "c", "d", "e", "y", "y", "y", ""),
    ]
    labels = read_labels(mturk_csv(rows, tmp_path, extra), question="q")
    assert rows_of(labels) == [("a", "A", "x"), ("b", "A", "y"), ("c", "A", "x"), ("c", "B", "y"), ("d", "B", "y")]
    assert labels.report.columns["item"] == "Input.image_url1..."
    assert "several items" in labels.report.notes[0]


def test_which_numbered_input_is_asked_for(tmp_path):
    extra = ["Input.url1", "Input.url2", "Input.text1", "Input.text2", "Answer.q1", "Answer.q2"]
    path = mturk_csv([("H1", "A", "Approved", "a", "b", "c", "d", "x", "y")], tmp_path, extra)
    with pytest.raises(ParameterError, match=r"several, name what tells them with `item_column`: 'url', 'text'"):
        read_labels(path)
    for name in ("text", "Input.text"):
        assert rows_of(read_labels(path, item_column=name)) == [("c", "A", "x"), ("d", "A", "y")]


def test_numbered_questions_without_numbered_inputs_are_questions(tmp_path):
    path = mturk_csv([("H1", "A", "Approved", "u", "x", "y")], tmp_path, ["Input.url", "Answer.q1", "Answer.q2"])
    with pytest.raises(ParameterError, match=r"'q1', 'q2'"):
        read_labels(path)
    assert rows_of(read_labels(path, question="q2", classes=["x", "y"])) == [("u", "A", "y")]


def test_a_radio_spread_over_booleans(tmp_path):
    rows = [
        ("H1", "A", "Approved", "u", "true", "false"),
        ("H1", "B", "Approved", "u", "FALSE", "True"),
        ("H1", "C", "Approved", "u", "false", "false"),
        ("H1", "D", "Approved", "u", "true", "true"),
    ]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.tone.warm", "Answer.tone.cold"]))
    assert rows_of(labels) == [("u", "A", "warm"), ("u", "B", "cold")]
    assert labels.report.dropped == {"no answer": 1, "more than one choice": 1}
    assert labels.report.question == "tone"


def test_spread_radios_of_several_items(tmp_path):
    extra = ["Input.u1", "Input.u2", "Answer.t1.a", "Answer.t1.b", "Answer.t2.a", "Answer.t2.b"]
    rows = [("H1", "A", "Approved", "i", "j", "true", "false", "false", "true")]
    assert rows_of(read_labels(mturk_csv(rows, tmp_path, extra))) == [("i", "A", "a"), ("j", "A", "b")]


@pytest.mark.parametrize(
    "given",
    [
        [{"tone": "warm"}],
        [{"tone": {"label": "warm"}}],
        [{"tone": {"warm": True, "cold": False}}],
        {"tone": {"labels": ["warm"]}},
    ],
)
def test_answers_as_json(tmp_path, given):
    path = mturk_csv([("H1", "A", "Approved", "u", json.dumps(given))], tmp_path, ["Input.url", "Answer.taskAnswers"])
    labels = read_labels(path, classes=["warm", "cold"])
    assert rows_of(labels) == [("u", "A", "warm")]
    assert labels.report.question == "tone"


def test_a_check_box_by_itself_is_a_question_of_its_own(tmp_path):
    given = [[{"rude": True, "spam": {"on": False}}], [{"rude": False, "spam": {"on": True}}]]
    rows = [("H1", worker, "Approved", "u", json.dumps(one)) for worker, one in zip("AB", given, strict=True)]
    path = mturk_csv(rows, tmp_path, ["Input.url", "Answer.taskAnswers"])
    with pytest.raises(ParameterError, match=r"several questions \('rude', 'spam'\)"):
        read_labels(path)
    assert rows_of(read_labels(path, question="rude")) == [("u", "A", "true"), ("u", "B", "false")]
    assert rows_of(read_labels(path, question="spam")) == [("u", "A", "false"), ("u", "B", "true")]


def test_turkle_writes_the_same(tmp_path):
    rows = [("1", "7", "Approved", "u", "ann", "x"), ("1", "8", "Approved", "u", "bob", "y")]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Turkle.Username", "Answer.q"]))
    assert labels.workers.to_pylist() == ["7", "8"]


def test_naming_the_label_column_reads_a_plain_table(tmp_path):
    rows = [("H1", "A", "Approved", "u", "x"), ("H1", "C", "Rejected", "u", "y")]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"]), label_column="Answer.q")
    assert (labels.report.format, labels.n_labels) == ("plain", 2)


def test_an_input_that_stands_for_many_hits_is_no_item(tmp_path):
    rows = [(hit, worker, "Approved", "-", label) for hit in ("H1", "H2", "H3") for worker, label in (("A", "x"), ("B", "y"))]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"]))
    assert labels.items.to_pylist() == ["H1", "H2", "H3"]
    assert (labels.report.columns["item"], labels.report.repeats) == ("HITId", 0)
    assert "the same Input.url" in labels.report.notes[0]
    assert read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"]), item_column="Input.url").n_items == 1


def test_an_input_that_never_differs_is_no_item(tmp_path):
    rows = [("H1", worker, "Approved", "-", "x") for worker in "ABCDEFGHIJK"] + [("H2", "A", "Approved", "-", "y")]
    assert read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"])).items.to_pylist() == ["H1", "H2"]


def test_a_hit_that_was_published_again_is_the_same_item(tmp_path):
    rows = [("H1", "A", "Approved", "u", "x"), ("H2", "B", "Approved", "u", "y"), ("H3", "A", "Approved", "v", "y")]
    assert read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q"])).items.to_pylist() == ["u", "v"]


def test_the_command_line_tools_write_names_in_lower_case(tmp_path):
    header = ["hitid", "workerid", "assignmentstatus", "assignmentsubmittime", "reject", "Answer.q"]
    when = "Mon Mar 04 11:26:13 PST 2019"
    rows = [
        ("H1", "A", "Approved", when, "", "x"),
        ("H1", "B", "Rejected", when, "", "x"),
        ("H1", "C", "Submitted", when, "", "y"),
    ]
    path = write(tmp_path / "my.tsv", csv_text(header, rows, "\t"))
    labels = read_labels(path)
    assert rows_of(labels) == [("H1", "A", "x"), ("H1", "C", "y")]
    assert (labels.report.format, labels.report.dropped) == ("mturk", {"rejected": 1})


def test_a_question_is_spread_over_columns_in_every_row_or_in_none(tmp_path):
    rows = [("H1", "A", "Approved", "u", "true", ""), ("H1", "B", "Approved", "u", "false", "because")]
    path = mturk_csv(rows, tmp_path, ["Input.url", "Answer.q.label", "Answer.q.why"])
    assert rows_of(read_labels(path, question="q.label")) == [("u", "A", "true"), ("u", "B", "false")]


def test_the_button_that_sends_a_form_is_no_question(tmp_path):
    rows = [("H1", "A", "Approved", "u", "x", "Submit"), ("H1", "B", "Approved", "u", "y", "Submit")]
    labels = read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q", "Answer.submit"]))
    assert (labels.report.question, rows_of(labels)) == ("q", [("u", "A", "x"), ("u", "B", "y")])
    assert read_labels(mturk_csv(rows, tmp_path, ["Input.url", "Answer.q", "Answer.submit"]), question="submit").n_classes == 1


def test_clocks_of_the_page_are_no_questions(tmp_path):
    rows = [
        ("H1", "A", "Approved", "u", "x", "12.5", "2016-09-22T21:46:25", "1474605989000", "Thu Sep 22 21:47:22 PDT 2016"),
        ("H1", "B", "Approved", "u", "y", "3", "2016-09-22T21:48:25", "{}", "Thu Sep 22 21:49:22 PDT 2016"),
    ]
    names = ["activeTime", "startTime", "load_time", "time"]
    path = mturk_csv(rows, tmp_path, ["Input.url", "Answer.q", *(f"Answer.{name}" for name in names)])
    assert read_labels(path).report.question == "q"
    assert read_labels(path, question="activeTime").n_classes == 2
    said = [(*row[:4], label, row[5]) for row, label in zip(rows, ("morning", "evening"), strict=True)]
    path = mturk_csv(said, tmp_path, ["Input.url", "Answer.time", "Answer.seconds"])
    assert read_labels(path).report.question == "time"  # which was asked, in words
