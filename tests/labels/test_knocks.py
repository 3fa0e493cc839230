"""Inputs broken on purpose: what once gave a wrong answer, leaked a name or was refused in the wrong words."""

import json
import os
import struct
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError, CrowdassayError, DataError
from crowdassay.labels import delimited, probe
from crowdassay.labels.databases.duck import ask
from crowdassay.labels.files import read_labels
from crowdassay.labels.frames import as_labels
from crowdassay.labels.ingest import as_parquet, spool_files
from crowdassay.labels.raw import find_inputs
from crowdassay.labels.source import open_source
from crowdassay.labels.study_columns import encode_names
from crowdassay.labels.workspace import workspace
from crowdassay.labels.write import csv_lines
from crowdassay.read_options import ReadOptions
from support.exports import json_lines, rows_of, write

HEAD = "item,worker,label\n"


@pytest.fixture
def spooled(tmp_path):
    """Encode files to disk and return all labels with the report."""

    def spool(*paths, **options):
        folder = tmp_path / f"spool{len(list(tmp_path.glob('spool*')))}"
        folder.mkdir()
        found = spool_files(find_inputs(paths), folder, ReadOptions.of(options), memory=10**9, threads=1)
        assert len(found.sizes) == 1
        return found.block(0, ids=True)

    return spool


def refusal(call):
    with pytest.raises(CrowdassayError) as error:
        call()
    return error.value.message


@pytest.mark.parametrize("missing", ["-1", "-1.0"])
def test_w3_missing_labels_in_a_column_of_floats(tmp_path, spooled, missing):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"item": list("aabb"), "worker": list("uvuv"), "label": [1.0, -1.0, 0.0, 1.0]}), path)
    for labels in (read_labels(path, missing=missing), spooled(path, missing=missing)):
        assert rows_of(labels) == [("a", "u", 1), ("b", "u", 0), ("b", "v", 1)]
        assert labels.report.dropped == {"missing label": 1}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_w3_missing_labels_in_text_however_they_are_spelt(tmp_path, spooled, name):
    said = ["1.0", "-1.0", "0.0", "-01", "1.0", "-1", "0.0", "x"]
    rows = [(f"i{n // 2}", "uv"[n % 2], label) for n, label in enumerate(said)]
    text = HEAD + "".join(",".join(row) + "\n" for row in rows)
    if name.endswith("jsonl"):
        text = json_lines([dict(zip(("item", "worker", "label"), row, strict=True)) for row in rows])
    path = write(tmp_path / name, text)
    for labels in (read_labels(path, missing="-1"), spooled(path, missing="-1")):
        assert sorted({label for *_, label in rows_of(labels)}) == ["-01", "0.0", "1.0", "x"]
        assert labels.report.dropped == {"missing label": 2}


