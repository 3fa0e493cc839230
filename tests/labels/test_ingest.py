"""Files encoded into a spool are what `read_labels` makes of them."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crowdassay.errors import ColumnError, DataError, FileError, ParameterError
from crowdassay.labels import spool as spools
from crowdassay.labels.files import read_labels
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.labels import Labels
from crowdassay.labels.raw import find_inputs
from crowdassay.read_options import ReadOptions
from support.problems import random_labels
from support.spools import spool_labels

ROWS = """task,annotator,answer
a,u1,yes
a,u2,no
 ,u1,yes
b,,yes
b,u1,
b,u2,yes
\u2003,u3,no
b,u2,no
=c,u3,yes
a,u1,yes
d,u4,yes
d,u1,no
"""


@pytest.fixture
def spooled(tmp_path):
    def spool(*paths, size=None, **options):
        known = {what: options.pop(what, None) for what in ("gold", "truth")}
        folder = tmp_path / "spool"
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        return spool_files(find_inputs(paths), folder, ReadOptions.of(options), memory=10**9, threads=1, **known)

    return spool


def whole(spool):
    """All blocks together."""
    blocks = [spool.block(number, ids=True) for number in range(len(spool.sizes))]
    sizes = np.concatenate([np.diff(block.starts) for block in blocks])
    return Labels(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([block.worker for block in blocks]),
        np.concatenate([block.label for block in blocks]),
        pa.concat_arrays([block.items for block in blocks]),
        spool.workers,
        spool.classes,
        np.concatenate([block.gold for block in blocks]),
        spool.report,
    )


def assert_same(found, expected, report=True):
    for name in ("items", "workers", "classes"):
        assert getattr(found, name).equals(getattr(expected, name)), name
    for name in ("starts", "worker", "label", "gold"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    if report:
        assert found.report == expected.report


@pytest.mark.parametrize("repeats", ["keep", "first", "last"])
def test_a_csv_file_is_read_as_in_memory(tmp_path, spooled, repeats):
    path = tmp_path / "x.csv"
    path.write_text(ROWS, "utf-8")
    assert_same(whole(spooled(path, repeats=repeats)), read_labels(path, repeats=repeats))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["x.tsv", "x.csv.gz", "x.jsonl", "x.parquet"])
def test_other_formats(tmp_path, spooled, name):
    path = tmp_path / name
    rows = [line.split(",") for line in ROWS.splitlines()]
    if name == "x.tsv":
        path.write_text(ROWS.replace(",", "\t"), "utf-8")
    elif name == "x.csv.gz":
        path.write_bytes(gzip.compress(ROWS.encode()))
    elif name == "x.jsonl":
        import json

        path.write_text("\n".join(json.dumps(dict(zip(rows[0], row, strict=True))) for row in rows[1:]), "utf-8")
    else:
        columns = [list(column) for column in zip(*rows[1:], strict=True)]
        pq.write_table(pa.table(dict(zip(rows[0], columns, strict=True))), path)
    assert_same(whole(spooled(path)), read_labels(path))


def test_numbers_stay_numbers(tmp_path, spooled):
    path = tmp_path / "x.parquet"
    table = {"item": [3, 3, 1, None], "worker": [1.0, 2.0, float("nan"), 1.0], "label": [True, False, True, True]}
    pq.write_table(pa.table(table), path)
    assert_same(whole(spooled(path, allow_drops=True)), read_labels(path, allow_drops=True))
    pq.write_table(pa.table({**table, "worker": [1.5, 2.0, 1.5, 1.0]}), path)
    assert_same(whole(spooled(path)), read_labels(path))


def test_blocks_hold_whole_items(tmp_path, spooled, monkeypatch):
    labels = random_labels(0, n_items=200, n_workers=9)
    path = tmp_path / "x.csv"
    rows = zip(labels.label_item, labels.worker, labels.label, strict=True)
    lines = [f"i{item},w{worker},c{label}" for item, worker, label in rows]
    order = np.random.default_rng(0).permutation(len(lines))
    path.write_text("\n".join(["item,worker,label", *(lines[row] for row in order)]), "utf-8")
    monkeypatch.setattr("crowdassay.labels.ingest.block_size", lambda *sizes: 50)
    monkeypatch.setattr("crowdassay.labels.ingest.ROWS_STREAMED", 2048)
    spool = spooled(path)
    assert_same(whole(spool), read_labels(path), report=False)
    np.testing.assert_array_equal(spool.worker_counts, np.bincount(read_labels(path).worker))
    assert spool.sizes[:, :2].sum(axis=0).tolist() == [200, labels.n_labels]
    assert spool.longest == np.diff(labels.starts).max()


def test_labels_in_memory_are_spooled_in_blocks(tmp_path):
    labels = random_labels(1, n_items=40, gold=5)
    spool = spool_labels(labels, tmp_path, size=10)
    assert len(spool.sizes) > 5
    assert_same(whole(spool), labels)
    assert spool.n_gold == 5


@pytest.mark.slow
def test_several_files_are_one_table(tmp_path, spooled):
    lines = ROWS.splitlines()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.csv").write_text("\n".join([lines[0], *lines[6:]]), "utf-8")
    (tmp_path / "in" / "a.csv").write_text("\n".join(lines[:6]), "utf-8")
    (tmp_path / "in" / "notes.md").write_text("nothing")
    one = tmp_path / "x.csv"
    one.write_text(ROWS, "utf-8")
    expected = read_labels(one)
    for given in ([tmp_path / "in"], [tmp_path / "in" / "?.csv"], [tmp_path / "in" / "a.csv", tmp_path / "in" / "b.csv"]):
        assert_same(whole(spooled(*given)), expected, report=False)
        assert_same(read_labels(given), expected, report=False)


def test_gold_and_truth(tmp_path, spooled):
    path, gold, truth = tmp_path / "x.csv", tmp_path / "gold.csv", tmp_path / "truth.csv"
    path.write_text(ROWS, "utf-8")
    gold.write_text("item,label\nd,yes\nzz,no\na,no\n")
    truth.write_text("item,label\n=c,no\nb,yes\n")
    spool = spooled(path, gold=gold, truth=truth)
    assert whole(spool).gold.tolist() == [0, -1, -1, 1]
    assert spool.known(0).tolist() == [-1, 1, 0, -1]
    assert spool.truth == {"items": 2, "unknown_items": 0}
    assert spool.n_gold == 2
    assert any("items without labels: 1" in note for note in spool.report.notes)
    gold.write_text("item,label\nzz,no\n")
    with pytest.raises(DataError, match="None of the 1 gold items appears"):
        spooled(path, gold=gold)


@pytest.mark.slow
def test_options(tmp_path, spooled):
    path = tmp_path / "x.csv"
    path.write_text(ROWS, "utf-8")
    assert spooled(path, classes=["yes", "maybe", "no"]).classes.to_pylist() == ["yes", "maybe", "no"]
    assert spooled(path, pseudonymise=True, salt="s").workers.equals(read_labels(path, pseudonymise=True, salt="s").workers)
    assert_same(whole(spooled(path, missing="no", allow_drops=True)), read_labels(path, missing="no"), report=False)


@pytest.mark.slow
def test_what_is_wrong_is_said(tmp_path, spooled):
    path = tmp_path / "x.csv"
    path.write_text("item,worker,label\na,u,yes\na,u,no\n")
    with pytest.raises(DataError, match="worker 'u' on item 'a' comes again"):
        spooled(path, repeats="error")
    path.write_text("item,worker,label\na,u,yes\nb,u\n")
    with pytest.raises(DataError, match=r"Line 3 of 'x\.csv' has 2 fields"):
        spooled(path)
    path.write_text("item,worker,label\na,,yes\n")
    with pytest.raises(DataError, match="the only row misses a value"):
        spooled(path)
    path.write_text("item,worker,label\na,u,yes\nb,,no\nc,,no\n")
    with pytest.raises(DataError, match="allow_drops=True"):
        spooled(path)
    path.write_text("item,worker,label\na,u,yes\nb\0,u,no\n")
    with pytest.raises(DataError, match="NUL"):
        spooled(path)
    path.write_text("item,worker,opinion\na,u,yes\n")
    with pytest.raises(ColumnError, match="crowdassay convert"):
        spooled(path)
    path.write_text("item,worker,label\n" + "".join(f"i{n},u,free text {n}\n" for n in range(1100)))
    with pytest.raises(DataError, match="more than 1000 classes"):
        spooled(path)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="not a complete Parquet file"):
        spooled(tmp_path / "bad.parquet")
    with pytest.raises(FileError, match="No file matches"):
        find_inputs([tmp_path / "*.feather"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="holds no file of labels"):
        find_inputs([tmp_path / "empty"])
    with pytest.raises(ParameterError, match="at least 600 MB"):
        spool_files([path], tmp_path, ReadOptions(), memory=10**8, threads=1)


def test_mixed_line_ends_are_read_slowly(tmp_path, spooled):
    path = tmp_path / "x.csv"
    path.write_bytes(b"item,worker,label\r\na,u,yes\nb,u,no\r\nb,v,no\r")
    assert_same(whole(spooled(path)), read_labels(path))


def test_block_size_follows_the_tables():
    assert spools.block_size(10, 2) == spools.LEAST_BLOCK_LABELS
    assert spools.block_size(10**6, 10) == spools.MOST_BLOCK_LABELS
    assert Path(spools.LABELS_FILE).suffix == ".parquet"


def test_json_that_holds_no_objects(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[[1, 2], [3]]")
    (tmp_path / "spool").mkdir()
    with pytest.raises(DataError, match="it needs one JSON object per label"):
        spool_files([path], tmp_path / "spool", ReadOptions(), memory=10**9, threads=1)
