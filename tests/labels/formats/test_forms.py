"""Forms with a row for each person, and JSON that gives labels by name."""

import json
import random
import re

import pandas as pd
import pytest

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from crowdassay.labels.formats.foreign import is_of_survey
from crowdassay.labels.formats.forms import proposal
from crowdassay.labels.probe import probe
from support.exports import csv_text, json_lines, rows_of, write

SAID = [("ann", "yes", "no", "yes"), ("bob", "no", "no", "yes"), ("cy", "yes", "", "no")]
ROWS = sorted((f"is {n} rude?", who, said) for who, *answers in SAID for n, said in enumerate(answers) if said)
ASKED = ["is 0 rude?", "is 1 rude?", "is 2 rude?"]


@pytest.mark.parametrize("header", [["worker"], ["Timestamp", "Email Address"], ["Rater ID"]])
def test_a_row_for_each_person_and_a_column_for_each_item(tmp_path, header):
    before = ["3/1/2026 10:00"] * (len(header) - 1)
    labels = read_labels(write(tmp_path / "form.csv", csv_text([*header, *ASKED], [[*before, *row] for row in SAID])))
    assert rows_of(labels) == ROWS
    assert (labels.report.format, labels.report.columns["worker"]) == ("forms", header[-1])
    assert "'is 0 rude?', 'is 1 rude?', 'is 2 rude?'" in labels.report.notes[0]


def test_a_form_without_names_numbers_its_rows(tmp_path):
    lines = [["3/1/2026 10:00", *answers] for _, *answers in SAID]
    labels = read_labels(write(tmp_path / "form.csv", csv_text(["Timestamp", *ASKED], lines)))
    assert labels.workers.to_pylist() == ["0", "1", "2"]
    assert "numbered by row" in labels.report.notes[1]


def test_questions_of_another_kind_are_not_taken_for_items(tmp_path):
    lines = [[who, age, *answers] for (who, *answers), age in zip(SAID, ("31", "45", "31"), strict=True)]
    path = write(tmp_path / "form.csv", csv_text(["worker", "age", *ASKED], lines))
    with pytest.raises(ColumnError, match="say `format='forms'`"):
        read_labels(path)
    with pytest.raises(ColumnError, match=r"not all answered alike; name those .* `item_column`, .*: 'is\*' \(3 columns\)\."):
        read_labels(path, format="forms")
    assert rows_of(read_labels(path, format="forms", item_column="is*")) == ROWS


def test_a_survey_of_qualtrics_is_read_when_told_which_columns_are_items(tmp_path):
    header = ["StartDate", "Duration (in seconds)", "ResponseId", "Q1", "Q2", "Q3_TEXT"]
    lines = [
        ["Start Date", "Duration (in seconds)", "Response ID", "Is a rude?", "Is b rude?", "Why?"],
        ['{"ImportId":"startDate"}', '{"ImportId":"duration"}', '{"ImportId":"_recordId"}', '{"ImportId":"QID1"}', "", ""],
        ["2026-01-01", "30", "R_1", "yes", "no", "because"],
        ["2026-01-01", "40", "R_2", "no", "no", ""],
    ]
    path = write(tmp_path / "survey.csv", csv_text(header, lines))
    with pytest.raises(DataError, match=r"survey of Qualtrics.*say `format='forms'`"):
        read_labels(path)
    labels = read_labels(path, format="forms", item_column="Q?")
    assert rows_of(labels) == [("Q1", "R_1", "yes"), ("Q1", "R_2", "no"), ("Q2", "R_1", "no"), ("Q2", "R_2", "no")]
    by_date = read_labels(path, format="forms", item_column="Q1", worker_column="Duration (in seconds)")
    assert by_date.workers.to_pylist() == ["30", "40"]


def qualtrics(answers):
    """Return a survey of Qualtrics with some answers by question, and the rows of texts and ids below its header."""
    header = ["StartDate", "ResponseId", *answers]
    below = [header, [f'{{"ImportId":"{name}"}}' for name in header]]
    return header, [*below, *(["2026-01-01", f"R_{n}", *row] for n, row in enumerate(zip(*answers.values(), strict=True)))]


