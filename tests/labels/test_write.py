from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdassay.errors import FileError, ParameterError
from crowdassay.labels import write
from crowdassay.labels.folder import check_writable
from crowdassay.labels.write import write_json, write_table


def written(tmp_path, table, **options):
    write_table(table, tmp_path / "out" / "a.csv", "csv", **options)
    return (tmp_path / "out" / "a.csv").read_bytes().decode("utf-8")


def test_csv_is_plain(tmp_path):
    table = pa.table(
        {
            "text": ["a", 'b,"c"', "", None],
            "number": [0.1, float("nan"), -1.0, 1e-9],
            "count": [-1, 2, None, 3],
            "flag": [True, False, None, True],
            "kind": pa.array(["é", "x", "x", "y"]).dictionary_encode(),
        }
    )
    assert written(tmp_path, table).split("\n") == [
        "text,number,count,flag,kind",
        "a,0.1,-1,true,é",
        '"b,""c""",,2,false,x',
        '"",-1,,,x',
        ",1e-9,3,true,y",
        "",
    ]


CELLS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)


@pytest.mark.slow
@given(st.lists(st.tuples(CELLS, CELLS), max_size=8))
def test_raw_csv_round_trips(tmp_path_factory, rows):
    columns = [[row[n] for row in rows] for n in (0, 1)]
    table = pa.table({"a": pa.array(columns[0], pa.string()), "b": pa.array(columns[1], pa.string())})
    text = written(tmp_path_factory.mktemp("csv"), table, raw=True)
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))] == [("a", "b"), *rows]


@pytest.mark.parametrize("cell", ["=1+1", "+a", "-1+1", "@SUM(A1)", "\ta", "\ra", "\0a", "=", "-"])
def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(tmp_path, cell):
    table = pa.table({"=name": [cell, "safe"]})
    rows = list(csv.reader(io.StringIO(written(tmp_path, table), newline="")))
    assert rows == [["'=name"], ["'" + cell], ["safe"]]
    rows = list(csv.reader(io.StringIO(written(tmp_path, table, raw=True), newline="")))
    assert rows == [["=name"], [cell], ["safe"]]


@pytest.mark.parametrize("cell", ["-1", "+2.5", "-1e5", "a=b", "1-2"])
def test_numbers_and_other_text_stay(tmp_path, cell):
    assert written(tmp_path, pa.table({"label": [cell]})) == f"label\n{cell}\n"


def test_no_rows_and_many_rows(tmp_path, monkeypatch):
    assert written(tmp_path, pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())})) == "a,b\n"
    monkeypatch.setattr(write, "ROWS_IN_A_CHUNK", 7)
    assert written(tmp_path, pa.table({"a": range(50)})) == "a\n" + "".join(f"{n}\n" for n in range(50))


def test_parquet(tmp_path):
    table = pa.table({"a": ["=x", None], "b": [1, 2]})
    write_table(table, tmp_path / "a.parquet", "parquet")
    assert pq.read_table(tmp_path / "a.parquet").equals(table)
    with pytest.raises(ParameterError, match="'feather'"):
        write_table(table, tmp_path / "a.feather", "feather")


def test_json(tmp_path):
    value = {"é": [np.float64(1.5), float("nan"), float("inf")], 1: np.arange(2), "n": np.int64(3), "t": (True, None)}
    write_json(value, tmp_path / "new" / "a.json")
    text = (tmp_path / "new" / "a.json").read_text("utf-8")
    assert json.loads(text) == {"é": [1.5, None, None], "1": [0, 1], "n": 3, "t": [True, None]}
    assert '  "é": [' in text
    assert text.endswith("}\n")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "fsync", fail)
    with pytest.raises(FileError, match=r"a\.csv' could not be written \(No space left on device\)"):
        write_table(pa.table({"a": [1]}), path, "csv")
    with pytest.raises(FileError):
        write_json({}, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "csv_lines", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_table(pa.table({"a": [1]}), tmp_path / "a.csv", "csv")
    assert os.listdir(tmp_path) == []


def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_json({}, tmp_path / "a.json")
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_or_a_file_in_the_way(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match="could not be written"):
        write_json({}, tmp_path / "folder")
    (tmp_path / "file").touch()
    with pytest.raises(FileError, match="could not be written"):
        write_json({}, tmp_path / "file" / "a.json")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_check_writable_leaves_nothing_behind(tmp_path, monkeypatch):
    check_writable(tmp_path)
    check_writable(tmp_path / "new" / "deeper")
    monkeypatch.chdir(tmp_path)
    check_writable(Path("relative/place"))
    assert os.listdir(tmp_path) == []


def test_check_writable_finds_a_file_in_the_way(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "deeper"):
        with pytest.raises(FileError, match=r"is a file.*name another folder"):
            check_writable(folder)


def test_check_writable_tries(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(FileError, match=r"\(Permission denied\); name another folder"):
        check_writable(tmp_path / "new")
