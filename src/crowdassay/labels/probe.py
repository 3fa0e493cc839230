"""What a file is: it is opened once, and its kind, its layout and its names are told, by which its tool is recognised."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from crowdassay.errors import DataError
from crowdassay.labels.archive import members, read_members
from crowdassay.labels.delimited import SAMPLE_BYTES, Dialect, sniff
from crowdassay.labels.jsontext import explain, first_value, json_values
from crowdassay.labels.raw import (
    ARRAY,
    DELIMITED,
    ENCODING_BYTES,
    LINES,
    PARQUET,
    RECORDS,
    ZIPPED,
    check_start,
    encoding_of,
    kind_of,
    opened,
    parquet_file,
    refuse_bad_bytes,
)
from crowdassay.labels.values import shown_file

ARCHIVES = frozenset({"zip", "folder"})


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

    @property
    def shown(self) -> str:
        """The file's name as messages quote it."""
        return shown_file(self.path.name)

    @property
    def archived(self) -> bool:
        """Whether it is a zip or a folder."""
        return self.kind in ARCHIVES

    @cached_property
    def keys(self) -> set[str]:
        """The names in the header or the first record."""
        return set(self.header) | (set(self.first) if isinstance(self.first, dict) else set())

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

    def values(self) -> Iterator[Any]:
        """Yield the JSON values of a file, whether in a list, on lines or one after the other."""
        with self.opened() as stream:
            raw = stream.read()
        try:
            yield from json_values(raw.decode("utf-8-sig"))
        except UnicodeDecodeError:
            refuse_bad_bytes(self.path, raw)
        except (ValueError, RecursionError):
            explain(self.path, self.suffix in LINES or self.suffix == ".manifest", raw)

    def check_unchanged(self) -> None:
        """Refuse a file that another program replaced or wrote to since it was opened first: rows may be of both."""
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise DataError(f"{self.shown} changed while it was read; try again when it is complete.")


def probe(path: Path) -> Probe:
    """Open a file, zip or folder, and return what it is."""
    if path.is_dir() or path.suffix.lower() in ZIPPED:
        names = members(path)
        first = None
        for name, data in read_members(path, names[:1]):
            first = next(_inside(path, name, data), None)
        return Probe(path, "folder" if path.is_dir() else "zip", first=first, names=names)
    suffix, stamp = kind_of(path), _stamp(path)
    if suffix in DELIMITED:
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
