"""Exports as they are in the wild: shapes that differ from what the tools document."""

import csv
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.errors import ColumnError, CrowdassayError, DataError, ParameterError
from crowdassay.labels.files import read_labels
from support import exports
from support.exports import csv_text, json_lines, rows_of, write

MTURK = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "SubmitTime", "WorkTimeInSeconds"]
HOUR = "Mon Mar 04 11:26:13 PST 2019"


def mturk_file(path, rows, inputs, answers):
    """Write a batch whose header ends in Approve and Reject, and whose rows stop two fields earlier."""
    lines = [[hit, f"A{n}", worker, "Approved", HOUR, "30", *cells] for n, (hit, worker, *cells) in enumerate(rows)]
    header = [*MTURK, *(f"Input.{name}" for name in inputs), *(f"Answer.{name}" for name in answers), "Approve", "Reject"]
    return write(path, csv_text(header, lines))


def test_rows_that_end_before_approve_and_reject(tmp_path):
    path = mturk_file(tmp_path / "Batch_1.csv", [("H1", "ann", "u1", "x"), ("H1", "bob", "u1", "y")], ["url"], ["tone"])
    labels = read_labels(path)
    assert rows_of(labels) == [("u1", "ann", "x"), ("u1", "bob", "y")]
    assert "(2 rows); what they lack is empty" in " ".join(labels.report.notes)
    assert labels.report.columns["label"] == "Answer.tone"
    assert labels.duration.tolist() == [30, 30]
    assert labels.time.tolist() == [1551727573.0] * 2


def test_a_row_that_ends_before_the_worker_is_no_row(tmp_path):
    path = write(
        tmp_path / "a.csv", csv_text([*MTURK, "Input.u", "Answer.q"], [["H1", "A1", "w", "ok", "", "", "u", "x"], ["H1", "A2"]])
    )
    with pytest.raises(DataError, match=r"Line 3 of 'a\.csv' has 2 fields"):
        read_labels(path)


def test_cells_that_are_no_utf8(tmp_path):
    rows = [("H1", "ann", "caf\u00e9", "x", "tr\u00e8s bien"), ("H1", "bob", "caf\u00e9", "y", "")]
    path = mturk_file(tmp_path / "a.csv", rows, ["text"], ["tone", "remark"])
    path.write_bytes(path.read_text(encoding="utf-8").encode("cp1252"))
    labels = read_labels(path, question="tone")
    assert rows_of(labels) == [("caf\u00e9", "ann", "x"), ("caf\u00e9", "bob", "y")]
    assert "not UTF-8 and were read as Windows-1252: 2 cells." in " ".join(labels.report.notes)
    assert "Windows" not in " ".join(read_labels(path, question="tone", item_column="HITId").report.notes)


def test_a_question_left_open_and_several_answers(tmp_path):
    rows = [("H1", "ann", "u1", "x"), ("H1", "bob", "u1", "{}"), ("H1", "cy", "u1", "x|y"), ("H1", "di", "u1", "y")]
    path = mturk_file(tmp_path / "a.csv", rows, ["url"], ["tone"])
    labels = read_labels(path)
    assert rows_of(labels) == [("u1", "ann", "x"), ("u1", "di", "y")]
    assert labels.report.dropped == {"no answer": 1, "more than one choice": 1}
    each = read_labels(path, options="each")
    assert rows_of(each)[:3] == [("u1 / x", "ann", "yes"), ("u1 / x", "cy", "yes"), ("u1 / x", "di", "no")]
    assert each.n_labels == 6
    assert ("u1", "cy", "x|y") in rows_of(read_labels(path, options="set"))


def test_numbered_inputs_of_one_item(tmp_path):
    inputs, answers = ["term1", "term2", "factor1", "factor2"], ["q1", "q2"]
    rows = [("H1", "ann", "a", "b", "c", "d", "1", "2"), ("H1", "bob", "a", "b", "c", "d", "2", "2")]
    path = mturk_file(tmp_path / "a.csv", rows, inputs, answers)
    with pytest.raises(ParameterError, match=r"`item_column` HITId"):
        read_labels(path)
    assert rows_of(read_labels(path, item_column="HITId", question="q1")) == [("H1", "ann", "1"), ("H1", "bob", "2")]


def test_sliders_and_free_text_are_noted(tmp_path):
    rows = [(f"H{n}", worker, f"u{n}", str(n + shift)) for n in range(60) for shift, worker in enumerate("ab")]
    path = mturk_file(tmp_path / "a.csv", rows, ["url"], ["slider"])
    assert "61 different numbers, each a class of its own; --bins 5" in " ".join(read_labels(path).report.notes)
    binned = read_labels(path, bins="3")
    assert binned.class_names == ("0 to 20", "20 to 40", "40 to 60")
    assert read_labels(path, bins="0,10,60").class_names == ("0 to 10", "10 to 60")
    assert binned.n_labels == 120
    for bins, words in (("1", "from 2"), ("5,1", "rising order"), ("x", "whole number"), ("0,10", "outside the edges")):
        with pytest.raises(CrowdassayError, match=words):
            read_labels(path, bins=bins)
    texts = mturk_file(tmp_path / "b.csv", [(f"H{n}", "a", f"u{n}", f"text {n}") for n in range(60)], ["url"], ["why"])
    assert "60 different texts, each a class of its own" in " ".join(read_labels(texts).report.notes)
    with pytest.raises(DataError, match="'text 0' is none"):
        read_labels(texts, bins="3")


