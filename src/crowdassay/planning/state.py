"""Where a labelling job stands: class probabilities of items, and what each worker answers to each class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max, row_sum
from crowdassay.labels.labels import Labels, tally
from crowdassay.labels.record import SETTLED, Record
from crowdassay.models.assay.dependence import Dependence

EQUAL = 1e-9  # probabilities that differ by less are equal
CROWD_LABELS = 4.0  # labels' worth of the crowd's accuracy in every worker's
OWN_LABELS = 8.0  # labels' worth of the table by accuracy alone in every worker's
BEST, WORST = 0.98, 1.5  # how far the crowd's table is moved at most: towards perfect answers, towards (and beyond) guesses
TABLE_ROUNDS = 2  # tables from probabilities, probabilities without the worker's label by the tables
CELLS = 4_000_000  # numbers held at a time
LEAST_CELL = 1e-6


@dataclass(frozen=True, eq=False)
class State:
    """Class probabilities of items, tables of workers, and who has labelled what.

    Attributes
    ----------
    posterior : ndarray of shape (n_items, n_classes)
    log_prior : ndarray of shape (n_classes,)
    tables : ndarray of shape (n_workers, n_classes, n_classes)
        What each worker answers to each class, as far as the others' labels tell, drawn towards the crowd's table: see
        `crowdassay.planning.state`. A worker of whom little is known has nearly the crowd's.
    crowd : ndarray of shape (n_classes, n_classes)
        What a typical worker answers.
    labels : Labels
        For the items' names, known classes and who has labelled them.
    workers : pyarrow.Array
        The workers of the labels, then any who have not been seen.
    copies : ndarray of int, shape (n_pairs, 2)
        Workers who look like copies of one another: neither is asked about what the other has labelled.
    law : Dependence
    settled : float
        Probability from which a label counts as settled, as the fit has it.
    standing_settled : ndarray of bool, shape (n_items,), or None
        Which items the findings of the fit call settled or known, where they have been asked.
    """

    posterior: FloatArray
    log_prior: FloatArray
    tables: FloatArray
    crowd: FloatArray
    labels: Labels
    workers: pa.Array
    copies: IntArray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    law: Dependence = field(default_factory=Dependence)
    settled: float = SETTLED
    standing_settled: BoolArray | None = None

    @classmethod
    def of(cls, record: Record, *, crowd: FloatArray | None = None, law: Dependence | None = None) -> State:
        """Take the state from what a fit found; without ``crowd`` it is the pooled table of all workers."""
        prior, law, labels = _log_prior(record), law or Dependence(), record.labels
        tables, crowd = worker_tables(labels, record.posterior, prior, law, crowd)
        return cls(record.posterior, prior, tables, crowd, labels, labels.workers, law=law, settled=record.settled)

    @classmethod
    def typical(cls, record: Record, crowd: FloatArray) -> State:
        """Take the state without a table for each worker, two passes over all labels: for what asks typical workers alone."""
        tables, crowd, labels = np.empty((0, *crowd.shape)), crowd / crowd.sum(axis=1, keepdims=True), record.labels
        return cls(record.posterior, _log_prior(record), tables, crowd, labels, labels.workers, settled=record.settled)

    @classmethod
    def of_result(cls, result: Any) -> State:
        """Take the state from a `Result`, with what it says of workers: the crowd's table, and who looks like whose copy."""
        insight = result.insight
        pairs = [(pair.worker, pair.other) for pair in insight.copies[0]]
        copies = np.array(pairs, np.int64).reshape(-1, 2)
        return replace(cls.of(result, crowd=insight.crowd), copies=copies, standing_settled=insight.is_settled)

    @property
    def n_labels(self) -> IntArray:
        """Labels that each item has, shape (n_items,)."""
        return np.diff(self.labels.starts)

    @property
    def known(self) -> BoolArray:
        """Whether an item's class is known, shape (n_items,)."""
        return np.asarray(self.labels.gold >= 0)

    @property
    def probability(self) -> FloatArray:
        """Probability of each item's likeliest class, shape (n_items,); 1 where the class is known."""
        return np.where(self.known, 1.0, row_max(self.posterior))

    @property
    def settled_items(self) -> BoolArray:
        """Whether an item is settled or known, shape (n_items,): as the findings say, else by its probability."""
        if self.standing_settled is not None:
            return self.standing_settled
        return np.asarray(self.known | (self.probability >= self.settled))

    @cached_property
    def apart(self) -> FloatArray:
        """How far each worker's answers to two classes are apart, shape (n_workers, n_classes, n_classes)."""
        return tell_apart(self.tables)

    @cached_property
    def crowd_apart(self) -> FloatArray:
        """How far a typical worker's answers to two classes are apart, shape (n_classes, n_classes)."""
        return tell_apart(self.crowd)

    def rivals(self, only: int | None = None) -> tuple[IntArray, IntArray]:
        """Return the two likeliest classes of each item, (n_items,) each; or one class, and the likeliest of the others."""
        if only is None:
            return self._leading
        return self._with_rival(np.full(len(self.posterior), only))

    @cached_property
    def _leading(self) -> tuple[IntArray, IntArray]:
        return self._with_rival((self.posterior + EQUAL * self.crowd_apart.sum(axis=1)).argmax(axis=1))

    def _with_rival(self, first: IntArray) -> tuple[IntArray, IntArray]:
        """Add the likeliest other class; of equals the one told apart best, so that the order of classes does not count."""
        rest = self.posterior + EQUAL * self.crowd_apart[first]
        rest[np.arange(len(rest)), first] = -1.0
        return first, rest.argmax(axis=1)

    def after(self, record: Record) -> State:
        """Return the state after an update: later probabilities and labels; workers as they were, and new ones as typical.

        It takes no time, where `of` looks at every label anew; `update` leaves workers as they are, too.
        """
        new = record.labels.n_workers - len(self.tables)
        tables = np.concatenate([self.tables, np.repeat(self.crowd[None], max(new, 0), axis=0)])
        return replace(
            self,
            posterior=record.posterior,
            labels=record.labels,
            workers=record.labels.workers,
            tables=tables,
            standing_settled=None,
        )

    def with_workers(self, names: list[str]) -> State:
        """Return the state with further workers, of whom nothing is known, after the others."""
        text = self.workers.cast(pa.string()).to_pylist()
        new = [name for name in dict.fromkeys(names) if name not in set(text)]
        if not new:
            return self
        strangers = np.repeat(self.crowd[None], len(new), axis=0)
        return replace(self, workers=pa.array([*text, *new]), tables=np.concatenate([self.tables, strangers]))


