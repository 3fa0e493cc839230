"""Rows of docs/reliability.md on files: what is in them and what is wrong with them."""

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import DataError
from crowdassay.labels.files import read_labels
from crowdassay.labels.frames import as_labels

HEAD = "item,worker,label\n"
GOOD = HEAD + "a,w,x\na,v,y\nb,w,x\nb,v,x\n"


@pytest.fixture
def put(tmp_path):
    """Write a file; return its path."""

    def write(data, name="labels.csv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


@pytest.fixture
def refusal(run, tmp_path):
    """Aggregate a file that must be refused: one line, that exit code, nothing written. Return the line."""

    def call(path, *options, code=1):
        before = sorted(tmp_path.rglob("*"))
        got, out, err = run("aggregate", path, "--out", tmp_path / "results", *options)
        assert (got, out) == (code, ""), err
        assert len(err.strip().splitlines()) == 1
        assert "Traceback" not in err
        assert sorted(tmp_path.rglob("*")) == before
        return err

    return call


@pytest.mark.parametrize("text", ["", HEAD, "\n\n", HEAD + " , , \n"])
def test_row_01_empty_file(put, refusal, text):
    path = put(text)
    assert "No labels found" in refusal(path)
    with pytest.raises(ValueError, match="No labels found"):
        read_labels(path)


def test_row_02_missing_or_misspelt_column(put, refusal):
    assert "'wroker'" in refusal(put("item,wroker,label\n1,a,x\n"), code=2)
    line = refusal(put(GOOD), "--label-column", "lable", code=2)
    assert "'item', 'worker', 'label'" in line
    assert "did you mean 'label'?" in line


def test_row_03_blank_values(put, refusal, run):
    some = read_labels(put(GOOD + ",w,x\n  ,v,x\nc,,x\nc,w,\t\n")).report
    assert some.dropped == {"missing item": 2, "missing worker": 1, "missing label": 1}
    path = put(GOOD + "c,w,\n" * 5)
    assert "--allow-drops" in refusal(path)
    code, out, _ = run("aggregate", path, "--allow-drops")
    assert code == 0
    assert "Left out 5 rows: missing label." in out
    with pytest.raises(DataError, match="More than half"):
        as_labels((["a", "b", "c"], ["w"] * 3, ["x", None, None]))


def test_row_04_the_same_judgement_twice(put):
    path = put(GOOD + "a,w,x\n")
    kept = read_labels(path)
    assert (kept.n_labels, kept.report.repeats, kept.report.conflicts) == (5, 1, 0)
    for policy in ("first", "last"):
        assert read_labels(path, repeats=policy).n_labels == 4
    with pytest.raises(DataError, match="'w' on item 'a'"):
        read_labels(path, repeats="error")


def test_row_05_conflicting_judgements(put):
    rows = "".join(f"{item},w,x,{9 - n}\n{item},w,y,{n}\n" for n, item in enumerate("abcde"))
    path = put("item,worker,label,created_at\n" + rows)
    kept = read_labels(path)
    assert kept.report.conflicts == 5
    assert "for example worker 'w' on item 'a', worker 'w' on item 'b', worker 'w' on item 'c'." in kept.report.notes[-1]
    last = read_labels(path, repeats="last")
    assert last.label.tolist() == [0] * 5  # x, whose time is the later one
    assert "the last by the time column 'created_at' was kept" in last.report.notes[0]
    assert read_labels(path, repeats="first").label.tolist() == [1] * 5
    plain = read_labels(put("item,worker,label\n" + "a,w,x\na,w,y\na,v,x\n", "plain.csv"), repeats="last")
    assert plain.label.tolist() == [1, 0]
    assert "the last in row order was kept" in plain.report.notes[0]
    dated = "item,worker,label,when\na,w,x,2024-05-01T10:00:00+02:00\na,w,y,2024-05-01T09:00:00Z\na,v,x,2024-01-01T00:00:00Z\n"
    assert read_labels(put(dated, "d.csv"), repeats="last", time_column="when").label.tolist() == [1, 0]
    times = read_labels(put(dated, "d.csv"), time_column="when").time
    assert times.tolist() == [1714550400.0, 1714554000.0, 1704067200.0]  # they go with the labels, too


def test_row_06_variants_of_a_class(put):
    same = as_labels((["a"] * 3, ["u", "v", "w"], pa.array(["1", "1.0", "2"])))
    assert same.class_names == ("1", "2")
    rows = ["yes"] * 3 + ["Yes", "yes ", "cafe\u0301", "caf\u00e9", "caf\u00e9"]
    labels = read_labels(put(HEAD + "".join(f"a,w{n},{label}\n" for n, label in enumerate(rows))))
    assert labels.n_classes == 5  # never merged
    note = labels.report.notes[-1]
    assert "'Yes' to 'yes', 'cafe\u0301' to 'caf\u00e9', 'yes ' to 'yes'" in note


def test_row_07_ids_stay_text(put):
    ids = ["1234567890123456789", "1234567890123456788", "007", "1e5", "NA", "None", "null", "nan", "inf", "-0", "TRUE"]
    text = HEAD + "".join(f"{name},{name},{n % 2}\n" for n, name in enumerate(ids))
    labels = read_labels(put(text))
    assert labels.items.to_pylist() == labels.workers.to_pylist() == ids
    lines = "".join(json.dumps({"item": name, "worker": name, "label": n % 2}) + "\n" for n, name in enumerate(ids))
    assert read_labels(put(lines, "a.jsonl")).items.to_pylist() == ids


def test_row_08_encodings(put, refusal):
    assert read_labels(put(b"\xef\xbb\xbf" + GOOD.encode())).report.columns["item"] == "item"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):  # without a mark, both ends
        assert read_labels(put(GOOD.encode(encoding))).n_labels == 4
    assert "broken at byte 84 (truncated data)" in refusal(put(GOOD.encode("utf-16")[:-1]))
    line = refusal(put((GOOD + "c,é,x\n").encode("latin-1")))
    assert "line 6 (byte 44); re-save it as UTF-8 (in Windows-1252 that byte is 'é'; labels themselves" in line
    assert "line 6" in refusal(put(GOOD + "c,\0v,x\n"))
    lone = '{"item": "\\ud800", "worker": "w", "label": "x"}\n'
    assert "Line 1 of 'a.jsonl' is not valid JSON (half of a surrogate pair)" in refusal(put(lone, "a.jsonl"))


