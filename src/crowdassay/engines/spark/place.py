"""Labels in Spark: executors pass over blocks of items, and what has the size of the workers comes to the driver."""

from __future__ import annotations

import pickle  # only for what our own executors send  # nosec B403
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from crowdassay.engines.base import Engine
from crowdassay.engines.place import Block, Facts, J
from crowdassay.engines.spark.data import SparkLabels
from crowdassay.engines.spark.engine import SparkEngine
from crowdassay.engines.spark.session import run
from crowdassay.engines.spark.tasks import SHIFT, Batches, block_items, block_labels, rows_of
from crowdassay.errors import DataError
from crowdassay.labels.join import join_items
from crowdassay.labels.labels import Labels

T = TypeVar("T")

TYPES = {pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean", pa.string(): "string"}
PARTS = "shard int, block bigint, part binary"
SHARDS = 64  # executors that join what partitions send, before the driver does
BATCH_ROWS = 1 << 16


@dataclass(frozen=True, eq=False)
class SparkPlace:
    """Hold labels in Spark."""

    data: SparkLabels
    engine_name: str = "spark"
    in_memory: bool = False
    writes: bool = True

    @cached_property
    def facts(self) -> Facts:
        """What is known of the labels; classes whose columns Spark could not tell apart are refused before any work."""
        data = self.data
        check_names([str(name) for name in data.classes.to_pylist()], self.session)
        return Facts(
            data.n_items, data.n_labels, data.n_gold, data.longest, data.workers, data.classes, data.worker_counts,
            data.class_counts, data.report, data.truth, "spark",
        )  # fmt: skip

    def engine(self, *, gathered: bool, announce: Callable[[str], None] | None = None) -> Engine:
        """Return an engine that sweeps these labels."""
        return SparkEngine(self.data)

    def gather(self) -> Block:
        """Return all labels as one block."""
        rows = run(self.data.blocks.toArrow).sort_by("block")
        parts = [self._read(row) for row in rows_of(rows.to_batches())]
        labels = join_items([part.labels for part in parts])
        labels = replace(labels, workers=self.data.workers, report=self.data.report)
        return Block(0, labels, np.concatenate([part.truth for part in parts]))

    def reduce(self, task: Callable[[Block], J]) -> J:
        """Call a task with every block on executors; where there are many partitions, executors join what it returns."""
        rows = self.data.blocks.mapInArrow(Send(self._read, task), PARTS)
        if self.data.n_partitions > SHARDS:
            rows = rows.repartition(SHARDS, "shard").mapInArrow(join_rows, PARTS)
        table = run(rows.toArrow).sort_by("block")
        return _join(part.as_py() for part in table["part"])

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block, here on the driver, one after the other."""
        for row in run(self.data.blocks.toLocalIterator):
            cells = {
                name: pa.scalar(bytes(value) if isinstance(value, bytearray) else value) for name, value in row.asDict().items()
            }
            yield task(self._read(cells))

    def table(self, task: Callable[[Block], pa.Table]) -> Any:
        """Return a Spark frame whose rows a task finds in every block, on executors."""
        return self.data.blocks.mapInArrow(Rows(self._read, task), self._schema(task))

    def frame(self, table: pa.Table) -> Any:
        """Return a table as a Spark frame."""
        check_names(table.column_names, self.session)
        return self.session.createDataFrame(table)

    def close(self) -> None:
        """Let Spark forget the labels."""
        self.data.close()

    @property
    def session(self) -> Any:
        """The session that the labels belong to."""
        return self.data.blocks.sparkSession

    @property
    def _read(self) -> Read:
        return Read(len(self.data.workers), self.data.classes)

    def _schema(self, task: Callable[[Block], pa.Table]) -> str:
        """Return the columns of a table as Spark declares them, found by calling the task with one made-up item."""
        one = Labels(
            np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int16), pa.nulls(1), pa.nulls(len(self.data.workers)),
            self.data.classes, np.full(1, -1, np.int32),
        )  # fmt: skip
        fields = task(Block(0, one, np.full(1, -1))).schema
        check_names(fields.names, self.session)
        own = {"item": self.data.item_type}
        if fields.names[:2] == ["item", "label"]:
            own["label"] = self.data.label_type
        types = {field.name: own.get(field.name) or TYPES[field.type] for field in fields}
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in types.items())


def check_names(names: list[str], spark: Any) -> None:
    """Refuse columns that differ in case alone where Spark takes them for the same."""
    if len({name.casefold() for name in names}) < len(names) and spark.conf.get("spark.sql.caseSensitive") != "true":
        raise DataError(
            "Some classes differ in upper and lower case alone, and Spark takes their columns for the same; set "
            "spark.sql.caseSensitive to true, or write the classes alike."
        )


@dataclass(frozen=True, eq=False)
class Read:
    """Read a block from its row, on an executor or on the driver."""

    n_workers: int
    classes: pa.Array

    def __call__(self, row: dict[str, Any]) -> Block:
        """Read it."""
        labels = block_labels(row, self.n_workers, len(self.classes), items=block_items(row), classes=self.classes)
        return Block(int(row["block"].as_py()), labels, np.frombuffer(row["truth"].as_buffer(), np.int32))


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table that a task makes of every block."""

    read: Read
    task: Callable[[Block], pa.Table]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Make those of the blocks of one partition."""
        for row in rows_of(batches):
            yield from self.task(self.read(row)).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)


@dataclass(frozen=True, eq=False)
class Send:
    """Join what a task finds in the blocks of a partition, and send it as one row."""

    read: Read
    task: Callable[[Block], Any]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the task on the blocks of one partition."""
        joined: list[tuple[int, Any]] = []
        for row in rows_of(batches):
            block = self.read(row)
            part = self.task(block)
            joined = [(joined[0][0], joined[0][1].join(part))] if joined else [(block.number, part)]
        for first, part in joined:
            yield _row(first // SHIFT % SHARDS, first, part)


def join_rows(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join the rows of every shard in block order, so that the same rows give the same."""
    rows = sorted((row["shard"].as_py(), row["block"].as_py(), row["part"].as_py()) for row in rows_of(batches))
    for shard in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == shard]
        yield _row(shard, mine[0][1], _join(part for _, _, part in mine))


def _row(shard: int, block: int, part: Any) -> pa.RecordBatch:
    columns = [pa.array([shard], pa.int32()), pa.array([block], pa.int64()), pa.array([pickle.dumps(part)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["shard", "block", "part"])


def _join(parts: Iterator[bytes]) -> Any:
    loaded = (pickle.loads(part) for part in parts)  # noqa: S301  our own executors'  # nosec B301
    return reduce(lambda one, other: one.join(other), loaded)
