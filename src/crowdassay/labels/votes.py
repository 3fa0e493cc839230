"""Votes: counted and shared out."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, row_sum
from crowdassay.labels.labels import Labels

Votes: TypeAlias = NDArray[np.integer[Any]]


def gold_votes(labels: Labels) -> Votes:
    """Count votes, with one vote and no other for items whose class is known; shape (n_items, n_classes)."""
    votes = labels.votes()
    known = np.flatnonzero(labels.gold >= 0)
    votes[known] = 0
    votes[known, labels.gold[known]] = 1
    return votes


def shares(votes: Votes) -> FloatArray:
    """Divide votes by their sum; an item without votes gets a uniform distribution."""
    total = row_sum(votes)
    share = votes / np.maximum(total, 1)[:, None]
    share[total == 0] = 1.0 / votes.shape[1]
    return share


def with_known(posterior: FloatArray, gold: Votes) -> FloatArray:
    """Return class probabilities (n_items, n_classes) in which known classes (n_items,), -1 where unknown, are certain.

    >>> with_known(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([-1, 1])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    known = gold >= 0
    return np.where(known[:, None], np.eye(posterior.shape[1])[gold], posterior) if known.any() else posterior


def tally(labels: Labels, weights: FloatArray) -> FloatArray:
    """Count labels by worker, true and observed class, for class weights (n_items, n_classes) of the items."""
    n_classes, size = labels.n_classes, labels.n_workers * labels.n_classes
    cells = labels.worker.astype(np.int64) * n_classes + labels.label
    counts = [np.bincount(cells, weights[labels.label_item, c], size).reshape(-1, n_classes) for c in range(n_classes)]
    return np.stack(counts, axis=1)
