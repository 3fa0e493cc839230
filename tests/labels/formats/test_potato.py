"""Potato: a column for each option, or its answers in JSON."""

import pytest

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, json_lines, rows_of, write

ROWS = [("d1", "ann", "Warm"), ("d1", "bob", "Cold"), ("d2", "ann", "Cold"), ("d2", "bob", "Cold")]
HEADER = ["user", "instance_id", "displayed_text", "Its tone:::Warm", "Its tone:::Cold", "I agree.:::Yes"]
NUMBER = {"Warm": "1", "Cold": "2"}


def cells(label):
    return [NUMBER[label] if label == name else "" for name in NUMBER]


TABLE = [[who, item, f"text of {item}", *cells(label), ""] for item, who, label in ROWS]
PAGE = ["ann", "study-consent.html", "consent", "", "", "I agree.:::Yes"]


@pytest.mark.parametrize(("name", "separator"), [("annotated_instances.tsv", "\t"), ("annotated_instances.csv", ",")])
def test_a_column_for_each_option(tmp_path, name, separator):
    labels = read_labels(write(tmp_path / name, csv_text(HEADER, [*TABLE[:1], PAGE, *TABLE[1:]], separator)))
    assert rows_of(labels) == ROWS
    assert (labels.report.format, labels.report.question) == ("potato", "Its tone")
    assert labels.report.dropped == {"page of the survey": 1}
    assert labels.report.columns["item"] == "instance_id"


def record(item, who, **answers):
    return {"user_id": who, "instance_id": item, "displayed_text": "t", "label_annotations": answers, "span_annotations": {}}


@pytest.mark.parametrize(
    "state",
    [
        lambda label, name: {name: label == name},
        lambda label, name: {name: str(int(label == name))},
        lambda label, name: {name: NUMBER[name]} if label == name else {},
    ],
)
def test_json_lines_whatever_says_what_was_chosen(tmp_path, state):
    said = [
        record(item, who, tone={k: v for name in NUMBER for k, v in state(label, name).items()}) for item, who, label in ROWS
    ]
    labels = read_labels(write(tmp_path / "annotated_instances.jsonl", json_lines(said)))
    assert rows_of(labels) == ROWS
    assert (labels.report.format, labels.report.question) == ("potato", "tone")


def test_several_questions_and_choices_are_asked_for(tmp_path):
    said = [
        record(
            item,
            who,
            tone={"Warm": "1", "Cold": "2"} if item == "d1" else {"Cold": "2"},
            sure={"slider": str(n)},
            size={f"scale_{n % 2 + 1}": str(n % 2 + 1)},
        )
        for n, (item, who, _) in enumerate(ROWS)
    ]
    path = write(tmp_path / "a.jsonl", json_lines(said))
    with pytest.raises(ParameterError, match=r"several questions \('tone', 'sure', 'size'\)"):
        read_labels(path)
    assert [label for *_, label in rows_of(read_labels(path, question="sure"))] == ["0", "1", "2", "3"]
    assert [label for *_, label in rows_of(read_labels(path, question="size"))] == ["1", "2", "1", "2"]
    with pytest.raises(DataError, match="name several choices"):
        read_labels(path, question="tone")
    assert [one[2] for one in rows_of(read_labels(path, question="tone", options="set"))] == [
        "Cold|Warm",
        "Cold|Warm",
        "Cold",
        "Cold",
    ]


def test_items_that_end_like_pages_are_items_where_their_question_is_asked_of_others(tmp_path):
    table = [[who, f"{item}.html" if item == "d1" else item, text, *rest] for who, item, text, *rest in TABLE]
    assert read_labels(write(tmp_path / "a.tsv", csv_text(HEADER, table, "\t"))).n_labels == 4
    table = [[who, f"{item}.html", text, *rest] for who, item, text, *rest in TABLE]
    assert read_labels(write(tmp_path / "b.tsv", csv_text(HEADER, table, "\t"))).n_labels == 4


def test_a_file_of_one_user_does_not_say_whose_it_is(tmp_path):
    said = [{"id": item, "displayed_text": "t", "label_annotations": {"tone": {label: "1"}}} for item, _, label in ROWS[:2]]
    with pytest.raises(DataError, match="what Potato writes for one user"):
        read_labels(write(tmp_path / "a.jsonl", json_lines(said)))