def _log_prior(record: Record) -> FloatArray:
    mass = record.posterior.sum(axis=0) + 1.0
    return np.log(mass / mass.sum()) if record.log_prior is None else np.maximum(record.log_prior, -20.0)


def worker_tables(
    labels: Labels, posterior: FloatArray, log_prior: FloatArray, law: Dependence, crowd: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    r"""Return each worker's table (n_workers, n_classes, n_classes), by what the others say, and the crowd's.

    A worker's own label is part of an item's class probabilities. Whoever labels items that nobody else has labelled would
    agree with the result every time, and look good. So the label is taken out of the probabilities before they are compared:

    .. math::  \log q^{-i}_c = \log \pi_c + t(n - 1) \Big[\frac{1}{t(n)} \log \frac{q_c}{\pi_c} - \log p_i(c, x)\Big]
               + \text{const}

    where n labels count for t(n) each, and p is the table found so far. An item's only label says nothing of who gave it.

    How often a worker is right shows before how the worker errs. So a worker's table is shrunk towards one that is as often
    right as the worker seems to be and otherwise the crowd's: the crowd's table, mixed with perfect answers for who is better,
    with answers that have nothing to do with the class for who is worse.

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
    pooled = crowd_table(first)  # the crowd as the fit has it, where nobody can be compared
    typical = pooled if crowd is None else shrink_tables(crowd, 0.0)
    tables = shrink_tables(first, typical, CROWD_LABELS)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    for _ in range(TABLE_ROUNDS):
        counts = _counts_by_others(labels, posterior, log_prior, law, np.log(np.maximum(tables, LEAST_CELL)))
        if crowd is None:
            typical = shrink_tables(counts.sum(axis=0), pooled, CROWD_LABELS)
        tables = shrink_tables(counts, tables_by_accuracy(counts, typical, prior), OWN_LABELS)
    return tables, typical


def tell_apart(tables: FloatArray) -> FloatArray:
    """Return how far answers to two classes are apart: the mean of both Kullback-Leibler divergences, shape as tables.

    >>> tell_apart(np.array([[0.9, 0.1], [0.1, 0.9]])).round(2).tolist()
    [[0.0, 1.76], [1.76, 0.0]]
    """
    own = tables @ np.log(np.maximum(tables, LEAST_CELL)).swapaxes(-1, -2)
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
    better = np.clip((right - expected) / np.maximum(1 - expected, LEAST_CELL), 0.0, BEST)
    worse = np.clip((expected - right) / np.maximum(expected - float(answers @ prior), LEAST_CELL), 0.0, WORST)
    tables = crowd + better[:, None, None] * (np.eye(len(crowd)) - crowd) + worse[:, None, None] * (answers - crowd)
    return shrink_tables(np.maximum(tables, LEAST_CELL), 0.0)


def shrink_tables(counts: FloatArray, towards: FloatArray | float, labels: float = 1.0) -> FloatArray:
    """Return tables whose rows sum to one, from counts to which so many labels' worth of another table is added.

    >>> shrink_tables(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.8, 0.2], [0.4, 0.6]]), 1.0).tolist()
    [[0.9, 0.1], [0.4, 0.6]]
    """
    table = counts + labels * towards
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def crowd_table(counts: FloatArray) -> FloatArray:
    """Pool what workers answer to each class, from expected counts (n_workers, n_classes, n_classes): one table, no cell 0."""
    return shrink_tables(counts.sum(axis=0), 0.5 / counts.shape[1])


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
