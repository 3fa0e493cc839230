"""What a place and an engine are; the rest of the program knows nothing else of where labels are.

A *place* holds labels: in memory, in files, in Spark. It passes tasks over blocks of items and joins what they return. An
*engine* turns worker parameters into sums over the labels of a place. Solvers see the engine alone; what describes workers and
items sees the place alone. Labels kept in a new way need a new place and no change elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.blocks import Block, Gather, ItemSelection, J, T
from crowdassay.labels.labels import Facts, Labels
from crowdassay.models.family import Model

if TYPE_CHECKING:
    from crowdassay.engines.memory.engine import LocalEngine  # it derives from `Engine`

GATHERED_LABELS = 30_000
"""Labels up to which every place gathers them in memory, so that all fit them in the same way: several starts, and items that
keep their coordinates between sweeps, find better optima. Above, items carry nothing from sweep to sweep anywhere."""
QUICK_CELLS = 10**6  # labels times squared classes: a pass over fewer takes no time, so that several starts pay

Announce = Callable[[str], None]
"""Called with a sentence when there is a wait."""


@runtime_checkable
class Place(Protocol):
    """Labels held somewhere.

    Attributes
    ----------
    engine_name : str
        The name after ``--engine``.
    in_memory : bool
        Whether all labels are in this process's memory, where every method runs.
    writes : bool
        Whether the place writes tables of the items by itself instead of handing out its blocks.
    facts : Facts
    truth_counts : dict, optional
        Where there is a truth to score against: how many of its items have labels (``items``), and how many have none
        (``unknown_items``).
    """

    @property
    def engine_name(self) -> str: ...
    @property
    def in_memory(self) -> bool: ...
    @property
    def writes(self) -> bool: ...
    @property
    def facts(self) -> Facts: ...
    @property
    def truth_counts(self) -> dict[str, int] | None: ...

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        """Return an engine that sweeps these labels; ``gathered`` tells whether they are few enough for several starts."""
        ...

    def reduce(self, task: Callable[[Block], J], *, names: bool = True, size: int = 0) -> J:
        """Call a task with every block and join what it returns, in order; the task may travel to another machine.

        Without ``names``, items come without their names and truth. ``size`` is the number of bytes that the task returns, if
        these can be cut into ranges of workers, as `Sums` can.
        """
        ...

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block and yield what it returns, in order, few at a time in memory."""
        ...

    def gather(self, selection: ItemSelection | None = None) -> Block:
        """Return the labels of some items, or of all, as one block."""
        return self.reduce(Gather(selection), names=selection is None).whole()

    def table(self, task: Callable[[Block], pa.Table]) -> Any:
        """Return the table whose rows a task finds in every block, as the kind of frame that belongs to this place."""
        ...

    def frame(self, table: pa.Table) -> Any:
        """Return a table as the kind of frame that the labels came in."""
        ...

    def close(self) -> None:
        """Release what holds the labels, if anything does."""
        return


class Weights(IntEnum):
    """Where the class weights Q of an item come from during a sweep."""

    FREE = 0
    """The posterior at the current parameters."""
    VOTES = 1
    """The item's vote shares, as in the first step of Algorithm 1."""
    GIVEN = 2
    """Whatever was last handed to `ItemEngine.set_weights`."""


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

    def join(self, other: Sums) -> Sums:
        """Add another block's sums to these."""
        np.add(self.gradient, other.gradient, out=self.gradient)
        np.add(self.totals, other.totals, out=self.totals)
        return replace(self, objective=self.objective + other.objective)

    def cut(self, n_parts: int) -> list[Sums]:
        """Cut the sums into ranges of workers; the first alone has the objective and the totals."""
        first, *others = np.array_split(self.gradient, n_parts)
        nothing = np.zeros_like(self.totals)
        return [Sums(self.objective, first, self.totals), *(Sums(0.0, part, nothing) for part in others)]

    @staticmethod
    def paste(parts: Sequence[Sums]) -> Sums:
        """Return what was cut into these ranges of workers."""
        return replace(parts[0], gradient=np.concatenate([part.gradient for part in parts]))


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

    def as_sums(self, log_p: FloatArray) -> Sums:
        """Return the sums of a sweep with worker tables of log probabilities: here they do not depend on the item."""
        expected = self.counts.sum(axis=2, keepdims=True) * np.exp(log_p)
        return Sums(self.objective, self.counts - expected, self.totals)


@dataclass(frozen=True, eq=False)
class ItemSums:
    """What one pass over items with random effects returns.

    Attributes
    ----------
    objective : float
        Sum over items of the log-marginal likelihood, the effects integrated out.
    observed, expected : ndarray of shape (n_workers, n_classes, n_classes)
        Answers by worker and true class, and those the workers' tables and the items' effects lead one to expect.
    variance : ndarray of shape (n_workers, n_classes)
        Sum of the expected answers' variances.
    totals : ndarray of shape (n_classes,)
        Sum of the class weights over items.
    spread : ndarray of shape (2,)
        Mean over items of the squared length of their effects, and of the trace of the effects' covariance.
    posterior : ndarray of shape (n_items, n_classes)
    """

    objective: float
    observed: FloatArray
    expected: FloatArray
    variance: FloatArray
    totals: FloatArray
    spread: FloatArray
    posterior: FloatArray


@dataclass(frozen=True, eq=False)
class ScaledSums:
    """What one pass over items that scale their workers' tables returns.

    Attributes
    ----------
    objective : float
        Sum over items of the log-marginal, with a uniform class prior.
    gradient : ndarray
        Derivative by the workers' parameters: tables (n_workers, n_classes, n_classes), or what they are made of.
    slope : ndarray of shape (n_items,)
        Derivative by the items' log scales.
    posterior : ndarray of shape (n_items, n_classes)
    """

    objective: float
    gradient: FloatArray
    slope: FloatArray
    posterior: FloatArray


