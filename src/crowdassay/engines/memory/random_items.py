"""The local engine for models whose items have random effects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability
from crowdassay.engines.kernels import small_items
from crowdassay.engines.memory.engine import LocalEngine, block_edges

NEWTON_STEPS = 25
LEAST_BLOCK = 2048  # labels: an item costs far more here than elsewhere


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


class RandomItemsEngine(LocalEngine):
    """Hold labels and pass over them with an effect of every item and class."""

    can = LocalEngine.can | {Ability.EFFECTS}

    def integrate(
        self, p: FloatArray, log_prior: FloatArray, *, anchor: float, precision: float, effects: FloatArray
    ) -> ItemSums:
        """Judge every item with its effects integrated out; see `crowdassay.engines.kernels.random_items`.

        Parameters
        ----------
        p : ndarray of shape (n_workers, n_classes, n_classes)
            Workers' probabilities of an answer (last axis) by true class.
        log_prior : ndarray of shape (n_classes,)
        anchor : float
            Share of the votes in the class weights of the sums.
        precision : float
            Of the normal prior on every component of an effect.
        effects : ndarray of shape (n_items, n_classes, n_classes)
            Where each item starts; overwritten with its best effects by true class.
        """
        data, n_classes = self.labels, self.n_classes
        if self._in_numpy and small_items.is_few(data):
            objective, *integrated = small_items.integrate(data, p, log_prior, anchor, precision, NEWTON_STEPS, effects)
            return self._sums(objective, *integrated)
        from crowdassay.engines.kernels.random_items import integrate_items  # noqa: PLC0415  numba loads on first use

        posterior, p = np.empty((self.n_items, n_classes)), np.ascontiguousarray(p)
        shape = (self.n_workers, n_classes, 2 * n_classes + 1)

        def block(edge: tuple[int, int]) -> tuple[float, FloatArray, FloatArray, FloatArray]:
            sums, totals, spread = np.zeros(shape), np.zeros(n_classes), np.zeros(2)
            value = integrate_items(
                data.starts, data.worker, data.label, data.gold, *edge, p, log_prior, anchor, precision, NEWTON_STEPS,
                effects, sums, totals, spread, posterior,
            )  # fmt: skip
            return float(value), sums, totals, spread

        if "integrate" not in self._compiled:
            with self._waiting("integrate"):
                block((0, 0))  # nothing but the compilation
        objective, sums, totals, spread = 0.0, np.zeros(shape), np.zeros(n_classes), np.zeros(2)
        for part in self._map(block, block_edges(data, LEAST_BLOCK)):
            objective += part[0]
            sums += part[1]
            totals += part[2]
            spread += part[3]
        return self._sums(objective, sums, totals, spread, posterior)

    def _sums(
        self, objective: float, sums: FloatArray, totals: FloatArray, spread: FloatArray, posterior: FloatArray
    ) -> ItemSums:
        observed, expected = sums[:, :, : self.n_classes], sums[:, :, self.n_classes : -1]
        return ItemSums(objective, observed, expected, sums[:, :, -1], totals, spread / self.n_items, posterior)
