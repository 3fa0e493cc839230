"""What would settle the items that are not settled: counted over all items, wherever they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.findings.items import ItemInsight, ItemStanding
from crowdassay.findings.sums import BlockSums, add_by
from crowdassay.planning.gain import LABELS_AHEAD, expert_gain, labels_needed, sure_after
from crowdassay.planning.state import State


@dataclass(frozen=True, eq=False)
class OpenItems(BlockSums):
    """The items that are not settled, and what would settle them.

    Attributes
    ----------
    items : ndarray of int, shape (27,)
        By how many further labels each needs; the last are those that need more than are looked ahead.
    by_labels : ndarray of shape (27,)
        Expected errors that these labels remove.
    by_expert : ndarray of shape (27,)
        Expected errors that knowing the classes removes.
    one_each : ndarray of shape (2,)
        Expected errors that one more label on each removes, and the items that it settles.
    alone : int
        Items of which nothing can be said, as nobody who labelled them can be compared; they are in none of the others.
    """

    items: IntArray
    by_labels: FloatArray
    by_expert: FloatArray
    one_each: FloatArray
    alone: int

    @classmethod
    def of(cls, insight: ItemInsight, crowd: FloatArray) -> OpenItems:
        """Look at some items; ``crowd`` (n_classes, n_classes) is what a typical worker answers."""
        standing, size = insight.standing, LABELS_AHEAD + 2
        rows = np.flatnonzero((standing == ItemStanding.OPEN) | (standing == ItemStanding.TIED))
        alone = int((standing == ItemStanding.UNIDENTIFIABLE).sum())
        if not len(rows):
            return cls(np.zeros(size, np.int64), np.zeros(size), np.zeros(size), np.zeros(2), alone)
        state = State.typical(insight.record, crowd)
        needed = labels_needed(state, rows)
        now = sure_after(state, rows, 0)
        gain = sure_after(state, rows, np.minimum(needed, LABELS_AHEAD)) - now
        by_labels, by_expert = add_by(needed, np.stack([gain, expert_gain(state, rows)]), size)
        by_labels[-1] = 0.0  # nobody asks for labels that settle nothing
        one_each = np.array([(sure_after(state, rows, 1) - now).sum(), (needed == 1).sum()])
        return cls(np.bincount(needed, minlength=size), by_labels, by_expert, one_each, alone)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.items.sum()) + self.alone