def test_row_09_layout(put, refusal):
    for separator in ";\t|":
        assert read_labels(put(GOOD.replace(",", separator))).n_labels == 4
    assert read_labels(put(GOOD.replace("\n", "\r\n", 2))).n_labels == 4
    assert "a\nb" in read_labels(put(HEAD + '"a\nb",w,x\nc,w,y\n')).items.to_pylist()
    line = refusal(put(GOOD + "c,w\n" * 25))
    assert "25 lines are wrong: 6, 7" in line
    assert "25, ...)" in line
    assert "line 6" in refusal(put(GOOD + 'c,"w,x\nd,w,y\n'))


@pytest.mark.slow
def test_row_10_truncated(put, refusal, run):
    records = [{"item": n, "worker": w, "label": (n + w) % 2} for n in range(5) for w in range(3)]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    path = put(lines[:-20], "a.jsonl")
    assert "Line 15 of 'a.jsonl' is not valid JSON" in refusal(path)
    code, out, _ = run("aggregate", path, "--skip-bad")
    assert code == 0
    assert "Left out 1 row: not valid JSON." in out
    assert "Lines that are not valid JSON were left out: 15." in out
    labels = read_labels(put(gzip.compress(lines[:-20].encode()), "a.jsonl.gz"), skip_bad=True)
    assert (labels.n_labels, labels.report.rows_read, labels.report.source) == (14, 15, "a.jsonl.gz")
    assert "'b.json' is cut off" in refusal(put(json.dumps(records)[:-30], "b.json"))
    assert "JSONL" in refusal(put(GOOD), "--skip-bad", code=2)
    pq.write_table(pa.Table.from_pylist(records), path.with_name("a.parquet"))
    whole = path.with_name("a.parquet").read_bytes()
    for cut in (whole[:-40], whole[:9], whole[:-8] + b"\xff\xff\xff\x0fPAR1", whole[:4] + bytes(len(whole) - 12) + whole[-8:]):
        line = refusal(put(cut, "b.parquet"))
        assert "'b.parquet' is not a complete Parquet file: it " in line
        assert f" {len(cut):,}" in line
    assert "does not begin with PAR1; if it is text, end its name in .csv" in refusal(put(GOOD, "b.parquet"))
    assert "it is empty" in refusal(put("", "b.parquet"))


