"""Fit labels that are in Spark; the tables of the items stay there, and executors write them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.base import Weights
from crowdassay.engines.files import BlockEngine
from crowdassay.engines.spark import SparkEngine
from crowdassay.engines.spark_data import SparkLabels, encode_frame
from crowdassay.engines.spark_session import run
from crowdassay.engines.spark_tasks import Batches, block_items, block_labels, rows_of, sums_batch
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.blocks import (
    Judgement,
    average_worker,
    block_items_table,
    block_result,
    describe_workers,
    judge_block,
    workers_table,
)
from crowdassay.estimators.from_files import HARDEST, Tally
from crowdassay.solvers.outcome import Progress, Solution
from crowdassay.threads import one_blas_thread

TYPES = {pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean", pa.string(): "string"}
BATCH_ROWS = 1 << 16
COUNTED = ("items", "tied", "sure", "probability", "known", "wrong", "squares", "distance")


def hardest_table(result: Result) -> pa.Table:
    """Tabulate a block's hardest items, for a summary."""
    tally = Tally()
    tally.add(result, np.full(result.labels.n_items, -1))
    hard, item, n_labels, label, probability = zip(*tally.hardest, strict=True)
    columns = {"hard": hard, "item": map(str, item), "n_labels": n_labels, "label": label, "probability": probability}
    return pa.table({name: list(values) for name, values in columns.items()})


TABLES: dict[str, Callable[[Result], pa.Table]] = {
    "labels": Result.labels_table,
    "posterior": Result.posterior_table,
    "items": block_items_table,
    "hardest": hardest_table,
}


@dataclass(frozen=True, eq=False)
class Judge:
    """The last pass as it travels to the executors: judge every block by a solution.

    Without ``table`` it yields what the workers' tables and the summary are added up from; with, the rows of that table.
    """

    solution: Solution
    average: FloatArray
    classes: pa.Array
    method: str
    table: str | None = None
    shards: int = 1

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Judge the blocks of one partition."""
        yield from self._sums(batches) if self.table is None else self._rows(batches, self.table)

    def _sums(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        first, tally, expected = None, Tally(), np.zeros_like(self.solution.sigma)
        for row in rows_of(batches):
            first = int(row["block"].as_py()) if first is None else first
            judged, result = self.judge(self._labels(row))
            expected += judged.expected
            tally.add(result, np.frombuffer(row["truth"].as_buffer(), np.int32))
        if first is not None:
            yield sums_batch(first, 0.0, np.array([getattr(tally, name) for name in COUNTED], float), expected, self.shards)

    def _rows(self, batches: Batches, table: str) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            yield from TABLES[table](self.judge(self._labels(row))[1]).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)

    def _labels(self, row: dict[str, Any]) -> Labels:
        n_workers, n_classes = self.solution.sigma.shape[:2]
        return block_labels(row, n_workers, n_classes, items=block_items(row), classes=self.classes)

    def judge(self, labels: Labels) -> tuple[Judgement, Result]:
        """Judge some items."""
        judged = judge_block(BlockEngine(labels, threads=1, warm=False), self.solution, self.average)
        return judged, block_result(judged, self.method, self.solution)

    def schema(self, table: str, labels: SparkLabels) -> str:
        """Return the columns of a table as Spark declares them, found by judging one made-up item."""
        one = Labels(
            np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int16), pa.nulls(1), pa.nulls(len(labels.workers)),
            self.classes, np.full(1, -1, np.int32),
        )  # fmt: skip
        fields = TABLES[table](self.judge(one)[1]).schema
        own = {} if table == "hardest" else {"item": labels.item_type}
        own |= {"label": labels.label_type} if table == "labels" else {}
        types = {field.name: own.get(field.name) or TYPES[field.type] for field in fields}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items())


@dataclass(frozen=True, eq=False)
class SparkResult:
    """The outcome of a fit whose items stay in Spark; what has the size of the workers is here.

    Attributes
    ----------
    labels : SparkLabels
    method : str
    parameters : dict
    solution : Solution
    confusion : ndarray of shape (n_workers, n_classes, n_classes)
    accuracy : ndarray of shape (n_workers,)
    tally : Tally
        What was counted over all items; the hardest are not among it.
    judge : Judge
    seconds : float
    notes : tuple of str
    """

    labels: SparkLabels
    method: str
    parameters: dict[str, Any]
    solution: Solution
    confusion: FloatArray
    accuracy: FloatArray
    tally: Tally
    judge: Judge
    seconds: float
    notes: tuple[str, ...] = ()

    def labels_table(self) -> Any:
        """Return a Spark frame of item, label, probability, tied."""
        return self._table("labels")

    def posterior_table(self) -> Any:
        """Return a Spark frame of item and the probability of each class."""
        return self._table("posterior")

    def items_table(self) -> Any:
        """Return a Spark frame of item, n_labels, probability, entropy, vote_share and, with an item block, more."""
        return self._table("items")

    def workers_table(self) -> Any:
        """Return a Spark frame of worker, n_labels, accuracy, confusion and sigma."""
        data = self.labels
        table = workers_table(data.workers, data.class_names, data.worker_counts, self.confusion, self.accuracy, self.sigma)
        return data.blocks.sparkSession.createDataFrame(table)

    def hardest(self) -> list[tuple[float, str, int, str, float]]:
        """Return difficulty (or entropy), item, number of labels, label and probability of the hardest items."""
        few = self._table("hardest").orderBy("hard", ascending=False).limit(HARDEST)
        return [tuple(row.values()) for row in run(few.toArrow).to_pylist()]

    def _table(self, name: str) -> Any:
        task = replace(self.judge, table=name)
        return self.labels.blocks.mapInArrow(task, task.schema(name, self.labels))

    def close(self) -> None:
        """Let Spark forget the labels; the tables of the items can then be had no more, or only at length."""
        self.labels.blocks.unpersist()

    @property
    def spool(self) -> SparkLabels:
        """The labels, by the name that summaries know."""
        return self.labels

    @property
    def sigma(self) -> FloatArray | None:
        """Worker tables, shape (n_workers, n_classes, n_classes), or None where the model has none."""
        return None if self.solution.weights is Weights.VOTES else self.solution.sigma

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
    def sweeps(self) -> int:
        return self.solution.sweeps

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
    engine = SparkEngine(data)
    with one_blas_thread():
        solution = estimator.solve(engine, progress)
        judge = Judge(solution, average_worker(solution, data.worker_counts), data.classes, estimator.method)
        _, counted, expected = engine.reduce(data.blocks, judge, solution.sigma.nbytes)
    confusion, accuracy = describe_workers(solution, expected.reshape(solution.sigma.shape))
    tally = Tally(**{name: kind(value) for name, kind, value in zip(COUNTED, KINDS, counted, strict=True)})
    parameters = estimator.settings(solution)
    seconds = time.perf_counter() - started
    return SparkResult(
        data, estimator.method, parameters, solution, confusion, accuracy, tally, judge, seconds, tally.notes(solution)
    )


KINDS = (int, int, int, float, int, float, float, float)
