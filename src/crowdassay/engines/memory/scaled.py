"""The local engine for models in which an item scales its workers' tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.engines.memory.engine import LocalEngine


@dataclass(frozen=True, eq=False)
class ScaledSums:
    """What one pass returns.

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


class ScaledEngine(LocalEngine):
    """Hold labels and pass over them with tables that items scale."""

    def scaled(
        self, tables: FloatArray, log_scale: FloatArray, weights: Weights = Weights.FREE, *, plain: bool = False
    ) -> ScaledSums:
        r"""Pass over the labels once.

        Parameters
        ----------
        tables : ndarray of shape (n_workers, n_classes, n_classes)
        log_scale : ndarray of shape (n_items,)
        weights : Weights
        plain : bool
            Return observed minus expected counts, without the items' scales, instead of the gradient.
        """
        from crowdassay.engines.kernels.scaled import scale_items  # noqa: PLC0415  numba loads on first use

        data, slope = self.labels, np.empty(self.n_items)
        posterior = np.empty((self.n_items, self.n_classes))
        log_prior = np.full(self.n_classes, -np.log(self.n_classes))
        tables = np.ascontiguousarray(tables)

        def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
            return float(
                scale_items(
                    data.starts, data.worker, data.label, data.gold, first, last, tables, log_scale, log_prior,
                    int(weights), self._given, plain, gradient, totals, slope, posterior,
                )
            )  # fmt: skip

        objective, gradient, _ = self._run("scaled", block)
        return ScaledSums(objective, gradient, slope, posterior)

    def abilities(self, ability: FloatArray, log_scale: FloatArray, weights: Weights = Weights.FREE) -> ScaledSums:
        """Pass over the labels once with one ability for each worker, shape (n_workers, 1), instead of a table."""
        from crowdassay.engines.kernels.scaled import scale_abilities  # noqa: PLC0415  numba loads on first use

        data, slope = self.labels, np.empty(self.n_items)
        posterior = np.empty((self.n_items, self.n_classes))
        log_prior = np.full(self.n_classes, -np.log(self.n_classes))
        ability, log_scale = np.ascontiguousarray(ability), np.ascontiguousarray(log_scale)

        def block(first: int, last: int, gradient: FloatArray, totals: FloatArray) -> float:
            return float(
                scale_abilities(
                    data.starts, data.worker, data.label, data.gold, first, last, ability, log_scale, log_prior,
                    int(weights), self._given, gradient, totals, slope, posterior,
                )
            )  # fmt: skip

        objective, gradient, _ = self._run("abilities", block, (1,))
        return ScaledSums(objective, gradient, slope, posterior)
