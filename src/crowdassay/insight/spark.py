"""Judge workers and items of labels that are in Spark: executors pass over the blocks, the driver draws the conclusions."""

from __future__ import annotations

import pickle  # only for what our own executors send  # nosec B403
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.spark import SparkEngine
from crowdassay.engines.spark_session import run
from crowdassay.engines.spark_tasks import CODES, SHIFT, Batches, block_labels, rows_of, sums_batch
from crowdassay.estimators.from_files import Tally, hardest
from crowdassay.estimators.from_spark import Judge
from crowdassay.insight.clock import Clock
from crowdassay.insight.connection import Connection
from crowdassay.insight.items import ItemInsight, attach
from crowdassay.insight.passes import Learned, Measure, Seen, compared
from crowdassay.insight.picks import SAMPLE
from crowdassay.insight.survey import Lesson, Part, finish, missing_counts
from crowdassay.insight.totals import Against
from crowdassay.insight.verdicts import Comparison

PARTS = "shard int, block bigint, part binary"
COUNTED: dict[str, Any] = {
    "items": int, "tied": int, "sure": int, "probability": float, "known": int, "wrong": float, "squares": float,
    "distance": float,
}  # fmt: skip
SHARDS = 64  # executors that join what partitions send, before the driver does


def survey(engine: SparkEngine, judge: Judge) -> tuple[Result, Against, Tally, Judge]:
    """Pass over all blocks and judge workers and items, as `crowdassay.insight.survey.survey` does.

    Also returned are the counts of the summary, and the judge that knows what the tables of the items need to.
    """
    data, size = engine.data, judge.solution.sigma.shape
    seen: Seen = gather(engine, data.blocks.select(*CODES), Looking(*size[:2]))
    _, totals, sums = engine.reduce(data.blocks, Learning(judge, seen.answers), 4 * judge.solution.sigma.nbytes)
    lesson = Learning.read(sums.reshape(size[0], -1), totals[: size[1]], size)
    measure = Measure.of(seen, lesson.learned)
    comparing = Comparing(measure.comparison, size[0], size[1])
    _, _, sums = engine.reduce(data.blocks.select(*CODES), comparing, 8 * size[0] * (5 + 2 * size[1]))
    judge = replace(judge, prepare=Prepare(measure.connection, measure.mean_difficulty))
    part: Part = gather(engine, data.blocks, Describing(judge, SAMPLE / data.n_labels, measure.comparison, measure.clock))
    named = {"workers": data.workers, "report": data.report}
    picked = replace(part.picked, labels=replace(part.picked.labels, **named))
    found = (seen, measure, lesson, sums.reshape(size[0], -1), replace(part, picked=picked))
    result = finish(judge.solution, *found, gold=data.n_gold > 0)
    counted = zip(COUNTED.items(), totals[size[1] :], strict=True)
    tally = Tally(**{name: kind(value) for (name, kind), value in counted}, hardest=hardest(result))
    return result, part.against, tally, judge


@dataclass(frozen=True, eq=False)
class Prepare:
    """Let the result of a block know what all labels say about its items."""

    connection: Connection
    mean_difficulty: float

    def __call__(self, result: Result) -> Result:
        """Do so."""
        return attach(result, ItemInsight(result, self.connection, self.mean_difficulty))


@dataclass(frozen=True, eq=False)
class Looking:
    """The first pass: which labels there are."""

    n_workers: int
    n_classes: int

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Seen]]:
        """Look at the blocks of one partition."""
        for row in rows_of(batches):
            yield int(row["block"].as_py()), Seen.of(block_labels(row, self.n_workers, self.n_classes))


