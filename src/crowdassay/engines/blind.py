"""An engine that does not look at known classes, so that what it leads to can be compared with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability, Counts, Engine, Sums, Weights, local_engine
from crowdassay.engines.blocks import ItemSelection
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model


class Blind(Engine):
    """Count as if no class were known: the few known items are counted here, once as known and once as others.

    Their difference corrects the sums of the engine, wherever that one has its labels.

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
        self._pair = [local_engine(labels) for labels in (free, known)] if known.n_items else []

    def gather(self, selection: ItemSelection) -> Labels:
        """Return the labels of a few items."""
        return self.engine.gather(selection)

    def to_host(self, array: Any) -> Any:
        """Return an array in the machine's memory."""
        return self.engine.to_host(array)

    def sweep(
        self, model: Model, sigma: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE, item_tol: float = 0.0
    ) -> Sums:
        """Refuse: items with coordinates are not counted twice."""
        raise NotImplementedError("Only passes without item coordinates can be blind.")

    def count(self, log_p: FloatArray, log_prior: FloatArray, weights: Weights = Weights.FREE) -> Counts:
        """Run an E-step with worker tables of log probabilities."""
        counted = self.engine.count(log_p, log_prior, weights)
        if not self._pair:
            return counted
        free, fixed = (one.count(self.to_host(log_p), self.to_host(log_prior), weights) for one in self._pair)
        return Counts(
            counted.objective + free.objective - fixed.objective,
            self.xp.maximum(counted.counts + self.xp.asarray(free.counts - fixed.counts), 0.0),
            self.xp.maximum(counted.totals + self.xp.asarray(free.totals - fixed.totals), 0.0),
        )
