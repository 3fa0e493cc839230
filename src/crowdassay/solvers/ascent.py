"""Maximise over the worker coordinates with the items profiled out: L-BFGS on sums from an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine, Weights
from crowdassay.models.family import Model
from crowdassay.solvers.lbfgs import maximise, memory_for
from crowdassay.solvers.stopping import item_stages

Vector = Any
"""An array of CuPy, or of NumPy where the GPU is simulated."""

LABEL_CURVATURE = 0.05  # curvature that a label adds to a coordinate of its worker, on average and roughly


class WorkerProblem:
    """The profiled objective as a function of the worker coordinates, a flat vector. It counts its sweeps.

    With a population the vector begins with a block that is added to every worker's: what they share moves in one step.
    """

    def __init__(self, engine: Engine, model: Model, log_prior: FloatArray, max_iter: int, item_tol: float = 0.0) -> None:
        self.item_tol = item_tol  # of every item, while the workers still move
        self.engine, self.model, self.log_prior, self.max_iter = engine, model, log_prior, max_iter
        self.n_iter = 0
        self.curvature: FloatArray | None = None

    def place(self, array: Any) -> FloatArray:
        """Return an array where the vectors of this problem are."""
        return array

    def origin(self) -> FloatArray:
        """Return the point at which every table is zero."""
        return self.point(np.zeros((self.engine.n_workers, self.model.worker.size)))

    def point(self, coordinates: FloatArray) -> FloatArray:
        """Return the flat vector of worker coordinates (n_workers, size)."""
        shared = np.zeros(self.model.worker.size if self.model.population else 0)
        return np.append(self.place(shared), self.place(coordinates))

    def workers(self, point: FloatArray) -> FloatArray:
        """Return the worker coordinates (n_workers, size) of a flat vector."""
        blocks = point.reshape(-1, self.model.worker.size)
        return blocks[1:] + blocks[:1] if self.model.population else blocks

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand a flat vector into worker tables."""
        return self.model.worker.tables(self.workers(coordinates))

    def solved_tables(self, coordinates: FloatArray) -> FloatArray:
        """Return the worker tables of a solution."""
        return self.tables(coordinates)

    def transpose(self, tables: FloatArray) -> FloatArray:
        """Carry gradients on worker tables back to worker coordinates."""
        return self.model.worker.transpose(tables)

    def evaluate(self, coordinates: FloatArray, weights: Weights) -> tuple[float, FloatArray]:
        """Sweep once; return the objective and its gradient, worker penalty included."""
        self.n_iter += 1
        sums = self.engine.sweep(self.model, self.tables(coordinates), self.log_prior, weights, self.item_tol)
        penalty, slope = self.penalise(coordinates)
        return sums.objective - penalty, self.flat(self.transpose(sums.gradient)) - slope

    def penalise(self, coordinates: FloatArray) -> tuple[float, FloatArray]:
        """Return the worker penalty of a flat vector, and its gradient."""
        penalty, slope = self.model.penalise(self.workers(coordinates))
        return penalty, self.flat(slope)

    def flat(self, gradient: FloatArray) -> FloatArray:
        """Carry a gradient by the worker coordinates back to the flat vector: the shared block's is the sum of all."""
        return np.append(gradient.sum(axis=0), gradient) if self.model.population else gradient.ravel()

    def maximise(
        self,
        start: FloatArray,
        weights: Weights,
        tol: float,
        step: Callable[[float], None] | None = None,
    ) -> tuple[FloatArray, float, bool]:
        """Maximise from ``start``; return the point, the objective and whether it converged.

        ``tol`` is the relative change of the objective at which to stop; ``step`` is called with every accepted objective.
        """
        exact, scales, pairs = self.item_tol, self.scales(), memory_for(start)
        told = None if step is None else lambda _, objective: step(objective)
        point, value, converged = start, -np.inf, False
        staged = self.model.item is not None and weights == Weights.FREE
        for self.item_tol, goal in item_stages(exact, tol, staged=staged):
            point, value, _, _, converged = maximise(
                lambda coordinates: self.evaluate(coordinates, weights),
                point,
                scales,
                max_iter=self.max_iter - self.n_iter,
                tol=goal,
                step=told,
                pairs=pairs,
            )
        return point, value, converged

    def scales(self) -> FloatArray:
        """Return a step length for every coordinate: what the labels know of a worker grows with their number.

        The curvature is alpha from the penalty and what was learnt or, before, a small share of each label that spreads over
        the coordinates. In these scales L-BFGS needs a half of the sweeps or fewer.
        """
        if self.curvature is not None:
            return 1 / np.sqrt(self.model.alpha + self.curvature.ravel())
        scales = 1 / np.sqrt(self.model.alpha + LABEL_CURVATURE * self.place(self.engine.worker_counts))
        if self.model.population:
            scales = np.append(1 / np.sqrt(self.model.alpha + LABEL_CURVATURE * self.engine.n_labels), scales)
        return np.repeat(scales, self.model.worker.size)

    def learn_scales(self, counts: FloatArray, p: FloatArray) -> None:
        r"""Take the curvature at expected counts and probabilities, both (n_workers, n_classes, n_classes).

        A row's matrix :math:`n_c (\operatorname{diag} p_c - p_c p_c^T)` is replaced by the multiple of the identity that has
        the same trace.
        """
        basis = self.model.worker
        mean = counts.sum(axis=2) * (1.0 - (p * p).sum(axis=2)) / (self.engine.n_classes - 1)
        squares = np.zeros((basis.n_classes, basis.size))
        for c in range(basis.n_classes):
            block = slice(basis.offsets[c], basis.offsets[c] + basis.widths[c])
            squares[c, block] = (basis.columns[c, :, : basis.widths[c]] ** 2).sum(axis=0)
        self.curvature = mean @ self.place(squares)
        if self.model.population:
            self.curvature = np.append(self.curvature.sum(axis=0)[None], self.curvature, axis=0)


class GpuProblem(WorkerProblem):
    """The profiled objective as a function of the worker coordinates, all on the GPU.

    Worker tables are the product of coordinates and one small matrix, since that is what a GPU does well.
    """

    def __init__(self, engine: Engine, model: Model, log_prior: FloatArray, max_iter: int, item_tol: float = 0.0) -> None:
        self.xp = engine.xp
        metric = None if model.metric is None else self.place(model.metric)
        super().__init__(engine, replace(model, metric=metric), log_prior, max_iter, item_tol)
        basis = model.worker
        self.expand = self.place(basis.tables(np.eye(basis.size)).reshape(basis.size, -1))

    def place(self, array: Vector) -> Vector:
        """Return an array on the GPU."""
        return self.xp.asarray(array)

    def tables(self, coordinates: Vector) -> Vector:
        """Expand a flat vector into worker tables."""
        n_classes = self.engine.n_classes
        return (self.workers(coordinates) @ self.expand).reshape(-1, n_classes, n_classes)

    def transpose(self, tables: Vector) -> Vector:
        """Carry gradients on worker tables back to worker coordinates."""
        return tables.reshape(len(tables), -1) @ self.expand.T

    def solved_tables(self, coordinates: Vector) -> FloatArray:
        """Return the worker tables in the machine's memory."""
        return np.asarray(self.engine.to_host(self.tables(coordinates)))