@pytest.mark.parametrize("given", ["list", "pattern", "folder"])
@pytest.mark.parametrize("tool", ["mturk", "prodigy", "toloka", "appen"])
def test_several_files_of_an_export_are_one_export(tmp_path, tool, given):
    rows = [[("i1", "ann", "warm"), ("i1", "bob", "cold")], [("i2", "ann", "cold"), ("i1", "cy", "cold")]]
    folder = tmp_path / "batches"
    for number, part in enumerate(rows):
        (tmp_path / str(number)).mkdir()
        path = getattr(exports, tool)(part, tmp_path / str(number))
        folder.mkdir(exist_ok=True)
        path.rename(folder / f"batch-{number}{path.suffix}")
    paths = {"list": sorted(folder.iterdir()), "pattern": str(folder / "batch-*"), "folder": folder}
    labels = read_labels(paths[given])
    assert rows_of(labels) == sorted(rows[0] + rows[1])
    assert labels.report.format == tool


def test_one_question_is_chosen_over_all_files(tmp_path):
    one = mturk_file(tmp_path / "a.csv", [("H1", "ann", "u1", "x")], ["url"], ["tone"])
    two = mturk_file(tmp_path / "b.csv", [("H2", "ann", "u2", "y", "no")], ["url"], ["tone", "sure"])
    with pytest.raises(ParameterError, match=r"2 files' holds several questions \('tone', 'sure'\)"):
        read_labels([one, two])
    assert rows_of(read_labels([one, two], question="Answer.tone")) == [("u1", "ann", "x"), ("u2", "ann", "y")]


def test_several_choices_stop_where_they_would_lose_items(tmp_path, run):
    tasks = [exports.task(n, exports.annotation("ann", ["a", "b"]), exports.annotation("bob", ["aab"[n]])) for n in range(3)]
    path = write(tmp_path / "a.json", json.dumps(tasks))
    assert read_labels(path).report.dropped == {"more than one choice": 3}  # half of them, and no whole item or option
    tasks.append(exports.task(9, exports.annotation("ann", ["b", "c"])))
    write(path, json.dumps(tasks))
    words = r"4 of 7 answers .* name several .* and 1 item and 1 option would be lost.*`options='each'`.*`allow_drops=True`"
    with pytest.raises(DataError, match=words):
        read_labels(path)
    assert read_labels(path, allow_drops=True).n_labels == 3
    assert read_labels(path, options="each").n_labels == 7 * 3
    code, _, err = run("convert", path, "--out", tmp_path / "out.csv")
    assert (code, "--options each" in err) == (1, True)
    assert run("convert", path, "--options", "--out", tmp_path / "out.csv")[0] == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 22


def test_sagemaker_files_in_one_folder_are_items(tmp_path):
    folder = tmp_path / "worker-response" / "iteration-1"
    folder.mkdir(parents=True)
    for number in range(10):
        answers = [exports.response(f"w{k}", {"tone": {"label": "ab"[k % 2]}, "sure": "yes"}) for k in range(5)]
        write(folder / f"{number}.json", json.dumps({"answers": answers}))
    with pytest.raises(ParameterError, match=r"'tone', 'sure'"):
        read_labels(tmp_path)
    labels = read_labels(tmp_path, question="tone")
    assert (labels.n_labels, labels.n_items) == (50, 10)


def test_matrices_without_a_header(tmp_path):
    path = write(tmp_path / "mace.csv", "NOUN,,NOUN\nVERB,VERB,\n,NOUN,VERB\nNOUN,NOUN,NOUN\nVERB,,NOUN\n")
    labels = read_labels(path)
    assert (labels.n_labels, labels.n_items, labels.n_workers) == (11, 5, 3)
    assert "first line was taken for labels" in labels.report.notes[0]
    full = write(tmp_path / "full.csv", "1,2,1\n2,2,1\n1,1,1\n")
    with pytest.raises(ColumnError, match="If every column is a worker's, say `no_header=True` alone"):
        read_labels(full)  # which may be item, worker and label
    assert read_labels(full, no_header=True).n_labels == 9
    assert read_labels(full, format="wide").n_labels == 9  # numbers in row 1 are data


def test_wide_tables_with_a_text_column(tmp_path):
    header = ["id", "text", "ann", "bob", "gold"]
    rows = [[f"i{n}", f"Some text, number {n}", "ab"[n % 2], "a", "a"] for n in range(12)]
    path = write(tmp_path / "wide.csv", csv_text(header, rows))
    labels = read_labels(path, format="wide")
    assert (labels.n_labels, labels.workers.to_pylist()) == (24, ["ann", "bob"])
    assert "Not taken as workers: the columns 'text', 'gold'" in labels.report.notes[0]
    assert read_labels(path, worker_columns="ann,b*").workers.to_pylist() == ["ann", "bob"]
    assert read_labels(path, worker_columns=["ann", "gold"], item_column="text").items[0].as_py() == "Some text, number 0"
    with pytest.raises(ColumnError, match="No column is named 'zed'"):
        read_labels(path, worker_columns="zed")
    named = write(tmp_path / "named.csv", csv_text(["id", "text", "annotator1", "annotator2"], [row[:4] for row in rows]))
    assert read_labels(named).workers.to_pylist() == ["annotator1", "annotator2"]


