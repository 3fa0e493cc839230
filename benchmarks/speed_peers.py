"""What speed is measured against: crowd-kit's methods, stopped at a cap, and Dawid-Skene in a few lines of scipy.sparse."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

TOLERANCE, MOST = 1e-5, 100  # crowd-kit's own


class Capped(Exception):
    """The cap has passed."""


def crowd_kit(name: str, step: str | None = None) -> Callable[[pd.DataFrame, float], dict[str, Any]]:
    """Return a run of one of crowd-kit's methods; the calls of its method ``step`` are its iterations.

    The row says how many iterations ran, the seconds until the first, and the seconds of each after it.
    """

    def run(frame: pd.DataFrame, cap: float) -> dict[str, Any]:
        from crowdkit import aggregation  # noqa: PLC0415  may be missing

        kind = getattr(aggregation, name)
        calls: list[tuple[float, float]] = []
        started, worked = time.perf_counter(), time.process_time()
        if step is not None:
            kind = type(name, (kind,), {step: watched(kind, step, calls, (started, worked), cap)})
        row: dict[str, Any] = {}
        try:
            row["labels"] = kind().fit_predict(frame)
        except Capped:
            row["capped"] = True
        row["seconds"] = time.perf_counter() - started
        if len(calls) > 1:
            row["iterations"] = len(calls)
            row["before"], row["cpu_before"] = calls[0]
            row["each"], row["cpu_each"] = (
                (end - start) / (len(calls) - 1) for start, end in zip(calls[0], calls[-1], strict=True)
            )
        return row

    return run


def watched(kind: type, step: str, calls: list[tuple[float, float]], started: tuple[float, float], cap: float) -> Any:
    """Wrap a method so that it notes the time of every call, on the clock and of the processor, and stops after the cap."""
    plain = kind.__dict__[step]
    inner = plain.__func__ if isinstance(plain, staticmethod) else plain

    def wrapper(*values: Any, **options: Any) -> Any:
        calls.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        if calls[-1][0] > cap and len(calls) > 1:
            raise Capped
        return inner(*values, **options)

    return staticmethod(wrapper) if isinstance(plain, staticmethod) else wrapper


def sparse_dawid_skene(frame: pd.DataFrame, cap: float) -> dict[str, Any]:
    """Fit Dawid and Skene's model by EM with two sparse products a step, stopping as crowd-kit does."""
    started = time.perf_counter()
    (item, items), (worker, workers), (label, classes) = (frame[name].factorize() for name in ("task", "worker", "label"))
    n_classes, n_labels = len(classes), len(frame)
    cells = csr_array((np.ones(n_labels), (item, worker * n_classes + label)), shape=(len(items), len(workers) * n_classes))
    transposed = cells.T.tocsr()
    votes = np.zeros((len(items), n_classes))
    np.add.at(votes, (item, label), 1.0)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    begun, objective, steps = time.perf_counter(), -np.inf, 0
    while steps < MOST:
        steps += 1
        counts = (transposed @ posterior).reshape(len(workers), n_classes, n_classes) + 1e-10
        log_p = np.log(counts / counts.sum(axis=1, keepdims=True)).reshape(-1, n_classes)
        scores = cells @ log_p + np.log(posterior.mean(axis=0))
        highest = scores.max(axis=1, keepdims=True)
        scores -= highest
        np.exp(scores, out=scores)
        total = scores.sum(axis=1, keepdims=True)
        posterior = scores / total
        previous, objective = objective, float((highest + np.log(total)).sum())
        if objective - previous < TOLERANCE * abs(objective):
            break
    chosen = pd.Series(np.asarray(classes)[posterior.argmax(axis=1)], index=items)
    ended = time.perf_counter()
    return {
        "labels": chosen,
        "seconds": ended - started,
        "iterations": steps,
        "before": begun - started,
        "each": (ended - begun) / steps,
        "objective": objective,
    }


PEERS: dict[str, Callable[[pd.DataFrame, float], dict[str, Any]]] = {
    "crowd-kit majority vote": crowd_kit("MajorityVote"),
    "crowd-kit Dawid-Skene": crowd_kit("DawidSkene", "_e_step"),
    "crowd-kit GLAD": crowd_kit("GLAD", "_m_step"),
    "crowd-kit MMSR": crowd_kit("MMSR"),
    "scipy.sparse Dawid-Skene": sparse_dawid_skene,
}
