"""The pass of the local engine for models whose items have random effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ItemSums
from crowdassay.engines.blocks import block_edges
from crowdassay.engines.kernels import small_items

if TYPE_CHECKING:
    from crowdassay.engines.memory.engine import LocalEngine

EFFECT_NEWTON_STEPS = 25
LEAST_EFFECTS_BLOCK = 2048  # labels: an item costs far more here than elsewhere


def integrate(
    engine: LocalEngine, p: FloatArray, log_prior: FloatArray, *, anchor: float, precision: float, effects: FloatArray
) -> ItemSums:
    """Find the posterior of every item with its effects integrated out; see `crowdassay.engines.kernels.random_items`.

    Parameters
    ----------
    engine : LocalEngine
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
    data, n_classes = engine.labels, engine.n_classes
    if engine._in_numpy and small_items.is_few(data):
        objective, *integrated = small_items.integrate(data, p, log_prior, anchor, precision, EFFECT_NEWTON_STEPS, effects)
        return _item_sums(engine, objective, *integrated)
    from crowdassay.engines.kernels.random_items import integrate_items  # noqa: PLC0415  numba loads on first use

    posterior, p = np.empty((engine.n_items, n_classes)), np.ascontiguousarray(p)
    shape = (engine.n_workers, n_classes, 2 * n_classes + 1)

    def block(edge: tuple[int, int]) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        sums, totals, spread = np.zeros(shape), np.zeros(n_classes), np.zeros(2)
        value = integrate_items(
            data.starts, data.worker, data.label, data.gold, *edge, p, log_prior, anchor, precision, EFFECT_NEWTON_STEPS,
            effects, sums, totals, spread, posterior,
        )  # fmt: skip
        return float(value), sums, totals, spread

    if "integrate" not in engine._compiled:
        with engine._waiting("integrate"):
            block((0, 0))  # nothing but the compilation
    objective, sums, totals, spread = 0.0, np.zeros(shape), np.zeros(n_classes), np.zeros(2)
    for part in engine._map(block, block_edges(data, LEAST_EFFECTS_BLOCK)):
        objective += part[0]
        sums += part[1]
        totals += part[2]
        spread += part[3]
    return _item_sums(engine, objective, sums, totals, spread, posterior)


def _item_sums(
    engine: LocalEngine, objective: float, sums: FloatArray, totals: FloatArray, spread: FloatArray, posterior: FloatArray
) -> ItemSums:
    observed, expected = sums[:, :, : engine.n_classes], sums[:, :, engine.n_classes : -1]
    return ItemSums(objective, observed, expected, sums[:, :, -1], totals, spread / engine.n_items, posterior)
