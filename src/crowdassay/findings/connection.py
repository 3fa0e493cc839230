"""Which labels hang together, and where nothing can be learned about who is right."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.findings.sums import BlockSums
from crowdassay.labels.labels import Labels
from crowdassay.statistics import connected_parts


@dataclass(frozen=True, eq=False)
class ConnectedGroups:
    """Groups of labels that share no item and no worker, the largest first.

    Attributes
    ----------
    worker : ndarray of int, shape (n_workers,)
        The group of each; -1 for one without labels.
    sizes, items : ndarray of int, shape (n_groups,)
        Labels and items in each group.
    identified : ndarray of bool, shape (n_groups,)
        Whether two workers can be compared in the group, or a worker with a known class.
    """

    worker: IntArray
    sizes: IntArray
    items: IntArray
    identified: BoolArray


def _join_groups(one: IntArray, other: IntArray) -> IntArray:
    """Return the groups of workers that either links; the groups of both are further nodes of a graph of the workers."""
    size = len(one)
    workers, groups = np.arange(size), np.concatenate([size + one, 2 * size + other])
    return connected_parts(np.tile(workers, 2), groups, 3 * size)[:size]


@dataclass(frozen=True, eq=False)
class Links(BlockSums):
    """Which workers some labels link; links of several blocks of items can be joined.

    Attributes
    ----------
    group : ndarray of int, shape (n_workers,)
        The same number for workers who are linked.
    counts : ndarray of int, shape (n_workers, 3)
        Labels; items, and shared items among them, each counted with the worker who comes first in it.
    """

    group: IntArray = field(metadata={"join": _join_groups})
    counts: IntArray

    @classmethod
    def of(cls, labels: Labels) -> Links:
        """Find the links of some labels: every worker of an item is linked to the item's first."""
        size, filled = labels.n_workers, np.diff(labels.starts) > 0
        first = labels.worker[labels.starts[:-1][filled]]
        others = np.repeat(first, np.diff(labels.starts)[filled])
        counted = (labels.worker, first, first[labels.shared_items[filled]])
        counts = np.column_stack([np.bincount(codes, minlength=size) for codes in counted])
        return cls(connected_parts(others, labels.worker, size), counts)

    def connection(self) -> ConnectedGroups:
        """Return the groups, the largest first."""
        sizes, items, shared = (np.bincount(self.group, column).astype(np.int64) for column in self.counts.T)
        order = np.argsort(-sizes, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        rank[sizes == 0] = -1  # a worker without labels
        order = order[: int((sizes > 0).sum())]
        return ConnectedGroups(rank[self.group], sizes[order], items[order], shared[order] > 0)
