from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError, CrowdassayError, DataError
from crowdassay.labels import source as source_module
from crowdassay.labels.files import read_labels
from crowdassay.labels.probe import probe
from crowdassay.labels.source import open_columns, open_source
from support.exports import rows_of

ROLES = ("item", "label")


def read(path, **given):
    source = open_source(probe(path), ROLES, given)
    return [tuple(row.values()) for row in source.read().to_pylist()], source.columns


def test_only_what_is_asked_for_is_read_in_file_order(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("worker,answer,task\n" + "".join(f"w,{n},i{n}\n" for n in range(50_000)))
    rows, columns = read(path)
    assert rows == [(f"i{n}", str(n)) for n in range(50_000)]
    assert columns == {"item": "task", "label": "answer"}


QUIRKS = (
    '"a","b"\n',
    '"a,1",b\n',
    '"a\n1",b\n',
    '"a""q""",b\n',
    "a,b\r\nc,d\n",
    "a,b\n\nc,d",
    "a ,b\n  c,d\n",
    "a,b\n   \nc,d\n",
    ",b\na,\n",
    'a,""\n',
    "NULL,NA\n",
    "a\nb,c\n",
    "a,b,c\n",
    "a,b,\n",
    'a,"b\nc,d\n',
    'a,"b"x\n',
    'a,b"x\n',
    "a\x00,b\n",
    "001,1e5\n",
    "a\\,b\n",
    "'a',b\n",
    "#a,b\n",
    ",\na,b\n",
    '"a" ,b\n',
    ' "a",b\n',
    "a\x0b,b\x1c\n",
    "a\u2028,b\x85\n",
    '""\na,b\n',
    "a\rb,c\n",
    '"a\rb",c\n',
    "",
    "\ud800,b\n",
)


@pytest.mark.parametrize("text", QUIRKS)
@pytest.mark.parametrize("lenient", [False, True])
def test_a_small_file_is_read_as_a_large_one(tmp_path, monkeypatch, text, lenient):
    path = tmp_path / "a.csv"
    path.write_bytes(f"item,label\n{text}".encode("utf-8", "surrogatepass"))
    found = []
    for sample in (1 << 18, 0):
        monkeypatch.setattr(source_module, "SAMPLE_BYTES", sample)
        try:
            found.append(
                (open_columns(probe(path), ROLES, ROLES) if lenient else open_source(probe(path), ROLES, {}))
                .read()
                .combine_chunks()
            )
        except CrowdassayError as error:
            found.append(error.message)
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ['we"ird', "it's", "a, b", "c0", "Ünï", "x'); DROP TABLE y; --"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_odd_column_names(tmp_path, name, kind):
    path = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({name: ["i"], "label": ["x"]}), path)
    elif kind == "csv":
        quoted = name.replace('"', '""')
        path.write_text(f'"{quoted}",label\ni,x\n', "utf-8")
    else:
        import json

        path.write_text(json.dumps({name: "i", "label": "x"}), "utf-8")
    assert read(path, item=name) == ([("i", "x")], {"item": name, "label": "label"})


def test_parquet_keeps_what_encoding_understands_and_writes_the_rest_as_text(tmp_path):
    import datetime
    import decimal

    path = tmp_path / "a.parquet"
    days = [datetime.date(2020, 1, 2)]
    pq.write_table(pa.table({"item": [2**62 + 1], "d": days, "e": [decimal.Decimal("1.50")], "b": [b"x"]}), path)
    assert read(path, label="item", item="d")[0] == [("2020-01-02", 2**62 + 1)]
    assert read(path, label="e", item="b")[0] == [("x", "1.50")]


def test_parquet_that_is_none(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": ["i"] * 1000, "label": ["x"] * 1000}), path)
    whole = path.read_bytes()
    for broken in (whole[:-10], b"", b"item,label\n", whole[:4] + b"\xff" * 40 + whole[44:]):
        path.write_bytes(broken)
        with pytest.raises(DataError, match=r"'a\.parquet' is not a complete Parquet file"):
            read(path)


@pytest.mark.parametrize("text", ["[1, 2]", "[]", '["a"]', "[[1, 2]]"])
def test_json_without_records(tmp_path, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"No labels found in 'a\.json'; it needs one JSON object per label"):
        read(path)


def test_folders_named_like_partitions_add_no_columns(tmp_path):
    folder = tmp_path / "label=5"
    folder.mkdir()
    for path, text in ((folder / "a.csv", "item,x\n1,2\n"), (folder / "a.jsonl", '{"item": 1, "x": 2}')):
        path.write_text(text)
        with pytest.raises(ColumnError, match="No label column"):
            read(path)


def test_damage_to_the_footer_is_one_sentence(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"label": ["x", "y"], "item": ["i", "j"]}), path)
    data = path.read_bytes()
    path.write_bytes(data[:-200] + b"\xff" * 180 + data[-20:])  # the footer, which Arrow calls an OSError
    with pytest.raises(DataError, match=r"is damaged, in its footer \(bytes [0-9,]+ to [0-9,]+\)"):
        read(path)


