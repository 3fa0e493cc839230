"""The problem of the workers' coordinates, solved on a GPU: the coordinates never leave it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.models.family import Model
from crowdassay.solvers.ascent import WorkerProblem

Vector = Any
"""An array of CuPy, or of NumPy where the GPU is simulated."""


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
        """Put an array on the GPU, if it is not there yet."""
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
