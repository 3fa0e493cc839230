"""UTF-16 text is read as what it says, and what is broken in it is named."""

from __future__ import annotations

import gzip
import tempfile
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from crowdassay import BradleyTerry
from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.labels import raw
from crowdassay.labels.files import read_labels, read_truth
from crowdassay.labels.ingest import spool_files
from crowdassay.labels.raw import as_utf8, encoding_of
from crowdassay.measurement.ratings import read_ratings
from crowdassay.read_options import ReadOptions

TEXT = "item\tworker\tlabel\r\na\té\tx\r\nb\t😀\ty\r\n"
ENCODINGS = ("utf-16", "utf-16-le", "utf-16-be", "utf-32")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_spreadsheets_unicode_text(tmp_path, encoding, pack):
    path = tmp_path / ("a.csv" if pack is bytes else "a.csv.gz")
    path.write_bytes(pack(TEXT.encode(encoding)))
    labels = read_labels(path)
    assert labels.workers.to_pylist() == ["é", "😀"]
    assert labels.report.source == path.name
    assert labels.report.notes[0] == f"'{path.name}' was read as {encoding[:6].upper()} text."
    assert read_truth(path).to_pydict() == {"item": ["a", "b"], "label": ["x", "y"]}


def test_json_and_members_of_archives(tmp_path):
    lines = '{"item": "a", "worker": "é", "label": "x"}\n{"item": "a", "worker": "v", "label": "y"}\n'
    path = tmp_path / "a.jsonl"
    path.write_bytes((lines + "{\n").encode("utf-16"))
    assert read_labels(path, skip_bad=True).workers.to_pylist() == ["é", "v"]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for user, label in (("ann", "x"), ("bob", "y")):
            archive.writestr(f"{user}.jsonl", f'{{"id": 1, "text": "é", "label": ["{label}"]}}\n'.encode("utf-16"))
    assert read_labels(tmp_path / "a.zip", format="doccano").workers.to_pylist() == ["ann", "bob"]


def test_several_files_and_files_larger_than_memory(tmp_path):
    paths = [tmp_path / "u16.csv", tmp_path / "u8.csv"]
    paths[0].write_bytes(TEXT.encode("utf-16"))
    paths[1].write_text("item,worker,label\nc,v,x\n", "utf-8")
    note = "'u16.csv' was read as UTF-16 text."
    labels = read_labels(paths)
    assert (labels.items.to_pylist(), labels.report.notes[0]) == (["a", "b", "c"], note)
    (tmp_path / "spool").mkdir()
    spool = spool_files(paths, tmp_path / "spool", ReadOptions(), memory=10**9, threads=1)
    assert (spool.workers.to_pylist(), spool.report.notes[0]) == (["é", "😀", "v"], note)


@pytest.mark.parametrize("chunk", [3, 1 << 20])
def test_what_is_broken_is_named_by_its_byte(tmp_path, monkeypatch, chunk):
    """Characters, and pairs of surrogates, may be cut by the end of a chunk."""
    monkeypatch.setattr(raw, "BYTES_AT_A_TIME", chunk)
    path, whole = tmp_path / "a.csv", TEXT.encode("utf-16")
    path.write_bytes(whole)
    with as_utf8(path) as (copy, _):
        assert copy.read_bytes() == TEXT.encode()
    assert not copy.exists()
    path.write_bytes(whole[:-1])
    with pytest.raises(DataError, match=rf"byte {len(whole) - 2} \(truncated data\)"):
        read_labels(path)
    path.write_bytes(whole + b"\x00\xd8\x20\x00")
    with pytest.raises(DataError, match=rf"byte {len(whole)} \(illegal UTF-16 surrogate\)"):
        read_labels(path)
    path.write_bytes(whole + "c\0".encode("utf-16-le"))
    with pytest.raises(DataError, match=r"Line 4 of 'a\.csv', UTF-16 text, holds a NUL"):
        read_labels(path)


def test_a_bomb_and_a_full_disk(tmp_path, monkeypatch):
    bomb = tmp_path / "a.csv.gz"
    bomb.write_bytes(gzip.compress((TEXT + "a\tw\tx\r\n" * 500_000).encode("utf-16")))
    with pytest.raises(DataError, match="more than 100 times its size"):
        read_labels(bomb)
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    path = tmp_path / "a.csv"
    path.write_bytes((TEXT * 9999).encode("utf-16"))
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: str(tmp_path / "full"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.csv").symlink_to("/dev/full")
    with pytest.raises(FileError, match=r"a copy in UTF-8 cannot be written .*No space left.*save it as UTF-8"):
        raw.utf8_copy(path, tmp_path)


def test_utf8_is_left_alone(tmp_path):
    for start in (b"item", b"i\0t\0", b"\0i\0t", b"i\0t\0e\0mx", b"", b"\xef\xbb\xbfitem"):
        assert encoding_of(start) is None
    path = tmp_path / "a.csv"
    path.write_text(TEXT, "utf-8")
    with as_utf8(path) as (same, notes):
        assert (same, notes) == (path, [])


def test_text_is_read_as_what_it_is_said_to_be(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.replace("😀", "Ž").encode("cp1252"))
    with pytest.raises(DataError, match="that byte is 'é'; labels themselves may be read with `encoding` windows-1252"):
        read_labels(path)
    labels = read_labels(path, encoding="windows-1252")
    assert labels.workers.to_pylist() == ["é", "Ž"]
    assert labels.report.notes[0] == "'a.csv' was read as windows-1252 text."
    spool = spool_files([path], tmp_path, ReadOptions(encoding="windows-1252"), memory=1 << 30, threads=1)
    assert spool.report.notes[0] == labels.report.notes[0]
    with pytest.raises(DataError, match=r"'a.csv' is ascii text that is broken at byte \d+"):
        read_labels(path, encoding="ascii")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_text_that_is_marked_as_unicode_has_no_other_encoding(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text(TEXT, encoding)
    with pytest.raises(ParameterError, match=r"'a.csv' begins with the mark of Unicode text; leave out `encoding`"):
        read_labels(path, encoding="windows-1252")


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "hex", "", "unicode_escape", "idna"])
def test_an_encoding_that_there_is_not_is_refused(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    with pytest.raises(ParameterError, match=f"There is no encoding '{encoding}'; .* windows-1252"):
        read_labels(path, encoding=encoding)


def test_ratings_and_comparisons_have_encodings_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("left,right,winner\né,b,é\nb,é,é\n".encode("mac-roman"))
    assert "é" in set(BradleyTerry().fit(path, encoding="mac-roman").ranking_["item"])
    path.write_bytes(("rater,task,score\n" + "".join(f"é{n % 3},t{n // 3},{n % 4}\n" for n in range(12))).encode("cp1252"))
    assert "é0" in str(read_ratings(path, ["rater", "task"], encoding="cp1252").names)


def test_what_is_no_text_has_no_encoding(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY")
    with pytest.raises(ParameterError, match=r"`encoding` goes with files of text, and 'a\.npy' is none"):
        read_labels(path, encoding="utf-8")
    with pytest.raises(ParameterError, match="goes with files"):
        read_ratings(pa.table({"rater": ["a"], "task": ["t"], "score": [1]}), ["rater", "task"], encoding="utf-8")
