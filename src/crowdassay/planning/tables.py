r"""What each worker answers to each class, judged by what the others say.

A worker's own label is part of an item's class probabilities. Whoever labels items that nobody else has labelled would agree
with the result every time, and look good. So the label is taken out of the probabilities before they judge it:

.. math::  \log q^{-i}_c = \log \pi_c + t(n - 1) \Big[\frac{1}{t(n)} \log \frac{q_c}{\pi_c} - \log p_i(c, x)\Big] + \text{const}

where n labels count for t(n) each, and p is the table found so far. An item's only label says nothing of who gave it.
"""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_max, row_sum
from crowdassay.data.labels import Labels
from crowdassay.engines.confusion import observed_counts
from crowdassay.planning.dependence import Dependence

BORROWED_LABELS = 4.0  # labels' worth of the crowd's table in every worker's
ROUNDS = 2  # tables from probabilities, probabilities without the worker's label by the tables
CELLS = 4_000_000  # numbers held at a time
SMALL_PROBABILITY = 1e-6


def worker_tables(
    labels: Labels, posterior: FloatArray, log_prior: FloatArray, law: Dependence, crowd: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return each worker's table (n_workers, n_classes, n_classes), and the crowd's (n_classes, n_classes).

    Parameters
    ----------
    labels : Labels
    posterior : ndarray of shape (n_items, n_classes)
    log_prior : ndarray of shape (n_classes,)
    law : Dependence
        What an item's labels counted for when the posterior was made.
    crowd : ndarray of shape (n_classes, n_classes), optional
        What a typical worker answers; otherwise the pooled table of all workers.
    """
    first = observed_counts(labels, posterior)
    pooled = first.sum(axis=0) + 0.5 / labels.n_classes
    pooled /= pooled.sum(axis=1, keepdims=True)  # the crowd as the fit believes it to be, where nobody can be compared
    tables = _share(first, pooled if crowd is None else crowd)
    for _ in range(ROUNDS):
        counts = _counts_by_others(labels, posterior, log_prior, law, np.log(np.maximum(tables, SMALL_PROBABILITY)))
        typical = counts.sum(axis=0) + BORROWED_LABELS * pooled if crowd is None else crowd
        tables = _share(counts, typical)
    return tables, typical / typical.sum(axis=1, keepdims=True)


def _share(counts: FloatArray, crowd: FloatArray) -> FloatArray:
    """Turn counts into probabilities, drawn towards the crowd's."""
    tables = counts + BORROWED_LABELS * crowd / crowd.sum(axis=1, keepdims=True)
    return np.asarray(tables / tables.sum(axis=2, keepdims=True))


def _counts_by_others(
    labels: Labels, posterior: FloatArray, log_prior: FloatArray, law: Dependence, log_tables: FloatArray
) -> FloatArray:
    """Count labels by worker, class and answer, each against its item's probabilities without it."""
    n_workers, n_classes = labels.n_workers, labels.n_classes
    n_labels = np.diff(labels.starts)
    several = np.flatnonzero(n_labels[labels.label_item] > 1)
    found = np.zeros((n_classes, n_workers * n_classes))
    step = max(1, CELLS // n_classes)
    for first in range(0, len(several), step):
        rows = several[first : first + step]
        item, worker, label = labels.label_item[rows], labels.worker[rows].astype(np.int64), labels.label[rows]
        weight = without(posterior[item], log_prior, n_labels[item], log_tables[worker, :, label], law)
        cell = worker * n_classes + label
        for c in range(n_classes):
            found[c] += np.bincount(cell, weight[:, c], n_workers * n_classes)
    return np.ascontiguousarray(found.reshape(n_classes, n_workers, n_classes).transpose(1, 0, 2))


def without(
    posterior: FloatArray, log_prior: FloatArray, n_labels: IntArray, log_own: FloatArray, law: Dependence
) -> FloatArray:
    """Return class probabilities (n, n_classes) without one label, whose log-likelihood of each class is ``log_own``.

    With labels that err independently, that undoes Bayes' rule:

    >>> before, likelihood = np.array([[0.6, 0.4]]), np.array([[0.9, 0.2]])
    >>> after = before * likelihood / (before * likelihood).sum()
    >>> law = Dependence(first=1.0, overlap=0.0)
    >>> without(after, np.log([0.5, 0.5]), np.array([2]), np.log(likelihood), law).round(6).tolist()
    [[0.6, 0.4]]
    """
    evidence = (np.log(np.maximum(posterior, 1e-300)) - log_prior) / law.weight(n_labels.astype(np.float64))[:, None]
    weights = log_prior + law.weight(n_labels - 1.0)[:, None] * (evidence - log_own)
    weights -= row_max(weights)[:, None]
    np.exp(weights, out=weights)
    return np.asarray(weights / row_sum(weights)[:, None])