@dataclass(frozen=True, eq=False)
class Learning:
    """The second pass: what the fit makes of them, as sums of the size of the workers."""

    judge: Judge
    answers: IntArray
    shards: int = 1

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up the blocks of one partition."""
        first: int | None = None
        total, mass, tally = np.zeros(1), np.zeros(1), Tally()
        for number, judged, result, truth in self.judge.results(batches):
            first = number if first is None else first
            learned = Learned.of(result, self.answers)
            tables = (judged.expected, missing_counts(result), learned.counts)
            sums = np.column_stack([*(table.reshape(len(table), -1) for table in tables), learned.unsure, learned.votes])
            total, mass = total + sums, mass + learned.mass
            tally.add(result, truth)
        if first is not None:
            counted = [float(getattr(tally, name)) for name in COUNTED]
            yield sums_batch(first, 0.0, np.concatenate([mass, counted]), total, self.shards)

    @staticmethod
    def read(sums: FloatArray, mass: FloatArray, size: tuple[int, ...]) -> Lesson:
        """Return what the sums of all partitions (n_workers, ...) say."""
        cells = size[1] * size[2]
        expected, unsure, counts = (sums[:, n * cells : (n + 1) * cells].reshape(size) for n in range(3))
        return Lesson(expected, unsure, Learned(counts, sums[:, 3 * cells], sums[:, 3 * cells + 1 :], mass))


@dataclass(frozen=True, eq=False)
class Comparing:
    """The third pass: how each worker compares with the others."""

    comparison: Comparison
    n_workers: int
    n_classes: int
    shards: int = 1

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Add up the blocks of one partition."""
        first, total = None, np.zeros((self.n_workers, 5 + 2 * self.n_classes))
        for row in rows_of(batches):
            first = int(row["block"].as_py()) if first is None else first
            labels: Labels = block_labels(row, self.n_workers, self.n_classes)
            total += self.comparison.add_up(labels, compared(labels))
        if first is not None:
            yield sums_batch(first, 0.0, np.zeros(0), total, self.shards)


@dataclass(frozen=True, eq=False)
class Describing:
    """The last pass: what is counted, picked and drawn of the items."""

    judge: Judge
    share: float
    comparison: Comparison
    clock: Clock

    def __call__(self, batches: Batches) -> Iterator[tuple[int, Part]]:
        """Look at the items of one partition."""
        for number, _, result, truth in self.judge.results(batches):
            yield number, Part.of(result, truth, self.share, number, self.comparison, self.clock)


@dataclass(frozen=True, eq=False)
class Send:
    """Join what a task finds in the blocks of a partition, and send it as one row."""

    task: Callable[[Batches], Iterator[tuple[int, Any]]]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the task."""
        found: list[tuple[int, Any]] = []
        for number, part in self.task(batches):
            found = [(found[0][0], found[0][1].join(part))] if found else [(number, part)]
        for first, part in found:
            yield _row(first // SHIFT % SHARDS, first, part)


def join_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join the rows of every shard in block order, so that the same rows give the same."""
    rows = sorted((row["shard"].as_py(), row["block"].as_py(), row["part"].as_py()) for row in rows_of(batches))
    for shard in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == shard]
        yield _row(shard, mine[0][1], _join(part for _, _, part in mine))


def gather(engine: SparkEngine, blocks: Any, task: Callable[[Batches], Iterator[tuple[int, Any]]]) -> Any:
    """Run a task on every partition and join what comes back: on executors first, where there are many partitions."""
    rows = blocks.mapInArrow(Send(task), PARTS)
    if engine.data.n_partitions > SHARDS:
        rows = rows.repartition(SHARDS, "shard").mapInArrow(join_rows, PARTS)
    table = run(rows.toArrow).sort_by("block")
    return _join(part.as_py() for part in table["part"])


def _row(shard: int, block: int, part: Any) -> pa.RecordBatch:
    columns = [pa.array([shard], pa.int32()), pa.array([block], pa.int64()), pa.array([pickle.dumps(part)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["shard", "block", "part"])


def _join(parts: Iterator[bytes]) -> Any:
    loaded = (pickle.loads(part) for part in parts)  # noqa: S301  our own executors'  # nosec B301
    return reduce(lambda one, other: one.join(other), loaded)