def test_the_items_of_a_survey_are_proposed_by_what_was_answered_or_else_by_name(tmp_path):
    alike = {
        f"Q{n}_{part}": [("yes no", "warm cold")[part].split()[(n + who) % 2] for who in range(6)]
        for n in range(4)
        for part in (0, 1)
    }
    path = write(tmp_path / "alike.csv", csv_text(*qualtrics(alike)))
    said = r"survey of Qualtrics.*; if every row is a worker's and 'Q0_0', .* say .*forms.* 'Q\*_0' \(or another .* 'Q\*_1'\)\."
    with pytest.raises(DataError, match=said):
        read_labels(path)
    assert read_labels(path, format="forms", item_column="Q*_0").class_names == ("no", "yes")
    free = {f"Q{n}_{part}": [f"words {n} {part} {who}" for who in range(6)] for n in range(4) for part in (1, 2)}
    path = write(tmp_path / "free.csv", csv_text(*qualtrics(free)))
    said = r"such as 'Q\*', or 'Q\*_1', 'Q\*_2' where each of several questions was asked of every item\."
    with pytest.raises(DataError, match=said):
        read_labels(path)
    with pytest.raises(ColumnError, match=said):
        read_labels(path, format="forms")


def test_rows_that_pandas_named_may_be_items_or_persons(tmp_path):
    """Nothing says whether rows are items or persons where their column has no name, so that the user is asked."""
    path = write(tmp_path / "wide.csv", csv_text(["", *ASKED], SAID))
    with pytest.raises(ColumnError, match=r"workers who answer one .* say .*wide.*\. If every worker has a row, .*forms"):
        read_labels(path)
    assert rows_of(read_labels(path, format="forms")) == ROWS


LIME = [
    "id. Response ID",
    "submitdate. Date submitted",
    "lastpage. Last page",
    "startlanguage. Start language",
    "token. Mum's code",
]
TOLD = [
    ["1", "2026-04-26", "5.0", "en", "s4", "clear", "well said", "short", "", "clear", "", "long", "", "dull", "", "short", ""],
    ["2", "", "3.0", "en", "s5", "clear", "", "long", "so", "dull", "", "short", "", "clear", "", "short", ""],
    ["3", "2026-05-02", "5.0", "en", "t1", "dull", "", "long", "", "dull", "and so", "long", "", "clear", "", "", ""],
]


def test_questions_of_limesurvey_that_are_numbered_are_proposed(tmp_path):
    asked = [f"R{n}{q}" for n in (1, 2, 3) for q in ("Q1. Clear?", "Q1[comment]. Why?", "Q2. Short?", "Q2[comment]. Why?")]
    path = write(tmp_path / "survey.csv", csv_text([*LIME, *asked], TOLD))
    said = (
        r"'R1Q1', 'R2Q1', 'R3Q1' stand for what was labelled, say .*forms.* \"token\. Mum's code\" .*'R\*Q1\. \*'.? "
        r"\(or another pattern, such as 'R\*Q2\. \*'\)"
    )
    with pytest.raises(ColumnError, match=said):
        read_labels(path)
    labels = read_labels(path, format="forms", worker_column="token. Mum's code", item_column="R*Q1. *")
    assert (labels.n_labels, labels.n_items, labels.workers.to_pylist()) == (9, 3, ["s4", "s5", "t1"])
    # Somebody who came back has two ids, and one token.
    path.write_text(csv_text([*LIME, *asked], [*TOLD, ["4", *TOLD[0][1:]]]))
    again = r"`worker_column` 'id\. Response ID' .*, or `worker_column` \"token\. Mum's code\" if a person may have"
    with pytest.raises(ColumnError, match=again):
        read_labels(path)
    # Codes alone, and questions in an array.
    codes = [name.partition(".")[0] for name in LIME]
    arrays = [f"Q[SQ00{n}]" for n in range(1, 7)]
    rows = [[*row[:5], *row[5::4], *row[5::4]] for row in TOLD]
    path.write_text(csv_text([*codes, *arrays], rows))
    with pytest.raises(ColumnError, match=r"forms.* 'token' .*'Q\?SQ\*\]'"):
        read_labels(path)
    assert read_labels(path, format="forms", worker_column="token", item_column="Q?SQ*]").n_labels == 18


MAP = {"i1": {"ann": "a", "bob": "b"}, "i2": {"ann": "b", "bob": "b", "cy": "a"}}
TRIPLES = [(item, worker, label) for item, labels in MAP.items() for worker, label in labels.items()]


def test_an_object_of_objects_may_be_either_way_round(tmp_path):
    path = write(tmp_path / "map.json", json.dumps(MAP))
    with pytest.raises(
        DataError, match=r"say `format='wide'` if the outer names are items.*`format='forms'` if the outer are workers"
    ):
        read_labels(path)
    assert rows_of(read_labels(path, format="wide")) == TRIPLES
    assert rows_of(read_labels(path, format="forms")) == sorted((worker, item, label) for item, worker, label in TRIPLES)