def test_toloka_without_task_ids_and_with_blank_lines(tmp_path):
    header = ["INPUT:image", "INPUT:question", "OUTPUT:tone", "ASSIGNMENT:worker_id", "ASSIGNMENT:status"]
    rows = [
        ["a.jpg", "1", "x", "ann", "APPROVED"],
        ["a.jpg", "2", "y", "ann", "APPROVED"],
        ["a.jpg", "2", "x", "bob", "APPROVED"],
    ]
    text = csv_text(header, rows, "\t").replace("\r\n", "\r\n\r\n")
    labels = read_labels(write(tmp_path / "a.tsv", text))
    assert rows_of(labels) == [("a.jpg | 1", "ann", "x"), ("a.jpg | 2", "ann", "y"), ("a.jpg | 2", "bob", "x")]
    assert labels.report.dropped == {}


def test_appen_in_a_zip_and_as_json(tmp_path):
    rows = [("1", "ann", "warm"), ("1", "bob", "cold"), ("2", "ann", "cold")]
    path = exports.appen(rows, tmp_path)
    with zipfile.ZipFile(tmp_path / "f123.csv.zip", "w") as archive:
        archive.write(path, "f123.csv")
    assert rows_of(read_labels(tmp_path / "f123.csv.zip")) == rows
    units = [
        {
            "id": int(item),
            "data": {"url": "http://x"},
            "state": "finalized",
            "results": {
                "judgments": [
                    {
                        "id": n,
                        "worker_id": worker,
                        "created_at": "2015-10-13T19:14:25+00:00",
                        "tainted": False,
                        "data": {"tone": label},
                    }
                    for n, (one, worker, label) in enumerate(rows)
                    if one == item
                ]
            },
        }
        for item in ("1", "2")
    ]
    found = read_labels(write(tmp_path / "job.json", json_lines(units)))
    assert rows_of(found) == rows
    assert found.time.tolist() == [1444763665.0] * 3


def test_that_files_name_workers_is_said_even_if_the_item_is_missing_too(tmp_path):
    write(tmp_path / "maria.csv", "file_path,annotation\na.txt,good\n")
    with pytest.raises(ColumnError, match=r"No item or worker column.*`worker_from_filename=True`"):
        read_labels(tmp_path / "maria.csv")


def test_one_file_for_each_worker(tmp_path):
    for worker in ("annotator1", "annotator2"):
        write(tmp_path / f"{worker}.csv", f"id,label\n1,{worker[-1]}\n2,1\n")
    with pytest.raises(ColumnError, match=r"No worker column.*`worker_from_filename=True`"):
        read_labels(tmp_path)
    labels = read_labels(tmp_path, worker_from_filename=True)
    assert rows_of(labels) == [
        ("1", "annotator1", "1"),
        ("1", "annotator2", "2"),
        ("2", "annotator1", "1"),
        ("2", "annotator2", "1"),
    ]
    lone = write(
        tmp_path / "admin.jsonl", json_lines([{"id": 1, "text": "x", "label": ["a"]}, {"id": 2, "text": "y", "label": ["b"]}])
    )
    with pytest.raises(DataError, match=r"`worker_from_filename=True`"):
        read_labels(lone)
    assert read_labels(lone, worker_from_filename=True).workers.to_pylist() == ["admin"]


def test_zooniverse(tmp_path):
    header = [
        "classification_id",
        "user_name",
        "user_id",
        "workflow_id",
        "created_at",
        "annotations",
        "subject_data",
        "subject_ids",
    ]

    def row(number, user, value):
        tasks = [{"task": "T0", "task_label": "A zebra?", "value": value}, {"task": "T1", "value": [{"tool": 0, "x": 1.5}]}]
        return [
            number,
            user,
            "",
            "77",
            "2019-01-02 03:04:05 UTC",
            json.dumps(tasks),
            json.dumps({"500": {"f": "a.jpg"}}),
            "500",
        ]

    path = write(
        tmp_path / "c.csv", csv_text(header, [row(1, "ann", "Yes"), row(2, "not-logged-in-x", "No"), row(3, "bob", None)])
    )
    labels = read_labels(path)
    assert rows_of(labels) == [("500", "ann", "Yes"), ("500", "not-logged-in-x", "No")]
    assert (labels.report.format, labels.report.question, labels.report.dropped) == ("zooniverse", "T0", {"no answer": 1})
    assert labels.time.tolist() == [1546398245.0] * 2


def test_argilla_before_version_2(tmp_path):
    given = [
        {"user_id": "ann", "value": "warm", "status": "submitted"},
        {"user_id": "bob", "value": "cold", "status": "discarded"},
    ]
    record = {"text": "Hello", "tone": given, "tone-suggestion": None, "metadata": "{}", "id": "r1"}
    labels = read_labels(write(tmp_path / "a.json", json.dumps([record, {**record, "id": "r2"}])))
    assert rows_of(labels) == [("r1", "ann", "warm"), ("r2", "ann", "warm")]
    assert labels.report.dropped == {"discarded": 2}
    columns = {key: [one[key] for one in given] for key in ("user_id", "value", "status")}
    pq.write_table(pa.Table.from_pylist([{**record, "tone": columns, "tone-suggestion": "warm"}]), tmp_path / "a.parquet")
    assert rows_of(read_labels(tmp_path / "a.parquet")) == [("r1", "ann", "warm")]


