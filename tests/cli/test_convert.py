"""`crowdassay convert`, and the options that every reading command shares."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from crowdassay.labels.files import read_labels
from support import exports

ROWS = [
    ("i1", "warm", "", "", "t1", "ann@x.org", "APPROVED"),
    ("i1", "cold", "", "", "t1", "bob@x.org", "APPROVED"),
    ("i1", "cold", "", "", "t1", "cat@x.org", "REJECTED"),
    ("i2", "warm", "cold", "", "t2", "ann@x.org", "APPROVED"),
    ("i2", "cold", "cold", "", "t2", "bob@x.org", "APPROVED"),
]


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)]


def test_the_plain_form_and_the_gold_are_written(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    path = exports.toloka_tsv(ROWS, tmp_path)
    out, gold = tmp_path / "plain" / "labels.csv", tmp_path / "gold.csv"
    code, printed, _ = run("convert", path, "--out", out, "--gold-out", gold)
    assert code == 0
    assert table(out) == [("item", "worker", "label"), *((row[0], row[5], row[1]) for row in ROWS if row[6] == "APPROVED")]
    assert table(gold) == [("item", "label"), ("i2", "cold")]
    for line in (
        "Read 4 labels of 2 items by 2 workers from assignments.tsv",
        "Read as toloka, question tone: 4 of 5 judgements kept.",
        "Left out 1 row: rejected.",
        "The export itself knows the class of 1 item.",
        "Wrote 4 labels to",
    ):
        assert line in printed


def test_what_was_converted_reads_back_the_same(run, tmp_path):
    path = exports.toloka_tsv(ROWS, tmp_path)
    for name in ("a.csv", "a.parquet"):
        assert run("convert", path, "--out", tmp_path / name)[0] == 0
        assert exports.rows_of(read_labels(tmp_path / name)) == exports.rows_of(read_labels(path))
    assert pq.read_table(tmp_path / "a.parquet").column_names == ["item", "worker", "label"]


def test_the_report_as_json(run, tmp_path):
    code, printed, _ = run("convert", exports.toloka_tsv(ROWS, tmp_path), "--out", tmp_path / "a.csv", "--json")
    report = json.loads(printed)
    assert code == 0
    assert (report["format"], report["question"], report["gold"], report["dropped"]) == ("toloka", "tone", 1, {"rejected": 1})
    assert (report["rows_read"], report["rows_kept"]) == (5, 4)


def test_cells_that_a_spreadsheet_would_run(run, tmp_path):
    path = exports.crowd_kit([("i", "=1+1", "x"), ("i", "-5", "y")], tmp_path)
    run("convert", path, "--out", tmp_path / "safe.csv")
    run("convert", path, "--out", tmp_path / "raw.csv", "--raw")
    assert [row[1] for row in table(tmp_path / "safe.csv")] == ["worker", "'=1+1", "-5"]
    assert [row[1] for row in table(tmp_path / "raw.csv")] == ["worker", "=1+1", "-5"]


def test_pseudonyms(run, tmp_path):
    path = exports.toloka_tsv(ROWS, tmp_path)
    for name in ("a.csv", "b.csv"):
        assert run("convert", path, "--out", tmp_path / name, "--pseudonymise", "--salt", "pepper")[0] == 0
    assert table(tmp_path / "a.csv") == table(tmp_path / "b.csv")
    assert "x.org" not in (tmp_path / "a.csv").read_text()


def test_aggregate_takes_an_export_as_it_is(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    path = exports.toloka_tsv(ROWS, tmp_path)
    code, printed, _ = run("aggregate", path, "--method", "majority", "--out", tmp_path / "r")
    assert code == 0
    assert "Read as toloka, question tone: 4 of 5 judgements kept." in printed
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert (summary["import_report"]["format"], summary["import_report"]["gold"], summary["n_gold"]) == ("toloka", 1, 0)
    code, printed, _ = run("aggregate", path, "--method", "majority", "--use-gold", "--json")
    assert (code, json.loads(printed)["n_gold"]) == (0, 1)


BAD = {
    "unknown tool": (2, ["--from", "excel"], "no format 'excel'"),
    "wrong tool": (1, ["--from", "prodigy"], "cannot come from prodigy"),
    "unknown question": (2, ["--question", "mood"], "no question 'mood'"),
    "no predictions": (2, ["--predictions"], "no model predictions"),
    "misspelt item": (2, ["--item-column", "imgae"], "no column 'imgae'"),
    "salt alone": (2, ["--salt", "s"], "--pseudonymise"),
    "out of what": (2, ["--out", "labels.doc"], ".csv, .xlsx or .parquet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_requests_get_one_sentence_and_write_nothing(run, tmp_path, case):
    expected, options, words = BAD[case]
    path = exports.toloka_tsv(ROWS, tmp_path)
    into = [] if "--out" in options else ["--out", tmp_path / "a.csv"]
    code, out, err = run("convert", path, *into, *options)
    assert (code, out) == (expected, "")
    assert words in err
    assert len(err.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_gold_is_asked_for_where_there_is_none(run, tmp_path):
    path = exports.toloka([("i", "a", "x"), ("i", "b", "y")], tmp_path)
    code, _, err = run("convert", path, "--out", tmp_path / "a.csv", "--gold-out", tmp_path / "g.csv")
    assert code == 1
    assert "no gold" in err
    assert not (tmp_path / "a.csv").exists()
