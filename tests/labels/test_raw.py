from __future__ import annotations

import gzip

import pytest

from crowdassay.errors import DataError, FileError
from crowdassay.labels.raw import check_start, opened, refuse_bad_bytes


def test_gzip_is_unpacked_by_name(tmp_path):
    path = tmp_path / "a.csv.GZ"
    path.write_bytes(gzip.compress(b"hello"))
    with opened(path) as stream:
        assert stream.read() == b"hello"


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileError, match=r"'gone\.csv' cannot be read"), opened(tmp_path / "gone.csv"):
        pass


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"", "No labels found: 'a.csv' is empty"),
        (b"\xef\xbb\xbf", "No labels found: 'a.csv' is empty"),
        ("item".encode("utf-16"), "UTF-16 text.*re-save it as UTF-8"),
        (b"PK\x03\x04..", "zip or Excel.*export it as CSV"),
        (gzip.compress(b"x", mtime=0), "gzip-compressed.*add .gz"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, start, message):
    path = tmp_path / "a.csv"
    path.write_bytes(start)
    with pytest.raises(DataError, match=message):
        check_start(start, path)


@pytest.mark.parametrize("start", [b"\xef\xbb\xbfabc", b"abc"])
def test_a_bom_before_text_does_no_harm(tmp_path, start):
    path = tmp_path / "a.csv"
    path.touch()
    check_start(start, path)


def test_the_first_bad_byte_is_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"ab\ncd\xe9\n\xff")
    with pytest.raises(
        DataError,
        match=r"line 2 \(byte 5\); re-save it as UTF-8 .in Windows-1252 that byte is 'é'",
    ):
        refuse_bad_bytes(path)
    path.write_text("é", "utf-8")
    refuse_bad_bytes(path)