def test_a_comparison_in_label_studio(tmp_path):
    def said(worker, side):
        result = [{"from_name": "better", "to_name": "a,b", "type": "pairwise", "value": {"selected": side}}]
        return {"completed_by": worker, "result": result}

    path = write(tmp_path / "a.json", json.dumps([exports.task(1, said("ann", "left"), said("bob", "right"))]))
    assert rows_of(read_labels(path)) == [("1", "ann", "left"), ("1", "bob", "right")]


def test_labelbox_before_ndjson(tmp_path):
    def record(item, worker, answer, **more):
        label = {
            "objects": [],
            "classifications": [{"title": "Tone", "value": "tone", "answer": {"title": answer, "value": answer}}],
        }
        own = {"ID": "x", "DataRow ID": item, "Labeled Data": "http://x", "Label": label, "Created By": worker}
        return {**own, "Created At": "2021-01-01T00:00:00.000Z", "Seconds to Label": 4.5, "Skipped": False, **more}

    records = [record("d1", "ann@x", "warm"), record("d1", "bob@x", "cold"), record("d2", "ann@x", "cold", Skipped=True)]
    labels = read_labels(write(tmp_path / "export.json", json.dumps(records)))
    assert rows_of(labels) == [("d1", "ann@x", "warm"), ("d1", "bob@x", "cold")]
    assert labels.duration.tolist() == [4.5, 4.5]
    header = ["ID", "DataRow ID", "Labeled Data", "Label", "Created By"]
    table = [["x", "d1", "http://x", json.dumps(records[n]["Label"]), records[n]["Created By"]] for n in (0, 1)]
    assert rows_of(read_labels(write(tmp_path / "v1.csv", csv_text(header, table)))) == rows_of(labels)
    bare = [exports.labelbox_record("d1", [{"annotations": {"classifications": [exports.radio("Tone", "warm")]}}])]
    with pytest.raises(DataError, match="export it with label details"):
        read_labels(write(tmp_path / "v2.ndjson", json_lines(bare)))


FOREIGN = {
    "coco.json": ('{"images": [], "annotations": [], "categories": []}', "a COCO file"),
    "cvat.xml": ("<?xml version='1.0'?>\n<annotations>\n <version>1.1</version></annotations>", "an export of CVAT"),
    "a.ann": ("T1\tPER 0 5\tAlice\n", "a brat annotation file"),
    "cas.json": ('{"%TYPES": {}, "%FEATURE_STRUCTURES": []}', "INCEpTION"),
    "webanno.tsv": ("#FORMAT=WebAnno TSV 3.3\n\n1-1\t0-5\tAlice\n", "WebAnno"),
    "survey.csv": ("StartDate,EndDate,Status,ResponseId,Q1\n2024,2024,0,R_1,yes\n", "Qualtrics"),
    "nested.json": ('{"items": [{"id": 1}], "by": [{"id": 2}]}', "one JSON object with lists inside ('items', 'by')"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_tools_are_refused_by_name(tmp_path, name):
    text, words = FOREIGN[name]
    with pytest.raises(DataError) as error:
        read_labels(write(tmp_path / name, text))
    assert words in str(error.value)
    assert "item" in str(error.value)


def test_gold_is_not_asked_for_in_words_of_another_option(tmp_path, run):
    path = exports.mturk([("i", "a", "x"), ("i", "b", "y")], tmp_path)
    code, _, err = run("convert", path, "--out", tmp_path / "a.csv", "--gold-out", tmp_path / "g.csv")
    assert code == 1
    assert "--gold-out" in err


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(8, 10), min_size=1, max_size=8),
    blank=st.lists(st.sampled_from(["", "\n", "\r\n\r\n", ",,,\n"]), min_size=8, max_size=8),
    bom=st.booleans(),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    line_end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_short_rows_blank_lines_marks_and_separators(tmp_path_factory, lengths, blank, bom, separator, line_end, quoting):
    """However rows end, every judgement that is there is read, and nothing else."""
    folder = tmp_path_factory.getbasetemp()
    header = [*MTURK, "Input.url", "Answer.tone", "Approve", "Reject"]
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=separator, quoting=quoting, lineterminator=line_end)
    writer.writerow(header)
    expected = []
    for number, length in enumerate(lengths):
        row = [f"H{number}", f"A{number}", f"w{number}", "Approved", HOUR, "1", f"u {number}, x", "ab"[number % 2], "", ""]
        writer.writerow(row[:length])
        buffer.write(blank[number].replace(",", separator))
        expected.append((row[6], row[2], row[7]))
    path = folder / "wild.csv"
    path.write_bytes((("\ufeff" if bom else "") + buffer.getvalue()).encode())
    labels = read_labels(path)
    assert rows_of(labels) == sorted(expected)
    assert sum(labels.report.dropped.values()) == 0


