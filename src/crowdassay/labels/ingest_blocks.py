"""Cut a stream of labels, sorted by item, into blocks of whole items, and deal with repeated judgements on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.labels.repeats import find_repeats, repeat_notes
from crowdassay.labels.spool import Spool
from crowdassay.labels.values import shown

PAIRS_NAMED = 3  # pairs in conflict that a note names


@dataclass(frozen=True, eq=False)
class Block:
    """Some whole items: the row in which each first appears and its number of labels, then the labels' codes."""

    first: IntArray
    n_labels: IntArray
    worker: Any
    label: Any


@dataclass
class Repeated:
    """What was found of judgements that a worker gave again on the same item, block after block."""

    policy: str
    columns: Mapping[str, str] = field(default_factory=dict)  # with the time column, where repeats go by it
    count: int = 0
    conflicts: int = 0
    left_out: int = 0
    places: list[tuple[int, int, int]] = field(default_factory=list)  # block, item and worker of pairs in conflict
    earliest: tuple[int, int, int] | None = None

    def take(self, number: int, item: IntArray, worker: Any, label: Any, n_workers: int, time: Any) -> Any:
        """Look at a block and return which of its labels to keep; None for all."""
        repeats = find_repeats(item, worker, label, n_workers, time if self.columns else None)
        if repeats is None:
            return None
        place = [(number, int(item[row]), int(worker[row])) for row in (repeats.earliest, *repeats.conflict_rows)]
        self.earliest = self.earliest or place[0]
        self.places = (self.places + place[1:])[:PAIRS_NAMED]
        self.count += repeats.count
        self.conflicts += repeats.conflicts
        if self.policy not in {"first", "last"}:
            return None
        self.left_out += repeats.count
        keep = np.ones(len(item), bool)
        keep[repeats.not_first if self.policy == "first" else repeats.not_last] = False
        return keep

    def notes(self, spool: Spool) -> list[str]:
        """Say what was done, or that repeats are not allowed, with names from the finished spool."""

        def pair(place: tuple[int, int, int]) -> str:
            number, item, worker = place
            return f"worker {shown(spool.workers[worker].as_py())} on item {shown(spool.ids(number)[item].as_py())}"

        if self.earliest is None:
            return []
        by = f"by the time column {shown(self.columns['time'])}" if self.columns else "in row order"
        return repeat_notes(
            self.policy, by, self.count, pair(self.earliest), self.conflicts, [pair(place) for place in self.places]
        )


def blocks_of(batches: Any, size: int, n_workers: int, repeated: Repeated) -> Iterator[Block]:
    """Yield blocks of at least ``size`` labels from batches of (item's first row, worker, label, time), sorted by the first."""
    held: list[tuple[Any, ...]] = []
    number, waiting = 0, 0
    for batch in batches:
        held.append(tuple(column.to_numpy() for column in batch.columns))
        waiting += len(batch)
        if waiting <= size:
            continue
        columns = [np.concatenate(parts) for parts in zip(*held, strict=True)]
        cut = int(np.searchsorted(columns[0], columns[0][-1]))  # the last item may go on
        if cut:
            yield _block([column[:cut] for column in columns], number, n_workers, repeated)
            number += 1
        held, waiting = [tuple(column[cut:] for column in columns)], len(columns[0]) - cut
    if waiting:
        yield _block([np.concatenate(parts) for parts in zip(*held, strict=True)], number, n_workers, repeated)


def _block(columns: list[Any], number: int, n_workers: int, repeated: Repeated) -> Block:
    first, worker, label, time = columns
    begins = np.flatnonzero(np.append(True, first[1:] != first[:-1]))
    n_labels = np.diff(np.append(begins, len(first)))
    item = np.repeat(np.arange(len(begins)), n_labels)
    keep = repeated.take(number, item, worker, label, n_workers, time)
    if keep is not None:
        n_labels, worker, label = np.bincount(item[keep], minlength=len(begins)), worker[keep], label[keep]
    return Block(first[begins], n_labels, worker, label)