def test_columns_by_row_are_what_pandas_writes(tmp_path):
    path = write(tmp_path / "wide.json", json.dumps({"ann": {"7": "a", "9": "b"}, "bob": {"7": "b", "9": "b"}}))
    found = [("7", "ann", "a"), ("7", "bob", "b"), ("9", "ann", "b"), ("9", "bob", "b")]
    assert rows_of(read_labels(path, format="wide")) == found


@pytest.mark.parametrize("lines", [True, False])
def test_labels_by_name_inside_an_item(tmp_path, lines):
    records = [{"id": item, "text": "x", "votes": labels} for item, labels in MAP.items()]
    text = json_lines(records) if lines else json.dumps({"made": "today", "items": records})
    path = write(tmp_path / ("votes.jsonl" if lines else "votes.json"), text)
    if lines:
        with pytest.raises(DataError, match="'votes' give a label for each of several names; say `format='nested'`"):
            read_labels(path)
        assert rows_of(read_labels(path, format="nested")) == TRIPLES
    path = write(path, text.replace('"votes"', '"annotators"'))  # which says that they are workers
    assert rows_of(read_labels(path)) == TRIPLES


def test_what_one_worker_said_of_many_items(tmp_path):
    one = {"annotator": "ann", "exported": "today", "annotations": {"i1": {"chosen": "a"}, "i2": {"chosen": "b"}}}
    path = write(tmp_path / "ann.json", json.dumps(one))
    other = write(tmp_path / "bob.json", json.dumps({**one, "annotator": "bob", "annotations": {"i1": "b"}}))
    assert rows_of(read_labels([path, other])) == [("i1", "ann", "a"), ("i1", "bob", "b"), ("i2", "ann", "b")]


def test_judgements_in_the_only_list_of_an_object(tmp_path):
    items = [{"id": item, "votes": [{"rater": w, "label": x} for w, x in labels.items()]} for item, labels in MAP.items()]
    assert rows_of(read_labels(write(tmp_path / "a.json", json.dumps({"version": 1, "items": items})))) == TRIPLES


def test_what_names_the_worker_is_said_and_not_the_list_that_holds_it(tmp_path):
    lists = [{"id": i, "votes": [{"worker_id": w, "answer": x} for w, x in labels.items()]} for i, labels in MAP.items()]
    path = write(tmp_path / "lists.jsonl", json_lines(lists))
    assert read_labels(path).report.columns == {"item": "id", "worker": "worker_id", "label": "answer"}
    path = write(tmp_path / "maps.json", json.dumps({item: {"annotators": labels} for item, labels in MAP.items()}))
    assert read_labels(path).report.columns == {
        "item": "key", "worker": "annotators (keys)", "label": "annotators (values)",
    }  # fmt: skip
    assert rows_of(read_labels(path, question="annotators")) == TRIPLES


def kili(author, name, **more):
    return {"author": {"email": author, "id": "u"}, "jsonResponse": {"JOB_0": {"categories": [{"name": name}]}}, **more}


def test_kili(tmp_path):
    assets = [
        {
            "id": "k1",
            "externalId": "a.jpg",
            "content": "http://a",
            "labels": [
                kili("ann@x", "red", labelType="DEFAULT", secondsToLabel=4),
                kili("bob@x", "red", labelType="DEFAULT", isLatestLabelForUser=False),
                kili("bob@x", "blue", labelType="DEFAULT", isLatestLabelForUser=True),
                kili("cy@x", "blue", labelType="REVIEW"),
                kili("cy@x", "blue", labelType="AUTOSAVE"),
                kili("m", "red", labelType="PREDICTION", modelName="m1"),
            ],
        },
        {"id": "k2", "externalId": "b.jpg", "labels": [kili("ann@x", "red", labelType="DEFAULT")]},
    ]
    path = write(tmp_path / "kili.json", json.dumps(assets))
    labels = read_labels(path)
    assert rows_of(labels) == [("k1", "ann@x", "red"), ("k1", "bob@x", "blue"), ("k2", "ann@x", "red")]
    assert labels.report.dropped == {"replaced by a later label": 1, "reviews": 1, "drafts": 1}
    assert labels.report.question == "JOB_0"
    assert read_labels(path, item_column="externalId").items.to_pylist() == ["a.jpg", "b.jpg"]
    assert ("k1", "model:m1", "red") in rows_of(read_labels(path, predictions=True))


def test_an_id_of_rows_is_no_item(tmp_path):
    header = ["id", "submission_id", "user", "label"]
    path = write(tmp_path / "a.csv", csv_text(header, [(n, f"s{n // 2}", f"u{n % 2}", "xy"[n % 2]) for n in range(6)]))
    with pytest.raises(ColumnError, match=r"'id' is different in every row.*'submission_id' tells items apart.*`item_column`"):
        read_labels(path)
    assert read_labels(path, item_column="submission_id").n_items == 3
    assert read_labels(path, item_column="id").n_items == 6


