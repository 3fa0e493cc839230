"""Labels in Spark: executors pass over blocks of items, and what has the size of the workers comes to the driver."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, reduce
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.engines.base import Announce, Engine, Place
from crowdassay.engines.blocks import Block, ItemSelection, J, T
from crowdassay.engines.spark.data import SparkLabels
from crowdassay.engines.spark.session import is_connect, quoted, run
from crowdassay.engines.spark.tasks import (
    BLOCK_COLUMNS,
    FOUND,
    MISSING_COPY,
    FromCopies,
    LeaveCopies,
    ReadBlock,
    RunTask,
    TableRows,
    join_found,
    load_found,
)
from crowdassay.engines.sweeps import PlaceEngine
from crowdassay.errors import DataError
from crowdassay.labels.labels import Facts, Labels

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame, SparkSession

COLUMN_TYPES = {pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean", pa.string(): "string"}
DIRECT_BYTES = 64 * 10**6  # sums of all partitions that the driver collects and adds by itself
SHARD_BYTES = 4 * 10**6  # sums that an executor adds, about
DIRECT_PARTITIONS = 64  # partitions whose parts the driver joins by itself; as many executors join those of more
MOST_MISSED = 3  # tasks that may find a copy missing before copies are no longer looked for


class SparkPlace(Place):
    """Hold labels in Spark.

    A task travels to the executors, and every partition returns what it found, joined. Where that of all partitions together
    is large, executors join it: each a range of workers where it can be cut, else that of some partitions. All is joined in the
    order of the blocks, so that the same partitions give the same bits. A lost executor costs the partitions it held and
    nothing else.

    Parameters
    ----------
    data : SparkLabels
    direct_bytes : int
        Size of all partitions' sums up to which the driver adds them.
    """

    engine_name, in_memory, writes = "spark", False, True

    def __init__(self, data: SparkLabels, *, direct_bytes: int = DIRECT_BYTES) -> None:
        self.data, self.direct_bytes = data, direct_bytes
        self._rows, self._numbers = data.blocks.select(*BLOCK_COLUMNS), data.blocks.select("block")
        self._token, self._copied, self._missed = uuid.uuid4().hex, False, 0

    @cached_property
    def facts(self) -> Facts:
        """What is known of the labels; classes whose columns Spark could not tell apart are refused before any work."""
        check_names(list(self.data.class_names), self.session)
        return self.data

    @property
    def truth_counts(self) -> dict[str, int] | None:
        return self.data.truth

    def engine(self, *, gathered: bool, announce: Announce | None = None) -> Engine:
        return PlaceEngine(self)

    def reduce(self, task: Callable[[Block], J], *, names: bool = True, size: int = 0) -> J:
        """Call a task with every block on executors, and join what it returns."""
        found = load_found(self._run(RunTask(self._read(names), task, self._shards(size), size > 0)).to_batches())
        parts: list[Any] = [part for _, part in found.values()]
        if size:
            return parts[0].paste(parts)
        return reduce(lambda one, other: one.join(other), [part for _, part in sorted(found.values(), key=itemgetter(0))])

    def blocks(self, task: Callable[[Block], T]) -> Iterator[T]:
        """Call a task with every block, here on the driver, one after the other."""
        read = self._read()
        for row in run(self.data.blocks.toLocalIterator):
            cells = {
                name: pa.scalar(bytes(value) if isinstance(value, bytearray) else value) for name, value in row.asDict().items()
            }
            yield task(read(cells))

    def gather(self, selection: ItemSelection | None = None) -> Block:
        """Return the labels of some items, or of all, as one block; steps are counted within blocks."""
        found = super().gather(selection)
        return replace(found, labels=replace(found.labels, workers=self.data.workers, report=self.data.report))

    def table(self, task: Callable[[Block], pa.Table]) -> DataFrame:
        """Return a Spark frame whose rows a task finds in every block, on executors."""
        return self.data.blocks.mapInArrow(TableRows(self._read(), task), self._schema(task))

    def frame(self, table: pa.Table) -> DataFrame:
        check_names(table.column_names, self.session)
        return self.session.createDataFrame(table)

    def close(self) -> None:
        """Remove the labels, and copies of them, from Spark."""
        self.data.close()

    @property
    def session(self) -> SparkSession:
        """The session that the labels belong to."""
        return self.data.blocks.sparkSession

    def _read(self, names: bool = True) -> ReadBlock:
        return ReadBlock(self.data.n_workers, self.data.classes, names)

    def _shards(self, size: int) -> int:
        """Return how many executors join what partitions find, 1 where the driver does so by itself."""
        partitions = self.data.n_partitions
        if not size:
            return DIRECT_PARTITIONS if partitions > DIRECT_PARTITIONS else 1
        if size * partitions <= self.direct_bytes:
            return 1
        return min(self.data.n_workers, max(-(-size // SHARD_BYTES), min(partitions, DIRECT_PARTITIONS)))

    def _run(self, task: RunTask) -> pa.Table:
        """Run a task on copies of the blocks, leaving some where there are none, or on the blocks where that does not serve."""
        if self.data.folder is not None or self._missed > MOST_MISSED:
            return self._join(self._rows, task, task)
        if self._copied:
            table = self._by_number(task)
            if MISSING_COPY not in table["shard"].to_pylist():
                return table
            self._missed += 1
        self.data.copies.add(self._token)
        self._copied = True
        return self._join(self._rows, task, LeaveCopies(self._token, task))

    def _by_number(self, task: RunTask) -> pa.Table:
        """Run a task on copies of the blocks, of which Spark brings the numbers alone."""
        from_copies = FromCopies(self._token, task)
        if is_connect(self._numbers) or task.shards > 1:
            return self._join(self._numbers, task, from_copies)
        return run(lambda: pa.Table.from_batches(self._held.mapPartitions(from_copies.run).collect()))

    @cached_property
    def _held(self) -> RDD:
        """The numbers where the blocks are, for plain jobs: to plan a query takes Spark longer than many a sweep."""
        numbers, context = self._numbers.rdd.map(itemgetter(0)), self.session.sparkContext
        if context.master.split("[")[0] != "local":
            return numbers.persist()
        parts = numbers.glom().collect()  # one executor has all copies, so tasks need not know how blocks were made
        return context.parallelize(parts, len(parts)).flatMap(list)

    def _join(self, rows: DataFrame, task: RunTask, wrapped: Callable[..., Iterator[pa.RecordBatch]]) -> pa.Table:
        """Run a task on every partition of ``rows``, let executors join what it finds where they should, and return that."""
        found = rows.mapInArrow(wrapped, FOUND)
        if task.shards > 1:
            found = found.repartition(task.shards, "shard").mapInArrow(join_found, FOUND)
        return run(found.toArrow)

    def _schema(self, task: Callable[[Block], pa.Table]) -> str:
        """Return the columns of a table as Spark declares them, found by calling the task with one made-up item."""
        one = Labels(
            np.array([0, 1]), np.zeros(1, np.int32), np.zeros(1, np.int16), pa.nulls(1), pa.nulls(self.data.n_workers),
            self.data.classes, np.full(1, -1, np.int32),
        )  # fmt: skip
        fields = task(Block(0, one, np.full(1, -1))).schema
        check_names(fields.names, self.session)
        own = {"item": self.data.item_type}
        if fields.names[:2] == ["item", "label"]:
            own["label"] = self.data.label_type
        types = {field.name: own.get(field.name) or COLUMN_TYPES[field.type] for field in fields}
        return ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())


def check_names(names: list[str], spark: SparkSession) -> None:
    """Refuse columns that differ in case alone where Spark takes them for the same."""
    if len({name.casefold() for name in names}) < len(names) and spark.conf.get("spark.sql.caseSensitive") != "true":
        raise DataError(
            "Some classes differ in upper and lower case alone, and Spark takes their columns for the same; set "
            "spark.sql.caseSensitive to true, or write the classes alike."
        )
