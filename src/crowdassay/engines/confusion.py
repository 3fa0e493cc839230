"""Confusion tables of workers from class weights, and the average of tables."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import local_engine
from crowdassay.labels.labels import Labels


def observed_counts(labels: Labels, weights: FloatArray) -> FloatArray:
    r"""Return :math:`\sum_j Q_{jc} 1[x_{ij} = k]` for class weights (n_items, n_classes): (n_workers, n_classes, n_classes)."""
    return local_engine(labels).tally(weights)


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


def average_worker(sigma: FloatArray, worker_counts: IntArray) -> FloatArray:
    """Return the mean of the workers' tables, each counting by its number of labels, shape (n_classes, n_classes)."""
    return np.tensordot(worker_counts / max(worker_counts.sum(), 1), sigma, axes=1)
