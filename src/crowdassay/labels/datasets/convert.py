"""Turn the raw files of a public dataset into rows of item, worker and label, and check that they are the right ones."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from typing import NamedTuple

from crowdassay.errors import DataError
from crowdassay.labels.datasets.registry import Raw

WORKER_FLAGS = re.compile(r"(\w+): \{([^}]*)\}")
ITEM_FLAG = re.compile(r"(\w+): (true|false)")


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
                raise DataError(f"Row {number} has {len(row)} columns where {last + 1} are needed.")
        return rows


def read_flags(texts: Sequence[str]) -> Converted:
    """Read YAML maps ``worker: {item: true, ...}`` and ``{item: true, ...}``; false and true become 0 and 1."""
    labels = [
        (item, worker, _bit(flag))
        for worker, flags in WORKER_FLAGS.findall(texts[0])
        for item, flag in ITEM_FLAG.findall(flags)
    ]
    return Converted(labels, [(item, _bit(flag)) for item, flag in ITEM_FLAG.findall(texts[1])])


def _bit(flag: str) -> str:
    return str(int(flag == "true"))


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
            labels = [(item, worker, _bin(raw.label_edges, score)) for item, worker, score in labels]
        if raw.truth_edges:
            truth = [(item, _bin(raw.truth_edges, score)) for item, score in truth]
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


def _bin(edges: Sequence[float], score: str) -> str:
    return str(bisect_right(edges, float(score)))


def checksum(rows: Sequence[tuple[str, ...]]) -> str:
    r"""Return the SHA-256 of rows written as sorted comma-separated lines; neither row order nor the raw file's bytes matter.

    >>> checksum([("b", "2"), ("a", "1")]) == sha256(b"a,1\nb,2\n").hexdigest()
    True
    """
    lines = sorted(",".join(row) for row in rows)
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