class Ability(StrEnum):
    """What an engine may be able to do besides returning sums."""

    LABELS = "all labels in memory"
    """It has all labels at hand, as a `LocalEngine` does, for methods that are not made of sums."""
    WEIGHTS = "class weights of every item in memory"
    """It keeps class weights that are handed to it, and where items are: it is an `ItemEngine`."""
    GPU = "arrays on a GPU"
    """Vectors of the size of the workers stay on the GPU: arrays of `Engine.xp` go in and come out."""
    POOL = "pools judged on a GPU"
    """It judges items by the default's pool itself: `crowdassay.engines.gpu.engine.GpuEngine.pool`."""
    EFFECTS = "effects of every item in memory"
    """It integrates random effects of the items: `crowdassay.engines.memory.engine.LocalEngine.integrate`."""


class Engine(ABC):
    """Sweep labels; nothing that goes in or out has the size of the items.

    Attributes
    ----------
    facts : Facts
        Sizes and counts of the labels.
    gathered : bool
        Whether the labels are so few that several starts pay.
    can : frozenset of Ability
        What the engine can do beyond this class; whoever asks for more says so in words.
    xp : module
        The library of the arrays that go in and come out: NumPy, or one of the same functions on a GPU.
    """

    facts: Facts
    gathered: bool = False
    can: frozenset[Ability] = frozenset()
    xp: ModuleType = np

    @property
    def n_items(self) -> int:
        return self.facts.n_items

    @property
    def n_workers(self) -> int:
        return self.facts.n_workers

    @property
    def n_classes(self) -> int:
        return self.facts.n_classes

    @property
    def n_labels(self) -> int:
        return self.facts.n_labels

    @property
    def worker_counts(self) -> IntArray:
        return self.facts.worker_counts

    @property
    def class_counts(self) -> IntArray:
        return self.facts.class_counts

    @abstractmethod
    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities (n_workers, n_classes, n_classes)."""

    @abstractmethod
    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Fit every item at the worker tables ``sigma`` (n_workers, n_classes, n_classes) and return the sums.

        An item may stop when a step promises to raise the objective by less than half of ``item_tol``.
        """

    @abstractmethod
    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items, known ones or a sample."""

    def restart(self) -> None:  # noqa: B027  most have nothing to forget
        """Forget whatever items carry from sweep to sweep."""

    def to_host(self, array: FloatArray) -> FloatArray:
        """Return an array of `xp` in the machine's memory."""
        return np.asarray(array)


class ItemEngine(Engine):
    """An engine that can `Ability.WEIGHTS`: its items are in memory too.

    Attributes
    ----------
    labels : Labels
        None where the engine of a GPU was given arrays.
    item_steps : int
        Passes over an item's labels allowed in one sweep.
    """

    labels: Any
    item_steps: int

    @abstractmethod
    def set_weights(self, weights: FloatArray) -> None:
        """Keep class weights (n_items, n_classes) for sweeps with `Weights.GIVEN`."""

    @abstractmethod
    def count(
        self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, posterior: FloatArray | None = None
    ) -> Counts:
        """Run an E-step; fill ``posterior`` (n_items, n_classes) if given."""

    @abstractmethod
    def sweep_items(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights, steps: int
    ) -> tuple[Sums, FloatArray]:
        """Return the sums and the class probabilities (n_items, n_classes) after ``steps`` passes over an item at most."""

    def e_step(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE
    ) -> tuple[Sums, FloatArray]:
        """Return the same with the items' coordinates as they are: the second half of Algorithm 1."""
        return self.sweep_items(model, sigma, log_prior, weights, 1)

    def posteriors(self, model: Model, sigma: FloatArray, log_prior: FloatArray) -> tuple[Sums, FloatArray]:
        """Return the same with every item at its optimum."""
        return self.sweep_items(model, sigma, log_prior, Weights.FREE, self.item_steps)

    @abstractmethod
    def coordinates(self, model: Model) -> FloatArray:
        """Return the items' coordinates of the last pass, (n_items, size)."""

    @abstractmethod
    def restart(self, coordinates: FloatArray | None = None) -> None:
        """Forget the items' coordinates, or go back to those of an earlier time."""

    @abstractmethod
    def keep_items(self) -> None:
        """Keep the items' coordinates between sweeps from now on."""

    def tally(self, weights: FloatArray) -> FloatArray:
        """Count labels by worker, true and observed class, for class weights (n_items, n_classes) of the items."""
        return local_engine(self.labels).tally(weights)


class ItemCoordinates(ABC):
    """Coordinates of items, an array of shape (n_items, size) that is computed when somebody reads it."""

    @abstractmethod
    def difficulty(self, average: FloatArray) -> FloatArray:
        """Return the probability that a worker with the probabilities ``average`` gets each item wrong, (n_items,)."""


class EffectEngine(Protocol):
    """An engine that can `Ability.EFFECTS`."""

    def integrate(
        self, p: FloatArray, log_prior: FloatArray, *, anchor: float, precision: float, effects: FloatArray
    ) -> ItemSums:
        """Pass over items whose effects are integrated out; see `crowdassay.engines.memory.engine.LocalEngine.integrate`."""
        ...


def local_engine(labels: Labels, *, gathered: bool | None = None) -> LocalEngine:
    """Return an engine for labels in memory."""
    from crowdassay.engines.memory.engine import LocalEngine  # noqa: PLC0415  it derives from `ItemEngine`

    return LocalEngine(labels, gathered=gathered)
