"""A cheap look at the beginning of a file, by which its tool is recognised, and the records inside."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError
from crowdassay.io.columns import WORDS
from crowdassay.io.delimited import sniff
from crowdassay.io.formats.archive import members, read_members
from crowdassay.io.jsontext import LINES, explain
from crowdassay.io.raw import broken_parquet, check_text, is_gzipped, opened, refuse_bad_bytes
from crowdassay.io.scan import DELIMITED, PARQUET
from crowdassay.io.transcode import START, encoding_of
from crowdassay.io.values import shown_file

RECORDS = LINES | {".json", ".manifest"}
HEADS = (1 << 18, 1 << 26)  # bytes looked at; a first record beyond the first is rare
GAP, GAP_IN_LIST = re.compile(r"\s*"), re.compile(r"[\s,]*")
# Numbers stay the text they are, so that ids of any length keep their digits.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=lambda _: None)


@dataclass(frozen=True)
class Look:
    """What the beginning of a file shows.

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
    """

    path: Path
    kind: str
    header: list[str] = field(default_factory=list)
    first: Any = None
    names: list[str] = field(default_factory=list)

    @property
    def keys(self) -> set[str]:
        """The names in the header or the first record."""
        return set(self.header) | (set(self.first) if isinstance(self.first, dict) else set())

    def has(self, *names: str) -> bool:
        """Tell whether all names are among the keys."""
        return self.keys.issuperset(names)


def is_named(name: str, role: str) -> bool:
    """Tell whether a plain file's column of this name would be taken for the role.

    >>> is_named("Worker_ID", "worker"), is_named("annotation_id", "label")
    (True, False)
    """
    plain = re.sub(r"[\s_\-]+", "", name).casefold()
    return plain in WORDS[role] or (role in {"item", "worker"} and plain.removesuffix("id") in WORDS[role])


def look(path: Path) -> Look:
    """Look at a file, or into a zip or folder."""
    if path.is_dir() or path.suffix.lower() == ".zip":
        names = members(path)
        first = next((record for _, data in read_members(path, names[:1]) for record in _inside(path, names[0], data)), None)
        return Look(path, "folder" if path.is_dir() else "zip", first=first, names=names)
    kind = (path.with_suffix("") if is_gzipped(path) else path).suffix.lower()
    if kind in DELIMITED:
        check_text(path)
        return Look(path, "delimited", header=sniff(path).header)
    if kind in RECORDS:
        check_text(path)
        return Look(path, "records", first=_first(path))
    if kind == PARQUET:
        with _parquet(path) as file:
            return Look(path, "parquet", header=list(file.schema_arrow.names))
    return Look(path, "array" if kind == ".npy" else "other")


def records(seen: Look) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every JSON object, table row or archived record, with the name of the file that holds it."""
    if seen.kind in {"zip", "folder"}:
        for name, data in read_members(seen.path, seen.names):
            for record in _inside(seen.path, name, data):
                yield name, record
    elif seen.kind == "parquet":
        with _parquet(seen.path) as file:
            for batch in file.iter_batches():
                for record in batch.to_pylist():
                    yield seen.path.name, record
    else:
        for value in values(seen.path):
            if isinstance(value, dict):
                yield seen.path.name, value


def values(path: Path) -> Iterator[Any]:
    """Yield the JSON values of a file, whether in a list, on lines or one after the other."""
    check_text(path)
    with opened(path) as stream:
        raw = stream.read()
    try:
        yield from _values_in(raw.decode("utf-8-sig"))
    except UnicodeDecodeError:
        refuse_bad_bytes(path)
    except (ValueError, RecursionError):
        explain(path, by_line=path.suffix.lower() != ".json" and not path.name.lower().endswith(".json.gz"))


def _values_in(text: str) -> Iterator[Any]:
    position = _end(GAP, text, 0)
    in_list = text.startswith("[", position)
    position += in_list
    while True:
        position = _end(GAP_IN_LIST if in_list else GAP, text, position)
        if position == len(text) and in_list:
            raise ValueError("the list is not closed")
        if position == len(text) or (in_list and text[position] == "]"):
            return
        value, position = DECODER.raw_decode(text, position)
        yield value


def _inside(path: Path, name: str, data: bytes) -> Iterator[dict[str, Any]]:
    try:
        text = data.decode(encoding_of(data[:START]) or "utf-8-sig")
        if name.lower().endswith(".csv"):
            yield from csv.DictReader(io.StringIO(text, newline=""))
        else:
            yield from (value for value in _values_in(text) if isinstance(value, dict))
    except (ValueError, RecursionError, csv.Error):
        kind = "CSV" if name.lower().endswith(".csv") else "JSON"
        raise DataError(
            f"{shown_file(name)} in {shown_file(path.name)} is not complete {kind} in UTF-8; export it again."
        ) from None


def _first(path: Path) -> Any:
    for size in HEADS:
        with opened(path) as stream:
            raw = stream.read(size)
        text = raw.decode("utf-8-sig", errors="replace").lstrip()
        try:
            return DECODER.raw_decode(text.removeprefix("[").lstrip())[0]
        except (ValueError, RecursionError):
            if len(raw) < size:
                return None
    return None


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

    try:
        with pq.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError):
        raise broken_parquet(path) from None


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position
