"""What is measured of each worker: agreement with the others, and behaviour beside a typical worker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.copies import Pair
from crowdassay.findings.drift import Clock
from crowdassay.findings.others import WEIGHTS, Others, add_agreement, add_behaviour, add_paces
from crowdassay.findings.sums import BlockSums, add_blocks
from crowdassay.labels.labels import Labels

TYPICAL_AT_PAR = 0.92  # of the answers of a worker at par are a typical worker's; the others are given by habit


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
    def beyond_chance(self) -> float:
        """How far all workers together agree above chance, in standard deviations; every pair is seen from both sides."""
        variance = 2 * self.chance_variance.sum()
        return 0.0 if variance <= 0 else float((self.agreed - self.chance).sum() / np.sqrt(variance))


@dataclass(frozen=True, eq=False)
class WorkerInsight:
    """What can be said of workers.

    Attributes
    ----------
    agreement : WorkerAgreement
    estimable : ndarray of bool, shape (n_workers,)
        Workers whose quality can be estimated.
    copies : list of Pair, int
        Pairs of workers that look like copies, and the number of pairs compared.
    crowd : ndarray of shape (n_classes, n_classes)
        A typical worker's table: pooled confusion of the workers who agree better than chance.
    accuracy, low, high : ndarray of shape (n_workers,)
        Accuracy and its 95 % interval; 0 to 1 where it is not estimable.
    """

    agreement: WorkerAgreement
    estimable: BoolArray
    copies: tuple[list[Pair], int]
    crowd: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray


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
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
    prior : ndarray of shape (n_classes,) or None
        With both, class weights follow from the workers' tables, none of whose cells is 0; without, they are vote shares.
    """

    answers: IntArray
    crowd: FloatArray
    tables: FloatArray | None = None
    prior: FloatArray | None = None

    def compare(
        self, labels: Labels, counted: BoolArray, posterior: FloatArray | None = None, clock: Clock | None = None
    ) -> tuple[FloatArray, Behaviour | None]:
        """Return what `agreement` is made of, (5 + 2 n_classes, n_workers), and with the workers' tables what workers do.

        Parameters
        ----------
        labels : Labels
            Of some items, or of all.
        counted : ndarray of bool, shape (n_labels,)
            Labels that take part.
        posterior : ndarray of shape (n_items, n_classes), optional
            What the fit says of the items.
        clock : Clock, optional
            Of all labels; with it workers are followed in time.
        """
        others = Others(labels, counted, self.tables, self.prior)
        habit = np.ascontiguousarray((self.answers / np.maximum(self.answers.sum(axis=1, keepdims=True), 1)).T)
        bins = np.zeros(0, np.int64) if clock is None else clock.bins(labels.worker, labels.time)
        size, n_classes = labels.n_workers, labels.n_classes
        shapes: list[tuple[int, ...]] = [(WEIGHTS + 2 * n_classes, size)]
        if self.tables is not None:
            n_bins = 0 if clock is None else clock.n_bins
            shapes += [(9, size), (3, size, n_classes, n_classes), (3, size, n_classes), (5, size, n_bins)]

        def add(first: int, last: int, agreed: FloatArray, *behaviour: FloatArray) -> None:
            for chunk in others.chunks(first, last):
                add_agreement(chunk, habit, self.crowd, agreed)
                if behaviour:
                    *sums, paces = behaviour
                    add_behaviour(chunk, labels.gold, habit, self.crowd, TYPICAL_AT_PAR, *sums)
                    if len(bins) and posterior is not None and others.log_p is not None:
                        add_paces(chunk, others.log_p, posterior, bins, paces)

        agreed, *found = add_blocks(labels, add, shapes)
        return agreed, Behaviour(*(np.moveaxis(sums, 0, -1) for sums in found)) if found else None

    def agreement(self, sums: FloatArray) -> WorkerAgreement:
        """Return what the sums over all labels (5 + 2 n_classes, n_workers) say of each worker."""
        agreed, chance, typical, squares, halfway = sums[:WEIGHTS]
        first, second = (part.T for part in np.split(sums[WEIGHTS:], 2))
        n = self.answers.sum(axis=1)
        own = (self.answers * first**2).sum(axis=1) / np.maximum(n, 1)
        spread = (self.answers * second).sum(axis=1) - n * squares - own + chance**2
        variance = np.maximum(spread, 0.0) / np.maximum(n - 1, 1)
        return WorkerAgreement(n.astype(np.float64), agreed, chance, typical, variance, halfway)
