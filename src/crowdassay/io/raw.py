"""Open a file's bytes, plain or gzipped, and refuse what is not UTF-8 text."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from crowdassay.errors import CrowdassayError, DataError, FileError
from crowdassay.io.values import shown_file

BOM = b"\xef\xbb\xbf"
MAX_RATIO = 100  # unpacked to packed; text packs about ten to one
SMALL = 1 << 20  # bytes below which the ratio says nothing
CHUNK = 1 << 20
MAGIC = {
    b"\xff\xfe": ("UTF-16 text", "re-save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "re-save it as UTF-8"),
    b"PK\x03\x04": ("a zip or Excel file", "export it as CSV in UTF-8"),
    b"\x1f\x8b": ("gzip-compressed", "add .gz to its name"),
    b"PAR1": ("a Parquet file", "end its name in .parquet"),
}


def is_gzipped(path: Path) -> bool:
    """Tell by its name whether a file is gzipped."""
    return path.suffix.lower() == ".gz"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unzipping on the way; failures become sentences."""
    try:
        with cast(BinaryIO, gzip.open(path, "rb")) if is_gzipped(path) else path.open("rb") as stream:
            yield stream
    except CrowdassayError:
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataError(f"{shown_file(path.name)} is not a complete gzip file; compress or download it again.") from None
    except OSError as error:
        raise FileError(
            f"{shown_file(path.name)} cannot be read ({os.strerror(error.errno or 0)}); check its permissions."
        ) from None


def check_text(path: Path) -> bool:
    """Refuse an empty file or one that is no UTF-8 text by its first bytes; tell whether it starts with a BOM."""
    with opened(path) as stream:
        start = stream.read(4)
    _refuse_bomb(path)
    if not start.removeprefix(BOM):
        raise DataError(f"There were no labels found: {shown_file(path.name)} is empty.")
    for magic, (kind, remedy) in MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{shown_file(path.name)} is {kind}, not plain UTF-8 text; {remedy}.")
    return start.startswith(BOM)


def refuse_bad_bytes(path: Path) -> None:
    """Raise `DataError` with line and byte where a file stops being UTF-8; return if it never does."""
    offset = 0
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"line {number} (byte {offset + error.start})"
                raise DataError(f"{shown_file(path.name)} is not UTF-8 text at {where}; re-save it as UTF-8.") from None
            offset += len(line)


def line_of_nul(path: Path) -> int | None:
    """Return the first line, from 1, that holds a NUL byte."""
    with opened(path) as stream:
        return next((number for number, line in enumerate(stream, 1) if b"\0" in line), None)


def _refuse_bomb(path: Path) -> None:
    """Unpack a gzipped file once, keeping nothing, before any reader does: the size it claims may be a lie."""
    packed = path.stat().st_size
    if not is_gzipped(path) or packed * 1100 < SMALL:  # deflate packs 1032 to one at best
        return
    unpacked = 0
    with opened(path) as stream:
        while chunk := stream.read(CHUNK):
            unpacked += len(chunk)
            if unpacked > max(SMALL, MAX_RATIO * packed):
                raise DataError(
                    f"{shown_file(path.name)} was not read: it unpacks to more than {MAX_RATIO} times its size; "
                    "if it is no trap, unpack it yourself."
                )


@contextmanager
def without_bom(path: Path) -> Iterator[Path]:
    """Copy a file without its BOM, for readers that cannot skip one."""
    with tempfile.TemporaryDirectory() as folder, opened(path) as source:
        copy = Path(folder, path.with_suffix("").name if is_gzipped(path) else path.name)
        source.read(len(BOM))
        with copy.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield copy
