"""Fit labels that lie in a spool, and write the tables of the result block by block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.base import Weights
from crowdassay.engines.files import FilesEngine
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.blocks import Judgement, average_worker, block_result, judge_block
from crowdassay.estimators.checks import check_order, flat_note
from crowdassay.estimators.minimax import ORDERED
from crowdassay.io.spool import Spool
from crowdassay.io.stream import TableStream
from crowdassay.solvers.outcome import Progress, Solution
from crowdassay.threads import one_blas_thread

T = TypeVar("T")
HARDEST = 5  # items to name in a summary


Hard = tuple[float, Any, int, str, float]


def hardest(result: Result) -> list[Hard]:
    """Return difficulty (or entropy), item, number of labels, label and probability of the hardest items."""
    hard = result.entropy if result.difficulty is None else result.difficulty
    labels = result.labels
    return [
        (float(hard[j]), labels.items[int(j)].as_py(), int(labels.starts[j + 1] - labels.starts[j]),
         labels.class_names[result.code[j]], float(result.probability[j]))
        for j in np.argsort(-hard, kind="stable")[:HARDEST]
    ]  # fmt: skip


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
    hardest: list[Hard] = field(default_factory=list)
    """Difficulty (or entropy), item, number of labels, label and probability of the hardest items so far."""

    def add(self, result: Result, truth: np.ndarray) -> None:
        """Count a block; of a tie with the truth each class counts in part."""
        self.items += len(result.code)
        self.tied += int(result.tied.sum())
        self.sure += int((result.probability >= 0.95).sum())
        self.probability += float(result.probability.sum())
        known = np.flatnonzero((truth >= 0) & (result.labels.gold < 0))  # a class that was given cannot be wrong
        share = result.winners[known] / result.winners[known].sum(axis=1, keepdims=True)
        gap = np.abs(np.arange(share.shape[1]) - truth[known, None])
        self.known += len(known)
        self.wrong += float((share * (gap > 0)).sum())
        self.squares += float((share * gap**2).sum())
        self.distance += float((share * gap).sum())
        self.hardest = sorted(self.hardest + hardest(result), key=lambda row: -row[0])[:HARDEST]

    def notes(self, solution: Solution) -> tuple[str, ...]:
        """Return what the user should know: the solution's own notes, and whether all probabilities are nearly equal."""
        n_classes = len(solution.log_prior)
        if solution.weights is Weights.VOTES or n_classes < 2:
            return solution.notes
        return solution.notes + flat_note(self.probability / self.items, n_classes)


@dataclass(frozen=True, eq=False)
class SpoolBlocks:
    """The blocks of a spool under a solution, for `crowdassay.insight.survey`."""

    engine: FilesEngine
    solution: Solution
    method: str

    @property
    def n_labels(self) -> int:
        return self.engine.spool.n_labels

    @property
    def n_gold(self) -> int:
        return self.engine.spool.n_gold

    def look(self, task: Callable[[Labels], T]) -> Iterator[T]:
        """Call a task with the labels of every block, and yield what it returns in order."""
        return self.engine.each(lambda number: task(self.engine.spool.block(number)))

    def judge(self, task: Callable[[int, Judgement, Result, np.ndarray], T]) -> Iterator[T]:
        """Call a task with the number of every block, what the solution says of its items, as a result, and their truth."""
        average = average_worker(self.solution, self.engine.worker_counts)

        def work(number: int) -> T:
            judged = judge_block(self.engine.at_block(number, self.solution.model, ids=True), self.solution, average)
            return task(number, judged, block_result(judged, self.method, self.solution), self.engine.spool.known(number))

        return self.engine.each(work, spare=0)


@dataclass(frozen=True, eq=False)
class FilesResult:
    """The outcome of a fit whose items stay on disk; what has the size of the workers is here.

    Attributes
    ----------
    spool : Spool
    solution : Solution
    result : Result
        Of the items that a summary or a report names, and of all workers; its ``insight`` speaks for all items.
    against : Against
        All items beside the truth of the spool.
    tally : Tally
    """

    spool: Spool
    solution: Solution
    result: Result
    against: Any
    tally: Tally

    def workers_table(self) -> pa.Table:
        """Tabulate the workers as `Result.workers_table` does."""
        return self.result.workers_table()

    def report(self, path: Any, *, title: str | None = None) -> None:
        """Write the report on all items, one HTML file that opens offline."""
        self.result.report(path, truth=self.against if self.spool.truth else None, title=title)


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
    tally = Tally()

    def show(block: Result, truth: np.ndarray) -> None:
        tally.add(block, truth)
        if streams is not None:
            for name, table in TABLES.items():
                streams[name].write(table(block))
            pa.default_memory_pool().release_unused()  # else Arrow keeps as much again

    with one_blas_thread():
        solution = estimator.solve(engine, progress)
        blocks = SpoolBlocks(engine, solution, estimator.method)
        insight = import_module("crowdassay.insight.survey")  # by name, as it lies above
        result, against = insight.survey(blocks, show, tables=streams is not None)
    seconds, notes = time.perf_counter() - started, tally.notes(solution)
    result = insight.complete(result, parameters=estimator.settings(solution), notes=notes, seconds=seconds)
    if streams is not None:
        streams["workers"].write(result.workers_table())
    return FilesResult(spool, solution, result, against, tally)


TABLES = {"labels": Result.labels_table, "posterior": Result.posterior_table, "items": Result.items_table}