def test_a_column_that_only_sounds_like_the_item_is_pointed_out(tmp_path):
    lines = [(str(n), f"w{n % 2}", f"t{n // 2}", "IR", "yn"[n % 2]) for n in range(8)]
    path = write(tmp_path / "rte.csv", csv_text(["annotation_no", "worker", "orig", "task", "response"], lines))
    with pytest.raises(
        ColumnError, match=r"told by 'task', more than half .* told by 'orig', none does.*say `item_column` 'orig'"
    ):
        read_labels(path)
    labels = read_labels(path, item_column="task")
    assert (labels.report.columns["item"], labels.report.repeats) == ("task", 6)
    assert [note.endswith("No worker labels an item twice with --item-column 'orig'.") for note in labels.report.notes] == [
        True
    ]
    right = read_labels(path, item_column="orig")
    assert (right.n_items, right.report.repeats, right.report.notes) == (4, 0, ())


def test_numbers_inside_names_of_inputs(tmp_path):
    inputs = ["list", "item_1_condition", "field_1_1", "item_2_condition", "field_2_1"]
    rows = [("H1", w, "7", "c1", "s1", "c2", "s2", *given, "", "en") for w, given in (("ann", "35"), ("bob", "46"))]
    path = mturk_file(tmp_path / "a.csv", rows, inputs, ["Choice1", "Choice2", "Sample", "english"])
    with pytest.raises(ParameterError, match=r"`item_column` HITId.*'item_\*_condition', 'field_\*_1'"):
        read_labels(path)
    labels = read_labels(path, item_column="field_*_1")
    assert rows_of(labels) == [("s1", "ann", "3"), ("s1", "bob", "4"), ("s2", "ann", "5"), ("s2", "bob", "6")]
    assert labels.report.columns == {"item": "Input.field_*_1", "worker": "WorkerId", "label": "Answer.Choice"}
    assert rows_of(read_labels(path, question="Choice2")) == [("H1", "ann", "5"), ("H1", "bob", "6")]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_blank_after_every_separator_is_no_part_of_a_cell(tmp_path, quote):
    label = "a, b" if quote else "a b"
    lines = [("item", "worker", "label"), ("i1", "ann", label), ("i1", "bob", ""), ("i2", "ann", "c")]
    text = "".join(", ".join(f"{quote}{cell}{quote}" for cell in line) + "\n" for line in lines)
    assert rows_of(read_labels(write(tmp_path / "a.csv", text))) == [("i1", "ann", label), ("i2", "ann", "c")]


def test_a_blank_that_begins_some_cells_belongs_to_them(tmp_path):
    path = write(tmp_path / "a.csv", "item,worker,label\ni1,ann, a\ni1,bob,a\n")
    assert [label for *_, label in rows_of(read_labels(path))] == [" a", "a"]


def test_names_in_the_first_column_are_no_labels(tmp_path):
    rows = [(who, str(n % 3), str(n % 2), str(n % 3)) for n in range(12) for who in ("Alex", "Paul")]
    path = write(tmp_path / "spans.csv", "".join(",".join(row) + "\n" for row in rows))
    with pytest.raises(ColumnError, match="looks like labels, not like names of columns: 'Alex' and '0' come again below"):
        read_labels(path)


def test_lines_of_three_without_a_header_are_told_what_reads_them(tmp_path):
    path = write(tmp_path / "input.txt", "".join(f"worker{n % 3}\turl{n // 3}\t{'ab'[n % 2]}\n" for n in range(9)))
    with pytest.raises(ColumnError, match=r"worker, item, label without a header, say .*nltk"):
        read_labels(path)
    assert len(rows_of(read_labels(path, format="nltk"))) == 9


JUDGED = [("7", "ann", "x"), ("7", "bob", "y"), ("8", "ann", "y"), ("8", "bob", "y")]
GIVEN = {i: [(w, c) for j, w, c in JUDGED if i == j] for i in "78"}
VOTES = {i: [{"annotator_id": w, "label": c, "target": ["z"]} for w, c in given] for i, given in GIVEN.items()}
LABELS = {i: [c for _, c in given] for i, given in GIVEN.items()}
NESTED = {
    "a list of judgements": [{"id": i, "text": "t", "votes": votes} for i, votes in VOTES.items()],
    "objects by item": {i: {"annotators": votes, "tokens": ["a"]} for i, votes in VOTES.items()},
    "two lists": [{"uid": i, "annotators": ["ann", "bob"], "annotations": labels} for i, labels in LABELS.items()],
    "two texts": {
        i: {"text": "t", "annotators": "ann,bob", "annotations": ",".join(labels), "soft_label": {"x": "0.5"}}
        for i, labels in LABELS.items()
    },
    "scores": [{"uid": i, "x": "t", "ratings": [{"rater": w, "score": c} for w, c in given]} for i, given in GIVEN.items()],
}


@pytest.mark.parametrize("shape", NESTED)
def test_judgements_inside_items(tmp_path, shape):
    labels = read_labels(write(tmp_path / "a.json", json.dumps(NESTED[shape])))
    assert rows_of(labels) == JUDGED
    assert labels.report.format == "nested"


def test_judgements_inside_items_with_another_question_and_item(tmp_path):
    path = write(tmp_path / "a.json", json.dumps(NESTED["a list of judgements"]))
    assert {label for *_, label in rows_of(read_labels(path, question="target"))} == {"z"}
    assert {item for item, *_ in rows_of(read_labels(path, item_column="text"))} == {"t"}
    with pytest.raises(ColumnError, match="no key 'x' for the item"):
        read_labels(path, item_column="x")
    same = write(tmp_path / "b.json", json.dumps([{"text": "t", "votes": [{"user": "a", "vote": 1}]}] * 2))
    with pytest.raises(ColumnError, match="tells items apart"):
        read_labels(same)


