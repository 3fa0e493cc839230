"""Fit labels that lie in a spool, and write the tables of the result block by block."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.result import Result
from crowdassay.engines.base import Weights
from crowdassay.engines.files import FilesEngine
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.blocks import (
    average_worker,
    block_items_table,
    block_result,
    describe_workers,
    judge_block,
    workers_table,
)
from crowdassay.estimators.checks import check_order, flat_note
from crowdassay.estimators.minimax import ORDERED
from crowdassay.io.spool import Spool
from crowdassay.io.stream import TableStream
from crowdassay.solvers.outcome import Progress, Solution
from crowdassay.threads import one_blas_thread

HARDEST = 5  # items to name in a summary


@dataclass
class Tally:
    """What is counted over all items while they pass by."""

    items: int = 0
    tied: int = 0
    sure: int = 0
    probability: float = 0.0
    known: int = 0
    wrong: float = 0.0
    squares: float = 0.0
    distance: float = 0.0
    hardest: list[tuple[float, Any, int, str, float]] = field(default_factory=list)
    """Difficulty (or entropy), item, number of labels, label and probability of the hardest items so far."""

    def add(self, result: Result, truth: np.ndarray) -> None:
        """Count a block; of a tie with the truth each class counts in part."""
        self.items += len(result.code)
        self.tied += int(result.tied.sum())
        self.sure += int((result.probability >= 0.95).sum())
        self.probability += float(result.probability.sum())
        known = np.flatnonzero(truth >= 0)
        share = result.winners[known] / result.winners[known].sum(axis=1, keepdims=True)
        gap = np.abs(np.arange(share.shape[1]) - truth[known, None])
        self.known += len(known)
        self.wrong += float((share * (gap > 0)).sum())
        self.squares += float((share * gap**2).sum())
        self.distance += float((share * gap).sum())
        hard = result.entropy if result.difficulty is None else result.difficulty
        labels = result.labels
        self.hardest += [
            (float(hard[j]), labels.items[int(j)].as_py(), int(labels.starts[j + 1] - labels.starts[j]),
             labels.class_names[result.code[j]], float(result.probability[j]))
            for j in np.argsort(-hard, kind="stable")[:HARDEST]
        ]  # fmt: skip
        self.hardest = sorted(self.hardest, key=lambda row: -row[0])[:HARDEST]

    def notes(self, solution: Solution) -> tuple[str, ...]:
        """Return what the user should know: the solution's own notes, and whether all probabilities are nearly equal."""
        n_classes = len(solution.log_prior)
        if solution.weights is Weights.VOTES or n_classes < 2:
            return solution.notes
        return solution.notes + flat_note(self.probability / self.items, n_classes)


@dataclass(frozen=True, eq=False)
class FilesResult:
    """The outcome of a fit whose items stay on disk; what has the size of the workers is here.

    Attributes
    ----------
    spool : Spool
    method : str
    parameters : dict
    solution : Solution
    confusion : ndarray of shape (n_workers, n_classes, n_classes)
    accuracy : ndarray of shape (n_workers,)
    tally : Tally
    seconds : float
    notes : tuple of str
    """

    spool: Spool
    method: str
    parameters: dict[str, Any]
    solution: Solution
    confusion: FloatArray
    accuracy: FloatArray
    tally: Tally
    seconds: float
    notes: tuple[str, ...] = ()

    def workers_table(self) -> pa.Table:
        """Tabulate worker, n_labels, accuracy, confusion and sigma."""
        sigma = None if self.solution.weights is Weights.VOTES else self.solution.sigma
        classes = tuple(str(name) for name in self.spool.classes.to_pylist())
        return workers_table(self.spool.workers, classes, self.spool.worker_counts, self.confusion, self.accuracy, sigma)


def fit_spool(
    estimator: Estimator,
    spool: Spool,
    streams: dict[str, TableStream] | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> FilesResult:
    """Fit an estimator to a spool with the files engine, writing the tables of the items to ``streams`` as they pass by.

    Parameters
    ----------
    estimator : Estimator
        One that `solves`: assay, minimax, dawid-skene, majority.
    spool : Spool
    streams : dict, optional
        Where ``labels``, ``posterior``, ``items`` and ``workers`` go.
    threads, progress, announce
        As elsewhere.
    """
    started = time.perf_counter()
    if getattr(estimator, "structure", None) in ORDERED:
        check_order(spool.block(0))
    engine = FilesEngine(spool, threads=threads, announce=announce)
    with one_blas_thread():
        solution = estimator.solve(engine, progress)
        average = average_worker(solution, spool.worker_counts)
        expected, tally = np.zeros_like(solution.sigma), Tally()

        def work(number: int) -> tuple[Result, FloatArray, np.ndarray]:
            judged = judge_block(engine.at_block(number, solution.model, ids=True), solution, average)
            return block_result(judged, estimator.method, solution), judged.expected, spool.known(number)

        for result, part, truth in engine.each(work):
            expected += part
            tally.add(result, truth)
            for name, table in TABLES.items():
                if streams is not None:
                    streams[name].write(table(result))
    confusion, accuracy = describe_workers(solution, expected)
    seconds = time.perf_counter() - started
    parameters = estimator.settings(solution)
    notes = tally.notes(solution)
    found = FilesResult(spool, estimator.method, parameters, solution, confusion, accuracy, tally, seconds, notes)
    if streams is not None:
        streams["workers"].write(found.workers_table())
    return found


TABLES = {"labels": Result.labels_table, "posterior": Result.posterior_table, "items": block_items_table}
