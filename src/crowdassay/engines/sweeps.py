"""Sweeps over a place: an engine for labels that are not in memory, each of whose sums is one `Place.reduce`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Announce, Counts, Engine, Place, Sums, Weights
from crowdassay.engines.blocks import Block, ItemSelection
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.statistics import log_softmax


@dataclass(frozen=True, eq=False)
class SweepSums:
    """The sums of a block, or of a range of its workers.

    Attributes
    ----------
    objective : float
    sums : ndarray of shape (n_workers, n_classes, n_classes)
    totals : ndarray of shape (n_classes,)
    """

    objective: float
    sums: FloatArray
    totals: FloatArray

    def join(self, other: SweepSums) -> SweepSums:
        """Add another block's sums to these."""
        np.add(self.sums, other.sums, out=self.sums)
        np.add(self.totals, other.totals, out=self.totals)
        return replace(self, objective=self.objective + other.objective)

    def cut(self, n_parts: int) -> list[SweepSums]:
        """Cut the sums into ranges of workers; the first alone has the objective and the totals."""
        first, *others = np.array_split(self.sums, n_parts)
        nothing = np.zeros_like(self.totals)
        return [SweepSums(self.objective, first, self.totals), *(SweepSums(0.0, part, nothing) for part in others)]

    @staticmethod
    def paste(parts: Sequence[SweepSums]) -> SweepSums:
        """Return what was cut into these ranges of workers."""
        return replace(parts[0], sums=np.concatenate([part.sums for part in parts]))


class BlockEngine(LocalEngine):
    """A local engine that takes all its items as one block, since it is one of many already; they carry nothing between sweeps.

    ``weak_items`` says whether the items' tables stay small, which is decided for all blocks alike.
    """

    def __init__(self, block: Block, *, weak_items: bool = False, **options: Any) -> None:
        super().__init__(block.labels, gathered=False, threads=1, **options)
        self._blocks = self._counted = [(0, block.labels.n_items)]
        self._all_weak = weak_items
        if block.cells is not None:
            self.cells = block.cells

    def _has_weak_items(self, model: Model) -> bool:
        return self._all_weak and model.item is not None


@dataclass(frozen=True, eq=False)
class SweepTask:
    """One sweep as it goes to a block, on a thread or on another machine.

    Attributes
    ----------
    tables : ndarray of shape (n_workers, n_classes, n_classes)
        ``sigma``, or log probabilities where there is no model.
    log_prior : ndarray of shape (n_classes,)
    weights : Weights
    model : Model or None
        None counts; a model fits its items.
    item_tol : float
        See `Engine.sweep`.
    weak_items : bool
        Whether the items' tables stay small, see `Model.has_weak_items`.
    options : dict
        For the engine of a block.
    """

    tables: FloatArray
    log_prior: FloatArray
    weights: Weights
    model: Model | None = None
    item_tol: float = 0.0
    weak_items: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, block: Block) -> SweepSums:
        """Sweep a block."""
        options = self.options if block.number == 0 else {**self.options, "announce": None}  # one announcement will do
        engine = BlockEngine(block, weak_items=self.weak_items, **options)
        if self.model is None:
            counted = engine.count(self.tables, self.log_prior, self.weights)
            return SweepSums(counted.objective, counted.counts, counted.totals)
        swept = engine.sweep(self.model, self.tables, self.log_prior, self.weights, self.item_tol)
        return SweepSums(swept.objective, swept.gradient, swept.totals)


class PlaceEngine(Engine):
    """Sweep the blocks of a place.

    Each block goes through a local engine of its own and sums are added in the order of blocks, so that the answer is the same
    to the last bit whatever the number of threads or executors. Items carry nothing from sweep to sweep.

    Parameters
    ----------
    place : Place
    item_tolerance, item_steps, announce
        As for `LocalEngine`.
    """

    def __init__(
        self, place: Place, *, item_tolerance: float = 1e-10, item_steps: int = 100, announce: Announce | None = None
    ) -> None:
        self.place, self.facts = place, place.facts
        self._options = {"item_tolerance": item_tolerance, "item_steps": item_steps, "announce": announce}

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""
        found = self._reduce(SweepTask(log_p, log_prior, weights, options=self._options))
        return Counts(found.objective, found.sums, found.totals)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Fit every item at the worker tables ``sigma`` and return the sums."""
        if model.item is None:
            log_p = log_softmax(sigma)
            return self.count(log_p, log_prior, weights).as_sums(log_p)
        weak_items = model.has_weak_items(self.facts.longest)
        found = self._reduce(SweepTask(sigma, log_prior, weights, model, item_tol, weak_items, self._options))
        return Sums(found.objective, found.sums, found.totals)

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items of all blocks."""
        return self.place.gather(selection).labels

    def _reduce(self, task: SweepTask) -> SweepSums:
        return self.place.reduce(task, names=False, size=task.tables.nbytes)