TIMED = {
    "nanoseconds": ("1700000000000000002", "1700000000000000001"),
    "dates": ("2024-05-01T10:00:01", "2024-05-01T10:00:00"),
    "zones": ("2024-05-01T10:00:00+02:00", "2024-05-01T07:59:59Z"),
    "fractions": ("1700000000.75", "1700000000.5"),
    "American dates": ("5/1/2024 10:00:01", "5/1/2024 10:00:00"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TIMED)
def test_w4_repeats_go_by_time_from_one_file_two_files_and_disk(tmp_path, spooled, kind):
    later, earlier = TIMED[kind]
    head = "item,worker,label,timestamp\n"
    one = write(tmp_path / "a.csv", f"{head}a,u,late,{later}\na,v,late,{later}\n")
    two = write(tmp_path / "b.csv", f"{head}a,u,early,{earlier}\n")
    both = write(tmp_path / "both.csv", one.read_text() + two.read_text().removeprefix(head))
    for policy, kept in (("last", "late"), ("first", "early")):
        expected = [("a", "u", kept), ("a", "v", "late")]
        for labels in (
            read_labels(both, repeats=policy),
            read_labels([one, two], repeats=policy),
            spooled(both, repeats=policy),
            spooled(one, two, repeats=policy),
        ):
            assert rows_of(labels) == expected, kind
            assert f"the {policy} by the time column 'timestamp' was kept" in " ".join(labels.report.notes)


def test_w4_nanoseconds_as_numbers(tmp_path, spooled):
    first = 1_700_000_000_000_000_001
    path = tmp_path / "a.parquet"
    rows = {"item": ["a"] * 2, "worker": ["u"] * 2, "label": ["late", "early"], "timestamp": [first + 1, first]}
    pq.write_table(pa.table(rows), path)
    for labels in (read_labels(path, repeats="last"), spooled(path, repeats="last")):
        assert rows_of(labels) == [("a", "u", "late")]


def test_w4_a_time_column_in_some_files_only(tmp_path, spooled):
    one = write(tmp_path / "a.csv", "item,worker,label,timestamp\na,u,x,1\n")
    two = write(tmp_path / "b.csv", HEAD + "a,u,y\n")
    words = [
        refusal(lambda read=read: read([one, two], repeats="last"))
        for read in (read_labels, lambda paths, **more: spooled(*paths, **more))
    ]
    assert words[0] == words[1] == "Only some of 2 files have a time column, so that --repeats last cannot go by it."


@pytest.mark.parametrize("numerals", [("١٠", "١١", "٩"), ("１０", "１１", "９"), ("1_0", "1_1", "9")])
def test_w5_numerals_that_are_sorted_as_text_are_not_called_natural(tmp_path, spooled, numerals):
    path = write(tmp_path / "a.csv", HEAD + "".join(f"a,w{n},{text}\n" for n, text in enumerate(numerals)))
    for labels in (read_labels(path), spooled(path)):
        assert (labels.numeric, labels.report.order) == (False, "alphabetical")


@pytest.mark.slow
def test_w7_frames_in_one_json_object(tmp_path, spooled):
    frame = pd.DataFrame({"item": ["a", "a", "b"], "worker": ["u", "v", "u"], "label": ["x", "y", "x"]})
    expected = [("a", "u", "x"), ("a", "v", "y"), ("b", "u", "x")]
    path = tmp_path / "frame.json"
    for orient in ("columns", "split", "table", "records", "index"):
        frame.to_json(path, orient=orient)
        assert rows_of(read_labels(path)) == expected, orient
        assert rows_of(spooled(path)) == expected, orient
    write(path, json.dumps(frame.to_dict("list")))
    assert rows_of(read_labels(path)) == expected


def test_w7_lists_and_objects_are_no_labels(tmp_path, spooled):
    path = tmp_path / "a.parquet"
    for value, words in ((["x", "y"], "list"), ({"k": "x"}, "struct")):
        pq.write_table(pa.table({"item": ["a", "b"], "worker": ["u", "u"], "label": [value, value]}), path)
        for read in (read_labels, spooled):
            assert f"The label column 'label' of 'a.parquet' holds {words} values" in refusal(lambda read=read: read(path))
    lines = write(
        tmp_path / "a.jsonl",
        json_lines([{"item": "a", "worker": "u", "label": ["x"]}, {"item": "a", "worker": "v", "label": ["y"]}]),
    )
    assert rows_of(read_labels(lines)) == [("a", "u", "x"), ("a", "v", "y")]
    write(lines, lines.read_text() + json.dumps({"item": "b", "worker": "v", "label": ["x", "y"]}))
    for read in (read_labels, spooled):
        assert "The label in record 3 of 'a.jsonl' is a list" in refusal(lambda read=read: read(lines))


def test_s1_names_do_not_leak_from_disk(tmp_path, spooled):
    path = write(tmp_path / "a.csv", HEAD + "a,secret@x.org,x\na,secret@x.org,y\na,v,x\n")
    labels = spooled(path, pseudonymise=True, salt="s")
    assert "secret" not in repr(labels.report) + str(labels.workers)
    assert labels.report.conflicts == 1
    assert labels.report.notes == read_labels(path, pseudonymise=True, salt="s").report.notes
    assert "secret" not in refusal(lambda: spooled(path, pseudonymise=True, repeats="error"))


@pytest.mark.slow
def test_s2_a_zip_that_lies_about_its_sizes(tmp_path):
    path = tmp_path / "a.zip"
    line = json.dumps({"id": 1, "text": "x", "label": ["a"]}) + "\n"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann.jsonl", line + " " * (1 << 26))
    data = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = data.index(mark) + place
        data[start : start + 4] = struct.pack("<I", 1000)
    path.write_bytes(data)
    import tracemalloc

    tracemalloc.start()
    message = refusal(lambda: read_labels(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "'ann.jsonl' in 'a.zip' is damaged" in message
    assert peak < 1 << 24  # bytes; all of it would be 64 million


@pytest.mark.parametrize("cell", ["x;=1+1", "\n=1+1", "＝1+1", "＋1", "＠SUM(1)", "a\t=1", "=1"])
def test_s3_cells_that_a_spreadsheet_would_run(cell):
    line = csv_lines([pa.array([cell])], False).decode()
    assert line.startswith(('"', "'"))
    inner = line.strip("\n").strip('"')
    assert inner.startswith("'") or ";" in cell or "\t" in cell


@pytest.mark.slow
def test_s4_nul_is_refused_everywhere(tmp_path, spooled):
    for role, row in (("item", "a\0,u,x"), ("worker", "a,u\0,x"), ("label", "a,u,x\0")):
        path = write(tmp_path / f"{role}.csv", HEAD + "b,v,y\n" + row + "\n")
        for read in (read_labels, spooled, lambda path: as_parquet([path], tmp_path, ReadOptions())):
            message = refusal(lambda read=read, path=path: read(path))
            assert "NUL" in message, role
            assert role in message


def test_s4_nul_is_refused_in_pairs_and_ratings():
    message = refusal(lambda: encode_names(pa.array(["a", "b\0"]), "rater"))
    assert message == "The rater 'b\\x00' holds a NUL byte; remove it or re-save the file as UTF-8."


BROKEN = {
    "quoted.csv": (HEAD + 'a,u,"x\ny"\nb,u,x\n', None),
    "long.csv": (HEAD + "a,u,x,more\n", "has 4 fields"),
    "latin.csv": (HEAD.encode() + b"a,u,\xe9\n", "not UTF-8"),
    "broken.jsonl": ('{"item": 1, "worker": 2, "label": 3}\n{"item": \n', "Line 2"),
    "open.csv": (HEAD + 'a,u,"x\n', "quote that is not closed"),
    "mixed.csv": (HEAD.replace("\n", "\r\n") + "a,u,x\nb,u,y\r\n", None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_w2_text_on_its_way_to_spark_gets_the_same_checks(tmp_path, name):
    text, words = BROKEN[name]
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if words is not None:
        said = [refusal(lambda: read_labels(path)), refusal(lambda: as_parquet([path], tmp_path, ReadOptions()))]
        assert said[0] == said[1]
        assert words in said[0]
        return
    table = pq.read_table(as_parquet([path], tmp_path, ReadOptions())[0])
    assert sorted(tuple(row.values()) for row in table.to_pylist()) == rows_of(read_labels(path))


@pytest.mark.slow
def test_m1_json_lines_with_late_many_and_sparse_keys(tmp_path, spooled):
    rows = [{"item": f"i{n % 50}", "worker": f"w{n % 7}", "label": "xy"[n % 2]} for n in range(21_000)]
    rows[-1]["late"] = 1
    path = write(tmp_path / "late.jsonl", json_lines(rows))
    assert read_labels(path).n_labels == 21_000
    assert read_labels(path, item_column="late", allow_drops=True).n_labels == 1
    sparse = [{**row, f"key {n}": n} for n, row in enumerate(rows[:400])]
    sparse = [
        {**{k: v for k, v in row.items() if k != "item"}, **({"item": "a"} if n > 300 else {})} for n, row in enumerate(sparse)
    ]
    path = write(tmp_path / "sparse.jsonl", json_lines(sparse))
    for labels in (read_labels(path, allow_drops=True), spooled(path, allow_drops=True)):
        assert labels.report.dropped == {"missing item": 301}


def test_m2_parquet_files_whose_types_differ_and_bytes_that_are_no_text(tmp_path, spooled):
    one, two = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"item": [1, 2], "worker": ["u", "u"], "label": [1.0, 2.0]}), one)
    pq.write_table(pa.table({"item": ["1", "3"], "worker": ["v", "v"], "label": [1, 2]}), two)
    for labels in (read_labels([one, two]), spooled(one, two)):
        assert rows_of(labels) == [("1", "u", "1"), ("1", "v", "1"), ("2", "u", "2"), ("3", "v", "2")]
    pq.write_table(pa.table({"item": [b"\xff\xfe", b"a"], "worker": ["u", "v"], "label": ["x", "y"]}), one)
    for read in (read_labels, spooled):
        assert "The item column of 'a.parquet' holds bytes that are no text" in refusal(lambda read=read: read(one))


def test_m3_fields_longer_than_the_csv_module_likes(tmp_path, spooled):
    long = "x" * 200_000
    path = tmp_path / "a.csv"
    path.write_bytes(f"item,worker,label\r\n{long},u,x\nb,u,y\r\n".encode())  # mixed line ends, which DuckDB refuses
    for labels in (read_labels(path), spooled(path)):
        assert labels.items.to_pylist() == [long, "b"]


def test_m5_columns_that_differ_in_case_only(tmp_path, spooled):
    columns = {"Item": ["a", "a"], "item": ["b", "b"], "worker": ["u", "v"], "label": ["x", "y"]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    write(tmp_path / "a.jsonl", json_lines([{name: cells[n] for name, cells in columns.items()} for n in range(2)]))
    for name in ("a.parquet", "a.jsonl"):
        for read in (read_labels, spooled):
            assert "'Item', 'item' could both be the item column" in refusal(lambda read=read, name=name: read(tmp_path / name))
        assert read_labels(tmp_path / name, item_column="item").items.to_pylist() == ["b"]
        assert spooled(tmp_path / name, item_column="Item").items.to_pylist() == ["a"]


def test_m6_texts_that_look_the_same_are_noted(tmp_path):
    path = write(tmp_path / "a.csv", HEAD + "a,Jose\u0301,yes\na,Jos\u00e9,yes\u200b\nb,c,no\n")
    notes = " ".join(read_labels(path).report.notes)
    assert "Classes that differ only in case, spaces, invisible marks" in notes
    assert "Workers whose names look the same" in notes


def test_m7_ids_in_floats_are_written_alike(tmp_path, spooled):
    path = tmp_path / "a.parquet"
    for items, expected in (([1e15, 2.0, 1e15], [10**15, 2]), ([1e15, 0.5, 1e-7], ["1000000000000000", "0.5", "1e-7"])):
        pq.write_table(pa.table({"item": items, "worker": list("uvw"), "label": list("xyx")}), path)
        found = [labels.items.to_pylist() for labels in (read_labels(path), spooled(path))]
        assert found[0] == found[1] == expected
        assert as_labels(pq.read_table(path)).items.to_pylist() == expected


def test_m8_one_bad_time_is_the_one_that_is_named(tmp_path, spooled):
    path = write(tmp_path / "a.csv", "item,worker,label,time\na,u,x,100\na,u,y,200\nb,u,x,soon\nb,u,y,300\n")
    for read in (read_labels, spooled):
        message = refusal(lambda read=read: read(path, repeats="last"))
        assert message.startswith("The time in data row 3 of 'a.csv' is 'soon'; it needs")
    write(path, "item,worker,label,time\na,u,x,100\na,u,y,2024-05-01\nb,u,x,200\n")
    assert "numbers and some are dates (data row 2: '2024-05-01')" in refusal(lambda: read_labels(path, repeats="last"))


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_m9_a_file_replaced_while_it_is_read(tmp_path, spooled, monkeypatch, place):
    path = write(tmp_path / "a.csv", HEAD + "a,u,x\nb,u,y\n")
    sniff = probe.sniff

    def sniff_and_replace(start, name):
        found = sniff(start, name)
        other = write(tmp_path / "other.csv", "worker,item,label\nu,a,x\nu,b,y\n")
        os.replace(other, path)
        return found

    monkeypatch.setattr(probe, "sniff", sniff_and_replace)
    message = refusal(lambda: read_labels(path) if place == "memory" else spooled(path))
    assert message == "'a.csv' changed while it was read; try again when it is complete."


def test_l6_a_folder_of_the_users_own_is_left_alone(tmp_path):
    (tmp_path / "crowdassay-study").mkdir()
    write(tmp_path / "crowdassay-study" / "mine.txt", "mine")
    write(tmp_path / "crowdassay-study.lock", "")
    (tmp_path / "crowdassay-12-0123abcd").mkdir()  # named like ours, without the marker
    write(tmp_path / "crowdassay-12-0123abcd.lock", "")
    with workspace(tmp_path) as folder:
        assert folder.is_dir()
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["crowdassay-12-0123abcd", "crowdassay-12-0123abcd.lock", "crowdassay-study", "crowdassay-study.lock"]
    with workspace(tmp_path) as folder:
        stale = folder
        (tmp_path / "keep").mkdir()
        os.rename(folder, tmp_path / "keep" / folder.name)  # as a crash would leave it
    os.rename(tmp_path / "keep" / stale.name, stale)
    write(tmp_path / f"{stale.name}.lock", "")
    with workspace(tmp_path):
        assert not stale.exists()


def test_items_that_vanish_are_counted(tmp_path, spooled):
    path = write(tmp_path / "a.csv", HEAD + "a,u,x\na,v,y\nb,,x\nc,u,\nd,u,x\n")
    for labels in (read_labels(path), spooled(path)):
        assert "2 items are left without any label, and not in the result." in labels.report.notes


def test_times_and_durations_go_with_the_labels(tmp_path):
    text = "item,worker,label,timestamp,duration\nb,u,x,200,2\na,u,y,100,1.5\nb,v,y,,\n"
    labels = read_labels(write(tmp_path / "a.csv", text))
    assert labels.items.to_pylist() == ["b", "a"]
    np.testing.assert_array_equal(labels.time, [200, np.nan, 100])
    np.testing.assert_array_equal(labels.duration, [2, np.nan, 1.5])
    odd = read_labels(write(tmp_path / "b.csv", text.replace("200", "soon")))
    assert odd.time is None
    assert "The times in 'timestamp' could not be read" in " ".join(odd.report.notes)
    shown = read_labels(write(tmp_path / "c.csv", "item,worker,label,url\na,u,x,http://a\nb,u,y,http://b\n"), text_column="url")
    assert shown.item_text.to_pylist() == ["http://a", "http://b"]


def test_wide_frames_by_column_and_index():
    frame = pd.DataFrame({"ann": [1, 0], "bob": [1, None], "text": ["p", "q"]}, index=["i1", "i2"])
    labels = as_labels(frame, worker_columns=["ann", "bob"])
    assert rows_of(labels) == [("i1", "ann", 1), ("i1", "bob", 1), ("i2", "ann", 0)]
    assert as_labels(frame, worker_columns="ann,bob", item_column="text").items.to_pylist() == ["p", "q"]
    with pytest.raises(ColumnError, match="No column is named 'zed'"):
        as_labels(frame, worker_columns="zed")


def test_options_that_make_no_sense_for_a_frame_are_refused():
    three = (["a", "a"], ["u", "v"], ["x", "y"])
    assert as_labels(three, missing="x", allow_drops=True).n_labels == 1
    for options in ({"question": "q"}, {"skip_bad": True}, {"format": "prodigy"}):
        with pytest.raises(CrowdassayError, match="files"):
            as_labels(three, **options)
    with pytest.raises(TypeError, match="no reading option 'colour'"):
        as_labels(three, colour="red")


def test_zip_of_text_and_a_bad_member(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("labels.csv", HEAD + "a,u,x\na,v,y\n")
    assert rows_of(read_labels(tmp_path / "a.zip")) == [("a", "u", "x"), ("a", "v", "y")]
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("labels.csv", HEAD + "a,u,x\na,v\n")
    with pytest.raises(DataError, match=r"Line 3 of 'labels\.csv' has 2 fields"):
        read_labels(tmp_path / "b.zip")


def test_c6_what_duckdb_refuses_is_still_read_little_by_little(tmp_path, spooled, monkeypatch):
    monkeypatch.setattr(delimited, "BATCH", 50)
    lines = [f"i{n // 3},w{n % 3},{'xy'[n % 2]}\n" for n in range(3000)]
    path = tmp_path / "mixed.csv"
    path.write_bytes("".join([HEAD, *lines[:1500], "i0,w9,x\r\n", *lines[1500:]]).encode())
    source = open_source(probe.probe(path), ("item", "worker", "label"), {})
    assert ask(source.query, path, lambda relation: relation.fetchall()) is None  # DuckDB refuses it
    opened = []

    @contextmanager
    def watched():
        with path.open("rb", buffering=0) as stream:
            opened.append(stream)
            yield stream

    batches = delimited.read_slowly(watched, path, source.probe.dialect, {"a": 0, "b": 1, "c": 2}, source.lenient)
    assert len(next(batches)) == 50
    assert opened[0].tell() < path.stat().st_size / 2  # most of the file has not been read yet
    assert max(len(batch) for batch in batches) == 50
    assert len(spooled(path).label) == 3001


@pytest.mark.parametrize("clock", ["", " 10:00", " 10:00:00"])
def test_w15_dates_that_may_begin_with_the_day_or_the_month_are_refused_or_left_aside(tmp_path, spooled, clock):
    head = "item,worker,label,timestamp\n"
    doubtful = write(tmp_path / "a.csv", f"{head}a,u,x,03/02/2024{clock}\na,u,y,02/03/2024{clock}\nb,v,x,03/02/2024{clock}\n")
    for read in (read_labels, spooled):
        with pytest.raises(DataError, match=r"day first or the month first \(data row 1: '03/02/2024.*2024-12-31"):
            read(doubtful, repeats="last")
    labels = read_labels(doubtful)
    assert (labels.time, labels.n_labels) == (None, 3)
    assert "The times in 'timestamp' could not be read" in " ".join(labels.report.notes)


@pytest.mark.parametrize(("proof", "kept"), [("25/12/2023 10:00", "y"), ("12/25/2023 10:00", "x")])
def test_w15_a_number_above_twelve_in_one_date_tells_for_all(tmp_path, spooled, proof, kept):
    head = "item,worker,label,timestamp\n"
    path = write(tmp_path / "a.csv", f"{head}a,u,x,03/02/2024 10:00\na,u,y,02/03/2024 10:00\nb,v,x,{proof}\n")
    for read in (read_labels, spooled):
        assert rows_of(read(path, repeats="last"))[0] == ("a", "u", kept)


def test_w17_a_row_that_the_sample_cut_says_nothing_of_its_columns(tmp_path):
    text = "a long remark on the item, " * 40
    lines = [(f"i{n // 2}", f"w{n % 2}", f"{n // 2} {text}", f"set {n // 20}", "yn"[n * 7 % 3 > 0]) for n in range(600)]
    rows = "\n".join(",".join([*row[:2], f'"{row[2]}"', *row[3:]]) for row in lines)
    path = write(tmp_path / "a.csv", f"item,worker,remark,part,tone\n{rows}\n")
    assert path.stat().st_size > delimited.SAMPLE_BYTES
    assert read_labels(path).report.columns["label"] == "tone"
    shown = delimited.first_rows(path.read_bytes()[: delimited.SAMPLE_BYTES], delimited.sniff(path.read_bytes(), path))
    assert [row["part"] for row in shown] == [row[3] for row in lines[: len(shown)]]


def test_w17_a_column_that_is_the_same_in_all_rows_of_an_item_is_not_taken_for_the_label(tmp_path):
    lines = "".join(f"i{n // 3},w{n % 3},{'ab'[n // 3 % 2]},{'yn'[n * 7 % 4 > 1]}\n" for n in range(30))
    path = write(tmp_path / "a.csv", f"item,worker,category,tone\n{lines}")
    with pytest.raises(ColumnError, match=r"'category' is called like a label, but it is the same .*'tone' could be"):
        read_labels(path)
    assert read_labels(path, label_column="tone").class_names == ("n", "y")
    assert read_labels(path, label_column="category").class_names == ("a", "b")  # whoever names it knows
    agreed = write(
        tmp_path / "b.csv",
        "item,worker,category,source\n" + "".join(f"i{n // 3},w{n % 3},{'ab'[n // 3 % 2]},s{n // 3}\n" for n in range(30)),
    )
    assert read_labels(agreed).class_names == ("a", "b")  # all agree, and nothing else could be an answer


def test_few_values_answer_and_many_values_are_content(tmp_path):
    head = "question_id,rater,Question,Answer,Answer Relevance (1-5)\n"
    lines = "".join(f"q{n // 2},r{n % 2},why {n // 2}?,because of {n} things,{1 + n * 7 % 5}\n" for n in range(120))
    labels = read_labels(write(tmp_path / "a.csv", head + lines))
    assert (labels.report.columns["label"], labels.n_classes) == ("Answer Relevance (1-5)", 5)
    two = "".join(f"{line},{1 + n * 5 % 4}\n" for n, line in enumerate(lines.splitlines()))
    path = write(tmp_path / "b.csv", f"{head.strip()},Fluency\n{two}")
    with pytest.raises(
        ColumnError, match=r"another text in nearly every row; 'Answer Relevance \(1-5\)', 'Fluency' could be the label"
    ):
        read_labels(path)


def test_m16_an_infinite_number_never_becomes_a_class(tmp_path, spooled):
    rows = {"item": list("aabb"), "worker": list("uvuv"), "label": [1.0, np.inf, 0.0, 1.0]}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(rows), path)
    for read in (lambda: as_labels(pd.DataFrame(rows)), lambda: read_labels(path), lambda: spooled(path)):
        with pytest.raises(DataError, match="label column holds an infinite number"):
            read()
    written = write(tmp_path / "a.csv", HEAD + "a,u,1\na,v,inf\nb,u,0\nb,v,1\n")
    assert "Taken as a class each: 'inf' (rows: 1)" in " ".join(read_labels(written).report.notes)


def test_m16_pandas_reads_the_class_none_as_missing_and_the_remedy_is_said(tmp_path):
    path = write(tmp_path / "a.csv", HEAD + "".join(f"i{n // 3},w{n % 3},{('yes', 'no', 'None')[n % 3]}\n" for n in range(9)))
    with pytest.warns(UserWarning, match="keep_default_na=False"):
        assert as_labels(pd.read_csv(path)).report.dropped == {"missing label": 3}
    for kept in (as_labels(pd.read_csv(path, keep_default_na=False)), read_labels(path)):
        assert kept.class_names == ("None", "no", "yes")


def test_stray_quotes_in_a_table_with_tabs_are_text_where_every_line_has_all_its_cells(tmp_path, spooled):
    lines = '"so" it is\tu\tx\n5" wide\tu\ty\n"so" it is\tv\ty\n5" wide\tv\tx\n'
    path = write(tmp_path / "a.tsv", f"item\tworker\tlabel\n{lines}")
    for labels in (read_labels(path), spooled(path)):
        assert sorted(set(labels.items.to_pylist())) == ['"so" it is', '5" wide']
        assert labels.n_labels == 4
        assert "holds quotes that enclose no cells" in labels.report.notes[0]
    large = write(
        tmp_path / "b.tsv", f"item\tworker\tlabel\n{lines}" + "".join(f"i{n // 2}\tw{n % 2}\tx\n" for n in range(40_000))
    )
    assert read_labels(large).n_labels == 40_004
    proper = write(tmp_path / "c.tsv", 'item\tworker\tlabel\n"a\tb"\tu\tx\n"a\tb"\tv\ty\n')
    assert read_labels(proper).items.to_pylist() == ["a\tb"]
    ragged = write(tmp_path / "d.tsv", 'item\tworker\tlabel\n"a" b\tu\n"a" b\tv\ty\n')
    with pytest.raises(DataError, match="quote"):
        read_labels(ragged)


def test_a_windows_table_is_read_where_only_texts_and_columns_that_are_not_read_have_its_letters(tmp_path, spooled):
    rows = [f"i{n // 2},w{n % 2},{'xy'[n % 2]},caf\xe9 {n // 2},d\xe9j\xe0" for n in range(6)]
    path = tmp_path / "a.csv"
    path.write_bytes(("item,worker,label,text,remark\n" + "\n".join(rows)).encode("cp1252"))
    labels = read_labels(path)
    assert (labels.n_labels, labels.item_text.to_pylist()[0]) == (6, "caf\xe9 0")
    assert "read as Windows-1252: 6 cells" in " ".join(labels.report.notes)
    assert spooled(path).n_labels == 6
    path.write_bytes(
        ("item,worker,label\n" + "\n".join(f"i{n // 2},w{n % 2},{'xé'[n % 2]}" for n in range(6))).encode("cp1252")
    )
    for read in (read_labels, spooled):
        with pytest.raises(DataError, match="not UTF-8 text at line 3"):
            read(path)