def test_the_only_id_that_workers_share_tells_items(tmp_path):
    header = ["User ID", "Meme ID", "row_id", "age", "hateful"]
    lines = [(f"u{n % 3}", f"m{n // 3}", n, 30 + n % 3, "ny"[n % 4 > 1]) for n in range(12)]
    labels = read_labels(write(tmp_path / "a.csv", csv_text(header, lines)))
    assert labels.report.columns == {"item": "Meme ID", "worker": "User ID", "label": "hateful"}
    assert labels.n_items == 4


def test_a_folder_of_brat_is_named(tmp_path):
    write(tmp_path / "a.txt", "Anna is in Paris")
    write(tmp_path / "a.ann", "T1\tPerson 0 4\tAnna\n")
    with pytest.raises(DataError, match="brat annotation file"):
        read_labels(tmp_path)


def test_ids_that_a_form_sends_back_are_no_questions_and_short_rows_are_counted_over_all_files(tmp_path):
    header = ["HITId", "WorkerId", "Answer.workerId", "Answer.hitId", "Answer.tone", "Approve", "Reject"]
    paths = [
        write(tmp_path / f"{n}.csv", csv_text(header, [(f"H{n}", w, w, f"H{n}", "ab"[w == "ann"]) for w in ("ann", "bob")]))
        for n in range(3)
    ]
    labels = read_labels(paths)
    assert labels.report.question == "tone"
    assert labels.report.notes[0].endswith("(6 rows); what they lack is empty.")


VOTES = [{"votes": {"luna": "ab"[n % 2], "sol": "a"}, "at": f"1{n}.5", "kind": "x"} for n in range(4)]


def test_objects_without_an_id_are_items_by_their_place(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines(VOTES))
    labels = read_labels(path, format="nested")
    assert (labels.items.to_pylist(), labels.n_labels) == (["0", "1", "2", "3"], 8)
    said = "Items are numbered by row, from 0. 'at' is different in every row and may be named with --item-column."
    assert said in labels.report.notes
    assert read_labels(path, format="nested", item_column="at").items.to_pylist() == ["10.5", "11.5", "12.5", "13.5"]


