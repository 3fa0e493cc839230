"""What estimators share in which an item scales its workers' tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.confusion import normalise, observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import match_workers
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.results.result import Result
from crowdassay.solvers.scaled import Mode
from crowdassay.statistics import log_softmax


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


def scaled_result(
    labels: Labels,
    method: str,
    parameters: dict[str, Any],
    mode: Mode,
    tables: FloatArray,
    counts: FloatArray,
    difficulty: FloatArray,
    lead: float = 0.0,
) -> Result:
    """Return the result of a mode: worker tables (n_workers, n_classes, n_classes) and log scales of the items.

    ``lead`` is added to the diagonal of a scaled table before the softmax.
    """
    confusion, accuracy = normalise(counts, np.exp(log_softmax(tables)))
    return Result(
        labels,
        method,
        parameters,
        mode.posterior,
        find_winners(mode.posterior),
        confusion,
        accuracy,
        sigma=tables,
        phi=mode.log_scale[:, None],
        pairs=partial(pair_log_p, tables, mode.log_scale, lead),
        difficulty=difficulty,
        objective=mode.objective,
        history=mode.history,
        n_iter=mode.n_iter,
        converged=mode.converged,
    )


def pair_log_p(tables: FloatArray, log_scale: FloatArray, lead: float, item: IntArray, worker: IntArray) -> FloatArray:
    """Return log P(k | c) for pairs of item and worker, shape (n, n_classes, n_classes)."""
    return log_softmax(np.exp(log_scale[item])[:, None, None] * tables[worker] + lead * np.eye(tables.shape[1]))
