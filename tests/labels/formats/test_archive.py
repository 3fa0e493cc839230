"""Zips and folders from strangers: refused before anything is unpacked."""

import stat
import zipfile

import pytest

from crowdassay.errors import DataError
from crowdassay.labels import probe
from crowdassay.labels.files import read_labels
from support.exports import doccano_zip

LINE = '{"id": 1, "text": "x", "label": ["a"]}\n'


@pytest.mark.slow
def test_too_many_files(tmp_path):
    path = doccano_zip(tmp_path / "a.zip", {f"{n}.jsonl": "" for n in range(probe.MAX_MEMBERS + 1)})
    with pytest.raises(DataError, match=r"10,001 files, more than 10,000"):
        read_labels(path)


def test_a_bomb(tmp_path, monkeypatch):
    path = doccano_zip(tmp_path / "a.zip", {"ann.jsonl": " " * (probe.SMALL_FILE * 2)})
    assert path.stat().st_size < 10_000
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(DataError, match=r"more than 100 times their size"):
        read_labels(path)


def test_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "LARGEST_ARCHIVE", 10)
    with pytest.raises(DataError, match=r"bytes unpacked, more than 10"):
        read_labels(doccano_zip(tmp_path / "a.zip", {"ann.jsonl": LINE}))


@pytest.mark.parametrize("name", ["../ann.jsonl", "/etc/ann.jsonl", "a/../../ann.jsonl", "..\\ann.jsonl"])
def test_names_that_point_outside(tmp_path, name):
    with pytest.raises(DataError, match=r"points outside"):
        read_labels(doccano_zip(tmp_path / "a.zip", {name: LINE}))


def test_links_in_a_zip(tmp_path):
    link = zipfile.ZipInfo("ann.jsonl")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match=r"'ann.jsonl' is a link"):
        read_labels(tmp_path / "a.zip")


def test_links_in_a_folder(tmp_path):
    (tmp_path / "secret").write_text(LINE)
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "ann.jsonl").symlink_to(tmp_path / "secret")
    with pytest.raises(DataError, match=r"is a link"):
        read_labels(tmp_path / "export")


def test_a_folder_with_too_many_files(tmp_path, monkeypatch):
    monkeypatch.setattr(probe, "MAX_FILES", 2)
    for n in range(3):
        (tmp_path / f"{n}.json").write_text(LINE)
    with pytest.raises(DataError, match=r"more than 2 files"):
        read_labels(tmp_path)


def test_encrypted(tmp_path):
    path = doccano_zip(tmp_path / "a.zip", {"ann.jsonl": LINE})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"encrypted"):
        read_labels(path)


def test_damaged(tmp_path):
    path = doccano_zip(tmp_path / "a.zip", {"ann.jsonl": LINE * 50})
    whole = path.read_bytes()
    path.write_bytes(whole[:60])
    with pytest.raises(DataError, match=r"not a complete zip file"):
        read_labels(path)
    path.write_bytes(whole[:45] + b"\xff\xff\xff" + whole[48:])
    with pytest.raises(DataError, match=r"'ann.jsonl' in 'a.zip' is damaged"):
        read_labels(path)


@pytest.mark.parametrize("files", [{}, {"inner.zip": "PK"}, {"notes.txt": "x"}])
def test_a_zip_that_holds_no_export(tmp_path, files):
    with pytest.raises(DataError, match=r"not recognised.*`format`"):
        read_labels(doccano_zip(tmp_path / "a.zip", files))