def played(who, condition="nice", **more):
    """Return what one worker's experiment sent: a list of what was played, and one of the ratings."""
    files = [f"{n}.wav" for n in range(4)]
    data = {"filename": files, "rating": [(n + len(who)) % 3 for n in range(4)], "age": ["31"], "condition": condition, **more}
    return {"WorkerId": who, "SubmitTime": "2017-04-11T02:29:57Z", "answers": {"data": data}}


def test_parallel_lists_of_items_and_labels_of_one_worker(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([played("ann"), played("cy"), played("carl")]))
    labels = read_labels(path)
    assert (labels.report.format, labels.report.question, labels.n_labels) == ("nested", "rating", 12)
    assert labels.report.columns == {"item": "filename", "worker": "WorkerId", "label": "rating"}
    assert rows_of(labels)[:3] == [("0.wav", "ann", "0"), ("0.wav", "carl", "1"), ("0.wav", "cy", "2")]


def test_parallel_lists_are_not_thrown_together_where_other_things_may_have_been_asked(tmp_path):
    path = write(tmp_path / "a.jsonl", json_lines([played("ann"), played("cy", "clear"), played("carl")]))
    with pytest.raises(
        ColumnError, match=r"'filename'; if .* 'condition' too, say `item_column` 'filename,condition', otherwise"
    ):
        read_labels(path)
    assert read_labels(path, item_column="filename,condition").n_items == 8
    assert read_labels(path, item_column="filename").n_items == 4
    folder = tmp_path / "each"
    folder.mkdir()
    for who in ("ann", "cy"):
        write(folder / f"{who}.json", json.dumps(played(who)))
    with pytest.raises(ColumnError, match="'condition' too"):  # of which a file by itself cannot tell
        read_labels(folder)
    assert read_labels(folder, item_column="filename").n_labels == 8


def test_tags_of_tokens_are_no_labels_of_items(tmp_path):
    records = [{"user": who, "text": ["a", "frog", "sat"], "labels": ["O", "B-X", "O"]} for who in ("ann", "bob")]
    with pytest.raises((ColumnError, DataError)):
        read_labels(write(tmp_path / "a.jsonl", json_lines(records)))


def test_judgements_deep_in_a_record_are_told_by_the_keys_that_lead_to_them(tmp_path):
    def reviews(n):
        return [
            {"worker_id": who, "text-rating": (n + len(who)) % 3, "text-rank": n % 2, "spans": []} for who in ("ann", "carl")
        ]

    records = [
        {
            "passage-id": f"p{m}",
            "questions": {str(q): {s: {"said": "x", "reviews": reviews(m + q)} for s in "ab"} for q in (0, 1)},
        }
        for m in (0, 1)
    ]
    path = write(tmp_path / "a.jsonl", json_lines(records))
    labels = read_labels(path)
    assert (labels.report.format, labels.report.question, labels.n_labels, labels.n_items) == ("nested", "text-rating", 16, 8)
    assert rows_of(labels)[:2] == [("p0 | 0 | a", "ann", "0"), ("p0 | 0 | a", "carl", "1")]
    assert read_labels(path, question="text-rank").n_classes == 2
    nameless = [{key: value for key, value in record.items() if key == "questions"} for record in records]
    with pytest.raises((ColumnError, DataError)):
        read_labels(write(tmp_path / "b.jsonl", json_lines(nameless)))


def test_labels_whose_workers_are_not_known_are_refused_by_name(tmp_path):
    path = write(tmp_path / "snli.jsonl", json_lines([{"pairID": "p1", "annotator_labels": ["a", "b"]}]))
    with pytest.raises(DataError, match="'annotator_labels' list labels without saying who gave which"):
        read_labels(path)


def xml_of(**answers):
    inside = "".join(
        f"<Answer><QuestionIdentifier>{name}</QuestionIdentifier><FreeText>{text}</FreeText></Answer>"
        for name, text in answers.items()
    )
    return f'<?xml version="1.0"?>\n<QuestionFormAnswers xmlns="http://x">{inside}</QuestionFormAnswers>'


@pytest.mark.parametrize("shape", ["table", "list", "response"])
def test_assignments_with_answers_in_xml(tmp_path, shape):
    given = [("H1", "ann", "R&amp;B", "Approved"), ("H1", "bob", "folk", "Submitted"), ("H1", "cy", "folk", "Rejected")]
    answers = [xml_of(tone=tone, note="") for *_, tone, _ in given]
    found = [
        {"HITId": h, "WorkerId": w, "AssignmentStatus": s, "Answer": a} for (h, w, _, s), a in zip(given, answers, strict=True)
    ]
    if shape == "table":
        path = write(tmp_path / "a.csv", csv_text(list(found[0]), [list(row.values()) for row in found]))
    else:
        path = write(tmp_path / "a.json", json.dumps(found if shape == "list" else {"NextToken": "t", "Assignments": found}))
    labels = read_labels(path)
    assert rows_of(labels) == [("H1", "ann", "R&B"), ("H1", "bob", "folk")]
    assert labels.report.dropped == {"rejected": 1}
    assert labels.report.columns["label"] == "Answer.tone"


