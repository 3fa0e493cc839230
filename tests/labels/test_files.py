from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.labels.files import read_labels, read_truth

HEAD = b"item,worker,label\n"
# What spreadsheets and careless readers like to change.
IDS = [
    "007",
    "1234567890123456789",
    "1234567890123456788",
    "NA",
    "None",
    "null",
    "nan",
    "1e5",
    "TRUE",
    "1.0",
    " x ",
    "é",
    "#1",
    "-",
]
ROWS = [(name, name, str(n % 2)) for n, name in enumerate(IDS)]


def write(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def csv_bytes(rows, separator=",", end="\n", quoting=csv.QUOTE_MINIMAL):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, lineterminator=end, quoting=quoting).writerows(rows)
    return buffer.getvalue().encode()


def rows_of(labels):
    items, workers, classes = (v.to_pylist() for v in (labels.items, labels.workers, labels.classes))
    return [(items[i], workers[w], classes[k]) for i, w, k in zip(labels.label_item, labels.worker, labels.label, strict=True)]


def in_format(kind, rows):
    head = ("task_id", "annotator", "answer")
    if kind in {"csv", "tsv", "txt"}:
        return csv_bytes([head, *rows], "\t" if kind == "tsv" else "|" if kind == "txt" else ",")
    records = [dict(zip(head, row, strict=True)) for row in rows]
    if kind == "json":
        return json.dumps(records, ensure_ascii=False, indent=1).encode()
    return "\n".join(json.dumps(record) for record in records).encode()


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "txt", "json", "jsonl", "ndjson"])
def test_ids_stay_as_they_are_in_every_text_format(tmp_path, kind, gz):
    data = in_format(kind, ROWS)
    path = write(tmp_path, f"a.{kind.upper()}{gz}", gzip.compress(data) if gz else data)
    labels = read_labels(path)
    assert rows_of(labels) == ROWS
    assert labels.report.source == path.name
    assert labels.report.columns == {"item": "task_id", "worker": "annotator", "label": "answer"}


def test_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": IDS, "worker": list(range(len(IDS))), "label": [True, False] * (len(IDS) // 2)}), path)
    labels = read_labels(path)
    assert labels.items.to_pylist() == IDS
    assert labels.workers.type == pa.int64()
    assert labels.classes.to_pylist() == [False, True]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)  # each example opens DuckDB
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=10), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_csv_ids_round_trip_byte_for_byte(tmp_path_factory, pairs, end, bom):
    rows = [("q" + item, "q" + worker, "ab"[n % 2]) for n, (item, worker) in enumerate(pairs)]
    data = csv_bytes([("item", "worker", "label"), *rows], end=end, quoting=csv.QUOTE_ALL)
    path = write(tmp_path_factory.mktemp("csv"), "a.csv", b"\xef\xbb\xbf" * bom + data)
    labels = read_labels(path, classes=["a", "b"])
    first_seen = list(dict.fromkeys(item for item, _, _ in rows))
    assert rows_of(labels) == sorted(rows, key=lambda row: first_seen.index(row[0]))


def test_json_numbers_keep_their_digits(tmp_path):
    text = '{"item": 1234567890123456789, "worker": 98765432109876543210987, "label": 1}\n'
    text += '{"item": "007", "worker": 1, "label": 2.0}'
    labels = read_labels(write(tmp_path, "a.jsonl", text.encode()))
    assert labels.items.to_pylist() == ["1234567890123456789", "007"]
    assert labels.workers.to_pylist() == ["98765432109876543210987", "1"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.json.gz"])
def test_json_with_bom(tmp_path, name):
    data = b'\xef\xbb\xbf{"item": 1, "worker": 2, "label": "x"}\n{"item": 1, "worker": 3, "label": "y"}'
    path = write(tmp_path, name, gzip.compress(data) if name.endswith("gz") else data)
    assert read_labels(path).n_labels == 2


@pytest.mark.parametrize("name", ["a[1].csv", "a*.csv", "a?.csv", "[.csv", "it's.csv", "a{b,c}.csv"])
def test_a_path_is_no_pattern(tmp_path, name):
    write(tmp_path, "a1.csv", HEAD + b"wrong,w,x\nwrong,v,y\n")
    path = write(tmp_path, name, HEAD + b"right,w,x\nright,v,y\n")
    assert read_labels(path).items.to_pylist() == ["right"]
    assert read_labels(tmp_path / "a*1.csv").items.to_pylist() == ["wrong"]
    with pytest.raises(FileError, match="No file matches"):
        read_labels(tmp_path / "b*1.csv")


@pytest.mark.parametrize(
    "data", [HEAD + b"a,w,x\r\nb,w,y\n", b"\n\n" + HEAD + b"a,w,x\nb,w,y\n", b"\r\n \n" + HEAD + b"a,w,x\nb,w,y\n"]
)
def test_mixed_line_ends_and_leading_blank_lines(tmp_path, data):
    assert rows_of(read_labels(write(tmp_path, "a.csv", data))) == [("a", "w", "x"), ("b", "w", "y")]


def test_only_blank_is_missing(tmp_path):
    report = read_labels(write(tmp_path, "a.csv", HEAD + b'a,w,x\n,w,y\n"",w,y\n"  ",w,y\na,NA,None\na,u,y\n')).report
    assert report.dropped == {"missing item": 3}
    assert report.rows_read == 6


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "No labels found: 'a.csv' is empty"),
        ("a.csv", HEAD, "No labels found: 'a.csv' holds a header only"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), "No labels found"),
        ("a.jsonl", b"\n", "No labels found"),
        ("a.csv", HEAD + b"a,w,x\na,w\n", r"Line 3 of 'a.csv' has 2 fields, not the 3 of the header; correct it"),
        ("a.csv", HEAD + b'a,w,x\na,"w,x\n', "line 3 of 'a.csv' has a quote that is not closed"),
        (
            "a.csv",
            HEAD + b"a,w,x\na,\xe9,x\n",
            r"'a.csv' is not UTF-8 text at line 3 \(byte 26\); re-save it as UTF-8 .in Windows-1252 that byte is 'é'",
        ),
        ("a.csv", HEAD.decode().encode("utf-16"), "holds a header only"),
        ("a.csv", HEAD + b"a,w,x\na,\0v,y\n", r"worker '\\x00v' in line 3 of 'a.csv' holds a NUL byte"),
        ("a.csv.gz", HEAD, "not a complete gzip file"),
        ("a.csv.gz", gzip.compress(HEAD + b"a,w,x\n" * 90_000, mtime=0)[:-30], "not a complete gzip file"),
        ("a.jsonl", b'{"item": 1, "worker": 1, "label": 1}\n{"item": 2', "Line 2 of 'a.jsonl' is not valid JSON"),
        ("a.json", b'[{"item": 1, "worker": 1, "label": 1},', "'a.json' is cut off"),
        ("a.parquet", b"PAR1", "not a complete Parquet file"),
    ],
)
def test_bad_files_are_one_sentence(tmp_path, name, data, message):
    with pytest.raises(DataError, match=message) as error:
        read_labels(write(tmp_path, name, data))
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 1


