import json

import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from support.exports import csv_text, rows_of, write

HEADER = ["HITID", "Link", "Worker1", "Answer1", "Worker2", "Answer2", "Agreement", "Answer"]
LINES = [
    ("h1", "http://a", "ann", "toy", "bob", "tool", "No", "none"),
    ("h2", "http://b", "cat", "tool", "ann", "tool", "Yes", "tool"),
    ("h3", "http://c", "bob", "toy", "", "", "", ""),
]
ROWS = [("h1", "ann", "toy"), ("h1", "bob", "tool"), ("h2", "ann", "tool"), ("h2", "cat", "tool"), ("h3", "bob", "toy")]


def test_pairs_of_columns_are_judgements_and_worker_ids_no_labels(tmp_path):
    labels = read_labels(write(tmp_path / "results.csv", csv_text(HEADER, LINES)))
    assert rows_of(labels) == ROWS
    assert (labels.report.format, labels.report.question, labels.report.dropped) == ("pairs", "Answer", {})
    by_link = read_labels(write(tmp_path / "results.csv", csv_text(HEADER, LINES)), item_column="Link")
    assert by_link.items.to_pylist() == ["http://a", "http://b", "http://c"]


def test_several_labels_of_each_worker_are_questions(tmp_path):
    header = ["id", "annotator_1", "label_1", "rating_1", "annotator_2", "label_2", "rating_2"]
    path = write(
        tmp_path / "two.csv", csv_text(header, [("1", "a", "x", "3", "b", "y", "4"), ("2", "a", "y", "3", "c", "y", "5")])
    )
    with pytest.raises(ParameterError, match=r"several questions \('label', 'rating'\)"):
        read_labels(path)
    assert rows_of(read_labels(path, question="label")) == [("1", "a", "x"), ("1", "b", "y"), ("2", "a", "y"), ("2", "c", "y")]


def test_without_a_column_for_the_item_one_is_asked_for(tmp_path):
    path = write(
        tmp_path / "none.csv", csv_text(["link", "worker1", "label1", "worker2", "label2"], [("l", "a", "x", "b", "y")])
    )
    with pytest.raises(ColumnError, match=r"No item column found.*`item_column`"):
        read_labels(path)
    assert rows_of(read_labels(path, item_column="link")) == [("l", "a", "x"), ("l", "b", "y")]


def test_workers_alone_are_columns_of_labels(tmp_path):
    path = write(
        tmp_path / "wide.csv",
        csv_text(["id", "annotator1", "annotator2", "label"], [("1", "x", "y", "x"), ("2", "y", "y", "y")]),
    )
    assert read_labels(path, worker_columns=["annotator1", "annotator2"]).report.format == "wide"


PEOPLE = ("ann.b", "bob", "cat", "dan")
OF_PERSONS = ["verse_id", *(f"annotator_{k}_{end}" for end in ("user_name", "age", "is_rude", "kind", "why") for k in (1, 2))]


def of_persons(n):
    who = [PEOPLE[n % 4], PEOPLE[(n + 1 + n % 3) % 4]]
    ages = [str(20 + len(name) + ord(name[0])) for name in who]
    return (f"v{n}", *who, *ages, "YN"[n % 2], "YN"[n % 3 % 2], "ab"[n // 2 % 2], "ab"[n // 3 % 2], f"since {n}", f"as {n}")


def test_columns_of_one_numbered_worker_hold_the_name_and_the_answers(tmp_path):
    path = write(tmp_path / "verses.csv", csv_text(OF_PERSONS, [of_persons(n) for n in range(12)]))
    with pytest.raises(ParameterError, match=r"several questions \('is_rude', 'kind'\); choose one"):  # neither ages nor texts
        read_labels(path)
    labels = read_labels(path, question="is_rude")
    assert (labels.report.format, labels.report.columns["item"]) == ("pairs", "verse_id")
    assert rows_of(labels)[:2] == [("v0", "ann.b", "Y"), ("v0", "bob", "Y")]
    assert set(labels.workers.to_pylist()) == set(PEOPLE)


@pytest.mark.parametrize(
    "names",
    [
        ["t{n}", "t{n}"],  # of texts, which never come again
        ["{a}", "{b}"],  # of classes, on which workers agree
    ],
)
def test_endings_that_name_nobody_are_no_pairs(tmp_path, names):
    rows = [
        (f"v{n}", *(name.format(n=f"{n}.{k}", a=n % 2, b=n % 3) for k, name in enumerate(names)), "x", "y") for n in range(9)
    ]
    header = ["id", "coder_1_code", "coder_2_code", "coder_1_sure", "coder_2_sure"]
    with pytest.raises(ColumnError, match="worker"):
        read_labels(write(tmp_path / "codes.csv", csv_text(header, rows)))


@pytest.mark.parametrize("inside", [False, True])
def test_records_hold_such_columns_as_tables_do(tmp_path, inside):
    rows = [dict(zip(OF_PERSONS, of_persons(n), strict=True)) for n in range(12)]
    if inside:  # objects of their own
        rows = [
            {
                "verse_id": row["verse_id"],
                **{f"annotator_{k}": {end: row[f"annotator_{k}_{end}"] for end in ("user_name", "is_rude")} for k in (1, 2)},
            }
            for row in rows
        ]
    labels = read_labels(write(tmp_path / "verses.json", json.dumps(rows)), question="is_rude")
    assert (labels.report.format, rows_of(labels)[:2]) == ("pairs", [("v0", "ann.b", "Y"), ("v0", "bob", "Y")])
    with pytest.raises(DataError, match="has no numbered workers beside what each said"):
        read_labels(write(tmp_path / "b.json", json.dumps([{"id": 1, "x1": 2, "x2": 3}])), format="pairs")


def test_numbers_that_are_no_answers_are_no_questions(tmp_path):
    header = ["match_id", "user_1_id", "user_2_id", "user_1_elo", "user_2_elo"]
    rows = [(f"m{n}", "abcd"[n % 4], "efg"[n % 3], str(900 + 7 * n), str(1000 - 9 * n)) for n in range(12)]
    with pytest.raises(ColumnError):
        read_labels(write(tmp_path / "elo.csv", csv_text(header, rows)))
    rated = [name.replace("elo", "score") for name in header]
    assert read_labels(write(tmp_path / "score.csv", csv_text(rated, rows))).report.question == "score"
