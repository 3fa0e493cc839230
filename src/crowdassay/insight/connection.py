"""Which labels hang together, and where nothing can be learned about who is right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.data.labels import Labels


@dataclass(frozen=True, eq=False)
class Connection:
    """Groups of labels that share no item and no worker, the largest first.

    Attributes
    ----------
    item, worker : ndarray of int, shapes (n_items,) and (n_workers,)
        The group of each; -1 for one without labels.
    sizes : ndarray of int, shape (n_groups,)
        Labels in each group.
    identified : ndarray of bool, shape (n_groups,)
        Whether two workers can be compared in the group, or a worker with a known class.
    shared : ndarray of bool, shape (n_items,)
        Items that show something about a worker: several workers labelled them, or their class is known.
    """

    item: IntArray
    worker: IntArray
    sizes: IntArray
    identified: BoolArray
    shared: BoolArray


def connect(labels: Labels) -> Connection:
    """Find the connected parts of the graph of workers and items."""
    size = labels.n_items + labels.n_workers
    worker = labels.worker.astype(np.int64)
    graph = coo_array((np.ones(labels.n_labels, np.int8), (labels.label_item, labels.n_items + worker)), shape=(size, size))
    n_groups, group = connected_components(graph, directed=False)
    sizes = np.bincount(group[labels.label_item], minlength=n_groups)
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(n_groups, np.int64)
    rank[order] = np.arange(n_groups)
    rank[sizes == 0] = -1  # an item or a worker without labels
    item, of_worker = rank[group[: labels.n_items]], rank[group[labels.n_items :]]
    # An item is shared if its workers are not all the same: compare each with the item's first.
    filled = np.diff(labels.starts) > 0
    first = np.repeat(worker[labels.starts[:-1][filled]], np.diff(labels.starts)[filled])
    shared = np.zeros(labels.n_items, bool)
    shared[labels.label_item[worker != first]] = True
    shared |= (labels.gold >= 0) & filled
    n_filled = int((sizes > 0).sum())
    identified = np.bincount(item[shared], minlength=n_filled) > 0
    return Connection(item, of_worker, sizes[order][:n_filled], identified, shared)
