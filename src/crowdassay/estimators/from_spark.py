"""Fit labels that are in Spark; the tables of the items stay there, and executors write them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.files import BlockEngine
from crowdassay.engines.spark import SparkEngine
from crowdassay.engines.spark_data import SparkLabels, encode_frame
from crowdassay.engines.spark_tasks import Batches, block_items, block_labels, rows_of
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.blocks import Judgement, average_worker, block_result, judge_block
from crowdassay.estimators.from_files import Tally
from crowdassay.solvers.outcome import Progress, Solution
from crowdassay.threads import one_blas_thread

TYPES = {pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean", pa.string(): "string"}
BATCH_ROWS = 1 << 16
TABLES: dict[str, Callable[[Result], pa.Table]] = {
    "labels": Result.labels_table,
    "posterior": Result.posterior_table,
    "items": Result.items_table,
}


@dataclass(frozen=True, eq=False)
class Judge:
    """The last pass as it travels to the executors: judge every block by a solution, and yield the rows of a table.

    ``prepare`` lets a block's result know what its table of items needs to.
    """

    solution: Solution
    average: FloatArray
    classes: pa.Array
    method: str
    table: str = "labels"
    prepare: Callable[[Result], Result] | None = None

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Judge the blocks of one partition."""
        for _, _, result, _ in self.results(batches):
            yield from TABLES[self.table](result).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)

    def results(self, batches: Batches) -> Iterator[tuple[int, Judgement, Result, np.ndarray]]:
        """Yield the number of every block, what the solution says of its items, as a result, and their truth."""
        n_workers, n_classes = self.solution.sigma.shape[:2]
        for row in rows_of(batches):
            labels = block_labels(row, n_workers, n_classes, items=block_items(row), classes=self.classes)
            yield int(row["block"].as_py()), *self.judge(labels), np.frombuffer(row["truth"].as_buffer(), np.int32)

    def judge(self, labels: Labels) -> tuple[Judgement, Result]:
        """Judge some items."""
        judged = judge_block(BlockEngine(labels, threads=1, warm=False), self.solution, self.average)
        result = block_result(judged, self.method, self.solution)
        return judged, result if self.prepare is None else self.prepare(result)

    def schema(self, table: str, labels: SparkLabels) -> str:
        """Return the columns of a table as Spark declares them, found by judging one made-up item."""
        one = Labels(
            np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int16), pa.nulls(1), pa.nulls(len(labels.workers)),
            self.classes, np.full(1, -1, np.int32),
        )  # fmt: skip
        fields = TABLES[table](self.judge(one)[1]).schema
        own = {"item": labels.item_type} | ({"label": labels.label_type} if table == "labels" else {})
        types = {field.name: own.get(field.name) or TYPES[field.type] for field in fields}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items())


@dataclass(frozen=True, eq=False)
class SparkResult:
    """The outcome of a fit whose items stay in Spark; what has the size of the workers is here.

    Attributes
    ----------
    labels : SparkLabels
    solution : Solution
    result : Result
        Of the items that a summary or a report names, and of all workers; its ``insight`` speaks for all items.
    against : Against
        All items beside the truth, where one was given.
    tally : Tally
        What was counted over all items.
    judge : Judge
    """

    labels: SparkLabels
    solution: Solution
    result: Result
    against: Any
    tally: Tally
    judge: Judge

    def labels_table(self) -> Any:
        """Return a Spark frame of item, label, probability, tied."""
        return self._table("labels")

    def posterior_table(self) -> Any:
        """Return a Spark frame of item and the probability of each class."""
        return self._table("posterior")

    def items_table(self) -> Any:
        """Return a Spark frame of the items, as `Result.items_table` has it."""
        return self._table("items")

    def workers_table(self) -> Any:
        """Return a Spark frame of the workers, as `Result.workers_table` has it."""
        return self.labels.blocks.sparkSession.createDataFrame(self.result.workers_table())

    def report(self, path: Any, *, title: str | None = None) -> None:
        """Write the report on all items, one HTML file that opens offline; on the driver."""
        self.result.report(path, truth=self.against if self.labels.truth else None, title=title)

    def _table(self, name: str) -> Any:
        task = replace(self.judge, table=name)
        return self.labels.blocks.mapInArrow(task, task.schema(name, self.labels))

    def close(self) -> None:
        """Let Spark forget the labels; the tables of the items can then be had no more, or only at length."""
        self.labels.close()

    @property
    def spool(self) -> SparkLabels:
        """The labels, by the name that summaries know."""
        return self.labels

    @property
    def insight(self) -> Any:
        """What is to be said of all workers and items: a `crowdassay.insight.find.Insight`."""
        return self.result.insight

    @property
    def method(self) -> str:
        return self.result.method

    @property
    def parameters(self) -> dict[str, Any]:
        return self.result.parameters

    @property
    def confusion(self) -> FloatArray:
        """Expected confusion of each worker, shape (n_workers, n_classes, n_classes)."""
        return self.result.confusion

    @property
    def accuracy(self) -> FloatArray:
        """Expected share of each worker's labels that are right, shape (n_workers,)."""
        return self.result.accuracy

    @property
    def sigma(self) -> FloatArray | None:
        """Worker tables, shape (n_workers, n_classes, n_classes), or None where the model has none."""
        return self.result.sigma

    @property
    def tau(self) -> FloatArray | None:
        raise ParameterError("The tables of the items stay in Spark; items_ has them as columns.")

    @property
    def objective(self) -> float | None:
        return self.solution.objective

    @property
    def history(self) -> tuple[float, ...]:
        return self.solution.history

    @property
    def n_iter(self) -> int:
        return self.solution.n_iter

    @property
    def converged(self) -> bool:
        return self.solution.converged


def fit_frame(
    estimator: Estimator,
    frame: Any,
    *,
    progress: Progress | None = None,
    announce: Announce | None = None,
    **reading: Any,
) -> SparkResult:
    """Fit an estimator to a Spark frame of labels, inside Spark.

    Parameters
    ----------
    estimator : Estimator
        One that `solves`: assay, minimax, dawid-skene, majority.
    frame : Spark DataFrame
    progress, announce : callable, optional
        As in `Estimator.fit`.
    **reading
        As `crowdassay.engines.spark_data.encode_frame` takes it: columns, classes, gold, truth, partitions, spool.
    """
    started = time.perf_counter()
    estimator.check_solves()
    if announce is not None:
        announce("Encoding the labels in Spark ...")
    data = encode_frame(frame, tables=estimator.tables[0], **reading)
    try:
        return _fit(estimator, data, progress, started)
    except BaseException:
        data.close()
        raise


def _fit(estimator: Estimator, data: SparkLabels, progress: Progress | None, started: float) -> SparkResult:
    engine = SparkEngine(data)
    insight = import_module("crowdassay.insight.spark")  # by name, as it lies above
    with one_blas_thread():
        solution = estimator.solve(engine, progress)
        judge = Judge(solution, average_worker(solution, data.worker_counts), data.classes, estimator.method)
        result, against, tally, judge = insight.survey(engine, judge)
    facts = {"parameters": estimator.settings(solution), "notes": tally.notes(solution)}
    result = import_module("crowdassay.insight.survey").complete(result, **facts, seconds=time.perf_counter() - started)
    return SparkResult(data, solution, result, against, tally, judge)
