"""The registry of public datasets, and how their raw files become rows of item, worker and label.

`registry.json` holds facts only; the data stay with those who published them.
"""

from __future__ import annotations

import csv
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from hashlib import sha256
from importlib.resources import files
from io import StringIO
from typing import Any, NamedTuple

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.values import counted

WORKER_FLAGS = re.compile(r"(\w+): \{([^}]*)\}")
ITEM_FLAG = re.compile(r"(\w+): (true|false)")


@dataclass(frozen=True)
class Raw:
    """Raw files in a public repository, how to convert them, and what must come out.

    Attributes
    ----------
    repository, commit : str
        ``owner/name``, and the commit that pins the files.
    files : tuple of str
        Paths in the repository: labels, then truth unless the same file holds it.
    format : str
        A key of `RAW_READERS`.
    labels_sha256, truth_sha256 : str
        `checksum` of the converted rows.
    label_edges, truth_edges : tuple of float
        Edges that put scores into classes 0, 1, ...; a score on an edge goes up.
    leave_out : str, optional
        Class whose labels and items are left out.
    """

    repository: str
    commit: str
    files: tuple[str, ...]
    format: str
    labels_sha256: str
    truth_sha256: str
    label_edges: tuple[float, ...] = ()
    truth_edges: tuple[float, ...] = ()
    leave_out: str | None = None


@dataclass(frozen=True)
class Entry:
    """Facts about one dataset; `raw` is None where no file is known that we can convert."""

    name: str
    kind: str
    classes: tuple[str, ...]
    items: int
    workers: int
    labels: int
    truth_items: int
    source: str
    paper: str
    licence: str
    licence_note: str
    notes: str
    class_names: tuple[str, ...] = ()
    raw: Raw | None = None

    @property
    def repository(self) -> str:
        """Where the data were published: owner and name of the public repository."""
        return self.source.split(" ", 1)[0]

    def record(self) -> dict[str, Any]:
        """Return the facts as plain values, fit for JSON."""
        return asdict(self)


def entries() -> dict[str, Entry]:
    """Return every dataset, by name in alphabetical order.

    >>> entries()["bluebirds"].workers
    39
    """
    text = files(__package__).joinpath("registry.json").read_text(encoding="utf-8")
    return {name: Entry(name=name, **fields) for name, fields in sorted(json.loads(text, object_hook=_frozen).items())}


def entry(name: str) -> Entry:
    """Return one dataset's facts; an unknown name is an error that suggests the nearest one."""
    known = entries()
    if name in known:
        return known[name]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else "`crowdassay datasets` lists them."
    raise ParameterError(f"There is no dataset '{name}'; {hint}")


def _frozen(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a JSON object, lists as tuples and raw files as a record."""
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return {**fields, "raw": Raw(**fields["raw"])} if fields.get("raw") else fields


class Converted(NamedTuple):
    """Rows of a dataset, all as text, in the order of the raw file."""

    labels: list[tuple[str, str, str]]
    truth: list[tuple[str, str]]


@dataclass(frozen=True)
class RawTable:
    """Where a raw table keeps what; columns count from 0. A table without a truth column has a second file: item, label."""

    delimiter: str
    header: bool
    item: int
    worker: int
    label: int
    truth: int | None = None

    def read(self, texts: Sequence[str]) -> Converted:
        """Read one table, or one of labels and one of truth."""
        rows = self._rows(texts[0], max(self.item, self.worker, self.label, self.truth or 0))
        labels = [(row[self.item], row[self.worker], row[self.label]) for row in rows]
        if self.truth is not None:
            return Converted(labels, [(row[self.item], row[self.truth]) for row in rows])
        return Converted(labels, [(row[0], row[1]) for row in self._rows(texts[1], 1)])

    def _rows(self, text: str, last: int) -> list[list[str]]:
        lines = csv.reader(StringIO(text, newline=""), delimiter=self.delimiter)
        rows = [row for row in lines if row][self.header :]
        for number, row in enumerate(rows, start=1):
            if len(row) <= last:
                raise DataError(f"Row {number} has {counted(len(row), 'column')} where {last + 1} are needed.")
        return rows


def read_flags(texts: Sequence[str]) -> Converted:
    """Read YAML maps ``worker: {item: true, ...}`` and ``{item: true, ...}``; false and true become 0 and 1."""
    bits = {"false": "0", "true": "1"}
    labels = [
        (item, worker, bits[flag])
        for worker, flags in WORKER_FLAGS.findall(texts[0])
        for item, flag in ITEM_FLAG.findall(flags)
    ]
    return Converted(labels, [(item, bits[flag]) for item, flag in ITEM_FLAG.findall(texts[1])])


RAW_READERS: dict[str, Callable[[Sequence[str]], Converted]] = {
    "item-worker-label-tsv": RawTable("\t", False, item=0, worker=1, label=2).read,
    "item-worker-label-csv": RawTable(",", True, item=0, worker=1, label=2).read,
    "worker-item-label-truth-csv": RawTable(",", False, item=1, worker=0, label=2, truth=3).read,
    "annotation-worker-item-label-truth-tsv": RawTable("\t", True, item=2, worker=1, label=3, truth=4).read,
    "yaml-flags": read_flags,
}


def convert(raw: Raw, texts: Sequence[str]) -> Converted:
    """Convert raw files.

    Scores are put into bins when the registry gives edges, the class that is left out goes with its items, truth without labels
    goes, and workers are renumbered w1, w2, ... in order of first appearance, so that no real worker id is kept.

    Parameters
    ----------
    raw : Raw
    texts : sequence of str
        One for each of `raw.files`.
    """
    labels, truth = RAW_READERS[raw.format](texts)
    try:
        if raw.label_edges:
            labels = [(item, worker, str(bisect_right(raw.label_edges, float(score)))) for item, worker, score in labels]
        if raw.truth_edges:
            truth = [(item, str(bisect_right(raw.truth_edges, float(score)))) for item, score in truth]
    except ValueError as error:
        raise DataError(f"A score is no number: {error}.") from None
    known: dict[str, str] = {}
    for item, label in truth:
        known.setdefault(item, label)  # some files repeat an item's truth with every label
    if raw.leave_out is not None:
        labels = [row for row in labels if row[2] != raw.leave_out and known.get(row[0]) != raw.leave_out]
        known = {item: label for item, label in known.items() if label != raw.leave_out}
    numbers: dict[str, str] = {}
    labels = [(item, numbers.setdefault(worker, f"w{len(numbers) + 1}"), label) for item, worker, label in labels]
    labelled = {item for item, _, _ in labels}
    return Converted(labels, [(item, label) for item, label in known.items() if item in labelled])


def checksum(rows: Sequence[tuple[str, ...]]) -> str:
    r"""Return the SHA-256 of rows written as sorted comma-separated lines; neither row order nor the raw file's bytes matter.

    >>> checksum([("b", "2"), ("a", "1")]) == sha256(b"a,1\nb,2\n").hexdigest()
    True
    """
    lines = sorted(",".join(row) for row in rows)
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
