"""What a file is: it is opened once, and its kind, its layout and its names are told, by which its tool is recognised.

The files inside a zip or a folder are checked before any is read; nothing is ever unpacked to disk.
"""

from __future__ import annotations

import csv
import io
import json
import lzma
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from crowdassay.errors import DataError
from crowdassay.labels.delimited import SAMPLE_BYTES, Dialect, sniff
from crowdassay.labels.jsontext import EXACT_DECODER, explain, first_value, json_values, only_list, records_by_name
from crowdassay.labels.raw import (
    ARRAY,
    BYTES_AT_A_TIME,
    DELIMITED,
    ENCODING_BYTES,
    LINES,
    MAX_RATIO,
    PARQUET,
    RECORDS,
    SMALL_FILE,
    WORKBOOKS,
    ZIPPED,
    check_start,
    encoding_of,
    kind_of,
    opened,
    parquet_file,
    refuse_bad_bytes,
)
from crowdassay.labels.roles import ROLES, plain_name
from crowdassay.labels.values import counted, shown_file

ARCHIVES = frozenset({"zip", "folder"})
OUTER_KEY = "key"  # what tells records in an object that holds them by name
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


@dataclass(frozen=True)
class Probe:
    """What a file shows when it is opened for the first time.

    Attributes
    ----------
    path : Path
    kind : {'delimited', 'records', 'parquet', 'zip', 'folder', 'array', 'other'}
    header : list of str
        Column names of delimited text and Parquet.
    first : object
        The first JSON value; for a zip or folder, the first record of its first file.
    names : list of str
        The data files in a zip or folder.
    suffix : str
        The extension that tells the kind, without .gz.
    dialect : Dialect, optional
        How delimited text is laid out.
    start : bytes
        The beginning of delimited text.
    data : bytes, optional
        What the file holds, where it is a member of a zip.
    stamp : tuple, optional
        By which a file that was replaced meanwhile is noticed.
    alone : bool
        Whether it is the only file of the export.
    worker : str, optional
        Whose labels it holds, where every worker has a file.
    """

    path: Path
    kind: str
    header: list[str] = field(default_factory=list)
    first: Any = None
    names: list[str] = field(default_factory=list)
    suffix: str = ""
    dialect: Dialect | None = None
    start: bytes = field(default=b"", repr=False)
    data: bytes | None = field(default=None, repr=False)
    stamp: tuple[int, ...] | None = None
    alone: bool = True
    worker: str | None = None

    @property
    def shown(self) -> str:
        """The file's name as messages quote it."""
        return shown_file(self.path.name)

    @property
    def notes(self) -> list[str]:
        """What there is to know of how it was opened."""
        if self.dialect is None:
            return []
        notes = []
        if self.dialect.titles:
            left = counted(self.dialect.titles, "line was", "lines were")
            notes.append(f"{left} left out above the header of {self.shown}, as titles.")
        if not self.dialect.headed:
            notes.append(f"The first row of {self.shown} was taken for labels: columns are called by their number, from 1.")
        return notes

    @property
    def archived(self) -> bool:
        """Whether it is a zip or a folder."""
        return self.kind in ARCHIVES

    @cached_property
    def keys(self) -> set[str]:
        """The names in the header or the first record."""
        return set(self.header) | (set(self.first) if isinstance(self.first, dict) else set())

    @cached_property
    def columns(self) -> set[str]:
        """The names in the header or the first row, which may be inside of what the file holds first."""
        inside = self.suffix not in LINES and (only_list(self.first) or records_by_name(self.first))
        return set(next(self.rows(), {})) if inside else self.keys

    def has(self, *names: str) -> bool:
        """Return whether all names are among the keys."""
        return self.keys.issuperset(names)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the bytes: of the file, or of what a zip held."""
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        with opened(self.path) as stream:
            yield stream

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every JSON object, table row or archived record."""
        return (record for _, record in self.named_records())

    def named_records(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every record with the name of the file that holds it."""
        if self.archived:
            for name, data in read_members(self.path, self.names):
                for record in _inside(self.path, name, data):
                    yield name, record
        elif self.kind == "parquet":
            with parquet_file(self.path) as file:
                for batch in file.iter_batches():
                    for record in batch.to_pylist():
                        yield self.path.name, record
        else:
            for value in self.values():
                if isinstance(value, dict):
                    yield self.path.name, value

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the records of a plain table; a file that is one object with a single list of objects is that list.

        What stands once beside such a list is told with every record of it. Where the file holds records by name, as a list
        would, the name is told where nothing else tells items.
        """
        records = self.records()
        start = list(islice(records, 2))
        if len(start) == 1 and self.kind == "records" and self.suffix not in LINES:
            outer = start[0]
            if inside := only_list(outer):
                start, once = inside, _said_once(outer, inside)
                for record in start:
                    for name, value in once.items():
                        record.setdefault(name, value)
            elif named := records_by_name(outer):
                start = [record for _, record in named]
                if not _tell_items(start):
                    start = [{OUTER_KEY: name, **record} for name, record in named]
        yield from start
        yield from records

    def values(self, decoder: json.JSONDecoder = EXACT_DECODER) -> Iterator[Any]:
        """Yield the JSON values of a file, whether in a list, on lines or one after the other."""
        with self.opened() as stream:
            raw = stream.read()
        try:
            yield from json_values(raw.decode("utf-8-sig"), decoder)
        except UnicodeDecodeError:
            refuse_bad_bytes(self.path, raw)
        except (ValueError, RecursionError):
            explain(self.path, self.suffix in LINES or self.suffix == ".manifest", raw)

    def check_unchanged(self) -> None:
        """Refuse a file that another program replaced or wrote to since it was opened first: rows may be of both."""
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise DataError(f"{self.shown} changed while it was read; try again when it is complete.")


def _said_once(outer: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the plain values beside the only list of records in a file that each of these may be told with.

    What is called like a label, or like a number of each, belongs to the whole; so does what would take the place of a record's
    own name, time or text. Only the worker may be told better by the whole, beside a model or an author.

    >>> outer = {"annotator": "ann", "task": "tone", "score": "0.9", "exported": "today", "meta": {}}
    >>> _said_once(outer, [{"id": "7", "model": "m", "rating": "3"}])
    {'annotator': 'ann', 'exported': 'today'}
    """
    own = list(dict.fromkeys(key for record in records for key in record))
    once = [name for name, value in outer.items() if value is not None and not isinstance(value, list | dict)]
    left: set[str] = set()
    for role in (role for role in ROLES.values() if role.name not in {"worker", "judge"}):
        of_whole = role.kind in {"class", "number"}
        if of_whole or role.best(own):
            left.update(name for name in once if role.best([name]) and (of_whole or name in role.best([*own, name])))
    return {name: outer[name] for name in once if name not in left}


def _tell_items(records: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether records in an object have a key that is called like an item.

    Where no record names a worker, each is an item, so that the key must be different in all of them.

    >>> _tell_items([{"doc": "a", "text_id": 1}, {"text_id": 2}]), _tell_items([{"text_id": 1}, {"text_id": 1}])
    (True, False)
    >>> _tell_items([{"text_id": 1, "judge": "ann"}, {"text_id": 1, "judge": "bob"}])
    True
    """
    keys = dict.fromkeys(key for record in records for key in record)
    called = [key for key in keys if ROLES["item"].is_named(key) or plain_name(key).endswith("id")]
    if any(map(ROLES["worker"].is_named, keys)):
        return bool(called)
    cells = ([cell for record in records if not isinstance(cell := record.get(key), list | dict)] for key in called)
    return any(len(set(own) - {None}) == len(records) for own in cells)


def probe(path: Path) -> Probe:
    """Open a file, zip or folder, and return what it is."""
    if path.is_dir() or path.suffix.lower() in ZIPPED:
        names = members(path)
        first = None
        for name, data in read_members(path, names[:1]):
            first = next(_inside(path, name, data), None)
        return Probe(path, "folder" if path.is_dir() else "zip", first=first, names=names)
    suffix, stamp = kind_of(path), _stamp(path)
    if suffix in DELIMITED | WORKBOOKS:  # a workbook is read by way of a copy in CSV
        with opened(path) as stream:
            start = stream.read(SAMPLE_BYTES)
        check_start(start, path)
        dialect = sniff(start, path)
        return Probe(path, "delimited", dialect.header, suffix=suffix, dialect=dialect, start=start, stamp=stamp)
    if suffix in RECORDS:
        return Probe(path, "records", first=first_value(path), suffix=suffix, stamp=stamp)
    if suffix == PARQUET:
        with parquet_file(path) as file:
            return Probe(path, "parquet", list(file.schema_arrow.names), suffix=suffix, stamp=stamp)
    return Probe(path, "array" if suffix == ARRAY else "other", suffix=suffix, stamp=stamp)


def probe_members(archive: Probe) -> list[Probe]:
    """Probe each data file of a zip, in memory."""
    probes = []
    for name, data in read_members(archive.path, archive.names):
        path, text = Path(Path(name).name), _as_utf8(archive.path, name, data)
        suffix, start = kind_of(path), text[:SAMPLE_BYTES]
        if suffix in DELIMITED:
            dialect = sniff(start, path)
            probes.append(Probe(path, "delimited", dialect.header, suffix=suffix, dialect=dialect, start=start, data=text))
        else:
            first = next(_inside(archive.path, name, text), None)
            probes.append(Probe(path, "records", first=first, suffix=suffix, data=text))
    return probes


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _inside(path: Path, name: str, data: bytes) -> Iterator[dict[str, Any]]:
    try:
        text = _as_utf8(path, name, data).decode("utf-8-sig")
        if name.lower().endswith((".csv", ".tsv")):
            separator = "\t" if name.lower().endswith(".tsv") else ","
            yield from csv.DictReader(io.StringIO(text, newline=""), restkey="", delimiter=separator)
        else:
            yield from (value for value in json_values(text) if isinstance(value, dict))
    except (ValueError, RecursionError, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        raise _incomplete(path, name) from None


def _as_utf8(path: Path, name: str, data: bytes) -> bytes:
    codec = encoding_of(data[:ENCODING_BYTES])
    try:
        return data if codec is None else data.decode(codec).encode()
    except ValueError:
        raise _incomplete(path, name) from None


def _incomplete(path: Path, name: str) -> DataError:
    kind = "CSV" if name.lower().endswith(".csv") else "JSON"
    return DataError(f"{shown_file(name)} in {shown_file(path.name)} is not complete {kind} in UTF-8; export it again.")


def members(path: Path) -> list[str]:
    """List the data files in a zip or folder, as relative paths; refuse what is unsafe to read."""
    names = {name: PurePosixPath(name) for name in (_in_folder(path) if path.is_dir() else _in_zip(path))}
    hidden = (".", "__MACOSX")
    data = (name for name, inner in names.items() if inner.suffix.lower() in ARCHIVED_SUFFIXES)
    return sorted(name for name in data if not any(part.startswith(hidden) for part in names[name].parts))


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


def _refusal(path: Path, reason: str) -> DataError:
    return DataError(f"{shown_file(path.name)} was not read: {reason}.")