def test_objects_whose_id_comes_again_or_that_are_in_several_files_are_not_numbered(tmp_path):
    again = write(tmp_path / "again.jsonl", json_lines({**vote, "task_id": n // 2} for n, vote in enumerate(VOTES)))
    one, two = (write(tmp_path / f"{name}.jsonl", json_lines(VOTES)) for name in ("one", "two"))
    for given in (again, [one, two]):
        with pytest.raises(ColumnError, match="tells items apart; name one with `item_column`"):
            read_labels(given, format="nested")


def test_rows_that_nothing_names_may_be_persons(tmp_path):
    header = [f"Q{q}_{thing}" for q in range(4) for thing in ("oak", "elm", "yew")]
    rows = [f"{n % 3 * 5},{','.join(str((n * k) % 4) for k in range(12))}" for n in range(9)]
    path = tmp_path / "survey.csv"
    path.write_text("\n".join([",".join(["years", *header]), *rows]) + "\n")
    with pytest.raises(ColumnError, match=r"If every row is a worker's and 'Q0_oak', .* stand for what was labelled, say"):
        read_labels(path)
    labels = read_labels(path, format="forms", item_column="Q*_*")
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (12, 9, 108)


def test_rows_with_a_text_each_are_items_and_no_persons(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("text,Q1_a,Q1_b,Q1_c\n" + "".join(f"text {n},{n % 2},{n % 3 % 2},{n % 5 % 2}\n" for n in range(12)))
    with pytest.raises(ColumnError) as refused:
        read_labels(path)
    assert "forms" not in str(refused.value)


def test_one_list_of_workers_goes_with_lists_of_labels_for_several_questions(tmp_path):
    asked = {"labels_a": ["y", "n"], "labels_b": ["u", "v"], "ages": [31, 45]}
    records = {f"k{n}": {"id": n, "annotators": [f"a{n % 2}", f"a{n % 2 + 1}"], **asked} for n in range(4)}
    path = write(tmp_path / "lists.json", json.dumps(records))
    with pytest.raises(ParameterError, match=r"several questions \('labels_a', 'labels_b'\)"):
        read_labels(path)
    labels = read_labels(path, question="labels_b")
    assert (labels.n_items, labels.n_workers, labels.n_labels, labels.class_names) == (4, 3, 8, ("u", "v"))


def test_an_object_of_items_may_have_items_without_labels(tmp_path):
    path = write(tmp_path / "answers.json", json.dumps({"0": {"1": "a"}, "1": {}, "2": {"0": "b", "1": "a"}, "3": {"0": "a"}}))
    with pytest.raises(DataError, match="if the outer names are items and the inner ones workers"):
        read_labels(path)
    labels = read_labels(path, format="wide")
    assert (labels.n_labels, labels.workers.to_pylist(), labels.n_items) == (4, ["1", "0"], 3)


def test_what_a_rater_says_of_an_item_that_is_named_are_questions(tmp_path):
    rows = [{"example_id": n // 3, "rater": f"r{n % 3}", "ratings": {"help": n % 4, "safe": n * n % 3}} for n in range(12)]
    path = write(tmp_path / "ratings.jsonl", json_lines(rows))
    with pytest.raises(ColumnError, match=r"'ratings\.help'.* could be the label"):
        read_labels(path)
    assert read_labels(path, label_column="ratings.help").n_items == 4


def test_columns_of_names_beside_columns_of_the_same_numbers_are_who_gave_them(tmp_path):
    rows = [[f"i{n}", f"u{n % 5}", f"u{(n + 1) % 5}", n % 2, n // 2 % 2, n % 3, n % 4] for n in range(10)]
    header = ["id", "annotator_1", "annotator_2", "rude_1", "rude_2", "sure_1", "sure_2"]
    path = write(tmp_path / "pairs.csv", csv_text(header, rows))
    with pytest.raises(ParameterError, match=r"several questions \('rude', 'sure'\)"):
        read_labels(path)
    labels = read_labels(path, question="rude")
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (10, 5, 20)


CARE = ["wait", "fly", "wait", "walk"]


def redcap(record="Record ID"):
    """Return a survey in which each person answered four cases and said how sure they were."""
    asked = [f"Question {n}: a long text ...{end}" for n in range(1, 5) for end in ("", " (sure, 1 to 9)")]
    rows = [
        [
            str(who),
            "3/1/26 10:00",
            f"degree {who}",
            *(cell for n in range(4) for cell in (CARE[(n + who) % 4], str(5 + n % 2))),
            "",
            "Complete",
        ]
        for who in range(7, 12)
    ]
    return [record, "Survey Timestamp", "Your degree?", *asked, "Question 5: dropped", "Complete?"], rows


def test_a_survey_with_a_record_for_each_person_is_proposed_by_its_blocks(tmp_path):
    header, rows = redcap()
    path = write(tmp_path / "survey.csv", csv_text(header, rows))
    assert is_of_survey(probe(path))
    (said,) = proposal(probe(path))
    assert said.endswith("--worker-column 'Record ID' --item-column 'Question *: a long text ...'")  # without how sure
    header = [name.replace("a long text", f"text {n}") for n, name in enumerate(header)]
    alike = [[cell for n, cell in enumerate(row) if n % 2 or n < 3] for row in (header, *rows)]
    path = write(tmp_path / "cases.csv", csv_text(alike[0], alike[1:]))
    (said,) = proposal(probe(path))
    assert said.endswith("stand for what was labelled, say --from forms --worker-column 'Record ID' --item-column 'Question*'")
    labels = read_labels(path, format="forms", worker_column="Record ID", item_column="Question*")
    assert (labels.n_labels, labels.n_items, labels.n_workers) == (20, 4, 5)
    assert (
        proposal(probe(write(tmp_path / "other.csv", csv_text(["Record ID", "rater1", "rater2"], [["1", "a", "b"]] * 9)))) == []
    )


def test_columns_without_an_answer_are_counted(tmp_path):
    lines = [[*row, ""] for row in SAID]
    labels = read_labels(write(tmp_path / "form.csv", csv_text(["worker", *ASKED, "is 3 rude?"], lines)))
    assert rows_of(labels) == ROWS
    assert labels.report.notes[1] == "1 column of items held no answer: 'is 3 rude?'."
    assert "is 3" not in labels.report.notes[0]


def test_items_of_one_name_are_told_apart_by_their_place(tmp_path):
    rows = [["a", "31", "x", "", "y", "x"], ["b", "40", "y", "", "y", "y"]]
    path = write(tmp_path / "form.csv", csv_text(["worker", "age", "sure?", "sure?", "sure?", "kind?"], rows))
    labels = read_labels(path, format="forms", item_column="sure*")
    assert rows_of(labels) == [("sure?", "a", "x"), ("sure?", "b", "y"), ("sure? (3)", "a", "y"), ("sure? (3)", "b", "y")]
    assert "Columns of one name are different items, told apart by their place: 'sure?', 'sure? (3)'." in labels.report.notes
    assert rows_of(read_labels(path, format="forms", item_column="sure?")) == rows_of(labels)
    assert read_labels(path, format="forms", item_column="kind?,sure? (3)").items.to_pylist() == ["sure? (3)", "kind?"]
    assert "one name" not in " ".join(read_labels(path, format="forms", item_column="kind?").report.notes)


def test_columns_of_one_name_are_proposed_after_others(tmp_path):
    header = ["responseid", *(name for n in (1, 2, 3) for name in (f"case {n}", "sure? ", "sure? "))]
    rows = [
        [f"R{who}", *(cell for n in range(3) for cell in ("xyz"[(who + n) % 3], "12"[n % 2], "12"[who % 2]))]
        for who in range(6)
    ]
    (said,) = proposal(probe(write(tmp_path / "form.csv", csv_text(header, rows))))
    assert said.endswith("--item-column 'case*' (or another pattern, such as 'sure?*')")


def test_items_are_named_by_several_names_or_patterns(tmp_path):
    header = ["worker", "age", "q1_1", "q1_2", "q2_1", "q2_2", "well, is it?"]
    rows = [["a", "31", "x", "u", "y", "u", "x"], ["b", "40", "y", "v", "x", "v", "y"]]
    path = write(tmp_path / "form.csv", csv_text(header, rows))

    def items(given):
        return sorted(read_labels(path, format="forms", item_column=given).items.to_pylist())

    assert items("q1_1,q2_1") == items("q1*_1, q2*_1") == items("q*_1") == ["q1_1", "q2_1"]
    assert items("well, is it?") == items("well, *") == ["well, is it?"]
    assert items('q1_1,"well, is it?"') == ["q1_1", "well, is it?"]
    for given, lacking in (("q1_1,q9*", "q9*"), ("z*", "z*")):
        with pytest.raises(
            ColumnError, match=rf"No column is named '{re.escape(lacking)}'; the columns are 'worker', .*'q1_1'"
        ):
            items(given)
    with pytest.raises(ColumnError, match="'worker' cannot be both the worker and the item"):
        items("worker")


def test_a_form_without_any_answer_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"No labels found in 'form\.csv': no column that may be an item holds an answer"):
        read_labels(write(tmp_path / "form.csv", csv_text(["worker", "q1"], [["a", ""], ["b", " "]])), format="forms")


def test_what_is_not_answered_alike_is_told_by_patterns(tmp_path):
    blocks = {"open": ["yes", "no", "no"], "fair": ["a lot", "hardly", "a lot"]}
    header = ["responseid", "age", *(f"{name}_{n}" for name in blocks for n in (1, 2, 3))]
    rows = [
        [f"R{who}", str(30 + 7 * who), *(said[(who + n) % 3] for said in blocks.values() for n in (1, 2, 3))]
        for who in range(5)
    ]
    path = write(tmp_path / "survey.csv", csv_text(header, rows))
    with pytest.raises(ColumnError, match=r"alike; name those .*: 'open_\*' \(3 columns\), 'fair_\*' \(3 columns\)\.") as error:
        read_labels(path, format="forms", worker_column="responseid")
    assert "worker_column" not in str(error.value)
    with pytest.raises(ColumnError, match=r"say .*forms.* 'responseid' .*'open_\*' \(or another pattern, such as 'fair_\*'\)"):
        read_labels(path)


def test_columns_of_a_survey_are_not_proposed_as_workers(tmp_path):
    answers = {f"trust_{n}": ["yes", "no"] * 6 for n in range(6)} | {f"often_{n}": ["1", "2", "3"] * 4 for n in range(4)}
    frame = pd.DataFrame({"responseid": [f"R_{n}" for n in range(12)], "distributionchannel": "anonymous", **answers})
    frame.to_csv(tmp_path / "survey.csv", index=False)
    with pytest.raises(ColumnError) as stop:
        read_labels(tmp_path / "survey.csv")
    assert "are workers who answer one question" not in str(stop.value)
    assert "`worker_column` 'responseid' `item_column` 'trust_*'" in str(stop.value)


def test_lines_of_numbers_without_a_header_are_no_crash(tmp_path):
    (tmp_path / "scores.tsv").write_text("+2 2 +2 4 __ _\n+2 3 -1 5 __ _\n+1 5 +2 3 +2 3\n+2 3 +2 4 +2 4\n0 3 +1 4 +1 2\n")
    with pytest.raises(ColumnError, match="looks like an item, worker or label column") as stop:
        read_labels(tmp_path / "scores.tsv")
    assert "`worker_columns` '+2,+2" not in str(stop.value)  # columns of one name cannot be told


LIKERT = ["Trifft zu", "Teils, teils", "Trifft nicht zu"]
THINGS = [f"Die {thing} {verb}" for thing in ("Stimme", "Pause", "Musik") for verb in ("passt", "stört", "klingt gut")]
GRID = [f"{head} [{thing}] (Fassung {n})" for n in "AB" for head in ("Wie war es?", "Wie klang es?") for thing in THINGS[:3]]


def german(first="Zeitstempel", grid=GRID, persons=6):
    """Return a form with a time, a nickname, an age, a grid of questions and a remark."""
    header = [first, "Wie heißt du hier", "Alter", *grid, "Was fiel dir sonst auf?"]
    rows = [
        [
            f"{23 + who}.12.2024 20:00:3{who}",
            f"Fuchs {who}",
            ["31", "31", "40"][who % 3],
            *(LIKERT[(who * n + n // 3 + who) % 3] for n in range(len(grid))),
            f"Mir fiel auf, dass {who} davon lauter waren",
        ]
        for who in range(persons)
    ]
    return header, rows


def test_a_form_in_another_language_is_proposed_by_its_questions(tmp_path):
    path = write(tmp_path / "antworten.csv", csv_text(*german()))
    said = r"If every row is a worker's and .* stand for what was labelled, say .*forms.* `worker_column` 'Wie heißt du hier' "
    with pytest.raises(ColumnError, match=said + r"`item_column` '\*\] \(\*'"):
        read_labels(path)
    labels = read_labels(path, format="forms", worker_column="Wie heißt du hier", item_column="*] (*")
    assert (labels.n_labels, labels.n_items, labels.n_workers, labels.n_classes) == (72, 12, 6, 3)
    with pytest.raises(ColumnError, match=r"alike; name .*: '\*\] \(\*' \(12 columns\)"):
        read_labels(path, format="forms")
    # Nothing but the time tells persons: it names no row.
    header, rows = german()
    header, *rows = ([row[0], *row[2:-1]] for row in (header, *rows))
    (said,) = proposal(probe(write(tmp_path / "kurz.csv", csv_text(header, rows))))
    assert said.endswith("say --from forms --item-column 'Wie *'")


def test_grids_that_others_are_like_are_proposed_together(tmp_path):
    grid = [f"{head} [{thing}]" for head in ("Wie war es", "Wie klang es") for thing in THINGS[:3]]
    header, rows = german(grid=grid)
    header[-1] = "Was sonst [Die Stimme klingt gut]"
    (said,) = proposal(probe(write(tmp_path / "a.csv", csv_text(header, rows))))
    assert said.endswith("--item-column 'Wie war es ?*,Wie klang es ?*'")
    labels = read_labels(tmp_path / "a.csv", format="forms", item_column="Wie war es ?*,Wie klang es ?*")
    assert (labels.n_items, labels.n_labels) == (6, 36)


def test_many_whole_questions_are_persons_rows_whatever_comes_first(tmp_path):
    asked = [f"{thing} oder nicht?" for thing in [*THINGS, "Das Ende gefällt"]]
    header, rows = german("Gruppe", asked)
    rows = [["x", *row[1:-1]] for row in rows]
    path = write(tmp_path / "a.csv", csv_text(header[:-1], rows))
    (said,) = proposal(probe(path))
    assert said.endswith("--worker-column 'Wie heißt du hier' --item-column '* oder nicht?'")
    # Nine are too few, and with a text each rows may be what was judged.
    assert "forms" not in " ".join(
        proposal(probe(write(tmp_path / "b.csv", csv_text(header[:-2], [row[:-1] for row in rows]))))
    )
    texts = [["Satz", *header[1:-1]], *([f"Dies ist der Satz mit der Nummer {n}", *row[1:]] for n, row in enumerate(rows))]
    assert proposal(probe(write(tmp_path / "c.csv", csv_text(texts[0], texts[1:])))) == []
    # Names of raters are no questions.
    raters = [f"rater {n} overall tone" for n in range(12)]
    header, rows = german("Gruppe", raters)
    assert "forms" not in " ".join(proposal(probe(write(tmp_path / "d.csv", csv_text(header, rows)))))


EASY = ["How easy was it to begin?", "How easy was it to end?", "How easy was lab 1?", "Overall, how easy was it?"]


def test_all_questions_that_are_answered_alike_are_proposed_and_those_that_were_not_read_are_noted(tmp_path):
    header = ["Timestamp", *EASY[:2], "Did it work for you?", *EASY[2:], "Overall, what score is right", "What did you like?"]
    rows = [
        [
            f"2020/02/{n + 10} 6:57:24 PM GMT",
            *(3 + (n + k) % 3 for k in (0, 2)),
            "Yes. First" if n % 4 else "No",
            *(3 + n % k for k in (2, 3, 2)),
            f"It {n % 5}",
        ]
        for n in range(11)
    ]
    path = write(tmp_path / "app.csv", csv_text(header, rows))
    with pytest.raises(ColumnError, match=r"`format='forms'` `item_column` 'How \*,Overall\*'") as stop:
        read_labels(path)
    assert "are workers" not in str(stop.value)
    assert read_labels(path, format="forms", item_column="How *,Overall*").n_items == 5
    part = read_labels(path, format="forms", item_column="How *")
    said = "The same labels stand in 'Overall, how easy was it?', 'Overall, what score is right'; name a column with"
    assert any(note.startswith(said) for note in part.report.notes)


@pytest.mark.parametrize("who", ["Record ID", "ID"])
@pytest.mark.parametrize("title", ["Question {}: A case of {}", "Question {}"])
def test_a_row_for_each_rater_and_a_numbered_question_for_each_item_is_proposed_though_titles_come_twice(tmp_path, who, title):
    titles = [title.format(n, n) for n in range(1, 13)]
    sure = "How confident are you of this (1 to 10)"
    header = [who, *(name for one in titles for name in (one, sure)), *titles]
    says = ("now", "later", "never")
    rows = [
        [7 + who, *(cell for n in range(12) for cell in (says[(n * n + who * (n % 2)) % 3], 1 + (n + who) % 10)), *[""] * 12]
        for who in range(14)
    ]
    path = write(tmp_path / "survey.csv", csv_text(header, rows))
    with pytest.raises(ColumnError, match=rf"`format='forms'` `worker_column` '{who}' `item_column` 'Question\*'"):
        read_labels(path)
    labels = read_labels(path, format="forms", worker_column=who, item_column="Question*")
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (12, 14, 12 * 14)
    assert labels.items.to_pylist() == titles
    assert not any("told apart by their place" in note for note in labels.report.notes)


CLICKS = ("First Click", "Last Click", "Page Submit", "Click Count")


def test_page_timings_are_no_items_unless_one_is_named_exactly(tmp_path):
    asked = [f"mood{block}_{n}" for block in "12" for n in (1, 2, 3)]
    timings = [f"{page}_t_{click}" for page in ("mood1", "mood2", "intro1", "intro2", "intro3") for click in CLICKS]
    answers = {name: [str((n * k) % 3 + 1) for n in range(8)] for k, name in enumerate(asked, 2)}
    path = write(tmp_path / "timed.csv", csv_text(*qualtrics(answers | {name: ["0"] * 4 + ["1"] * 4 for name in timings})))
    with pytest.raises(DataError, match=r"'mood1_1', 'mood1_2', 'mood1_3' stand .* 'mood1_\*' \(or .* 'mood2_\*'\)\."):
        read_labels(path)
    labels = read_labels(path, format="forms", item_column="mood1*")
    assert labels.items.to_pylist() == asked[:3]
    assert any(note.startswith("4 columns of page timings were left aside") for note in labels.report.notes)
    assert read_labels(path, format="forms", item_column="intro1_t_Click Count").items.to_pylist() == ["intro1_t_Click Count"]
    with pytest.raises(ColumnError, match="hold page timings, which are no answers"):
        read_labels(path, format="forms", item_column="intro*")


@pytest.mark.parametrize("again", [0, 1])
def test_ballots_with_an_id_of_their_own_are_proposed_by_voter_though_one_votes_again(tmp_path, again):
    draw = random.Random(4)
    rows = [[f"v{n}", f"b{n}", *(draw.randrange(4) for _ in range(5))] for n in range(20)]
    rows += [["v0", "b20", *rows[0][2:]]] * again
    path = write(tmp_path / "ballots.csv", csv_text(["voter_id", "vote_id", *(f"candidate_{n}" for n in range(5))], rows))
    with pytest.raises(ColumnError) as error:
        read_labels(path)
    said = "'candidate_0', 'candidate_1', 'candidate_2' and 2 more stand for what was labelled, say `format='forms'` "
    assert f"every row is a worker's and {said}`worker_column` 'voter_id' `item_column` 'candidate_*'" in str(error.value)
    many = [[f"v{n // 4}", *row[1:]] for n, row in enumerate(rows)]  # rows of a worker who labels several items
    path = write(tmp_path / "long.csv", csv_text(["voter_id", "vote_id", *(f"candidate_{n}" for n in range(5))], many))
    with pytest.raises(ColumnError) as error:
        read_labels(path)
    assert "format='forms'" not in str(error.value)
