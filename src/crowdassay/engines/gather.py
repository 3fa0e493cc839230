"""Bring the labels of a few items to one place: known ones, or a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.data.labels import Labels


@dataclass(frozen=True, eq=False)
class Wanted:
    """Which items to bring; those that any of these asks for.

    Attributes
    ----------
    known : bool
        Items whose class is known.
    step : int
        The first item of all and every ``step``-th after it; 0 for none.
    workers : ndarray of bool, shape (n_workers,), or None
        Items that any of these workers has labelled.
    """

    known: bool = False
    step: int = 0
    workers: np.ndarray | None = None

    def rows(self, labels: Labels, first: int) -> IntArray:
        """Return the wanted items of a block whose first item has the number ``first`` among all."""
        wanted = np.zeros(labels.n_items, bool)
        if self.known:
            wanted |= labels.gold >= 0
        if self.step:
            wanted |= (first + np.arange(labels.n_items)) % self.step == 0
        if self.workers is not None:
            wanted[labels.label_item[self.workers[labels.worker]]] = True
        return np.flatnonzero(wanted)


def take(labels: Labels, rows: IntArray) -> Labels:
    """Return the labels of some items (n_rows,), in that order and without their names."""
    sizes = np.diff(labels.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(starts[-1]) + np.repeat(labels.starts[:-1][rows] - starts[:-1], sizes)
    return replace(
        labels, starts=starts, worker=labels.worker[chosen], label=labels.label[chosen], gold=labels.gold[rows],
        items=pa.nulls(len(rows)),
    )  # fmt: skip


def join(parts: Iterable[Labels]) -> Labels:
    """Return the labels of several sets of items together, of the same workers and classes."""
    several = list(parts)
    sizes = np.concatenate([np.diff(labels.starts) for labels in several])
    return replace(
        several[0],
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        worker=np.concatenate([labels.worker for labels in several]),
        label=np.concatenate([labels.label for labels in several]),
        gold=np.concatenate([labels.gold for labels in several]),
        items=pa.nulls(len(sizes)),
    )
