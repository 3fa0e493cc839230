"""Files that are read by way of a copy in plain text: UTF-16, which spreadsheets save as "Unicode text", and workbooks."""

from __future__ import annotations

import codecs
import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.labels.raw import (
    BOM,
    BYTES_AT_A_TIME,
    DELIMITED,
    ENCODING_BYTES,
    RECORDS,
    WORKBOOKS,
    encoding_of,
    is_gzipped,
    kind_of,
    opened,
    refuse_bomb,
)
from crowdassay.labels.values import shown_file

MARKED_UTF8 = "utf-8-sig"


@contextmanager
def as_utf8(path: Path, sheet: str | None = None) -> Iterator[tuple[Path, list[str]]]:
    """Yield a file as `utf8_copy` returns it; a copy is gone afterwards."""
    if sheet is None and kind_of(path) not in WORKBOOKS and _encoding_in(path) is None:
        yield path, []  # without a temporary folder, which may not be had
        return
    with tempfile.TemporaryDirectory() as folder:
        yield utf8_copy(path, Path(folder), sheet)


def utf8_copy(path: Path, folder: Path, sheet: str | None = None) -> tuple[Path, list[str]]:
    """Return a file of text in UTF-8 with notes for the import report: the file itself, or a copy of its name in the folder.

    Of a workbook it is the sheet that is named, or the first with a table.
    """
    if kind_of(path) in WORKBOOKS and path.is_file():
        from crowdassay.labels.sheets import copy_sheet  # noqa: PLC0415 - seldom needed

        copy = Path(tempfile.mkdtemp(dir=folder), path.name)
        return copy, copy_sheet(path, copy, sheet)
    if sheet is not None:
        raise ParameterError(f"--sheet goes with workbooks such as .xlsx, and {shown_file(path.name)} is none.")
    encoding = _encoding_in(path)
    if encoding is None:
        return path, []
    refuse_bomb(path)
    copy, name = Path(tempfile.mkdtemp(dir=folder), path.name), encoding[:6].upper()
    _transcode(path, copy, codecs.getincrementaldecoder(encoding)(), name)
    return copy, [] if encoding == MARKED_UTF8 else [f"{shown_file(path.name)} was read as {name} text."]


def _encoding_in(path: Path) -> str | None:
    kind = kind_of(path)
    if not path.is_file() or kind not in DELIMITED | RECORDS:
        return None
    with opened(path) as stream:
        start = stream.read(ENCODING_BYTES)
    # DuckDB's reader of JSON takes a byte order mark for a part of the text.
    return MARKED_UTF8 if kind not in DELIMITED and start.startswith(BOM) else encoding_of(start)


def _transcode(path: Path, copy: Path, decoder: codecs.IncrementalDecoder, name: str) -> None:
    done, line, chunk = 0, 1, b"-"
    with opened(path) as source, cast(BinaryIO, gzip.open(copy, "wb", 1)) if is_gzipped(copy) else copy.open("wb") as target:
        while chunk:
            chunk = source.read(BYTES_AT_A_TIME)
            held = len(decoder.getstate()[0])  # bytes of a character that the last chunk began
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{shown_file(path.name)} is {name} text that is broken at byte {done - held + error.start} "
                    f"({error.reason}); export it again, as UTF-8."
                ) from None
            if "\0" in text:
                line += text[: text.index("\0")].count("\n")
                raise DataError(f"Line {line} of {shown_file(path.name)}, {name} text, holds a NUL; remove it.")
            try:
                target.write(text.encode())
            except OSError as error:
                raise FileError(
                    f"{shown_file(path.name)} is {name} text, and a copy in UTF-8 cannot be written to "
                    f"{shown_file(copy.parents[2])} ({os.strerror(error.errno or 0)}); save it as UTF-8."
                ) from None
            done += len(chunk)
            line += text.count("\n")
