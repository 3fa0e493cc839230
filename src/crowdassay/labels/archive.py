"""The files inside a zip or a folder, checked before any is read; nothing is ever unpacked to disk."""

from __future__ import annotations

import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path, PurePosixPath

from crowdassay.errors import DataError
from crowdassay.labels.raw import BYTES_AT_A_TIME, MAX_RATIO, SMALL_FILE, opened
from crowdassay.labels.values import shown_file

MAX_MEMBERS = 10_000  # in a zip
MAX_FILES = 1_000_000  # in a folder: a worker-response folder has one file per object
LARGEST_ARCHIVE = 1 << 30  # unpacked, in a zip
PACKING_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
ARCHIVED_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".manifest"})
# What the zip module raises on damaged archives, as fuzzing found out.
ZIP_ERRORS = (
    zipfile.BadZipFile, EOFError, OSError, ValueError, IndexError, NotImplementedError, RuntimeError, OverflowError,
    struct.error, zlib.error, lzma.LZMAError,
)  # fmt: skip


def members(path: Path) -> list[str]:
    """List the data files in a zip or folder, as relative paths; refuse what is unsafe to read."""
    names = _in_folder(path) if path.is_dir() else _in_zip(path)
    return sorted({name for name in names if PurePosixPath(name).suffix.lower() in ARCHIVED_SUFFIXES and not _hidden(name)})


def read_members(path: Path, names: list[str]) -> Iterator[tuple[str, bytes]]:
    """Read members that `members` listed, one at a time, in memory."""
    if path.is_dir():
        for name in names:
            with opened(path / name) as stream:
                yield name, stream.read()
        return
    with opened(path) as stream, zipfile.ZipFile(stream) as archive:
        for name in names:
            try:
                # In pieces: asked for everything at once, the module unpacks all that there is before it looks at the size.
                with archive.open(name) as member:
                    data = b"".join(iter(partial(member.read, BYTES_AT_A_TIME), b""))
            except ZIP_ERRORS:
                raise DataError(
                    f"{shown_file(name)} in {shown_file(path.name)} is damaged; export or download it again."
                ) from None
            yield name, data


def _in_zip(path: Path) -> list[str]:
    with opened(path) as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                entries = archive.infolist()
        except ZIP_ERRORS:
            raise DataError(f"{shown_file(path.name)} is not a complete zip file; export or download it again.") from None
    size, packed = sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries)
    if len(entries) > MAX_MEMBERS:
        raise _refusal(path, f"it holds {len(entries):,} files, more than {MAX_MEMBERS:,}")
    if size > LARGEST_ARCHIVE:
        raise _refusal(path, f"its files have {size:,} bytes unpacked, more than {LARGEST_ARCHIVE:,}")
    if size > SMALL_FILE and size > MAX_RATIO * max(packed, 1):
        raise _refusal(path, f"its files unpack to more than {MAX_RATIO} times their size")
    for entry in entries:
        if entry.filename.startswith("/") or ".." in PurePosixPath(entry.filename).parts or "\\" in entry.filename:
            raise _refusal(path, f"{shown_file(entry.filename)} points outside it")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refusal(path, f"{shown_file(entry.filename)} is a link")
        if entry.flag_bits & 1:
            raise _refusal(path, f"{shown_file(entry.filename)} is encrypted")
        if entry.compress_type not in PACKING_METHODS:
            raise _refusal(
                path, f"{shown_file(entry.filename)} is packed by method {entry.compress_type}; pack it again as a plain zip"
            )
    return [entry.filename for entry in entries if not entry.filename.endswith("/")]  # a name may even be empty


def _in_folder(path: Path) -> list[str]:
    names: list[str] = []
    for place, folders, files in os.walk(path):
        for name in (*folders, *files):
            if Path(place, name).is_symlink():
                raise _refusal(path, f"{shown_file(Path(place, name))} is a link; put the file itself there")
        names += [Path(place, name).relative_to(path).as_posix() for name in files]
        if len(names) > MAX_FILES:
            raise _refusal(path, f"it holds more than {MAX_FILES:,} files")
    return names


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def _refusal(path: Path, reason: str) -> DataError:
    return DataError(f"{shown_file(path.name)} was not read: {reason}.")