def test_no_file_a_folder_and_other_extensions(tmp_path):
    with pytest.raises(FileError, match=r"There is no file '.*gone\.csv'\."):
        read_labels(tmp_path / "gone.csv")
    with pytest.raises(FileError, match="is a folder"):
        read_labels(tmp_path)
    with pytest.raises(FileError, match=r"'a\.numbers' is a spreadsheet of Numbers; export it as Excel or CSV"):
        read_labels(write(tmp_path, "a.numbers", b"x"))
    for name in ("a.doc", "a", "a.parquet.gz", "a.gz"):
        with pytest.raises(FileError, match=r"\.csv, \.tsv, \.tab, \.txt, \.results, \.parquet, \.jsonl, \.ndjson, \.json"):
            read_labels(write(tmp_path, name, b"x"))


def test_options_are_checked_before_the_file(tmp_path):
    with pytest.raises(ParameterError):
        read_labels(tmp_path / "gone.csv", repeats="never")
    with pytest.raises(ParameterError):
        read_labels(tmp_path / "gone.csv", classes=["one"])


def test_given_columns_and_classes(tmp_path):
    path = write(tmp_path, "a.csv", b"item,what,worker,label\na,x,w,1\na,y,v,2\n")
    labels = read_labels(path, label_column="what", classes=iter(["y", "x", "z"]))
    assert labels.class_names == ("y", "x", "z")
    assert labels.label.tolist() == [1, 0]


def test_truth_is_text_without_missing_rows(tmp_path):
    path = write(tmp_path, "t.csv", b"task,gold\n007,1\n,2\n8, \n9,NA\n")
    assert read_truth(path).to_pydict() == {"item": ["007", "9"], "label": ["1", "NA"]}
    assert read_truth(path, label_column="task", item_column="gold")["item"].to_pylist() == ["1", "NA"]
    pq.write_table(pa.table({"item": [1.0, None], "truth": [True, False]}), tmp_path / "t.parquet")
    assert read_truth(tmp_path / "t.parquet").to_pydict() == {"item": ["1"], "label": ["true"]}


@pytest.mark.slow
def test_the_import_leaves_duckdb_and_pandas_alone():
    code = "import sys, crowdassay.labels.frames, crowdassay.labels.truth, crowdassay.labels.write\n"
    code += "sys.exit(bool({'duckdb', 'pandas', 'polars'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("lines", [True, False])
def test_what_is_no_number_in_json_is_missing_and_the_word_is_not(tmp_path, lines):
    rows = ['{"item": "a", "worker": "b", "label": "x"}', '{"item": "a", "worker": "c", "label": NaN}']
    rows += ['{"item": NaN, "worker": "c", "label": "y"}', '{"item": "NaN", "worker": "c", "label": "y"}'] * 2
    path = tmp_path / ("a.jsonl" if lines else "a.json")
    path.write_text("\n".join(rows) if lines else f"[{', '.join(rows)}]")
    labels = read_labels(path, allow_drops=True)
    assert (labels.items.to_pylist(), labels.class_names) == (["a", "NaN"], ("x", "y"))
    assert labels.report.dropped == {"missing item": 2, "missing label": 1}
