"""What is measured of each worker: agreement with the others, and behaviour beside a typical worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.drift import Clock
from crowdassay.findings.others import WEIGHTS, Others, add_agreement, add_behaviour, add_paces
from crowdassay.findings.sums import BlockSums, add_blocks
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record

TYPICAL_AT_PAR = 0.92  # of the answers of a worker at par are a typical worker's; the others are given by habit
BORROWED = 2.0  # labels' worth of the crowd's table in every worker's
MOST_TABLE_CELLS = 50_000_000  # of the tables of all workers; beyond, workers are compared with vote shares


def crowd_table(counts: FloatArray) -> FloatArray:
    """Pool what workers answer to each class, from expected counts (n_workers, n_classes, n_classes): one table."""
    pooled = counts.sum(axis=0) + 0.5 / counts.shape[1]
    return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


def worker_tables(counts: FloatArray) -> FloatArray | None:
    """Return every worker's table, shrunk a little towards the crowd's, no cell 0; None where they would be too many."""
    if counts.size > MOST_TABLE_CELLS:
        return None
    return np.asarray((counts + BORROWED * crowd_table(counts)) / (counts.sum(axis=2, keepdims=True) + BORROWED))


def count_answers(labels: Labels, counted: BoolArray) -> IntArray:
    """Count how often each worker gives which answer, over the labels that count (n_labels,): (n_workers, n_classes)."""
    cells = labels.worker[counted].astype(np.int64) * labels.n_classes + labels.label[counted]
    return np.bincount(cells, minlength=labels.n_workers * labels.n_classes).reshape(labels.n_workers, labels.n_classes)


@dataclass(frozen=True, eq=False)
class WorkerAgreement:
    r"""How far each worker agrees with the others, beside what chance and a typical worker would; shape (n_workers,) each.

    .. math::  T_i = \sum_n q_n(x_n)

    sums over the worker's items the weight that the others give the worker's answer. By chance means the same answers dealt
    out over the same items at random (mean and variance of that permutation are exact); typical means answers by the crowd's
    table. Halfway lies a worker who answers half by chance and half as is typical.

    Attributes
    ----------
    compared : ndarray
        Items on which there is something to compare with.
    agreed, chance, typical : ndarray
        T and its mean by chance and for a typical worker.
    chance_variance, halfway_variance : ndarray
    """

    compared: FloatArray
    agreed: FloatArray
    chance: FloatArray
    typical: FloatArray
    chance_variance: FloatArray
    halfway_variance: FloatArray

    @property
    def above_chance(self) -> FloatArray:
        """Agreement above chance in standard deviations, 0 where a worker's answers leave no room for any."""
        return np.asarray((self.agreed - self.chance) / np.sqrt(np.maximum(self.chance_variance, 1e-12)))

    @property
    def above_halfway(self) -> FloatArray:
        """Agreement above halfway between chance and typical in standard deviations."""
        middle = (self.chance + self.typical) / 2
        return np.asarray((self.agreed - middle) / np.sqrt(np.maximum(self.halfway_variance, 1e-12)))

    @property
    def beyond_chance(self) -> float:
        """How far all workers together agree above chance, in standard deviations; every pair is seen from both sides."""
        variance = 2 * self.chance_variance.sum()
        return 0.0 if variance <= 0 else float((self.agreed - self.chance).sum() / np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class Behaviour(BlockSums):
    """What each worker does, beside what a typical worker would do with the same items; see `others.add_behaviour`.

    Attributes
    ----------
    sums : ndarray of shape (n_workers, 9)
    cells : ndarray of shape (n_workers, n_classes, n_classes, 3)
    answers : ndarray of shape (n_workers, n_classes, 3)
    paces : ndarray of shape (n_workers, n_bins, 5)
        By part of the worker's time, see `others.add_paces`.
    """

    sums: FloatArray
    cells: FloatArray
    answers: FloatArray
    paces: FloatArray


@dataclass(frozen=True, eq=False)
class WorkerExpectation:
    """What workers are compared with: class weights by the other workers, and a typical worker's answers to them.

    Attributes
    ----------
    answers : ndarray of int, shape (n_workers, n_classes)
        How often each worker gives which answer, over all labels that count.
    crowd : ndarray of shape (n_classes, n_classes)
        The table of a typical worker.
    log_p : ndarray of shape (n_workers, n_classes, n_classes) or None
    log_prior : ndarray of shape (n_classes,) or None
        With both, class weights follow from the workers' tables; without, they are vote shares.
    """

    answers: IntArray
    crowd: FloatArray
    log_p: FloatArray | None = None
    log_prior: FloatArray | None = None

    @property
    def habit(self) -> FloatArray:
        """Shares of each worker's answers, shape (n_classes, n_workers)."""
        return np.ascontiguousarray((self.answers / np.maximum(self.answers.sum(axis=1, keepdims=True), 1)).T)

    def agreement_sums(self, labels: Labels, counted: BoolArray) -> FloatArray:
        """Return what `agreement` is made of, over the labels that count (n_labels,): (5 + 2 n_classes, n_workers)."""
        others, habit = Others(labels, counted, self.log_p, self.log_prior), self.habit

        def add(first: int, last: int, sums: FloatArray) -> None:
            for chunk in others.chunks(first, last):
                add_agreement(chunk, habit, self.crowd, sums)

        return add_blocks(labels, add, [(WEIGHTS + 2 * labels.n_classes, labels.n_workers)])[0]

    def compare(self, record: Record, counted: BoolArray, clock: Clock) -> tuple[FloatArray, Behaviour | None]:
        """Return the sums of agreement and what workers do, of some items; the latter needs the workers' tables.

        Parameters
        ----------
        record : Record
            Of some items, or of all.
        counted : ndarray of bool, shape (n_labels,)
            Labels that take part.
        clock : Clock
            Of all labels.
        """
        labels, size, n_classes = record.labels, record.labels.n_workers, record.labels.n_classes
        if self.log_p is None:
            return self.agreement_sums(labels, counted), None
        others, habit = Others(labels, counted, self.log_p, self.log_prior), self.habit
        bins = clock.bins(labels.worker, labels.time)

        def add(first: int, last: int, agreed: FloatArray, *behaviour: FloatArray) -> None:
            *sums, paces = behaviour
            for chunk in others.chunks(first, last):
                add_agreement(chunk, habit, self.crowd, agreed)
                add_behaviour(chunk, labels.gold, habit, self.crowd, TYPICAL_AT_PAR, *sums)
                if len(bins) and others.log_p is not None:
                    add_paces(chunk, others.log_p, record.posterior, bins, paces)

        rows = (9, size), (3, size, n_classes, n_classes), (3, size, n_classes), (5, size, clock.n_bins)
        agreed, *found = add_blocks(labels, add, [(WEIGHTS + 2 * n_classes, size), *rows])
        return agreed, Behaviour(*(np.moveaxis(sums, 0, -1) for sums in found))

    def agreement(self, sums: FloatArray) -> WorkerAgreement:
        """Return what the sums over all labels (5 + 2 n_classes, n_workers) say of each worker."""
        agreed, chance, typical, squares, halfway = sums[:WEIGHTS]
        first, second = (part.T for part in np.split(sums[WEIGHTS:], 2))
        n = self.answers.sum(axis=1)
        own = (self.answers * first**2).sum(axis=1) / np.maximum(n, 1)
        spread = (self.answers * second).sum(axis=1) - n * squares - own + chance**2
        variance = np.maximum(spread, 0.0) / np.maximum(n - 1, 1)
        return WorkerAgreement(n.astype(np.float64), agreed, chance, typical, variance, halfway)
