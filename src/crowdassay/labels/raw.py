"""Open a file's bytes, plain or gzipped, and refuse what is not UTF-8 text."""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, cast

from crowdassay.errors import CrowdassayError, DataError, FileError
from crowdassay.labels.values import shown, shown_file

Open = Callable[[], AbstractContextManager[BinaryIO]]
BOM = b"\xef\xbb\xbf"
MAX_RATIO = 100  # unpacked to packed; text packs about ten to one
SMALL_FILE = 1 << 20  # bytes below which the ratio says nothing
BYTES_AT_A_TIME = 1 << 20
WEB = re.compile(r"[a-z][a-z0-9+]+:/+", re.IGNORECASE)
PARQUET, SMALLEST = b"PAR1", 12  # what begins and ends a Parquet file; bytes of the least one
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


def refuse_odd_path(given: str | Path) -> None:
    """Refuse what cannot be the path of a file or folder, and pipes and devices, which cannot be read twice."""
    if not str(given):
        raise FileError("The path is empty; name a file.")
    try:
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        if WEB.match(str(given)):
            raise FileError(f"{shown(given)} is not on this machine; download it first.") from None
        return  # whoever reads it says so, and in what
    except PermissionError:
        raise FileError(f"{shown_file(given)} cannot be reached; check the permissions of its folder.") from None
    except (OSError, ValueError):  # a name too long, a loop of links, a NUL
        raise FileError(f"There is no file {shown(given)}.") from None
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise FileError(f"{shown_file(given)} is a pipe or a device; write what it gives to a file and name that.")


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
        return check_start(stream.read(4), path)


def check_start(start: bytes, path: Path) -> bool:
    """Refuse a file by its first bytes, as `check_text` does."""
    refuse_bomb(path)
    if not start.removeprefix(BOM):
        raise DataError(f"No labels found: {shown_file(path.name)} is empty.")
    for magic, (kind, remedy) in MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{shown_file(path.name)} is {kind}, not plain UTF-8 text; {remedy}.")
    return start.startswith(BOM)


def refuse_bad_bytes(path: Path, data: bytes | None = None, *, open_it: Open | None = None) -> None:
    """Raise `DataError` with line and byte where a file, its bytes or what is opened stop being UTF-8; else return."""
    offset = 0
    stand_in = nullcontext(cast(BinaryIO, io.BytesIO(data or b"")))
    with open_it() if open_it else opened(path) if data is None else stand_in as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                where = f"line {number} (byte {offset + error.start})"
                remedy = _remedy(line, error.start)
                raise DataError(f"{shown_file(path.name)} is not UTF-8 text at {where}; {remedy}.") from None
            offset += len(line)


def _remedy(line: bytes, position: int) -> str:
    """Say what to do about a byte that is no UTF-8: where the whole line reads as Windows-1252, what the byte is there."""
    text = line.decode("cp1252", errors="replace")
    if "\ufffd" in text or not text.strip().replace("\t", "").isprintable():
        return "if it is no text at all, export it as CSV in UTF-8"
    return f"re-save it as UTF-8 (in Windows-1252 that byte is {shown(text[position])})"


def broken_parquet(path: Path) -> DataError:
    """Return an error that says where a Parquet file stops being one; its table of contents stands at the end."""
    size = path.stat().st_size
    with opened(path) as stream:
        first = stream.read(4)
        stream.seek(max(size - 8, 0))
        last = stream.read()
    length = int.from_bytes(last[:4], "little")
    begins = size - 8 - length
    remedy = "export or download it again"
    if not size:
        what = "is empty"
    elif first != PARQUET:
        what, remedy = "does not begin with PAR1", "if it is text, end its name in .csv or .jsonl"
    elif last[4:] != PARQUET or size < SMALLEST:
        what = f"is cut off at byte {size:,}, before its footer"
    elif begins < len(PARQUET):
        what = f"has {size:,} bytes but claims a footer of {length:,}"
    else:
        what = f"is damaged, in its footer (bytes {begins:,} to {size:,}) or in the pages before it"
    return DataError(f"{shown_file(path.name)} is not a complete Parquet file: it {what}; {remedy}.")


def line_of_nul(path: Path) -> int | None:
    """Return the first line, from 1, that holds a NUL byte."""
    with opened(path) as stream:
        return next((number for number, line in enumerate(stream, 1) if b"\0" in line), None)


def refuse_bomb(path: Path) -> None:
    """Unpack a gzipped file once, keeping nothing, before any reader does: the size it claims may be a lie."""
    packed = path.stat().st_size
    if not is_gzipped(path) or packed * 1100 < SMALL_FILE:  # deflate packs 1032 to one at best
        return
    unpacked = 0
    with opened(path) as stream:
        while chunk := stream.read(BYTES_AT_A_TIME):
            unpacked += len(chunk)
            if unpacked > max(SMALL_FILE, MAX_RATIO * packed):
                raise DataError(
                    f"{shown_file(path.name)} was not read: it unpacks to more than {MAX_RATIO} times its size; "
                    "if it is no trap, unpack it yourself."
                )