def test_row_18_gold(put, refusal, run):
    path = put(GOOD)
    assert "item 'a' different labels" in refusal(path, "--gold", put("item,gold\na,x\na,y\n", "gold.csv"))
    gold = put("item,gold\na,y\nb,maybe\nelsewhere,x\n", "gold.csv")
    code, out, _ = run("aggregate", path, "--gold", gold, "--json")
    notes = " ".join(json.loads(out)["import_report"]["notes"])
    assert code == 0
    assert json.loads(out)["n_gold"] == 1
    assert "Gold items without labels: 1" in notes
    assert "Gold items whose label is no class: 1" in notes
    assert "'maybe'" in refusal(path, "--gold", put("item,gold\nb,maybe\n", "gold.csv"))


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "often", ""])
def test_row_20_weights_and_times(put, value):
    head, rows = "item,worker,label,weight,time\n", "a,w,x,1,1\na,v,y,0,2\n"
    path = put(head + rows + f"b,w,x,{value},{value}\nb,w,y,1,4\n")
    held = "is missing" if not value else f"is '{value}'"
    with pytest.raises(DataError, match=f"The weight in data row 3 of 'labels.csv' {held}"):
        read_labels(path, weight_column="weight")
    with pytest.raises(DataError, match=r"The time in data row [13] of 'labels.csv' is"):
        read_labels(path, repeats="last")


def test_row_20_zero_weights_are_counted(put):
    head = "item,worker,label,weight\n"
    labels = read_labels(put(head + "a,w,x,1\na,v,y,0\nb,w,y,1\n"), weight_column="weight")
    assert (labels.n_labels, labels.report.rows_read, labels.report.dropped) == (2, 3, {"zero weight": 1})
    with pytest.raises(DataError, match=r"different weights \(from 1 to 2\)"):
        read_labels(put(head + "a,w,x,1\na,v,y,2\n"), weight_column="weight")
    assert read_labels(put(head + "a,w,x,heavy\na,v,y,light\n")).n_labels == 2  # a weight is never guessed


@pytest.mark.slow
def test_row_28_gzip_bomb(put, refusal):
    bomb = put(gzip.compress((HEAD + "a,w,x\n" * 2_000_000).encode()), "labels.csv.gz")
    assert "unpacks to more than 100 times its size" in refusal(bomb)
    some = put(gzip.compress((HEAD + "".join(f"{n},w{n % 9},{n % 2}\n" for n in range(200_000))).encode()), "labels.csv.gz")
    assert read_labels(some).n_labels == 200_000


def test_row_30_sql_in_column_names(put):
    name = "it'em\"; DROP TABLE x; --"
    record = {name: "a", "worker": "w", "label": "x"}
    lines = json.dumps(record) + "\n" + json.dumps({**record, "label": "y"}) + "\n"
    assert read_labels(put(lines, "a.jsonl"), item_column=name).n_labels == 2
    path = put("", "a.parquet")
    pq.write_table(pa.table({key: [value, value] for key, value in record.items()}), path)
    assert read_labels(path, item_column=name, classes=["x", "y"]).n_labels == 2


def test_row_30_duckdb_opens_no_other_file(put):
    from crowdassay.labels.databases.duck import ask

    secret, path = put("secret\n1\n", "secret.csv"), put(GOOD)

    def rows(query):
        return ask(query, path, lambda relation: relation.fetchall())

    assert rows("SELECT count(*) FROM read_csv($path)") == [(4,)]
    for query in (
        f"SELECT * FROM read_csv('{secret}') WHERE $path != ''",
        f"SELECT * FROM glob('{secret.parent}/*') WHERE $path != ''",
        "SELECT * FROM read_csv('https://example.org/a.csv') WHERE $path != ''",
    ):
        assert rows(query) is None
