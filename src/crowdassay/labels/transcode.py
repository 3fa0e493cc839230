"""Read UTF-16 text, which spreadsheets save as "Unicode text", and JSON with a byte order mark, by way of a copy in UTF-8."""

from __future__ import annotations

import codecs
import gzip
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from crowdassay.errors import DataError, FileError
from crowdassay.labels.kinds import DELIMITED, RECORDS, kind_of
from crowdassay.labels.raw import BOM, BYTES_AT_A_TIME, is_gzipped, opened, refuse_bomb
from crowdassay.labels.values import shown_file

MARKS = {  # the longer ones first: UTF-32 begins as UTF-16 does
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
START = 8  # bytes by which an encoding is told
TEXT = DELIMITED | RECORDS
MARKED = "utf-8-sig"


def encoding_of(start: bytes) -> str | None:
    r"""Tell by a file's first bytes whether it is UTF-16 or UTF-32 text, and name the codec.

    Without a byte order mark, four ASCII characters are asked for: in UTF-8 text their NUL bytes would be refused anyway.

    >>> encoding_of("item".encode("utf-16")), encoding_of("item".encode("utf-16-be")), encoding_of(b"item,wor")
    ('utf-16', 'utf-16-be', None)
    """
    for mark, codec in MARKS.items():
        if start.startswith(mark):
            return codec
    for first, codec in ((0, "utf-16-le"), (1, "utf-16-be")):
        letters, zeros = start[first:START:2], start[1 - first : START : 2]
        if zeros == bytes(START // 2) and letters.isascii() and 0 not in letters:
            return codec
    return None


@contextmanager
def as_utf8(path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a file as `utf8_copy` returns it; a copy is gone afterwards."""
    if _encoding_in(path) is None:
        yield path, []  # without a temporary folder, which may not be had
        return
    with tempfile.TemporaryDirectory() as folder:
        yield utf8_copy(path, Path(folder))


def utf8_copy(path: Path, folder: Path) -> tuple[Path, list[str]]:
    """Return a file of text in UTF-8 with notes for the import report: the file itself, or a copy of its name in the folder."""
    encoding = _encoding_in(path)
    if encoding is None:
        return path, []
    refuse_bomb(path)
    copy = Path(tempfile.mkdtemp(dir=folder), path.name)
    name = encoding[:6].upper()
    _transcode(path, copy, codecs.getincrementaldecoder(encoding)(), name)
    return copy, [] if encoding == MARKED else [f"{shown_file(path.name)} was read as {name} text."]


def _encoding_in(path: Path) -> str | None:
    kind = kind_of(path)
    if not path.is_file() or kind not in TEXT:
        return None
    with opened(path) as stream:
        start = stream.read(START)
    # DuckDB's reader of JSON takes a byte order mark for a part of the text.
    return MARKED if kind not in DELIMITED and start.startswith(BOM) else encoding_of(start)


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
