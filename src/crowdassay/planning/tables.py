r"""What each worker answers to each class, judged by what the others say.

A worker's own label is part of an item's class probabilities. Whoever labels items that nobody else has labelled would agree
with the result every time, and look good. So the label is taken out of the probabilities before they judge it:

.. math::  \log q^{-i}_c = \log \pi_c + t(n - 1) \Big[\frac{1}{t(n)} \log \frac{q_c}{\pi_c} - \log p_i(c, x)\Big] + \text{const}

where n labels count for t(n) each, and p is the table found so far. An item's only label says nothing of who gave it.

How often a worker is right shows before how the worker errs. So a worker's table is drawn towards one that is as often right as
the worker seems to be and otherwise the crowd's: the crowd's table, mixed with perfect answers for who is better, with answers
that have nothing to do with the class for who is worse.
"""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_max, row_sum
from crowdassay.labels.labels import Labels
from crowdassay.labels.votes import tally
from crowdassay.models.assay.dependence import Dependence

CROWD_LABELS = 4.0  # labels' worth of the crowd's accuracy in every worker's
OWN_LABELS = 8.0  # labels' worth of the table by accuracy alone in every worker's
BEST, WORST = 0.98, 1.5  # how far the crowd's table is moved at most: towards perfect answers, towards (and beyond) guesses
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
    first = tally(labels, posterior)
    pooled = _rows(first.sum(axis=0) + 0.5 / labels.n_classes)  # the crowd as the fit has it, where nobody can be compared
    typical = pooled if crowd is None else _rows(crowd)
    tables = _rows(first + CROWD_LABELS * typical)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    for _ in range(ROUNDS):
        counts = _counts_by_others(labels, posterior, log_prior, law, np.log(np.maximum(tables, SMALL_PROBABILITY)))
        if crowd is None:
            typical = _rows(counts.sum(axis=0) + CROWD_LABELS * pooled)
        tables = _rows(counts + OWN_LABELS * tables_by_accuracy(counts, typical, prior))
    return tables, typical


def tell_apart(tables: FloatArray) -> FloatArray:
    """Return how far answers to two classes are apart: the mean of both Kullback-Leibler divergences, shape as tables.

    >>> tell_apart(np.array([[0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
    [[0.0, 1.76], [1.76, 0.0]]
    """
    own = tables @ np.log(np.maximum(tables, SMALL_PROBABILITY)).swapaxes(-1, -2)
    same = np.diagonal(own, axis1=-2, axis2=-1)
    twice = same[..., :, None] + same[..., None, :] - own - own.swapaxes(-1, -2)
    return np.asarray(np.maximum(twice, 0.0) / 2)


def tables_by_accuracy(counts: FloatArray, crowd: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the crowd's table as often right as each worker, (n_workers, n_classes, n_classes), from expected counts.

    >>> crowd, counts = np.array([[0.8, 0.2], [0.4, 0.6]]), np.zeros((3, 2, 2))
    >>> counts[1], counts[2] = 1e9 * np.eye(2), 1e9  # of the first nothing is known, the second is perfect, the third guesses
    >>> tables_by_accuracy(counts, crowd, np.array([0.5, 0.5])).round(2).tolist()
    [[[0.8, 0.2], [0.4, 0.6]], [[1.0, 0.0], [0.01, 0.99]], [[0.6, 0.4], [0.6, 0.4]]]
    """
    answers = prior @ crowd
    typical = float(prior @ np.diag(crowd))
    by_class = counts.sum(axis=2)
    total = by_class.sum(axis=1) + CROWD_LABELS
    right = (np.einsum("icc->i", counts) + CROWD_LABELS * typical) / total
    expected = (by_class @ np.diag(crowd) + CROWD_LABELS * typical) / total  # of the crowd, on items of these classes
    better = np.clip((right - expected) / np.maximum(1 - expected, SMALL_PROBABILITY), 0.0, BEST)
    worse = np.clip((expected - right) / np.maximum(expected - float(answers @ prior), SMALL_PROBABILITY), 0.0, WORST)
    tables = crowd + better[:, None, None] * (np.eye(len(crowd)) - crowd) + worse[:, None, None] * (answers - crowd)
    return _rows(np.maximum(tables, SMALL_PROBABILITY))


def _rows(table: FloatArray) -> FloatArray:
    """Let rows sum to one."""
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _counts_by_others(
    labels: Labels, posterior: FloatArray, log_prior: FloatArray, law: Dependence, log_tables: FloatArray
) -> FloatArray:
    """Count labels by worker, class and answer, each against its item's probabilities without it."""
    n_workers, n_classes = labels.n_workers, labels.n_classes
    n_labels = np.diff(labels.starts)
    several = np.flatnonzero(n_labels[labels.label_item] > 1)
    counts = np.zeros((n_classes, n_workers * n_classes))
    step = max(1, CELLS // n_classes)
    for first in range(0, len(several), step):
        rows = several[first : first + step]
        item, worker, label = labels.label_item[rows], labels.worker[rows].astype(np.int64), labels.label[rows]
        weight = without(posterior[item], log_prior, n_labels[item], log_tables[worker, :, label], law)
        cell = worker * n_classes + label
        for c in range(n_classes):
            counts[c] += np.bincount(cell, weight[:, c], n_workers * n_classes)
    return np.ascontiguousarray(counts.reshape(n_classes, n_workers, n_classes).transpose(1, 0, 2))


def without(
    posterior: FloatArray, log_prior: FloatArray, n_labels: IntArray, log_own: FloatArray, law: Dependence
) -> FloatArray:
    """Return class probabilities (n, n_classes) without one label, whose log-likelihood of each class is ``log_own``.

    With labels that err independently, that undoes Bayes' rule:

    >>> before, likelihood = np.array([[0.6, 0.4]]), np.array([[0.9, 0.2]])
    >>> after = before * likelihood / (before * likelihood).sum()
    >>> law = Dependence(overlap=0.0)
    >>> without(after, np.log([0.5, 0.5]), np.array([2]), np.log(likelihood), law).round(6).tolist()
    [[0.6, 0.4]]
    """
    n = n_labels.astype(np.float64)
    evidence = (np.log(np.maximum(posterior, 1e-300)) - log_prior) / law.weight(n)[:, None]
    weights = np.asarray(log_prior + law.weight(n - np.float64(1.0))[:, None] * (evidence - log_own), np.float64)
    weights -= row_max(weights)[:, None]
    np.exp(weights, out=weights)
    return np.asarray(weights / row_sum(weights)[:, None])
