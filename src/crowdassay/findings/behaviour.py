"""Sums of what each worker does beside what a typical worker would do with the same items."""

from __future__ import annotations

from dataclasses import dataclass, fields

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels.passes import add_behaviour
from crowdassay.labels.labels import Labels

PAR = 0.92  # a worker at par answers as is typical so often, and by habit else


@dataclass(frozen=True, eq=False)
class Behaviour:
    """What the verdicts are made of; sums of several blocks of items can be added.

    Attributes
    ----------
    sums : ndarray of shape (n_workers, 9)
    cells : ndarray of shape (n_workers, n_classes, n_classes, 3)
    answers : ndarray of shape (n_workers, n_classes, 3)
    paces : ndarray of shape (n_workers, n_bins, 5)
        Each as `crowdassay.engines.kernels.behaviour.add_behaviour` has it.
    """

    sums: FloatArray
    cells: FloatArray
    answers: FloatArray
    paces: FloatArray

    @classmethod
    def of(
        cls,
        labels: Labels,
        counted: BoolArray,
        posterior: FloatArray,
        log_p: FloatArray,
        log_prior: FloatArray,
        habit: FloatArray,
        crowd: FloatArray,
        bins: IntArray,
        n_bins: int,
    ) -> Behaviour:
        """Add up some items.

        Parameters
        ----------
        labels : Labels
        counted : ndarray of bool, shape (n_labels,)
            Labels that take part: no repeats, of items that show something.
        posterior : ndarray of shape (n_items, n_classes)
        log_p : ndarray of shape (n_workers, n_classes, n_classes)
        log_prior : ndarray of shape (n_classes,)
        habit : ndarray of shape (n_workers, n_classes)
            Shares of each worker's answers.
        crowd : ndarray of shape (n_classes, n_classes)
            The table of a typical worker.
        bins : ndarray of int, shape (n_labels,)
            In which part of its worker's time each label was given, -1 where that is not known; empty without times.
        n_bins : int
        """
        return cls(*add_behaviour(labels, counted, log_p, log_prior, habit, crowd, PAR, posterior, bins, n_bins))

    def join(self, other: Behaviour) -> Behaviour:
        """Return the sums over both."""
        return Behaviour(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))
