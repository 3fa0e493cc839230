"""What an engine is: it holds the labels and turns worker parameters into sums.

A solver sees nothing else. Local memory, files, a cluster or a graphics card differ only in where the items are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.engines.gather import Wanted
from crowdassay.model.family import Model


class Weights(IntEnum):
    """Where the class weights Q of an item come from during a sweep."""

    FREE = 0
    """The posterior at the current parameters."""
    VOTES = 1
    """The item's vote shares, as in the first step of Algorithm 1."""
    GIVEN = 2
    """Whatever was last handed to `Engine.hold`."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What one sweep returns, all of the size of the workers.

    Attributes
    ----------
    objective : float
        Sum over items of the log-marginal minus the item penalty; worker penalties are the solver's.
    gradient : ndarray of shape (n_workers, n_classes, n_classes)
        Derivative of the objective by the workers' tables: observed minus expected counts.
    totals : ndarray of shape (n_classes,)
        Sum of the class weights over items.
    """

    objective: float
    gradient: FloatArray
    totals: FloatArray


@dataclass(frozen=True, eq=False)
class Counts:
    """What one E-step of a model without items returns.

    Attributes
    ----------
    objective : float
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Expected number of labels by worker, true class and observed class.
    totals : ndarray of shape (n_classes,)
    """

    objective: float
    counts: FloatArray
    totals: FloatArray


class Engine(Protocol):
    """Hold labels and sweep over them; nothing that goes in or out has the size of the items.

    Attributes
    ----------
    n_items, n_workers, n_classes, n_labels : int
    worker_counts : ndarray of shape (n_workers,)
        Number of labels of each worker.
    """

    n_items: int
    n_workers: int
    n_classes: int
    n_labels: int

    @property
    def worker_counts(self) -> IntArray: ...

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities (n_workers, n_classes, n_classes)."""
        ...

    def gather(self, wanted: Wanted) -> Labels:
        """Return the labels of a few items, known ones or a sample."""
        ...

    def sweep(self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Sums:
        """Fit every item at the worker tables ``sigma`` (n_workers, n_classes, n_classes) and return the sums."""
        ...

    def restart(self) -> None:
        """Forget whatever items carry from sweep to sweep."""
        ...