def test_a_key_that_comes_twice_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"item": "i", "label": "x", "label": "y"}\n', "utf-8")
    with pytest.raises(DataError, match="a key comes twice"):
        read(path)


VERDICTS = [
    {"task": task, "judge": judge, "verdict": {"correct": correct, "why": {"rule": n}}, "cost": 1}
    for n, (task, judge, correct) in enumerate(
        [("t1", "j1", True), ("t1", "j2", False), ("t2", "j1", True), ("t2", "j2", True)]
    )
]


def written(path, records):
    lines = "\n".join(map(json.dumps, records))
    path.write_text(lines if path.suffix == ".jsonl" else json.dumps(records), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_a_value_in_an_object_is_named_with_dots(tmp_path, name):
    path = written(tmp_path / name, VERDICTS)
    assert read(path, label="verdict.correct")[0] == [("t1", "true"), ("t1", "false"), ("t2", "true"), ("t2", "true")]
    assert read(path, label="verdict.why.rule")[0][-1] == ("t2", "3")
    with pytest.raises(DataError, match=r"name one value in it \('verdict.correct', 'verdict.why.rule'\) with `label_column`"):
        read(path)
    with pytest.raises(ColumnError, match=r"'verdict', 'cost', 'verdict\.correct'"):
        read(path, label="correctness")


def test_a_key_with_a_dot_is_itself_before_what_an_object_holds(tmp_path):
    path = written(tmp_path / "a.jsonl", [{"item": "a", "v.x": "own", "v": {"x": "inner"}}])
    assert read(path, label="v.x")[0] == [("a", "own")]


def test_a_value_in_an_object_is_not_guessed_to_be_the_label(tmp_path):
    rows = [{"task": row["task"], "judge": row["judge"], "result": {"right": row["verdict"]["correct"]}} for row in VERDICTS]
    with pytest.raises(ColumnError, match="could be the label; say `label_column`"):
        open_source(probe(written(tmp_path / "a.jsonl", rows * 2)), ("item", "worker", "label"), {})


def test_a_list_of_values_is_an_id_of_its_parts(tmp_path):
    rows = [{"key": ["m", "p|1", 2], "label": "x"}, {"key": ["m", "p", None], "label": "y"}, {"key": ["m"], "label": "z"}]
    assert read(written(tmp_path / "a.jsonl", rows), item="key")[0] == [("m | p||1 | 2", "x"), (None, "y"), ("m", "z")]
    with pytest.raises(DataError, match=r"The label in record 1 of .* is a list"):
        read(written(tmp_path / "a.jsonl", [{"item": "a", "label": ["x", "y"]}]))
    with pytest.raises(DataError, match=r"The item in record 1 of .* is a list"):
        read(written(tmp_path / "b.jsonl", [{"item": [{"part": 1}, {"part": 2}], "label": "x"}]))


def test_the_only_list_of_objects_in_a_file_is_its_table(tmp_path):
    rows = [{"item": "a", "label": "x"}, {"item": "b", "label": "y"}]
    whole = {"version": 1, "raters": ["ann"], "meta": {"n": 2}, "labels": rows}
    assert read(written(tmp_path / "a.json", whole))[0] == [("a", "x"), ("b", "y")]
    with pytest.raises(DataError, match=r"lists inside \('labels', 'others'\)"):
        read(written(tmp_path / "b.json", {**whole, "others": rows}))
    with pytest.raises(DataError, match=r"lists inside \('labels'\)"):
        read(written(tmp_path / "c.json", {"labels": [*rows, 3]}))


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_an_object_that_the_first_record_lacks_is_looked_into(tmp_path, name):
    rows = [{"item": n, "v": {"a/b": "xy"[n % 2]} if n else None} for n in range(3)]
    assert read(written(tmp_path / name, rows), label="v.a/b")[0] == [("0", None), ("1", "y"), ("2", "x")]


def test_json_that_is_nested_too_deeply_is_one_sentence(tmp_path):
    path = tmp_path / "a.jsonl"
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(f'{{"item": "a", "worker": "w", "o": 1, "kind": "x"}}\n{{"item": "b", "worker": "w", "o": {deep}}}\n')
    with pytest.raises(DataError, match=r"Line 2 of 'a.jsonl' is not valid JSON \(lists or objects are nested too deeply\)"):
        open_source(probe(path), ("item", "worker", "label"), {})


@pytest.mark.parametrize("more", [{}, {"tags": ["u", "v"]}])
def test_records_by_name_are_a_table_as_a_list_of_them_is(tmp_path, more):
    rows = [{"item": f"i{n // 2}", "worker": "ab"[n % 2], "label": "xy"[n % 3 % 2], **more} for n in range(8)]
    path = tmp_path / "named.json"
    path.write_text(json.dumps({f"judgement{n}": row for n, row in enumerate(rows)}))
    assert rows_of(read_labels(path)) == sorted(tuple(row.values())[:3] for row in rows)


def test_the_name_of_a_record_is_a_column_where_nothing_else_is_called_like_an_item(tmp_path):
    rows = {f"k{n}": {"text": "t", "judge": "ab"[n % 2], "verdict": "xy"[n % 3 % 2], "why": []} for n in range(6)}
    path = tmp_path / "named.json"
    path.write_text(json.dumps(rows))
    assert read_labels(path, item_column="key").items.to_pylist() == list(rows)
    path.write_text(json.dumps({name: {"text_id": 1, **row} for name, row in rows.items()}))
    with pytest.raises(ColumnError, match="There is no column 'key'"):
        read_labels(path, item_column="key")


def one_reviewer(path, who, rows, **outer):
    path.write_text(json.dumps({"annotator": who, "exported_at": "now", **outer, "items": rows}))
    return path


REVIEWED = [{"row": n, "axis": "st"[n % 2], "about": {"kind": "uv"[n % 3 % 2]}, "label": "xy"[n % 3 % 2]} for n in range(6)]


def test_what_stands_once_beside_a_list_of_records_is_told_with_each(tmp_path):
    files = [one_reviewer(tmp_path / f"{n}.json", who, REVIEWED[n:]) for n, who in enumerate(["ann", "bob", "ann"])]
    labels = read_labels(files, item_column="row", repeats="last")
    assert {worker for _, worker, _ in rows_of(labels)} == {"ann", "bob"}
    assert rows_of(read_labels(files[1], item_column="row"))[0] == ("1", "bob", "y")
    own = [{**row, "annotator": "jo"} for row in REVIEWED]
    assert read_labels(one_reviewer(tmp_path / "a.json", "ann", own), item_column="row").workers.to_pylist() == ["jo"]
    columns = read_labels(files[0], item_column="row", worker_column="exported_at").workers.to_pylist()
    assert columns == ["now"]


def test_what_belongs_to_the_whole_takes_no_role_of_its_records(tmp_path):
    rows = [{"id": n, "model": "ab"[n % 2], "rating": n % 3} for n in range(8)]
    path = one_reviewer(tmp_path / "a.json", "ann", rows, task="tone", label="tox", duration=3)
    assert rows_of(read_labels(path))[:2] == [("0", "ann", "0"), ("1", "ann", "1")]
    path = one_reviewer(tmp_path / "b.json", "ann", [{"id": n, "rude": "yn"[n % 2]} for n in range(8)], category="tox")
    with pytest.raises(ColumnError, match=r"No label column found among 'id', 'rude', 'annotator', 'exported_at'; .* 'rude'"):
        read_labels(path)


def test_who_labelled_is_asked_where_both_the_whole_and_its_records_name_somebody(tmp_path):
    path = one_reviewer(tmp_path / "a.json", "ann", [{"id": n, "user": f"u{n // 2}", "label": "xy"[n % 2]} for n in range(6)])
    with pytest.raises(
        ColumnError, match=r"may be 'annotator', .* or 'user' in each of them; say `worker_column` 'annotator', or"
    ):
        read_labels(path)
    assert read_labels(path, worker_column="annotator").workers.to_pylist() == ["ann"]
    rows = [{"item": n // 2, "judge": "ab"[n % 2], "label": "xy"[n % 3 % 2]} for n in range(6)]
    path.write_text(json.dumps({"user": "admin", "items": rows}))
    assert read_labels(path).workers.to_pylist() == ["a", "b"]


@pytest.mark.parametrize(("question", "n_labels"), [("axis=s", 3), ("about.kind=v", 2)])
def test_a_question_is_a_column_that_other_options_see(tmp_path, question, n_labels):
    path = one_reviewer(tmp_path / "a.json", "ann", REVIEWED)
    assert read_labels(path, item_column="row", question=question).n_labels == n_labels
    with pytest.raises(ColumnError, match="name it with `item_column`"):
        read_labels(path, question=question)
    columns = "'row', 'axis', 'about', 'label', 'annotator', 'exported_at', 'about.kind'"
    with pytest.raises(ColumnError, match=f"no column 'part' for the question .* the columns are {columns}"):
        read_labels(path, item_column="row", question="part=s")


def test_workers_columns_are_found_in_the_list_of_a_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"exported_at": "now", "items": [{"id": n, "p": "xy"[n % 2], "q": "x"} for n in range(6)]}))
    assert read_labels(path, worker_columns=["p", "q"]).n_labels == 12


def test_the_name_of_a_record_is_a_column_where_what_is_called_like_an_item_comes_again(tmp_path):
    path = tmp_path / "ann.json"
    path.write_text(json.dumps({f"d{n}": {"document": [f"t{n // 2}", "u"], "label": "xy"[n % 2]} for n in range(6)}))
    with pytest.raises(
        ColumnError, match=r"told by 'document' or by the names of the records, which are 'key': say .* 'key', or"
    ):
        read_labels(path, worker_from_filename=True)
    named = {name: read_labels(path, worker_from_filename=True, item_column=name).n_items for name in ("key", "document")}
    assert named == {"key": 6, "document": 3}
