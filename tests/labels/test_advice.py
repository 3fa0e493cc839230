"""What is said where a table cannot be read as it is: only ways that read it right, and else what it seems to be."""

from __future__ import annotations

import json
import shlex

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError, CrowdassayError, DataError, FileError
from crowdassay.labels.files import read_files, read_labels
from crowdassay.labels.frames import as_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.read_options import ReadOptions
from support.exports import csv_text, write

N = range(12)
NOT_WORKERS = {
    "criteria of one rater": (
        {"reply_id": N, "clarity": [n % 3 for n in N], "politeness": [n % 3 for n in N], "tone": [n % 2 for n in N]},
        "'clarity', 'politeness', 'tone' look like different questions",
    ),
    "criteria named after a rater who is not there": (
        {"id": N, "judge_clarity": [n % 3 for n in N], "judge_empathy": [(n + 1) % 3 for n in N]},
        "'judge_clarity', 'judge_empathy' look like different questions",
    ),
    "questions by number": ({"id": N, "q1": [n % 2 for n in N], "q2": [n % 2 for n in N]}, "'q1', 'q2' look like different"),
    "means": ({"id": N, "ann": ["3.667", "2.5", "1"] * 4, "bob": ["2.5", "3.667", "1"] * 4}, "numbers that were computed"),
    "counts of votes": (
        {"id": N, "yes": [n % 4 for n in N], "no": [n // 4 for n in N], "both": [5 - n % 4 - n // 4 for n in N]},
        "The rows of 'yes', 'no', 'both' sum to nearly the same number",
    ),
    "one class of many, each a column": (
        {"id": N, **{name: [int(n % 3 == k) for n in N] for k, name in enumerate(("cats", "dogs", "birds"))}},
        "The rows of 'cats', 'dogs', 'birds' sum to nearly the same number",
    ),
    "pairs of things": (
        {"i": [n % 3 for n in N], "j": [(n + 1) % 3 for n in N], "far": [f"0.{n}" for n in N]},
        "'i', 'j' never hold the same value in a row",
    ),
    "two sides": (
        {"id": N, "rude_a": [n % 2 for n in N], "rude_b": [n % 3 % 2 for n in N]},
        "'rude_a', 'rude_b' look like the two sides of comparisons",
    ),
    "agreement between raters": (
        {"rater1": ["u", "u", "v"] * 2, "rater2": ["v", "w", "w"] * 2, "n": [9] * 6, "kappa": ["0.5"] * 6},
        "'rater1', 'rater2' and 'kappa' make a table of results",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOT_WORKERS)
def test_columns_that_are_no_workers_are_not_proposed_but_said(tmp_path, kind):
    columns, said = NOT_WORKERS[kind]
    path = tmp_path / "table.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    for options in ({}, {"format": "wide"}):
        with pytest.raises(ColumnError) as stop:
            read_labels(path, **options)
        assert said in str(stop.value)
        assert "say `format='wide'`" not in str(stop.value)
        assert "say `worker_columns`" not in str(stop.value)


def test_workers_who_answer_one_question_are_proposed_in_any_language(tmp_path):
    for names in (("ann", "bob"), ("원익", "수민"), ("модель_1", "модель_2")):
        path = tmp_path / "table.csv"
        pd.DataFrame({"id": N, names[0]: [n % 3 for n in N], names[1]: [n % 4 % 3 for n in N]}).to_csv(path, index=False)
        with pytest.raises(ColumnError, match="say `format='wide'`"):
            read_labels(path)
        assert read_labels(path, format="wide").workers.to_pylist() == list(names)
    path.write_text(path.read_text().replace("модель_1", "eva@x.org").replace("модель_2", "max@x.org"))
    assert read_labels(path).workers.to_pylist() == ["eva@x.org", "max@x.org"]  # who else has an address


def test_every_set_of_columns_that_could_be_workers_is_proposed(tmp_path):
    path = tmp_path / "table.csv"
    table = {
        f"{stem}{coder}": [f"{stem}{(n * (k + 1)) % 3}" for n in N]
        for stem in ("mood", "kind")
        for k, coder in enumerate(" 12")
    }
    pd.DataFrame({name.strip(): column for name, column in table.items()}).to_csv(path, index=False)
    moods, kinds = (
        "'mood1', 'mood2' are workers who answer one question",
        "'kind1', 'kind2' are",
    )  # the others may sum them up
    more = r"\(or `worker_columns` 'mood\*' if 'mood' is a worker's too\)"
    with pytest.raises(ColumnError, match=rf"If {moods}, say `worker_columns` 'mood1,mood2' {more}\. If {kinds}, say"):
        read_labels(path)
    header, *rows = path.read_text().splitlines()
    header = header.replace("1", ".1").replace("2", ".2")  # as pandas numbers columns that were called alike
    path.write_text("\n".join([header, *rows]) + "\n")
    moods, kinds = ("'mood', 'mood.1', 'mood.2' are workers who answer one question", "'kind', 'kind.1', 'kind.2' are")
    with pytest.raises(ColumnError, match=rf"If {moods}, say `worker_columns` 'mood,mood\.1,mood\.2'\. If {kinds}, say"):
        read_labels(path)


def test_a_table_of_persons_is_no_form(tmp_path):
    rows = [(f"r{n}", ("lenient", "strict")[n % 2], f"{n}.5", f"field {n}") for n in range(6)]
    path = write(tmp_path / "people.csv", csv_text(["rater_id", "tendency", "base", "expertise"], rows))
    with pytest.raises(ColumnError) as stop:
        read_labels(path)
    assert "forms" not in str(stop.value)


def test_a_header_of_three_names_is_no_line_of_worker_item_and_label(tmp_path):
    path = write(tmp_path / "t.csv", csv_text(["command", "mood", "sure"], [(f"c{n % 4}", "ab"[n % 2], n % 2) for n in N]))
    with pytest.raises(ColumnError) as stop:
        read_labels(path)
    assert "nltk" not in str(stop.value)


@pytest.mark.parametrize(
    ("names", "proposed"),
    [
        (["annotator1.csv"], True),
        (["wave2_rater_b.csv"], True),
        (["maria.csv", "piotr.csv"], True),
        (["survey_2024.csv"], False),
        (["raters.csv"], False),
        (["chapter1.csv"], False),
    ],
)
def test_files_named_after_workers_are_told_how_to_be_read_whatever_their_columns_are_called(tmp_path, names, proposed):
    for name in names:
        write(tmp_path / name, csv_text(["headline", "verdict of mine"], [(f"h{n}", n % 2) for n in N]))
    with pytest.raises(ColumnError) as stop:
        read_labels(tmp_path)
    assert ("`worker_from_filename=True` and name the other columns" in str(stop.value)) == proposed
    if proposed:
        found = read_labels(tmp_path, worker_from_filename=True, item_column="headline", label_column="verdict of mine")
        assert found.n_workers == len(names)


def test_results_of_mechanical_turk_without_workers_are_told_what_is_missing(tmp_path):
    path = write(tmp_path / "batch.csv", csv_text(["Input.url", "Answer.tone", "Answer.fit"], [(n, n % 2, n % 2) for n in N]))
    with pytest.raises(CrowdassayError, match="Mechanical Turk without WorkerId"):
        read_labels(path)


def told(tmp_path, columns, **options):
    path = tmp_path / "answers_2024.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    with pytest.raises(CrowdassayError) as stop:
        read_labels(path, **options)
    return str(stop.value)


def test_the_nearest_name_is_never_that_of_a_column_whose_values_cannot_be_it(tmp_path):
    reviewed = {
        "id": N,
        "annotator": ["cb"] * 12,
        "responses": [f"because of {n}" for n in N],
        "kind of tone": [n % 3 for n in N],
    }
    said = told(tmp_path, reviewed)
    assert "nearest" not in said
    assert "by what it holds the label may be 'kind of tone'; name it" in said
    remarked = {"id": N, "label": [n % 2 for n in N], "annotator_nam": [f"remark {n}" for n in N]}
    assert "nearest" not in told(tmp_path, remarked)
    remarked["annotator_nam"] = ["eva", "max"] * 6
    assert "the nearest is 'annotator_nam'" in told(tmp_path, remarked)


def test_the_nearest_name_is_never_a_count_nor_constant_nor_one_with_gaps(tmp_path):
    assert "nearest" not in told(tmp_path, {"text": N, "n_raters": [3, 4] * 6, "side": list("ab") * 6})
    assert "nearest" not in told(tmp_path, {"text": N, "annotators": ["ann"] * 12, "label": list("ab") * 6})
    remarks = {"worker": list("uv") * 6, "step": N, "comment": ["", "fine"] * 6, "label": list("ab") * 6}
    assert "nearest" not in told(tmp_path, remarks)
    assert "the nearest is 'comment'" in told(tmp_path, {**remarks, "comment": [f"c{n}" for n in N]})


def test_a_column_whose_last_word_is_a_label_is_named_first_however_many_values_it_has(tmp_path):
    rated = {
        "item": [n // 2 for n in N],
        "worker": list("uv") * 6,
        "mood": [n % 3 for n in N],
        "overall_score": [70 + n for n in N],
    }
    said = told(tmp_path, {**rated, "style": [n % 4 for n in N]})
    assert "('overall_score', 'mood', 'style')" in said
    said = told(tmp_path, {name: column for name, column in rated.items() if name != "mood"} | {"remark": [f"r{n}" for n in N]})
    assert "`worker_column` 'worker' `label_column` 'overall_score'" in said
    said = told(tmp_path, {"item": N, "mood": [n % 3 for n in N], "gold_label": [n % 2 for n in N], "his_rating": N})
    assert "; by its name the label may be 'his_rating'; name them" in said  # what others hold may be workers' names
    said = told(tmp_path, {"item": N, "assistant_response": [f"well, {n}" for n in N], "mood": [n % 3 for n in N]})
    assert "; by what it holds the label may be 'mood'; name them" in said


def test_settings_beside_a_model_are_no_labels(tmp_path):
    results = {"model": list("mn") * 6, "train_method": list("uuvv") * 3, "fluency": [f"{n}.25" for n in N]}
    said = told(tmp_path, results)
    assert "No item or label column" in said
    assert "the label may be" not in said
    rated = told(tmp_path, {**results, "human_rating": [n % 4 for n in N]})
    assert "The column 'model' may name who labelled, or what was rated, with ratings in 'human_rating'" in rated


def test_texts_and_a_rating_beside_them_are_asked_about(tmp_path):
    rated = {"item": [n // 2 for n in N], "worker": list("uv") * 6, "answer": list("abc") * 4, "value": [n * 7 % 5 for n in N]}
    assert "'answer' holds texts and 'value' numbers, and either could be the label: say `label_column` 'value', or" in told(
        tmp_path, rated
    )
    assert read_labels(tmp_path / "answers_2024.csv", label_column="value").n_classes == 5
    facts = [ord(text) for text in rated["answer"]], [n // 2 for n in N]  # the same said again, and what an item costs
    for beside in (["x"] * 12, [1] * 12, *facts):
        pd.DataFrame({**rated, "value": beside}).to_csv(tmp_path / "one.csv", index=False)
        assert read_labels(tmp_path / "one.csv").report.columns["label"] == "answer"
    pd.DataFrame(rated).rename(columns={"answer": "label"}).to_csv(tmp_path / "label.csv", index=False)
    assert read_labels(tmp_path / "label.csv").report.columns["label"] == "label"


def test_a_value_that_a_participant_gave_is_the_label_and_an_agent_the_worker(tmp_path):
    rows = [{"participant": p, "stimulus": t, "shade": f"s{t % 2}", "value": (p * t) % 7} for p in range(3) for t in range(6)]
    pd.DataFrame(rows).to_csv(tmp_path / "a.csv", index=False)
    assert read_labels(tmp_path / "a.csv").report.columns["label"] == "value"
    pd.DataFrame(rows).rename(columns={"participant": "agent", "value": "val"}).to_csv(tmp_path / "b.csv", index=False)
    assert read_labels(tmp_path / "b.csv").report.columns["worker"] == "agent"


def test_ann_is_a_worker_where_ids_tell_the_items_together(tmp_path):
    rows = [
        {"art_id": a, "ann": f"Ann. {w}", "criteriaID": c, "annotation": (a + w * len(c)) % 3}
        for a in range(4)
        for c in ("bias", "target", "lede")
        for w in (1, 2)
    ]
    said = told(tmp_path, rows)
    assert "No item column found" in said
    assert "If 'art_id' and 'criteriaID' tell what was labelled, say `item_column` 'art_id,criteriaID'." in said
    assert read_labels(tmp_path / "answers_2024.csv", item_column="art_id,criteriaID").n_workers == 2


def test_an_id_is_neither_a_question_nor_a_worker(tmp_path):
    said = told(tmp_path, {"art_id": [n % 3 for n in N], "tone": [n % 2 for n in N], "fit": [n % 3 for n in N]})
    assert "'art_id', " not in said.split(";", 1)[1]


SIDES = [("x", "y"), ("y", "x"), ("z", "x"), ("y", "z"), ("x", "z"), ("z", "y")] * 2


@pytest.mark.parametrize("names", [("left_model", "right_model"), ("shown_a", "shown_b"), ("model_a", "model_b")])
@pytest.mark.parametrize(
    "answers", [["left", "right", "tie"] * 4, ["A", "B", "both bad"] * 4, [pair[n % 2] for n, pair in enumerate(SIDES)]]
)
def test_comparisons_whose_sides_change_are_ranked_not_combined(tmp_path, names, answers):
    compared = dict(zip(names, zip(*SIDES, strict=True), strict=True))
    said = told(tmp_path, {"item": [n // 2 for n in N], "rater": list("uv") * 6, **compared, "choice": answers})
    assert f"'{names[0]}' and '{names[1]}' look like the two sides of comparisons and 'choice' says which one won" in said
    assert "crowdassay rank reads; if these are classes all the same, say `label_column` 'choice'" in said
    labels = read_labels(tmp_path / "answers_2024.csv", label_column="choice")
    assert (labels.n_labels, labels.n_items) == (12, 6)
    assert "which crowdassay rank reads" in told(tmp_path, {**compared, "overall_winner": answers})


def test_texts_beside_each_other_and_a_preference_are_labels(tmp_path):
    texts = {"response_a": [f"an answer to {n // 2}" for n in N], "response_b": [f"another for {n // 2}" for n in N]}
    beside = {"item": [n // 2 for n in N], "rater": list("uv") * 6, **texts, "choice": list("ab") * 6}
    pd.DataFrame(beside).to_csv(tmp_path / "a.csv", index=False)
    assert read_labels(tmp_path / "a.csv").class_names == ("a", "b")


GRADES = [
    {"sheet": s, "skil": k, "comments": f"well {(s + len(k)) % 2}", "participant_id": p, "grade": "ABC"[(s + p * len(k)) % 3]}
    for s in range(6)
    for k in ("style", "tests", "names")
    for p in range(2)
]


def test_an_item_that_no_name_tells_is_looked_for_among_the_columns_that_make_labels_unique(tmp_path):
    said = told(tmp_path, GRADES)
    assert "nearest" not in said
    assert "tell what was labelled, say `item_column` 'sheet,skil'." in said
    labels = read_labels(tmp_path / "answers_2024.csv", item_column="sheet,skil")
    assert (labels.n_items, labels.report.repeats, labels.report.notes) == (18, 0, ())


def test_an_item_that_was_named_and_makes_most_labels_repeats_is_noted_with_what_makes_them_unique(tmp_path):
    told(tmp_path, GRADES)
    labels = read_labels(tmp_path / "answers_2024.csv", item_column="sheet")
    assert labels.report.notes[0].startswith("More than half of the labels repeat a worker and an item; if 'sheet' is not")
    assert labels.report.notes[0].endswith("No worker labels an item twice with --item-column 'sheet,skil'.")


def test_where_one_person_labelled_what_is_called_like_an_id_may_tell_items(tmp_path):
    rows = [{"task_id": n % 2, "trace_file": f"f{n}.json", "labeler": "eva", "verdict": n % 3 % 2} for n in N]
    assert "told by 'trace_file', none does" in told(tmp_path, rows)


def test_the_place_where_an_item_was_shown_tells_no_items_where_something_else_does(tmp_path):
    authors = ("u", "v", "w")
    rows = [
        {"prompt_id": p, "judge": j, "slot": "ABC"[(k + j + p) % 3], "author": authors[k], "label": (p + j * k) % 3}
        for p in range(4)
        for j in range(3)
        for k in range(3)
    ]
    said = told(tmp_path, rows)
    assert "told by 'prompt_id' and 'author' together, none does" in said
    assert "say `item_column` 'prompt_id,author'. If workers did" in said  # whoever sits in a slot changes


def test_the_kind_of_an_item_is_no_label_where_others_could_be(tmp_path):
    one = {"id": N, "labeler": ["eva"] * 12, "category": list("abc") * 4, "passed": [n % 2 for n in N]}
    said = told(tmp_path, one)
    assert "'category' may be a kind of item, as no worker contradicts another; 'passed' could be the label" in said
    assert read_labels(tmp_path / "answers_2024.csv", label_column="passed").class_names == ("0", "1")
    assert read_labels(tmp_path / "answers_2024.csv", label_column="category").n_classes == 3
    pd.DataFrame(one).drop(columns="labeler").to_csv(tmp_path / "eva.csv", index=False)
    with pytest.raises(ColumnError, match="may be a kind of item"):
        read_labels(tmp_path / "eva.csv", worker_from_filename=True)
    del one["passed"]
    pd.DataFrame(one).to_csv(tmp_path / "alone.csv", index=False)
    assert read_labels(tmp_path / "alone.csv").n_classes == 3
    two = pd.DataFrame([{"id": n // 2, "labeler": n % 2, "category": "abc"[n % 3], "passed": n % 5 % 2} for n in range(24)])
    two.to_csv(tmp_path / "two.csv", index=False)
    assert read_labels(tmp_path / "two.csv").report.columns["label"] == "category"


def test_a_category_is_the_label_where_what_stands_beside_it_is_no_answer():
    one_each = pa.table({"item": N, "worker": list("abc") * 4, "category": list("xy") * 6, "batch": ["1"] * 6 + ["2"] * 6})
    assert as_labels(one_each).report.columns["label"] == "category"
    rows = [(f"i{n}", worker, "xyz"[n % 7 % 3], n % 4) for worker in "ab" for n in range(6000)]
    by_worker = pd.DataFrame(rows, columns=["item", "worker", "category", "batch"])  # the first rows are one worker's
    assert as_labels(by_worker).report.columns["label"] == "category"


def test_a_model_that_was_rated_is_no_worker(tmp_path):
    rated = {"id": N, "model": ["m", "n"] * 6, "label": [n % 3 for n in N], "rater_note": ["ok"] * 12}
    assert "No worker column found" in told(tmp_path, rated)
    assert "'model' may be what others rated, or the worker; name it with `worker_column`" in told(tmp_path, rated)
    assert read_labels(tmp_path / "answers_2024.csv", worker_column="model").workers.to_pylist() == ["m", "n"]
    del rated["rater_note"]
    pd.DataFrame(rated).to_csv(tmp_path / "models.csv", index=False)
    assert read_labels(tmp_path / "models.csv").workers.to_pylist() == ["m", "n"]


@pytest.mark.parametrize("header", ["output_id,rater_id,rating", "a,b,c"])
def test_a_table_without_rows_is_told_so_whatever_its_columns_are(tmp_path, header):
    with pytest.raises(CrowdassayError, match="holds a header only"):
        read_labels(write(tmp_path / "t.csv", header + "\n"))


def test_columns_that_nobody_filled_in_are_named(tmp_path):
    assert "In every row 'fits', 'note' are empty" in told(tmp_path, {"id": N, "fits": [None] * 12, "note": [" "] * 12})
    said = told(tmp_path, {"file": N, "annotation": [None] * 12, "note": ["x"] * 12})
    assert "In every row 'annotation' is empty, as if nobody had answered." in said


@pytest.mark.parametrize("kind", [pa.binary(), pa.binary(2), pa.dictionary(pa.int8(), pa.binary())])
def test_bytes_that_are_no_text_are_no_empty_column(tmp_path, kind):
    blob = pa.array([b"\xff\xd8", b"\x00\xfe"] * 6, pa.binary())
    blob = blob.dictionary_encode() if pa.types.is_dictionary(kind) else blob.cast(kind)
    pq.write_table(pa.table({"item": list(N), "label": [n % 2 for n in N], "image": blob}), tmp_path / "t.parquet")
    with pytest.raises(ColumnError, match="No worker column found") as stop:
        read_labels(tmp_path / "t.parquet")
    assert "empty" not in str(stop.value)


JUDGED = [(f"s{worker}", item, worker * item % 3 + 1, 10.5 * item + worker) for item in range(8) for worker in range(4)]


@pytest.mark.parametrize(
    ("header", "proposed"),
    [
        ("annotator,neuron,F1,rt", "--item-column 'neuron' --worker-column 'annotator' --label-column 'F1'"),
        ("pid,itemNum,chosen,rt", "--item-column 'itemNum' --worker-column 'pid' --label-column 'chosen'"),
        ("Voter ID,Spotify URI,Points,rt", "--item-column 'Spotify URI' --worker-column 'Voter ID' --label-column 'Points'"),
        ("Evaluator,Segment,secs,Adequacy", "--item-column 'Segment' --worker-column 'Evaluator' --label-column 'Adequacy'"),
        ("标注员,评论编号,标签,rt", "--item-column '评论编号' --worker-column '标注员' --label-column '标签'"),
        ("anotador,id_texto,etiqueta,rt", "--item-column 'id_texto' --worker-column 'anotador' --label-column 'etiqueta'"),
        ("subject,clip,rating,secs", "--item-column 'clip' --worker-column 'subject' --label-column 'rating'"),
    ],
)
def test_columns_that_only_what_they_hold_can_tell_are_proposed_together(tmp_path, header, proposed):
    path = tmp_path / "judged.csv"
    rows = (
        [(*row[:2], row[3], 7 * row[1] + 11 * len(row[0]) + 13 * int(row[0][1:])) for row in JUDGED]
        if "Adeq" in header
        else JUDGED
    )
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    with pytest.raises(ColumnError) as refused:
        read_files([path], ReadOptions())
    assert refused.value.message.endswith(f"say {proposed}."), refused.value.message
    options = dict(zip(("item_column", "worker_column", "label_column"), shlex.split(proposed)[1::2], strict=True))
    labels = read_files([path], ReadOptions.of(options))
    assert (labels.n_labels, labels.n_items, labels.n_workers) == (32, 8, 4)


def test_two_columns_that_tell_items_together_are_proposed_with_the_worker(tmp_path):
    rows = [
        f"{pvs},{place},{who},{len(pvs + place + who) % 3}"
        for pvs in ("a", "bb", "c")
        for place in ("pc", "tv ")
        for who in "xyz"
    ]
    path = tmp_path / "qoe.csv"
    path.write_text("\n".join(["pvs_id,context,subject,rating", *rows]) + "\n")
    with pytest.raises(
        ColumnError, match="if 'subject' is who labelled and 'pvs_id' and 'context' tell what was labelled".replace("if", "If")
    ):
        read_files([path], ReadOptions())


def test_a_column_that_was_named_is_kept_where_the_others_are_proposed(tmp_path):
    path = tmp_path / "judged.csv"
    path.write_text("\n".join(["who,clip,tone,mood,secs", *(f"{a},{b},{c},{c % 2},{d}" for a, b, c, d in JUDGED)]) + "\n")
    with pytest.raises(ColumnError, match="`item_column` 'clip' `worker_column` 'who', and choose one of 'tone', 'mood' with"):
        read_files([path], ReadOptions.of({"worker_column": "who"}))


def test_an_id_that_numbers_the_rows_is_doubted_where_workers_share_texts(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("id,voter,proposal,label\n" + "".join(f"{n},v{n % 3},p-{n // 3},{n % 2}\n" for n in range(12)))
    with pytest.raises(ColumnError, match=r"'id' is different in every row, .*; if 'proposal' tells items apart"):
        read_files([path], ReadOptions())
    assert read_files([path], ReadOptions.of({"item_column": "id"})).n_items == 12


def test_a_column_that_was_named_for_one_role_is_said_only_where_it_is_called_after_another(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("subject,tone\n" + "".join(f"s{n % 2},{n % 3}\n" for n in range(6)))
    with pytest.raises(ColumnError, match="No item or label column found among 'subject', 'tone'"):
        read_files([path], ReadOptions.of({"worker_column": "subject"}))


def test_a_kind_is_no_label_where_the_answers_are_objects(tmp_path):
    path = tmp_path / "stories.csv"
    rows = [f'{n // 2},u{n % 2},{"ab"[n % 3 == 0]},"{{""clarity"": {n % 2}}}"' for n in range(12)]
    path.write_text("\n".join(["item,user,category,fields", *rows]) + "\n")
    with pytest.raises(ColumnError, match="'category' may be a kind of item, and 'fields' holds objects"):
        read_files([path], ReadOptions())
    assert read_files([path], ReadOptions.of({"label_column": "category"})).n_labels == 12


def test_numbers_are_workers_and_what_was_made_of_their_columns_is_left_out(tmp_path):
    path = tmp_path / "pens.csv"
    header = "img,hair_1,pen_1,hair_2,pen_2,hair_3,pen_3,hair_rating,pen_rating,fullAgree"
    rows = [f"i{n},{n % 3},{n % 2},{n % 3},{n // 2 % 2},{n // 3 % 3},{n % 2},{n % 3},{n % 2},{n % 2}" for n in range(12)]
    path.write_text("\n".join([header, *rows]) + "\n")
    with pytest.raises(ColumnError) as refused:
        read_files([path], ReadOptions())
    assert "--worker-columns 'hair_1,hair_2,hair_3'. If 'pen_1', 'pen_2', 'pen_3' are, say" in refused.value.message


def test_people_with_a_number_each_are_no_families(tmp_path):
    path = tmp_path / "melodies.csv"
    rows = [f"m{n},{n % 4},{n % 3},{(n + 1) % 4},{n % 4},{n // 2 % 4},{n % 2}" for n in range(12)]
    path.write_text("\n".join(["file,1Asli,5Ozan,2Asli,3Cihan,4Cihan,fullAgree", *rows]) + "\n")
    with pytest.raises(ColumnError, match="If '1Asli', '5Ozan', '2Asli', '3Cihan', '4Cihan' are workers"):
        read_files([path], ReadOptions())


def test_judges_with_an_object_of_answers_each_are_proposed_question_by_question(tmp_path):
    path = tmp_path / "judges.jsonl"
    lines = []
    for n in range(12):
        verdicts = {judge: {"found": "YN"[n % k % 2], "act": "ab"[n % (5 - k) % 2]} for judge, k in (("gpt", 2), ("gemini", 3))}
        lines.append(json.dumps({"model": f"m{n % 2}", "prompt_id": n // 2, **verdicts}))
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(
        ColumnError, match=r"If 'gpt\.found', 'gemini\.found' are workers who answer one question, say `worker_c"
    ):
        read_files([path], ReadOptions())
    labels = read_files([path], ReadOptions.of({"worker_columns": "*.found"}))
    assert (labels.n_items, labels.n_workers, labels.class_names) == (12, 2, ("N", "Y"))


def test_cells_with_the_answers_of_several_workers_are_no_labels(tmp_path):
    path = tmp_path / "tweets.csv"
    rows = [f"t{n},{n % 2} 0 0 1,{n % 3 % 2} 0 0 1,0.5" for n in range(12)]
    path.write_text("\n".join(["tweet,cat1_said,cat2_said,mean_a", *rows]) + "\n")
    with pytest.raises(ColumnError, match="The cells of 'cat1_said', 'cat2_said' hold several answers each, without"):
        read_files([path], ReadOptions())


def test_workers_beside_flags_of_what_they_say_are_read(tmp_path):
    path = tmp_path / "paradigms.csv"
    rows = [(("Fun", "Imp", "Log")[n % 3], ("Fun", "Imp", "Log")[n % 4 % 3]) for n in range(12)]
    flagged = [f"{'Fun' in row},{'Imp' in row},{'Log' in row},{','.join(row)}" for row in rows]
    path.write_text("\n".join(["Fun,Imp,Log,Human,Machine", *flagged]) + "\n")
    with pytest.raises(ColumnError, match=r"If 'Human', 'Machine' are workers who answer one question, say `format='wide'`"):
        read_files([path], ReadOptions())
    labels = read_files([path], ReadOptions(format="wide"))
    assert (labels.n_labels, labels.workers.to_pylist(), labels.class_names) == (
        24,
        ["Human", "Machine"],
        ("Fun", "Imp", "Log"),
    )


def test_columns_that_end_in_workers_are_proposed_beside_a_column_called_like_one(tmp_path):
    path = tmp_path / "games.csv"
    rows = [f"p{n % 3},i{n // 3},{'ab'[n % 2]},{'ab'[n % 5 % 2]},{'xy'[n % 2]},{'xy'[n // 2 % 2]}" for n in range(18)]
    path.write_text("\n".join(["participantid,itemid,tag_ann1,tag_ann2,why_ann1,why_ann2", *rows]) + "\n")
    with pytest.raises(ColumnError, match=r"If 'tag_ann1', 'tag_ann2' are .* 'tag_ann\*'\. If 'why_ann1', 'why_ann2' are"):
        read_files([path], ReadOptions())


@pytest.mark.parametrize(("form", "cells"), [("form", "ab"), ("order", ("long first", "short first"))])
def test_a_column_of_texts_that_parts_a_guessed_item_is_asked_about(tmp_path, form, cells):
    path = tmp_path / "forms.csv"
    rows = [f"i{n // 2 if n < 12 else n},{cells[n % 2]},{w},{n % 3 % 2}" for n in range(24) for w in "xyz"]
    path.write_text("\n".join([f"item,{form},worker,label", *rows]) + "\n")
    said = f"18 of 72 labels repeat a worker and an item; told by 'item' and '{form}' together, none does"
    with pytest.raises(ColumnError, match=said):
        read_files([path], ReadOptions())
    assert read_files([path], ReadOptions(item_column=f"item,{form}")).n_items == 24
    assert read_files([path], ReadOptions(item_column="item")).n_items == 18
    path.write_text(path.read_text().replace(form, "round", 1))
    assert read_files([path], ReadOptions()).n_items == 18  # asked again


def test_workers_who_number_items_for_themselves_are_found_by_what_they_share(tmp_path):
    """A running number in each worker's own form was taken for the item, so that numbers of different things were joined."""
    names = ["ab12", "cd34", "ef56", "gh78", "ij90", "kl11", "mn22", "op33"]
    paths = [tmp_path / "ann.csv", tmp_path / "bo.csv"]
    for path, first in zip(paths, (1, 4), strict=True):
        rows = [f"{n},{name},{path.stem},{'yn'[n % 3 % 2]}\n" for n, name in enumerate(names, first)]
        path.write_text("id,sha,worker,label\n" + "".join(rows))
    with pytest.raises(ColumnError, match="several 'sha' stand by one 'id'"):
        read_files(paths, ReadOptions())
    assert read_files(paths, ReadOptions(item_column="sha")).n_items == 8
    for path in paths:
        path.write_text(path.read_text().replace("worker", "by"))
    with pytest.raises(ColumnError, match="by 'sha' there are 8 items, not 11"):
        read_files(paths, ReadOptions(worker_from_filename=True))


@pytest.mark.parametrize(
    ("header", "row", "said"),
    [
        ("doc,Ann1,Ann2,Ann3,Kappa", "d{n},{a},{b},{a},", None),
        ("essay,rater1_dom,rater2_dom,dom_score", "e{n},{a},{b},{a}", "If 'rater1_dom', 'rater2_dom' are workers"),
        ("prompt,chosen,rejected,judge", "p{n},x{a},y{b},j{b}", "'chosen' and 'rejected' look like winners and losers, which"),
    ],
)
def test_neighbours_of_shapes_that_were_misread(tmp_path, header, row, said):
    path = tmp_path / "table.csv"
    path.write_text("\n".join([header, *(row.format(n=n, a=n % 2, b=n % 3 % 2) for n in range(12))]) + "\n")
    if said is None:
        assert read_files([path], ReadOptions()).n_workers == 3
    else:
        with pytest.raises(ColumnError) as refused:
            read_files([path], ReadOptions())
        assert said in refused.value.message


def test_judges_inside_one_object_are_proposed_question_by_question(tmp_path):
    path = tmp_path / "scores.jsonl"
    said = {"gpt-4": 2, "claude": 3}
    rows = [
        {"id": n, "scores": {who: {"fluency": n % k, "coherence": n % (k + 1)} for who, k in said.items()}} for n in range(12)
    ]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    with pytest.raises(
        ColumnError, match=r"'scores\.gpt-4\.fluency', 'scores\.claude\.fluency' are workers .* '\*\.fluency'\. If"
    ):
        read_files([path], ReadOptions())
    assert read_files([path], ReadOptions.of({"worker_columns": "*.fluency"})).n_labels == 24


def test_an_id_beside_that_of_a_thing_may_be_the_worker(tmp_path):
    path = tmp_path / "tweets.csv"
    rows = [f"{n % 3},{n // 3},{n % 2},{n // 2 % 2}" for n in range(24)]
    path.write_text("\n".join(["id,tweet.id,hate.speech,rude.speech", *rows]) + "\n")
    with pytest.raises(ColumnError, match="If 'id' is who labelled and 'tweet.id' tells what was labelled".replace(".", r"\.")):
        read_files([path], ReadOptions())


def test_one_value_in_all_rows_is_no_label_where_questions_differ(tmp_path):
    path = tmp_path / "evaluation.csv"
    rows = [f"p{n // 2},a{n % 2},given,{1 + n % 5},{n % 3}" for n in range(24)]
    path.write_text("\n".join(["item,worker,response,Accuracy (1-5),note", *rows]) + "\n")
    with pytest.raises(ColumnError, match=r"'response' is called like a label, but .* every row; 'Accuracy \(1-5\)' could"):
        read_files([path], ReadOptions())


def test_people_a_and_b_beside_what_was_decided_are_no_sides(tmp_path):
    path = tmp_path / "graded.csv"
    rows = [f"i{n},{n % 3},{n % 2},{n // 2 % 3},{n // 3 % 2},{n % 3},{n % 2}" for n in range(12)]
    path.write_text("\n".join(["item,a_right,a_tone,b_right,b_tone,consensus_right,consensus_tone", *rows]) + "\n")
    with pytest.raises(
        ColumnError, match=r"If 'a_right', 'b_right' are workers .* 'a_right,b_right'\. If 'a_tone', 'b_tone' are"
    ):
        read_files([path], ReadOptions())


@pytest.mark.parametrize("beside", [{"model": "gpt"}, {"user": "author"}, {}])
def test_numbered_workers_inside_objects_come_before_a_model_that_was_rated(tmp_path, beside):
    path = tmp_path / "likert.json"
    said = {"annotator_1": 2, "annotator_2": 3}
    rows = [
        {
            "id": n,
            **beside,
            "kind": "ab"[n % 2],
            "said": {w: {"clear": n % k, "meaning kept": n % (k + 1)} for w, k in said.items()},
        }
        for n in range(12)
    ]
    path.write_text(json.dumps(rows))
    with pytest.raises(ColumnError) as refused:
        read_files([path], ReadOptions())
    assert refused.value.message == (
        "No column of 'likert.json' holds every label, but some may hold those of one worker each. If "
        "'said.annotator_1.clear', 'said.annotator_2.clear' are workers who answer one question, say --worker-columns "
        "'said.annotator_*.clear'. If 'said.annotator_1.meaning kept', 'said.annotator_2.meaning kept' are, say "
        "--worker-columns 'said.annotator_*.meaning kept'."
    )
    assert read_files([path], ReadOptions.of({"worker_columns": "said.annotator_*.meaning kept"})).n_labels == 24
    with pytest.raises(ColumnError, match="some may hold those of one worker each"):
        read_files([path], ReadOptions(item_column="id"))
    assert read_files([path], ReadOptions(worker_column="kind", label_column="said.annotator_1.clear")).n_labels == 12


RATINGS = [
    {
        "id": n,
        "prompt": f"What is {n} and more?",
        "response": f"It is as {n} says it is.",
        "clear": n % 5 + 1,
        "safe": n * 3 % 4 + 1,
    }
    for n in range(20)
]


def test_a_response_of_sentences_is_doubted_beside_ratings_however_few_rows_there_are(tmp_path):
    said = told(tmp_path, [{**row, "annotator": "ann"} for row in RATINGS])
    assert "'response' is called like a label, but it is another text in nearly every row; 'clear', 'safe' could be" in said
    assert read_labels(tmp_path / "answers_2024.csv", label_column="clear").n_labels == 20


def test_a_model_beside_several_ratings_may_be_what_was_rated(tmp_path):
    rows = [{"id": row["id"] // 2, "model": "xy"[row["id"] % 2], "clear": row["clear"], "safe": row["safe"]} for row in RATINGS]
    said = told(tmp_path, rows)
    assert "The column 'model' may name who labelled, or what was rated, with ratings in 'clear', 'safe'" in said
    assert read_labels(tmp_path / "answers_2024.csv", worker_column="model", label_column="clear").n_workers == 2
    one = [{key: row[key] for key in ("id", "model")} | {"verdict": row["clear"]} for row in rows]
    pd.DataFrame(one).to_csv(tmp_path / "b.csv", index=False)
    assert read_labels(tmp_path / "b.csv").report.columns["worker"] == "model"


def test_a_session_is_proposed_as_a_part_of_the_item_and_as_a_round(tmp_path):
    rows = [
        {"Panelist": p, "Session": s, "Product": t, "Spicy": (len(p) * s + len(t)) % 4, "Sweet": (s + len(t)) % 3}
        for p in ("a", "bb", "ccc")
        for s in (1, 2)
        for t in ("u", "vv", "www", "xxxx")
    ]
    said = told(tmp_path, rows)
    assert "say `item_column` 'Session,Product' `worker_column` 'Panelist'" in said
    assert "(`item_column` 'Product' if 'Session' counts rounds of labelling the same)" in said


def test_what_is_called_like_a_thing_is_not_proposed_as_the_label(tmp_path):
    rows = [{"user": u, "doc": f"d{n % 4}", "index": "ab"[n % 2], "term": f"t{n}"} for u in "xyz" for n in range(8)]
    said = told(tmp_path, rows)
    assert "No item or label column found among" in said
    assert "'user' is who labelled" not in said
    assert "may be 'term';" in said


def test_the_workers_of_each_question_are_told_by_the_means_beside_them(tmp_path):
    rows = [
        {f"{stem}{k}": value for stem, both in marks.items() for k, value in ((1, both[0]), (2, both[1]), ("", sum(both) / 2))}
        for n in N
        for marks in [{"old-s": (n % 4 + 1, n % 3 + 1), "old-n": (n % 3 + 1, n % 5 + 1), "new-s": (n % 2 + 1, n % 4 + 1)}]
    ]
    said = told(tmp_path, rows)
    assert "If 'old-s1', 'old-s2' are workers who answer one question, say `worker_columns` 'old-s1,old-s2'. If" in said
    assert said.count("`worker_columns`") == 3


def test_the_place_in_a_shuffled_run_tells_no_item(tmp_path):
    rows = [
        {
            "rater": w,
            "slide_number": k,
            "noun": f"n{(k + 5 * w) % 20}",
            "hue": f"h{(k + 5 * w) % 20 % 7}",
            "response": (k + w) % 3,
        }
        for w in range(4)
        for k in range(20)
    ]
    assert "slide_number" not in told(tmp_path, rows).partition("name it with")[2]
    fixed = [row | {"noun": f"n{row['slide_number']}", "hue": "red"} for row in rows]  # the same for every worker
    assert "`item_column` 'noun'" in told(tmp_path, fixed)
    alone = [{name: row[name] for name in ("rater", "slide_number", "response")} for row in rows]
    assert "`item_column` 'slide_number'" in told(tmp_path, alone)


def test_columns_without_a_name_and_ids_are_not_offered_as_labels(tmp_path):
    rows = [
        {"": 100 + w + 3 * k, "rater": w, "question_id": k, "mid": (w + k) % 4, "clear": (w + k) % 3, "brief": (w * k) % 3}
        for w in range(6)
        for k in range(12)
    ]
    assert "could be the label ('clear', 'brief')" in told(tmp_path, rows)


def test_times_are_not_offered_as_labels(tmp_path):
    rows = [
        {
            "Worker": w,
            "AnswerAcceptedTime": f"2016.08.{10 + w} 11:28:31 +0000",
            "sound": f"s{k}.wav",
            "Answer.3:sliders": 10 * k + w,
        }
        for w in range(3)
        for k in range(8)
    ]
    assert "the label may be 'AnswerAcceptedTime'" not in told(tmp_path, rows)


def test_people_are_known_by_names_with_an_index_and_by_a_word_at_the_end(tmp_path):
    rows = [
        {"worker_indices": w, "worker_unique_ids": f"w{w}", "guid": f"t{k}", "ratings": (w + k) % 3}
        for w in range(2)
        for k in range(20)
    ]
    said = told(tmp_path, rows)
    assert "`item_column` 'guid'" in said
    assert "`label_column` 'ratings'" in said
    assert "`format='wide'`" not in said
    heard = [{"nameListener": "abc"[w], "sound": f"s{k}", "warmth": (w + k) % 4} for w in range(3) for k in range(10)]
    assert "If 'nameListener' is who labelled and 'sound' tells what was labelled" in told(tmp_path, heard)


def test_a_long_list_of_columns_does_not_hide_what_is_proposed(tmp_path):
    columns = {f"question {n}: what do you think of a long text like this one?": [k % 3 for k in range(12)] for n in range(30)}
    said = told(tmp_path, {"case": [f"c{n}" for n in range(12)], **columns})
    assert "more) looks like" in said
    assert len(said.partition("; name")[0]) < 600


def test_a_column_that_parts_an_item_is_proposed_with_it(tmp_path):
    rows = [
        {"subject": f"{e}{w}", "experiment": e, "url": f"s{k}.wav", "rating": (7 * w + k + len(e)) % 5}
        for e in ("quality", "noise")
        for w in range(3)
        for k in range(12)
    ]
    said = told(tmp_path, rows)
    assert "`item_column` 'url,experiment'" in said
    assert "`item_column` 'url' " in said


def test_questions_and_workers_by_a_number_at_the_end_are_proposed_apart(tmp_path):
    columns = {f"{stem}{k}": [f"{stem} {(n * k) % 3}" for n in N] for stem in ("why_", "why_sub", "what") for k in (1, 2)}
    said = told(tmp_path, {"commit": [f"c{n}" for n in N], **columns})
    for one in ("`worker_columns` 'why_1,why_2'", "`worker_columns` 'why_sub*'", "`worker_columns` 'what*'"):
        assert one in said


def test_what_a_model_cost_is_not_proposed_as_the_label(tmp_path):
    rows = [
        {"key": f"k{k}", "judge": w, "cost_usd": 0.001 * k + w, "n_tokens": 7 * k + w, "depth": (k + w) % 3}
        for w in range(3)
        for k in range(10)
    ]
    said = told(tmp_path, [row | {"width": (row["judge"] + row["depth"]) % 2} for row in rows])
    assert "choose one of 'depth', 'width' with `label_column`" in said


def test_an_id_is_the_item_by_its_name_rather_than_a_remark(tmp_path):
    rows = [{"annotator": "abc"[n % 3], "answer_id": f"a{n}", "M1": n % 3, "comment": f"remark {n}"} for n in N]
    said = told(tmp_path, rows)
    assert "by its name the item may be 'answer_id'" in said
    assert "nearest" not in said
    rounds = [{"annotator": "abc"[n % 3], "round_id": f"r{n // 6}", "spot": f"s{n // 3}", "M1": n % 3} for n in range(36)]
    assert "by its name the item may be" not in told(tmp_path, rounds)


def test_a_prediction_of_the_same_classes_beside_the_label_is_asked_about(tmp_path):
    rows = [{"item": k, "worker": w, "label": (k * w) % 2, "prediction": (k + w) % 3 % 2} for k in range(12) for w in range(3)]
    assert "'label' and 'prediction' hold the same classes and differ in" in told(tmp_path, rows)
    path = tmp_path / "answers_2024.csv"
    assert read_labels(path, label_column="prediction").n_labels == 36
    pd.DataFrame([row | {"prediction": row["label"]} for row in rows]).to_csv(path, index=False)
    assert read_labels(path).report.columns["label"] == "label"


def test_rows_of_one_item_by_several_systems_are_asked_about(tmp_path):
    rows = [{"example_id": n // 3, "system_id": "xyz"[n % 3], "annotator": f"a{n % 7}", "label": n % 4 % 2} for n in range(42)]
    said = told(tmp_path, rows)
    assert "Rows of one 'example_id' are of several 'system_id'. If each was labelled by itself, say" in said
    path = tmp_path / "answers_2024.csv"
    (tmp_path / "spool").mkdir()
    with pytest.raises(ColumnError, match="Rows of one 'example_id' are of several 'system_id'"):
        spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1)
    assert read_labels(path, item_column="example_id,system_id").n_items == 42
    assert read_labels(path, item_column="example_id").n_items == 14
    pd.DataFrame([row | {"system_id": f"s{row['annotator']}"} for row in rows]).to_csv(path, index=False)
    assert read_labels(path).n_items == 14  # of each worker one, as a judge's model


def test_who_hardly_comes_again_may_be_what_was_labelled(tmp_path):
    rows = [{"vote_id": n, "country_id": f"c{n % 9}", "points": n % 5, "participant_id": f"p{n % 30}"} for n in range(36)]
    assert "No item or label column found" in told(tmp_path, rows)


def test_columns_named_after_workers_are_proposed_beside_a_user(tmp_path):
    rows = [
        {"example_id": n, "user": f"said {n}", "bot": "ab"[n % 2], **{f"Annotator{w}_rude": (n + w) % 2 for w in (1, 2, 3)},
         **{f"Annotator{w}_sad": n * w % 3 for w in (1, 2, 3)}}
        for n in range(20)
    ]  # fmt: skip
    said = told(tmp_path, rows)
    assert "`worker_columns` 'Annotator*_rude'" in said
    assert "`worker_columns` 'Annotator*_sad'" in said


def test_an_item_beside_raters_without_a_header_is_proposed(tmp_path):
    path = tmp_path / "rated.csv"
    path.write_text("".join(f"{100 + n},{'good' if n % 2 else 'bad'},{'good' if n % 3 else 'bad'},\n" for n in range(20)))
    with pytest.raises(ColumnError, match=r"`no_header=True` and name .* such as `item_column` '1' `worker_columns` '2,3'"):
        read_labels(path)
    labels = read_labels(path, no_header=True, item_column="1", worker_columns="2,3")
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (20, 2, 40)


def test_rows_that_all_end_before_the_last_columns_are_read_and_noted(tmp_path):
    path = tmp_path / "short.csv"
    rows = [f"i{n // 2},w{n % 2},{'xy'[n % 3 % 2]},z" for n in range(12)]
    path.write_text("\n".join(["item,worker,label,more,Approve,Reject", *rows]) + "\n")
    labels = read_labels(path)
    assert (labels.n_labels, labels.report.dropped) == (12, {})
    assert "All rows end before the last column (12 rows); what they lack is empty." in labels.report.notes
    path.write_text(path.read_text() + "i9,w9\n")
    with pytest.raises(CrowdassayError, match="Line 14"):
        read_labels(path)
    path.write_text("\n".join(["row,item,worker,label,more", *rows]) + "\n")  # the first cell may be the one that is missing
    with pytest.raises(CrowdassayError, match="Line 2"):
        read_labels(path)


def test_numbers_that_are_no_moments_are_not_said_to_be_times(tmp_path):
    path = tmp_path / "spent.csv"
    rows = [f"i{n // 2},w{n % 2},{'xy'[n % 3 % 2]},{20.5 + n}" for n in range(12)]
    path.write_text("\n".join(["item,worker,label,time", *rows]) + "\n")
    report = read_labels(path).report
    assert "time" not in report.columns
    assert any("The numbers in 'time' are no moments and were left aside" in note for note in report.notes)


def test_what_a_clip_was_asked_for_parts_it(tmp_path):
    rows = [{"item": f"{n // 3}.wav", "queried_emotion": "xyz"[n % 3], "user": f"u{n % 4}", "rating": n % 5} for n in range(48)]
    assert "Rows of one 'item' are of several 'queried_emotion'. If each was labelled by itself" in told(tmp_path, rows)


def test_a_model_beside_a_judges_score_was_rated(tmp_path):
    rows = [{"question_id": n // 4, "model": "wxyz"[n % 4], "judge_score": n % 5 + 1} for n in range(40)]
    assert "The column 'model' may name who labelled, or what was rated, with ratings in 'judge_score'" in told(tmp_path, rows)


def test_what_is_known_of_an_item_is_no_label(tmp_path):
    """A class of items was read as what the workers said, beside the scores that they gave."""
    rows = [
        {
            "thing_id": f"t{n}",
            "judge": j,
            "category": "xyz"[n % 3],
            "depth": (n * 7 + k * 3) % 10 / 10,
            "style": (n * 3 + k) % 7,
        }
        for n in range(12)
        for k, j in enumerate(("ann", "bo"))
    ]
    assert "'category' is called like a label, but it is the same in all rows of an item" in told(tmp_path, rows)
    votes = [{"voter": f"v{n % 9}", "title": "pqr"[n // 3 % 3], "place": n // 3 % 3 + 1} for n in range(27)]
    pd.DataFrame(votes).to_csv(tmp_path / "votes.csv", index=False)
    with pytest.raises(ColumnError, match="'place' is the same in all rows of an item, as what is known of it"):
        read_labels(tmp_path / "votes.csv", item_column="title")


def test_one_of_several_ratings_is_not_taken_for_its_name(tmp_path):
    rows = [
        {"clip": c, "user": w, "calm": (c + w) % 3, "glad": (c * w) % 3, "score": (c + 2 * w) % 3, "age": 20 + w}
        for c in range(6)
        for w in range(4)
    ]
    pd.DataFrame(rows).to_csv(tmp_path / "clips.csv", index=False)
    with pytest.raises(ColumnError, match="'score', 'calm', 'glad' are answered in the same classes"):
        read_labels(tmp_path / "clips.csv", item_column="clip")
    assert read_labels(tmp_path / "clips.csv", item_column="clip", label_column="score").n_labels == 24


def test_a_text_is_no_label_where_every_worker_has_a_file(tmp_path):
    """The reply that was rated was read as the label, since doubts were for tables with a worker's column alone."""
    for who in ("ann", "bo"):
        rows = [f"{n},So this is the reply that number {n} got,{n % 5 + 1},{n % 3 + 1}\n" for n in range(30)]
        (tmp_path / f"{who}.csv").write_text("id,response,engaging,relevant\n" + "".join(rows))
    with pytest.raises(
        ColumnError, match="'response' is called like a label, but it is another text in nearly every row; 'enga"
    ):
        read_labels([tmp_path / "ann.csv", tmp_path / "bo.csv"], worker_from_filename=True)


def test_the_row_may_tell_the_item_where_every_worker_has_a_file(tmp_path):
    """Two lists of the same sentences, some of them twice: each line is an item, and no column names it."""
    said = ["switch it on", "switch it off", "switch it on", "is it on", "louder", "louder", "stop", "go on"]
    paths = [tmp_path / "ann.csv", tmp_path / "bo.csv"]
    for path in paths:
        path.write_text(
            "sentence_said,intent,sure\n" + "".join(f"{text},{'xyz'[n % 3]},{n % 2}\n" for n, text in enumerate(said))
        )
    same = "If every worker's file lists the same items in the same order, say `item_column` row."
    for options in ({}, {"worker_from_filename": True}):
        with pytest.raises(ColumnError) as stop:
            read_labels(paths, **options)
        assert same in str(stop.value)
    labels = read_labels(paths, worker_from_filename=True, item_column="row", label_column="intent")
    assert (labels.n_items, labels.n_workers, labels.n_labels) == (8, 2, 16)
    assert labels.report.columns["item"] == "row"
    paths[1].write_text(paths[1].read_text() + "once more,x,1\n")
    with pytest.raises(DataError, match="these have 8, 9 rows; name the column"):
        read_labels(paths, worker_from_filename=True, item_column="row", label_column="intent")
    with pytest.raises(ColumnError, match="There is no column 'row'"):
        read_labels(paths[0], item_column="row", label_column="intent")


def test_columns_of_workers_are_proposed_beside_a_column_called_like_a_label(tmp_path):
    papers = {"title": [f"a study of {n}" for n in N], "response": ["sent"] * 12}
    papers |= {f"{who}_full_response": ["in" if n % 2 or n == k else "out" for n in N] for k, who in enumerate(("lb", "ld"))}
    papers |= {f"{who}_comments": [f"{who} says {n}" for n in N] for who in ("lb", "ld")}
    assert "say `worker_columns` '*_response'" in told(tmp_path, papers)


def test_workers_are_called_after_folders_where_all_files_are_called_alike(tmp_path):
    paths = [tmp_path / "inside" / who / "tags.csv" for who in ("emma", "joy", "kay")]
    for k, path in enumerate(paths):
        path.parent.mkdir(parents=True)
        path.write_text("item,label\n" + "".join(f"{n},{'xy'[(n + k) % 5 % 2]}\n" for n in N))
    with pytest.raises(FileError, match=r"give the files inside it: 'inside/\*/tags.csv'"):
        read_labels(tmp_path / "inside")
    labels = read_labels(tmp_path / "inside" / "*" / "tags.csv", worker_from_filename=True)
    assert (labels.workers.to_pylist(), labels.n_items) == (["emma", "joy", "kay"], 12)
    assert "All files are called 'tags', so that workers are called after their folders." in labels.report.notes
    (tmp_path / "inside" / "more" / "joy").mkdir(parents=True)
    more = tmp_path / "inside" / "more" / "joy" / "tags.csv"
    more.write_text(paths[1].read_text())
    with pytest.raises(DataError, match="All files are called 'tags', so that no name tells a worker"):
        read_labels([paths[1], more], worker_from_filename=True)


def test_a_guessed_worker_who_is_missing_in_many_rows_is_asked_about(tmp_path):
    """Rows of one judge were left out whole, since another column names the judges."""
    rows = [
        {"item": n // 2, "annotator": "ann" if n % 3 else "", "sheet": f"s{n % 2}", "label": "xy"[n % 4 % 2]} for n in range(24)
    ]
    said = told(tmp_path, rows)
    assert "'annotator' is empty in 8 of 24 rows that hold a label; if another column names who labelled" in said
    path = tmp_path / "answers_2024.csv"
    assert read_labels(path, worker_column="sheet").n_labels == 24
    assert read_labels(path, worker_column="annotator").n_labels == 16
    pd.DataFrame([{**row, "label": row["label"] if row["annotator"] else ""} for row in rows]).to_csv(path, index=False)
    assert read_labels(path).n_labels == 16  # nobody answered there


def test_workers_of_two_kinds_with_one_question_are_proposed_together(tmp_path):
    kinds = {
        f"label_{k}_{'MF'[k % 2]}": ["no" if (n + k) % 5 == 0 else "aye" if n % 2 else "no" for n in N] for k in range(1, 7)
    }
    said = told(tmp_path, {"id": N, "text": [f"this is said in {n}" for n in N], **kinds})
    assert "'label_1_F', 'label_2_M', 'label_3_F', 'label_4_M', 'label_5_F', 'label_6_M' are workers" in said
