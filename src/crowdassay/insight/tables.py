"""Confusion tables that nothing is impossible in: the crowd's, and every worker's."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.data.labels import Labels
from crowdassay.estimators.confusion import observed_counts
from crowdassay.kernels.agreement import share_out

BORROWED = 2.0  # labels' worth of the crowd's table in every worker's
MOST_CELLS = 50_000_000  # of the tables of all workers; beyond, votes have to do


def crowd_table(labels: Labels, weights: FloatArray, chosen: BoolArray | None = None) -> FloatArray:
    """Pool what workers, all or those chosen (n_workers,), answer to each class, by class weights (n_items, n_classes).

    Shape (n_classes, n_classes).
    """
    kept = slice(None) if chosen is None else chosen[labels.worker]
    n_items, n_classes = weights.shape
    cells = labels.label_item[kept] * n_classes + labels.label[kept]
    votes = np.bincount(cells, minlength=n_items * n_classes).reshape(n_items, n_classes)
    pooled = weights.T @ votes + 0.5 / n_classes
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


def worker_tables(labels: Labels, weights: FloatArray) -> FloatArray | None:
    """Return every worker's table, drawn a little towards the crowd's; None where they would be too many."""
    if labels.n_workers * labels.n_classes**2 > MOST_CELLS:
        return None
    counts = observed_counts(labels, weights)
    borrowed = BORROWED * crowd_table(labels, weights)
    return np.asarray((counts + borrowed) / (counts.sum(axis=2, keepdims=True) + BORROWED))


def first_judgements(labels: Labels) -> BoolArray:
    """Mark the first of the labels that a worker gave an item, shape (n_labels,): the others repeat it."""
    first = share_out(labels.starts, labels.worker, labels.n_workers)[0] == 1.0
    again = np.flatnonzero(~first)
    pair = labels.label_item[again] * labels.n_workers + labels.worker[again]
    first[again[np.unique(pair, return_index=True)[1]]] = True
    return np.asarray(first)
