"""Confusion tables that nothing is impossible in: the crowd's, and every worker's."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.engines.kernels.passes import share_out
from crowdassay.labels.labels import Labels

BORROWED = 2.0  # labels' worth of the crowd's table in every worker's
MOST_CELLS = 50_000_000  # of the tables of all workers; beyond, votes have to do


def crowd_table(counts: FloatArray) -> FloatArray:
    """Pool what workers answer to each class, from expected counts (n_workers, n_classes, n_classes): one table."""
    pooled = counts.sum(axis=0) + 0.5 / counts.shape[1]
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


def worker_tables(counts: FloatArray) -> FloatArray | None:
    """Return every worker's table, drawn a little towards the crowd's; None where they would be too many."""
    if counts.size > MOST_CELLS:
        return None
    return np.asarray((counts + BORROWED * crowd_table(counts)) / (counts.sum(axis=2, keepdims=True) + BORROWED))


def first_judgements(labels: Labels) -> BoolArray:
    """Mark the first of the labels that a worker gave an item, shape (n_labels,): the others repeat it."""
    first = share_out(labels) == 1.0
    again = np.flatnonzero(~first)
    pair = labels.label_item[again] * labels.n_workers + labels.worker[again]
    first[again[np.unique(pair, return_index=True)[1]]] = True
    return np.asarray(first)
