"""Engines made of others: one that sweeps the blocks of a place, and one that does not look at known classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability, Announce, Counts, Engine, Place, Sums, Weights, local_engine
from crowdassay.engines.blocks import Block, ItemSelection
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model
from crowdassay.statistics import log_softmax


class BlockEngine(LocalEngine):
    """A local engine that takes all its items as one block, since it is one of many already; they carry nothing between sweeps.

    ``weak_items`` says whether the items' tables stay small, which is decided for all blocks alike.
    """

    def __init__(self, block: Block, *, weak_items: bool = False, announce: Announce | None = None) -> None:
        super().__init__(block.labels, gathered=False, threads=1, announce=announce)
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
    announce : callable, optional
        For the engine of the first block: one announcement will do.
    """

    tables: FloatArray
    log_prior: FloatArray
    weights: Weights
    model: Model | None = None
    item_tol: float = 0.0
    weak_items: bool = False
    announce: Announce | None = None

    def __call__(self, block: Block) -> Sums:
        """Sweep a block."""
        engine = BlockEngine(block, weak_items=self.weak_items, announce=self.announce if block.number == 0 else None)
        if self.model is None:
            counted = engine.count(self.tables, self.log_prior, self.weights)
            return Sums(counted.objective, counted.counts, counted.totals)
        return engine.sweep(self.model, self.tables, self.log_prior, self.weights, self.item_tol)


class PlaceEngine(Engine):
    """Sweep the blocks of a place.

    Each block goes through a local engine of its own and sums are added in the order of blocks, so that the answer is the same
    to the last bit whatever the number of threads or executors. Items carry nothing from sweep to sweep.

    Parameters
    ----------
    place : Place
    announce : callable, optional
        As for `LocalEngine`.
    """

    def __init__(self, place: Place, *, announce: Announce | None = None) -> None:
        self.place, self.facts, self.announce = place, place.facts, announce

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        found = self._reduce(SweepTask(log_p, log_prior, weights, announce=self.announce))
        return Counts(found.objective, found.gradient, found.totals)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        if model.item is None:
            log_p = log_softmax(sigma)
            return self.count(log_p, log_prior, weights).as_sums(log_p)
        weak_items = model.has_weak_items(self.facts.longest)
        return self._reduce(SweepTask(sigma, log_prior, weights, model, item_tol, weak_items, self.announce))

    def gather(self, selection: ItemSelection) -> Labels:
        return self.place.gather(selection).labels

    def _reduce(self, task: SweepTask) -> Sums:
        return self.place.reduce(task, names=False, size=task.tables.nbytes)


class Blind(Engine):
    """Count as if no class were known, so that what this leads to can be compared with the known classes.

    The few known items are counted here, once as known and once as others; the difference corrects the sums of the engine,
    wherever that one has its labels.

    Parameters
    ----------
    engine : Engine
    known : Labels
        The known items, of the same workers and classes.
    """

    def __init__(self, engine: Engine, known: Labels) -> None:
        self.engine, self.facts = engine, engine.facts
        self.xp, self.gathered, self.can = engine.xp, engine.gathered, engine.can - {Ability.LABELS}
        free = known.with_gold(np.full(known.n_items, -1, np.int32))
        self._pair = [local_engine(labels) for labels in (free, known)]

    def gather(self, selection: ItemSelection) -> Labels:
        return self.engine.gather(selection)

    def to_host(self, array: FloatArray) -> FloatArray:
        return self.engine.to_host(array)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Refuse: items with coordinates are not counted twice."""
        raise NotImplementedError("Only passes without item coordinates can be blind.")

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        counted = self.engine.count(log_p, log_prior, weights)
        free, fixed = (one.count(self.to_host(log_p), self.to_host(log_prior), weights) for one in self._pair)
        return Counts(
            counted.objective + free.objective - fixed.objective,
            self.xp.maximum(counted.counts + self.xp.asarray(free.counts - fixed.counts), 0.0),
            self.xp.maximum(counted.totals + self.xp.asarray(free.totals - fixed.totals), 0.0),
        )
