"""What estimators share in which an item scales its workers' tables: `GLAD` and `LatentTraitAnalysis`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator, match_workers
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_run
from crowdassay.solvers.posteriors import found
from crowdassay.solvers.scaled import Mode, ScaledProblem, fit_scaled
from crowdassay.solvers.solution import Progress, Solution
from crowdassay.statistics import log_softmax


@dataclass(frozen=True, eq=False)
class WorkersFound:
    """What a mode says of the workers.

    Attributes
    ----------
    tables : ndarray of shape (n_workers, n_classes, n_classes)
    expected : ndarray of shape (n_workers, n_classes, n_classes)
        Expected answers by true class.
    right : callable
        Takes a log scale; returns the mean share of right answers by true class, (n_classes,).
    settings : dict
    method : str
    lead : float
        Added to the diagonal of a scaled table before the softmax.
    """

    tables: FloatArray
    expected: FloatArray
    right: Callable[[float], FloatArray]
    settings: dict[str, Any]
    method: str = ""
    lead: float = 0.0


class ScaledEstimator(Estimator):
    """A model in which an item scales its workers: a subclass is its parameters, its likelihood and its workers' tables."""

    easiness: float
    max_iter: int
    tol: float
    threads: int | None

    @abstractmethod
    def _problem(self, engine: LocalEngine) -> ScaledProblem:
        """Return the function to maximise."""

    @abstractmethod
    def _workers(self, engine: LocalEngine, mode: Mode) -> WorkersFound:
        """Return what the mode says of the workers."""

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the mode of the posterior, classes summed out."""
        check_run(self.max_iter, self.tol)
        check_mean("easiness", self.easiness)
        local = self._local(engine)
        scaled = LocalEngine(local.labels, threads=self.threads, announce=local.announce)
        mode = fit_scaled(self._problem(scaled), max_iter=self.max_iter, tol=self.tol, progress=progress)
        workers = self._workers(scaled, mode)
        predict = found(
            local.labels,
            mode.posterior,
            workers.expected,
            phi=mode.log_scale[:, None],
            difficulty=item_difficulty(workers.right, mode.log_scale, mode.posterior),
            pairs=partial(pair_log_p, workers.tables, mode.log_scale, workers.lead),
        )
        return Solution(
            predict,
            workers.tables,
            objective=mode.objective,
            history=mode.history,
            n_iter=mode.n_iter,
            converged=mode.converged,
            settings=workers.settings,
            method=workers.method,
        )


def check_mean(name: str, value: float) -> None:
    """Refuse a prior mean that is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ParameterError(f"{name} must be a number, the mean of its prior, not {value!r}.")


def match_tables(fitted: Labels, new: Labels, known: FloatArray, stranger: FloatArray) -> FloatArray:
    """Return the parameters of new labels' workers: those fitted (n_workers, size), or the stranger's (size,)."""
    code = match_workers(fitted, new)
    return np.where((code >= 0)[:, None], known[code], stranger)


def expected_counts(engine: LocalEngine, tables: FloatArray, log_scale: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return each worker's expected answers by true class, (n_workers, n_classes, n_classes)."""
    residual = engine.scaled(tables, log_scale, plain=True).gradient
    return np.maximum(observed_counts(engine.labels, posterior) - residual, 0.0)


def item_difficulty(
    right: Callable[[float], FloatArray], log_scale: FloatArray, posterior: FloatArray, points: int = 64
) -> FloatArray:
    """Return the probability that a worker drawn at random gets each item wrong, shape (n_items,).

    All workers for all items, so that items seen by different workers can be compared. ``right`` takes a log scale and returns
    the share of right answers by true class (n_classes,); it is smooth, and interpolated between some points.
    """
    grid = np.linspace(log_scale.min(), log_scale.max(), points)
    curves = np.array([right(float(point)) for point in grid])
    shares = np.stack([np.interp(log_scale, grid, curve) for curve in curves.T], axis=1)
    return np.asarray(1.0 - np.einsum("jc,jc->j", posterior, shares))


def table_accuracy(tables: FloatArray, log_scale: float) -> FloatArray:
    """Return the workers' mean probability of a right answer by true class, shape (n_classes,)."""
    p = np.exp(log_softmax(np.exp(log_scale) * tables))
    return np.asarray(np.einsum("icc->c", p) / len(p))


def pair_log_p(tables: FloatArray, log_scale: FloatArray, lead: float, item: IntArray, worker: IntArray) -> FloatArray:
    """Return log P(k | c) for pairs of item and worker, shape (n, n_classes, n_classes)."""
    return log_softmax(np.exp(log_scale[item])[:, None, None] * tables[worker] + lead * np.eye(tables.shape[1]))
