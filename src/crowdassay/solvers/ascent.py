"""Maximise over the worker coordinates with the items profiled out: L-BFGS on sums from an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.engines.local import LocalEngine
from crowdassay.model.family import Model

MEMORY = 10  # pairs of steps L-BFGS remembers


class OutOfSweepsError(Exception):
    """The number of sweeps allowed is used up."""


class WorkerProblem:
    """The function L-BFGS sees: (minus) the profiled objective and its gradient in the worker coordinates.

    It counts sweeps and remembers the best point, so that a run cut short loses nothing.
    """

    def __init__(self, engine: LocalEngine, model: Model, log_prior: FloatArray, max_sweeps: int) -> None:
        self.engine, self.model, self.log_prior, self.max_sweeps = engine, model, log_prior, max_sweeps
        self.sweeps = 0
        self.best: tuple[float, FloatArray] = (-np.inf, np.zeros(engine.n_workers * model.worker.size))

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand a flat vector into worker tables."""
        return self.model.worker.tables(coordinates.reshape(self.engine.n_workers, -1))

    def evaluate(self, coordinates: FloatArray, weights: Weights) -> tuple[float, FloatArray]:
        """Sweep once; return the objective and its gradient, worker penalty included."""
        if self.sweeps >= self.max_sweeps:
            raise OutOfSweepsError
        self.sweeps += 1
        sums = self.engine.sweep(self.model, self.tables(coordinates), self.log_prior, weights)
        penalty, slope = self.penalise(coordinates)
        return sums.objective - penalty, self.model.worker.pull(sums.gradient).ravel() - slope

    def penalise(self, coordinates: FloatArray) -> tuple[float, FloatArray]:
        """Return the worker penalty of a flat vector, and its gradient."""
        penalty, slope = self.model.penalise(coordinates.reshape(self.engine.n_workers, -1))
        return penalty, slope.ravel()

    def maximise(
        self,
        start: FloatArray,
        weights: Weights,
        tolerance: float,
        step: Callable[[float], None] | None = None,
    ) -> tuple[FloatArray, float, bool]:
        """Climb from ``start``; return the point, the objective and whether it converged.

        ``tolerance`` is the relative change of the objective at which to stop; ``step`` hears every accepted objective.
        """
        self.best = (-np.inf, start)

        def negative(coordinates: FloatArray) -> tuple[float, FloatArray]:
            objective, gradient = self.evaluate(coordinates, weights)
            if objective > self.best[0]:
                self.best = (objective, coordinates.copy())
            return -objective, -gradient

        def accepted(intermediate_result: Any) -> None:
            if step is not None:
                step(-float(intermediate_result.fun))

        options = {"maxcor": MEMORY, "ftol": tolerance, "gtol": 1e-12, "maxiter": 10**6, "maxfun": 10**6}
        try:
            found = minimize(negative, start, jac=True, method="L-BFGS-B", callback=accepted, options=options)
        except OutOfSweepsError:
            return self.best[1], self.best[0], False
        return found.x, -float(found.fun), True
