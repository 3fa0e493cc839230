"""One look at a file, at which it is opened once for all: its kind, its layout, its names, by which its tool is recognised."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from crowdassay.errors import DataError
from crowdassay.labels.archive import members, read_members
from crowdassay.labels.delimited import SAMPLE, Dialect, sniff
from crowdassay.labels.framejson import rows_of_frame
from crowdassay.labels.jsontext import explain
from crowdassay.labels.kinds import ARRAY, DELIMITED, LINES, PARQUET, RECORDS, ZIPPED, kind_of
from crowdassay.labels.raw import broken_parquet, check_start, opened, refuse_bad_bytes
from crowdassay.labels.transcode import START, encoding_of
from crowdassay.labels.values import shown_file

HEADS = (1 << 18, 1 << 28)  # bytes looked at; a first record beyond the first is rare
GAP, GAP_IN_LIST = re.compile(r"\s*"), re.compile(r"[\s,]*")
# Numbers stay the text they are, so that ids of any length keep their digits.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=lambda _: None)


@dataclass(frozen=True)
class Look:
    """What one look at a file shows.

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
    def keys(self) -> set[str]:
        """The names in the header or the first record."""
        return set(self.header) | (set(self.first) if isinstance(self.first, dict) else set())

    def has(self, *names: str) -> bool:
        """Tell whether all names are among the keys."""
        return self.keys.issuperset(names)

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the bytes: of the file, or of what a zip held."""
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        with opened(self.path) as stream:
            yield stream

    def check_unchanged(self) -> None:
        """Refuse a file that another program replaced or wrote to since it was looked at: rows may be of both."""
        if self.stamp is not None and self.stamp != _stamp(self.path):
            raise DataError(f"{shown_file(self.path.name)} changed while it was read; try again when it is complete.")


def look(path: Path) -> Look:
    """Look at a file, or into a zip or folder."""
    if path.is_dir() or path.suffix.lower() in ZIPPED:
        names = members(path)
        first = None
        for name, data in read_members(path, names[:1]):
            first = next(_inside(path, name, data), None)
        return Look(path, "folder" if path.is_dir() else "zip", first=first, names=names)
    suffix, stamp = kind_of(path), _stamp(path)
    if suffix in DELIMITED:
        with opened(path) as stream:
            start = stream.read(SAMPLE)
        check_start(start, path)
        dialect = sniff(start, path)
        return Look(path, "delimited", header=dialect.header, suffix=suffix, dialect=dialect, start=start, stamp=stamp)
    if suffix in RECORDS:
        return Look(path, "records", first=_first(path), suffix=suffix, stamp=stamp)
    if suffix == PARQUET:
        with parquet_file(path) as file:
            return Look(path, "parquet", header=list(file.schema_arrow.names), suffix=suffix, stamp=stamp)
    return Look(path, "array" if suffix == ARRAY else "other", suffix=suffix, stamp=stamp)


def look_inside(seen: Look) -> list[Look]:
    """Look at each data file of a zip by itself, in memory."""
    looks = []
    for name, data in read_members(seen.path, seen.names):
        path, text = Path(Path(name).name), _as_utf8(seen.path, name, data)
        suffix = kind_of(path)
        if suffix in DELIMITED:
            dialect = sniff(text[:SAMPLE], path)
            seen_here = Look(path, "delimited", header=dialect.header, suffix=suffix, dialect=dialect)
            looks.append(replace(seen_here, start=text[:SAMPLE], data=text))
        else:
            looks.append(Look(path, "records", first=next(_inside(seen.path, name, text), None), suffix=suffix, data=text))
    return looks


def records(seen: Look) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object, table row or archived record, with the name of the file that holds it."""
    if seen.kind in {"zip", "folder"}:
        for name, data in read_members(seen.path, seen.names):
            for record in _inside(seen.path, name, data):
                yield name, record
    elif seen.kind == "parquet":
        with parquet_file(seen.path) as file:
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    yield seen.path.name, record
    else:
        for value in values(seen):
            if isinstance(value, dict):
                yield seen.path.name, value


def values(seen: Look) -> Iterator[Any]:
    """Yield the JSON values of a file, whether in a list, on lines or one after the other."""
    with seen.opened() as stream:
        raw = stream.read()
    try:
        yield from _values_in(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        refuse_bad_bytes(seen.path, raw)
    except (ValueError, RecursionError):
        explain(seen.path, seen.suffix in LINES or seen.suffix == ".manifest", raw)


@contextmanager
def parquet_file(path: Path) -> Iterator[Any]:
    """Open a Parquet file, or say where it stops being one."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise broken_parquet(path) from None


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        facts = path.stat()
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def _values_in(text: str) -> Iterator[Any]:
    position = _end(GAP, text, 0)
    in_list = text.startswith("[", position)
    position += in_list
    number = 0
    while True:
        position = _end(GAP_IN_LIST if in_list else GAP, text, position)
        if position == len(text) and in_list:
            raise ValueError("the list is not closed")
        if position == len(text) or (in_list and text[position] == "]"):
            return
        value, position = DECODER.raw_decode(text, position)
        number += 1
        if number == 1 and not in_list and _end(GAP, text, position) == len(text):
            yield from rows_of_frame(value)
            return
        yield value


def _inside(path: Path, name: str, data: bytes) -> Iterator[dict[str, Any]]:
    try:
        text = _as_utf8(path, name, data).decode("utf-8-sig")
        if name.lower().endswith((".csv", ".tsv")):
            separator = "\t" if name.lower().endswith(".tsv") else ","
            yield from csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
        else:
            yield from (value for value in _values_in(text) if isinstance(value, dict))
    except (ValueError, RecursionError, csv.Error) as error:
        if isinstance(error, DataError):
            raise
        raise _incomplete(path, name) from None


def _as_utf8(path: Path, name: str, data: bytes) -> bytes:
    codec = encoding_of(data[:START])
    try:
        return data if codec is None else data.decode(codec).encode()
    except ValueError:
        raise _incomplete(path, name) from None


def _incomplete(path: Path, name: str) -> DataError:
    kind = "CSV" if name.lower().endswith(".csv") else "JSON"
    return DataError(f"{shown_file(name)} in {shown_file(path.name)} is not complete {kind} in UTF-8; export it again.")


def _first(path: Path) -> Any:
    size = os.path.getsize(path)
    for head in HEADS:
        with opened(path) as stream:
            raw = stream.read(head)
        check_start(raw[:4], path)
        text = raw.decode("utf-8-sig", errors="replace").lstrip()
        try:
            in_list = text.startswith("[")
            value, end = DECODER.raw_decode(text[in_list:].lstrip())
        except (ValueError, RecursionError):
            if len(raw) < head or size < head:
                return None
            continue
        alone = not in_list and not text[end:].strip() and len(raw) < head
        return next(iter(rows_of_frame(value)), None) if alone else value
    return None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
