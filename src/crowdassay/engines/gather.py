"""Bring the labels of a few items to one place: known ones, or a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.labels import Labels


@dataclass(frozen=True, eq=False)
class ItemSelection:
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
    return take_items(labels, rows, named=False)


def join(parts: Iterable[Labels]) -> Labels:
    """Return the labels of several sets of items together, of the same workers and classes, without the items' names."""
    return join_items([replace(labels, items=pa.nulls(labels.n_items), item_text=None) for labels in parts])
