"""Confusion tables of workers from class weights."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels


def observed_counts(labels: Labels, weights: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_j Q_{jc} 1[x_{ij} = k]` for class weights (n_items, n_classes): (n_workers, n_classes, n_classes)."""
    n_classes, size = labels.n_classes, labels.n_workers * labels.n_classes
    counts = np.zeros((size, n_classes))
    kind = np.int32 if size < 2**31 else np.int64
    step = max(1 << 16, size)  # items at a time, to save memory; not too few, as each time costs an array of all counts
    for first in range(0, labels.n_items, step):
        starts = labels.starts[first : first + step + 1]
        part = slice(int(starts[0]), int(starts[-1]))
        cells = labels.worker[part] * kind(n_classes) + labels.label[part]
        given = csr_array((np.ones(len(cells)), cells, starts - starts[0]), shape=(len(starts) - 1, size))
        counts += given.T @ weights[first : first + step]
    return np.ascontiguousarray(counts.reshape(labels.n_workers, n_classes, n_classes).transpose(0, 2, 1))


def normalise(counts: FloatArray, otherwise: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Turn counts (n_workers, n_classes, n_classes) into rows that sum to one, and the share on the diagonal.

    A class that none of a worker's items can have takes its row from ``otherwise``, or is uniform.
    """
    n_classes = counts.shape[1]
    rows = counts.sum(axis=2, keepdims=True)
    seen = rows > 1e-12
    fallback = np.full_like(counts, 1.0 / n_classes) if otherwise is None else otherwise
    confusion = np.where(seen, counts / np.where(seen, rows, 1.0), fallback)
    total = counts.sum(axis=(1, 2))
    right = np.einsum("icc->i", counts)
    return confusion, np.where(total > 0, right / np.where(total > 0, total, 1.0), np.nan)


def confusion_tables(labels: Labels, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each worker's confusion table and accuracy against class weights (n_items, n_classes)."""
    return normalise(observed_counts(labels, weights))