def test_a_column_that_assignments_lack_is_named(tmp_path):
    path = write(tmp_path / "a.csv", csv_text(["HITId", "WorkerId", "Answer"], [["H1", "ann", xml_of(tone="warm")]]))
    with pytest.raises(ColumnError, match="'picture'"):
        read_labels(path, item_column="picture")


def test_forms_inside_answers_in_xml(tmp_path):
    form = json.dumps([{"tone": {"warm": True, "cold": False}}])
    row = ["H1", "ann", xml_of(taskAnswers=form)]
    assert rows_of(read_labels(write(tmp_path / "a.csv", csv_text(["HITId", "WorkerId", "Answer"], [row])))) == [
        ("H1", "ann", "warm")
    ]


def test_results_of_the_command_line_tools_keep_their_extension(tmp_path):
    names = ["hitid", "annotation", "workerid", "assignmentstatus", "Answer.1"]
    rows = [["H1", "i1", w, "Submitted", c] for w, c in (("ann", "x"), ("bob", "y"))]
    path = write(tmp_path / "a.results", csv_text(names, rows, "\t"))
    assert rows_of(read_labels(path)) == [("H1", "ann", "x"), ("H1", "bob", "y")]


@pytest.mark.parametrize("wrap", [lambda tasks: {"id": 1, "tasks": tasks}, lambda tasks: {"projects": [{"tasks": tasks}]}])
def test_tasks_inside_projects(tmp_path, wrap):
    tasks = [exports.task("7", exports.annotation("ann", ["x"]), exports.annotation("bob", ["y"]))]
    labels = read_labels(write(tmp_path / "a.json", json.dumps(wrap(tasks))))
    assert rows_of(labels) == [("7", "ann", "x"), ("7", "bob", "y")]
    assert labels.report.format == "label-studio"


def test_answers_that_are_left_out_name_what_keeps_them(tmp_path):
    rows = [("H1", w, "u1", c) for w, c in (("ann", "x"), ("bob", "y"), ("cy", "x|y"))]
    labels = read_labels(mturk_file(tmp_path / "a.csv", rows, ["url"], ["tone"]))
    assert labels.report.dropped == {"more than one choice": 1}
    assert "To keep answers with more than one choice, say --options each, or --options set." in labels.report.notes


def test_sessions_inside_what_was_reviewed(tmp_path):
    versions = [{"accept": ["a"], "sessions": ["ann", "bob"]}, {"accept": ["b"], "answer": "accept", "sessions": ["cy"]}]
    record = {"text": "t", "_input_hash": 5, "_task_hash": 6, "options": [{"id": "a"}], "versions": versions, "accept": ["b"]}
    path = write(tmp_path / "a.jsonl", json_lines([{**record, "answer": "accept", "_view_id": "review", "_session_id": None}]))
    assert rows_of(read_labels(path)) == [("5", "ann", "a"), ("5", "bob", "a"), ("5", "cy", "b")]


@pytest.mark.parametrize("names", [("Evaluator 1", "Evaluator 2"), ("expert_A", "expert_B"), ("grader1", "grader2")])
def test_more_names_of_those_who_judge(tmp_path, names):
    lines = [["id", "text", *names, "Average"], *([f"i{n}", f"t {n}", "ab"[n % 2], "b", "x"] for n in range(12))]
    path = write(tmp_path / "a.csv", "".join(",".join(line) + "\n" for line in lines))
    given = [(f"i{n}", worker, label) for n in range(12) for worker, label in zip(names, ("ab"[n % 2], "b"), strict=True)]
    assert rows_of(read_labels(path)) == sorted(given)


def test_numbers_with_and_without_zeros(tmp_path):
    path = mturk_file(tmp_path / "a.csv", [("H1", "ann", "u1", "u2", "x", "y")], ["url01", "url02"], ["q1", "q2"])
    assert rows_of(read_labels(path)) == [("u1", "ann", "x"), ("u2", "ann", "y")]


def test_an_option_that_is_only_chosen_with_others_is_not_lost_in_silence(tmp_path):
    rows = [("H1", w, "u1", c) for w, c in (("ann", "x"), ("bob", "y"), ("cy", "x"), ("di", "x|z"))]
    path = mturk_file(tmp_path / "a.csv", rows, ["url"], ["tone"])
    with pytest.raises(DataError, match=r"1 of 4 answers to 'tone' name several choices, and 1 option would be lost"):
        read_labels(path)
    assert read_labels(path, allow_drops=True).report.dropped == {"more than one choice": 1}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\n\nPeter\tB-PER\n", r"tokens with tags such as 'B-ORG' \(CoNLL\)"),
        ("a.conll", "EU B-ORG\n", r"tokens with tags \(CoNLL\)"),
        (
            "a.csv",
            "doc,annotator,start,end,label\nd,a,0,5,PER\nd,a,9,12,ORG\nd,b,0,5,PER\n",
            "spans, each from 'start' to 'end'",
        ),
        ("a.jsonl", '{"doc": "d", "who": "a", "start_offset": 0, "end_offset": 5, "tag": "PER"}\n', "spans, each from"),
        ("a.tsv", "system\tdoc\trater\ttarget\tcategory\tseverity\nA\td\tr\tt\tFluency\tMinor\n", r"error spans \(MQM\)"),
        ("a.tsv", "#FORMAT=WebAnno TSV 3.2\n\n\n#Text=a\n1-1\t0-1\ta\t_\n", "WebAnno TSV"),
    ],
)
def test_spans_and_tokens_are_refused_by_name_with_what_to_give_instead(tmp_path, name, text, said):
    path = write(tmp_path / name, text)
    with pytest.raises(DataError, match=f"{said}.*one row per judgement"):
        read_labels(path)


