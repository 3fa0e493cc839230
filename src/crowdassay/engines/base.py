"""What an engine is: it holds the labels and turns worker parameters into sums.

A solver sees nothing else. Local memory, files, a cluster or a GPU differ only in where the items are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, Protocol

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.gather import ItemSelection
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model

GATHERED_LABELS = 30_000
"""Labels up to which every place gathers them in memory, so that all fit them in the same way: several starts, and items that
keep their coordinates between sweeps, find better optima. Above, items carry nothing from sweep to sweep anywhere."""
FEW_CELLS = 10**6  # labels times squared classes: a pass over fewer takes no time, so that several starts pay


class Weights(IntEnum):
    """Where the class weights Q of an item come from during a sweep."""

    FREE = 0
    """The posterior at the current parameters."""
    VOTES = 1
    """The item's vote shares, as in the first step of Algorithm 1."""
    GIVEN = 2
    """Whatever was last handed to `Engine.set_weights`."""


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


class Ability(StrEnum):
    """What an engine may be able to do besides returning sums."""

    WEIGHTS = "class weights of every item in memory"
    """It keeps class weights that are handed to it (`ItemEngine.set_weights`), and where items are."""
    GPU = "arrays on a GPU"
    """Vectors of the size of the workers stay on the GPU: arrays of `Engine.xp` go in and come out."""
    POOL = "pools judged on a GPU"
    """It judges items by the default's pool itself: `crowdassay.engines.gpu.engine.GpuEngine.pool`."""
    EFFECTS = "effects of every item in memory"
    """It integrates random effects of the items: `crowdassay.engines.memory.random_items`."""


class Engine(Protocol):
    """Hold labels and sweep over them; nothing that goes in or out has the size of the items.

    Attributes
    ----------
    n_items, n_workers, n_classes, n_labels : int
    worker_counts : ndarray of shape (n_workers,)
        Number of labels of each worker.
    class_counts : ndarray of shape (n_classes,)
        Number of labels of each class, and of items known to have it.
    gathered : bool
        Whether the labels are so few that several starts pay.
    can : frozenset of Ability
        What the engine can do beyond this protocol; whoever asks for more says so in words.
    xp : module
        The library of the arrays that go in and come out: NumPy, or one of the same functions on a GPU.
    """

    n_items: int
    n_workers: int
    n_classes: int
    n_labels: int

    @property
    def gathered(self) -> bool: ...

    @property
    def can(self) -> frozenset[Ability]: ...

    @property
    def xp(self) -> Any: ...

    @property
    def worker_counts(self) -> IntArray: ...

    @property
    def class_counts(self) -> IntArray: ...

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities (n_workers, n_classes, n_classes)."""
        ...

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items, known ones or a sample."""
        ...

    def sweep(
        self,
        model: Model,
        sigma: FloatArray,
        log_prior: FloatArray,
        weights: Weights = Weights.FREE,
        item_tol: float = 0.0,
    ) -> Sums:
        """Fit every item at the worker tables ``sigma`` (n_workers, n_classes, n_classes) and return the sums.

        An item may stop when a step promises to raise the objective by less than half of ``item_tol``.
        """
        ...

    def restart(self) -> None:
        """Forget whatever items carry from sweep to sweep."""
        ...


class ItemEngine(Engine, Protocol):
    """An engine that can `Ability.WEIGHTS`: its items are in memory too."""

    @property
    def labels(self) -> Any: ...

    def set_weights(self, weights: FloatArray) -> None:
        """Keep class weights (n_items, n_classes) for sweeps with `Weights.GIVEN`."""
        ...

    def e_step(self, model: Model, sigma: FloatArray, log_prior: FloatArray) -> tuple[Sums, FloatArray]:
        """Return the sums and the class probabilities (n_items, n_classes) with the items' coordinates as they are."""
        ...

    def posteriors(self, model: Model, sigma: FloatArray, log_prior: FloatArray) -> tuple[Sums, FloatArray]:
        """Return the same with every item at its optimum."""
        ...

    def coordinates(self, model: Model) -> FloatArray:
        """Return the items' coordinates of the last pass, (n_items, size)."""
        ...

    def restart(self, coordinates: FloatArray | None = None) -> None:
        """Forget the items' coordinates, or go back to those of an earlier time."""
        ...

    def keep_items(self) -> None:
        """Keep the items' coordinates between sweeps from now on."""
        ...
