"""The passes of the local engine for models in which an item scales its workers' tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ScaledSums, Weights

if TYPE_CHECKING:
    from crowdassay.engines.memory.engine import LocalEngine


def pass_with_tables(
    engine: LocalEngine, tables: FloatArray, log_scale: FloatArray, weights: Weights = Weights.FREE, *, plain: bool = False
) -> ScaledSums:
    r"""Pass over the labels once.

    Parameters
    ----------
    engine : LocalEngine
    tables : ndarray of shape (n_workers, n_classes, n_classes)
    log_scale : ndarray of shape (n_items,)
    weights : Weights
    plain : bool
        Return observed minus expected counts, without the items' scales, instead of the gradient.
    """
    from crowdassay.engines.kernels.scaled import scale_items  # noqa: PLC0415  numba loads on first use

    data, slope = engine.labels, np.empty(engine.n_items)
    posterior = np.empty((engine.n_items, engine.n_classes))
    log_prior = np.full(engine.n_classes, -np.log(engine.n_classes))
    tables = np.ascontiguousarray(tables)

    def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
        return float(
            scale_items(
                data.starts, data.worker, data.label, data.gold, first, last, tables, log_scale, log_prior,
                int(weights), engine._given, plain, gradient, totals, slope, posterior,
            )
        )  # fmt: skip

    objective, gradient, _ = engine._run("scaled", block)
    return ScaledSums(objective, gradient, slope, posterior)


def pass_with_abilities(
    engine: LocalEngine, ability: FloatArray, log_scale: FloatArray, weights: Weights = Weights.FREE
) -> ScaledSums:
    """Pass over the labels once with one ability for each worker, shape (n_workers, 1), instead of a table."""
    from crowdassay.engines.kernels.scaled import scale_abilities  # noqa: PLC0415  numba loads on first use

    data, slope = engine.labels, np.empty(engine.n_items)
    posterior = np.empty((engine.n_items, engine.n_classes))
    log_prior = np.full(engine.n_classes, -np.log(engine.n_classes))
    ability, log_scale = np.ascontiguousarray(ability), np.ascontiguousarray(log_scale)

    def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
        return float(
            scale_abilities(
                data.starts, data.worker, data.label, data.gold, first, last, ability, log_scale, log_prior,
                int(weights), engine._given, gradient, totals, slope, posterior,
            )
        )  # fmt: skip

    objective, gradient, _ = engine._run("abilities", block, (1,))
    return ScaledSums(objective, gradient, slope, posterior)