@pytest.mark.parametrize(
    ("header", "items"),
    [
        (["system", "doc", "doc_id", "seg_id", "rater", "source", "target", "category", "severity"], "system,seg_id"),
        (
            ["system", "doc", "docSegId", "globalSegId", "rater", "source", "target", "category", "severity"],
            "system,globalSegId",
        ),
        (["doc", "docSegId", "rater", "source", "target", "category", "severity"], "doc,docSegId"),
        (["segment_id", "rater", "start", "end", "severity"], "segment_id"),
    ],
)
def test_one_column_of_errors_in_segments_is_read_as_told(tmp_path, header, items):
    rows = [[*("1" * (len(header) - 1)), "Minor"], [*("1" * (len(header) - 1)), "Major"]]
    path = write(tmp_path / "errors.tsv", csv_text(header, rows).replace(",", "\t"))
    said = rf"one row per judgement.*; or say `item_column` '{items}' `worker_column` 'rater' `label_column` 'severity', which"
    with pytest.raises(DataError, match=said):
        read_labels(path)
    labels = read_labels(path, item_column=items, worker_column="rater", label_column="severity")
    assert (labels.n_labels, labels.class_names) == (2, ("Major", "Minor"))


def test_names_that_begin_like_tags_are_no_tags_of_tokens(tmp_path):
    rows = [[worker, text, model, str(n % 2)] for text in "xy" for n, worker in enumerate("uvw") for model in ("E-t5-base",)]
    path = write(tmp_path / "a.csv", csv_text(["annotator", "text", "system", "label"], [*rows, *rows]))
    assert read_labels(path).class_names == ("0", "1")
    tokens = write(tmp_path / "b.tsv", "EU\tS-ORG\nin\tO\nNew\tB-LOC\nYork\tE-LOC\n")
    with pytest.raises(DataError, match="tokens with tags such as 'S-ORG'"):
        read_labels(tokens)


def test_tags_and_times_that_workers_gave_an_item_each_are_labels(tmp_path):
    tokens = write(tmp_path / "a.csv", "token_id,item,worker,label\n1,EU,u,B-ORG\n1,EU,v,O\n2,says,u,O\n2,says,v,O\n")
    assert read_labels(tokens).class_names == ("B-ORG", "O")
    clips = write(tmp_path / "b.csv", "clip_id,worker,start,end,label\n1,u,0,5,x\n1,v,0,5,y\n2,u,5,9,x\n2,v,5,9,x\n")
    assert read_labels(clips).n_items == 2


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("item,ann,bob,cy\n1,x,y,x\n2,y,y,x\n3,x,x,x\n4,y,x,y\n", {"wide"}),
        ("q,model_name,text,foo\n1,x,some text here,1\n2,y,other text,2\n3,x,third text,2\n", set()),
        ("u,i1,x\nv,i1,y\nu,i2,x\nv,i2,x\nw,i1,x\n", {"nltk"}),
    ],
)
def test_only_what_reads_the_file_is_proposed(tmp_path, text, proposed):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ColumnError) as stop:
        read_labels(path)
    said = str(stop.value)
    assert {name for name in ("wide", "forms", "nltk") if f"`format='{name}'`" in said} == proposed
    for name in proposed:
        assert read_labels(path, format=name).n_labels > 2


def test_a_header_written_as_a_comment_names_the_columns(tmp_path):
    path = write(tmp_path / "a.tsv", "# id\tturkerid\tlabel\n1\ta\tx\n1\tb\ty\n")
    assert rows_of(read_labels(path)) == [("1", "a", "x"), ("1", "b", "y")]


def test_judgements_that_name_their_items_are_no_judgements_of_what_holds_them(tmp_path):
    judgements = [{"item": item, "rater": rater, "label": "x"} for item in "abc" for rater in ("ann", "bob")]
    labels = read_labels(write(tmp_path / "a.json", json.dumps({"study_id": "s1", "labels": judgements})))
    assert labels.items.to_pylist() == ["a", "b", "c"]


def test_maps_of_the_same_workers_are_questions(tmp_path):
    """One of several answers of each worker was read, free texts at that, and the others were said not to be there."""
    who = [f"Annotator_{k}" for k in (1, 2, 3)]
    records = [
        {
            "sentence": f"the sentence that is number {n}",
            "why": {name: f"since {n} is {k}" for k, name in enumerate(who)},
            "tone": {name: ("good", "bad")[(n + k) % 3 % 2] for k, name in enumerate(who)},
            "seen": {"web": 3, "print": 4},
        }
        for n in range(8)
    ]
    path = write(tmp_path / "a.json", json.dumps(records))
    with pytest.raises(ParameterError, match=r"holds several questions \('why', 'tone'\)"):
        read_labels(path)
    labels = read_labels(path, question="tone")
    assert (labels.n_items, labels.workers.to_pylist(), labels.class_names) == (8, who, ("bad", "good"))
