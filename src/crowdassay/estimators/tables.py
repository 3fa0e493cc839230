"""What estimators share whose workers are described by tables of log probabilities and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import normalise
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.base import match_workers
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.results.result import Result


def table_result(
    engine: LocalEngine, method: str, parameters: dict[str, Any], log_p: FloatArray, log_prior: FloatArray, **found: Any
) -> Result:
    """Return the result of worker tables ``log_p`` (n_workers, n_classes, n_classes), after one last E-step.

    ``found`` is what else the fit found: objective, history, n_iter, converged, notes.
    """
    labels = engine.labels
    posterior = np.empty((labels.n_items, labels.n_classes))
    counts = engine.count(log_p, log_prior, posterior=posterior).counts
    p = np.exp(log_p)
    p /= p.sum(axis=2, keepdims=True)
    confusion, accuracy = normalise(counts.sum(axis=2, keepdims=True) * p, p)
    winners = find_winners(posterior)
    return Result(
        labels, method, parameters, posterior, winners, confusion, accuracy, log_prior=log_prior, sigma=log_p, **found
    )


def judge_by_tables(fitted: Result, labels: Labels, threads: int | None = None) -> FloatArray:
    """Return class probabilities (n_items, n_classes) of new labels; what a stranger says counts for nothing."""
    assert fitted.sigma is not None
    code = match_workers(fitted.labels, labels)
    n_classes = labels.n_classes
    stranger = np.full((n_classes, n_classes), -np.log(n_classes))
    log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], stranger)
    log_prior = np.full(n_classes, -np.log(n_classes)) if fitted.log_prior is None else fitted.log_prior
    posterior = np.empty((labels.n_items, n_classes))
    LocalEngine(labels, threads=threads).count(log_p, log_prior, posterior=posterior)
    return posterior
