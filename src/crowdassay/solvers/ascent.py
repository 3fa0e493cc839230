"""Maximise over the worker coordinates with the items profiled out: L-BFGS on sums from an engine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine, Weights
from crowdassay.model.family import Model
from crowdassay.solvers.lbfgs import climb

SHARE = 0.05  # curvature that a label adds to a coordinate of its worker, on average and roughly


class WorkerProblem:
    """The profiled objective as a function of the worker coordinates, a flat vector. It counts its sweeps."""

    def __init__(self, engine: Engine, model: Model, log_prior: FloatArray, max_sweeps: int) -> None:
        self.engine, self.model, self.log_prior, self.max_sweeps = engine, model, log_prior, max_sweeps
        self.sweeps = 0

    def origin(self) -> FloatArray:
        """Return the point at which every table is zero."""
        return np.zeros(self.engine.n_workers * self.model.worker.size)

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand a flat vector into worker tables."""
        return self.model.worker.tables(coordinates.reshape(self.engine.n_workers, -1))

    def evaluate(self, coordinates: FloatArray, weights: Weights) -> tuple[float, FloatArray]:
        """Sweep once; return the objective and its gradient, worker penalty included."""
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
        point, value, _, _, converged = climb(
            lambda coordinates: self.evaluate(coordinates, weights),
            start,
            self.units(),
            max_sweeps=self.max_sweeps - self.sweeps,
            tolerance=tolerance,
            step=None if step is None else lambda _, objective: step(objective),
        )
        return point, value, converged

    def units(self) -> FloatArray:
        """Return a step length for every coordinate: what the labels know of a worker grows with their number.

        The curvature is alpha from the penalty and, for each label, a small share that spreads over the coordinates. In
        these units L-BFGS needs a half to two thirds of the sweeps where workers differ in their numbers of labels.
        """
        units = 1 / np.sqrt(1 + SHARE * self.engine.worker_counts / self.model.alpha)
        return np.repeat(units, self.model.worker.size)
