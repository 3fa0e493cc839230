"""An engine that does not look at known classes, so that what it leads to can be compared with them."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Counts, Engine, Sums, Weights
from crowdassay.engines.gather import ItemSelection
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model


class Blind:
    """Count as if no class were known: the few known items are counted here, once as known and once as others.

    Their difference corrects the sums of the engine, wherever that one has its labels.

    Parameters
    ----------
    engine : Engine
    known : Labels
        The known items, of the same workers and classes.
    """

    can: frozenset[Ability] = frozenset()

    def __init__(self, engine: Engine, known: Labels) -> None:
        self.engine, self.known = engine, known
        self.n_items, self.n_workers = engine.n_items, engine.n_workers
        self.n_classes, self.n_labels = engine.n_classes, engine.n_labels
        self.xp, self.gathered, self.can = engine.xp, engine.gathered, engine.can
        free = known.with_gold(np.full(known.n_items, -1, np.int32))
        self._pair = [LocalEngine(labels) for labels in (free, known)] if known.n_items else []

    @property
    def worker_counts(self) -> IntArray:
        """Number of labels of each worker, shape (n_workers,)."""
        return np.asarray(self.engine.worker_counts)

    @property
    def class_counts(self) -> IntArray:
        """Number of labels of each class, and of items known to have it, shape (n_classes,)."""
        return np.asarray(self.engine.class_counts)

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items."""
        return self.engine.gather(selection)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Refuse: items with coordinates are not counted twice."""
        raise NotImplementedError("Only passes without item coordinates can be blind.")

    def restart(self) -> None:
        """There is nothing to forget."""

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""
        counted = self.engine.count(log_p, log_prior, weights)
        if not self._pair:
            return Counts(counted.objective, counted.counts, counted.totals)
        from crowdassay.engines.gpu.device import to_host  # noqa: PLC0415  only with known items

        free, told = (one.count(to_host(log_p), to_host(log_prior), weights) for one in self._pair)
        change, place = free.counts - told.counts, self.xp.asarray
        return Counts(
            counted.objective + free.objective - told.objective,
            self.xp.maximum(counted.counts + place(change), 0.0),
            self.xp.maximum(counted.totals + place(free.totals - told.totals), 0.0),
        )
