"""Passes over few labels in NumPy: the same sums as the compiled kernels, without the wait for a compiler.

Which is used depends on the number of labels alone, `FEW_LABELS`, so the answer does not depend on what has been compiled.
Nothing here loads numba. Labels by class must fit into memory, which few do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels
from crowdassay.labels.votes import tally

Codes = NDArray[np.integer[Any]]

FEW_LABELS = 20_000  # up to here a pass takes milliseconds in NumPy, and compiling takes seconds


def add_items(values: FloatArray, starts: IntArray) -> FloatArray:
    """Add up the rows (n_labels, ...) of every item: (n_items, ...).

    >>> add_items(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    some = np.flatnonzero(starts[1:] > starts[:-1])
    if len(some):
        sums[some] = np.add.reduceat(values, starts[some], axis=0)
    return sums


def count(
    labels: Labels, log_p: FloatArray, log_prior: FloatArray, held: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Run the E-step of a model without an item block.

    Parameters
    ----------
    labels : Labels
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    held : ndarray of shape (n_items, n_classes), optional
        Class weights to hold; otherwise they are the posterior.

    Returns
    -------
    objective : float
    counts : ndarray of shape (n_workers, n_classes, n_classes)
    totals : ndarray of shape (n_classes,)
    weights : ndarray of shape (n_items, n_classes)
    """
    joint = add_items(log_p[labels.worker, :, labels.label], labels.starts) + log_prior
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    value = top[:, 0] + np.log(total[:, 0])
    if held is not None:
        weights = held.copy()
        value = (weights * (joint - np.log(np.where(weights > 0, weights, 1.0)))).sum(axis=1)
    known = np.flatnonzero(labels.gold >= 0)
    weights[known] = np.eye(labels.n_classes)[labels.gold[known]]
    value[known] = joint[known, labels.gold[known]]
    return float(value.sum()), tally(labels, weights), weights.sum(axis=0), weights


def add_groups(values: FloatArray, group: Codes, size: int) -> FloatArray:
    """Add up the rows (n_labels, ...) of each of ``size`` groups, given the group (n_labels,) of every row: (size, ...).

    >>> add_groups(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1, 0, 1]), 3).tolist()
    [[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]
    """
    order = np.argsort(group, kind="stable")
    return add_items(values[order], np.append(0, np.cumsum(np.bincount(group, minlength=size))))
