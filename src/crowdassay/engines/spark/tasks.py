"""What runs inside Spark's executors: pack labels into blocks, run tasks on blocks, join what they return. No Spark is needed.

A block is one row: the codes of some items' labels as raw bytes, so that a task reads arrays and converts nothing.
"""

from __future__ import annotations

import gc
import pickle  # only for what our own executors send  # nosec B403
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.engines.blocks import Block
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import ImportReport

BLOCK_SCHEMA = (
    "block bigint, n_items bigint, n_labels bigint, n_gold bigint, longest bigint, "
    "starts binary, worker binary, label binary, gold binary, truth binary, items binary"
)
BLOCK_COLUMNS = ("block", "starts", "worker", "label", "gold", "truth", "items")  # what a task reads
MISSING_COPY = -1  # the shard of a row that says that a copy of a block was not found
FOUND = "shard int, block bigint, part binary"  # what it returns, pickled, of the blocks from one number on
BLOCK_LABELS = 4_000_000  # labels after which a block ends with its item
PARTITION_BLOCKS = 2**24  # blocks of a partition are numbered from the partition's number times this
TABLE_ROWS = 1 << 16  # rows of a table that leave an executor at a time

Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class ReadBlock:
    """Read a block from its row, on an executor or on the driver; without ``names`` its codes alone."""

    n_workers: int
    classes: pa.Array
    names: bool = True

    def __call__(self, row: dict[str, Any]) -> Block:
        """Read it. Copies have been checked when they were made, and hold their cells."""
        starts = array(row["starts"], np.int64)
        columns = {
            "starts": starts,
            "worker": array(row["worker"], np.int32),
            "label": array(row["label"], np.int16),
            "gold": array(row["gold"], np.int32),
            "items": block_items(row) if self.names else pa.nulls(len(starts) - 1),
            "workers": pa.nulls(self.n_workers),
            "classes": self.classes,
        }
        cells = array(row["cells"], np.uint32) if "cells" in row else None
        labels = Labels(**columns) if cells is None else unchecked_labels(columns)
        return Block(block_number(row), labels, array(row["truth"], np.int32), cells=cells)


def unchecked_labels(columns: dict[str, Any]) -> Labels:
    """Return labels whose codes need not be checked again, which would take as long as many a sweep."""
    labels = Labels.__new__(Labels)
    vars(labels).update({"report": ImportReport(), **columns})  # of all fields without a default on the class
    return labels


@dataclass(frozen=True, eq=False)
class RunTask:
    """Join what a task finds in the blocks of a partition, and send it.

    Attributes
    ----------
    read : ReadBlock
    task : callable
    shards : int
        Executors that join what partitions send, before the driver does.
    cut : bool
        Whether each of them gets a range of workers (`crowdassay.engines.sweeps.SweepSums`), or all of some partitions.
    """

    read: ReadBlock
    task: Callable[[Block], Any]
    shards: int = 1
    cut: bool = False

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the task on the blocks of one partition."""
        first, found = -1, None
        for row in rows_of(batches):
            block = self.read(row)
            part = self.task(block)
            first, found = (block.number, part) if found is None else (first, found.join(part))
        if found is not None:
            parts = enumerate(found.cut(self.shards)) if self.cut else [(first // PARTITION_BLOCKS % self.shards, found)]
            for shard, part in parts:
                yield found_row(shard, first, part)
        settle()


def join_found(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Join what was found, for every shard in the order of blocks, so that the same parts give the same bits."""
    for shard, (block, part) in load_found(batches).items():
        yield found_row(shard, block, part)


def load_found(batches: Batches) -> dict[int, tuple[int, Any]]:
    """Return for every shard, in order, the number of its first block and what was found, joined in the order of blocks."""
    rows = sorted((row["shard"].as_py(), block_number(row), row["part"].as_py()) for row in rows_of(batches))
    found: dict[int, tuple[int, Any]] = {}
    for shard, block, data in rows:
        part = pickle.loads(data)  # noqa: S301  our own executors'  # nosec B301
        if shard == MISSING_COPY:
            return {shard: (block, part)}
        found[shard] = (found[shard][0], found[shard][1].join(part)) if shard in found else (block, part)
    return found


def found_row(shard: int, block: int, part: Any) -> pa.RecordBatch:
    """Return what was found as it travels."""
    columns = [pa.array([shard], pa.int32()), pa.array([block], pa.int64()), pa.array([pickle.dumps(part)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["shard", "block", "part"])


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of a table that a task makes of every block."""

    read: ReadBlock
    task: Callable[[Block], pa.Table]

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Make those of the blocks of one partition."""
        for row in rows_of(batches):
            yield from self.task(self.read(row)).combine_chunks().to_batches(max_chunksize=TABLE_ROWS)


def settle() -> None:
    """Keep what a worker process has loaded out of the garbage collections that PySpark orders after every task.

    With the compiler loaded each would take longer than a small sweep.
    """
    if task_context() is not None:
        freeze()


@cache  # once a process; to ask how much is frozen takes as long as a collection
def freeze() -> None:
    """Take all objects there are for lasting."""
    gc.freeze()


def task_context() -> Any:
    """Return what Spark says about the task that runs, None outside of one."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.TaskContext.get()


def block_number(row: dict[str, Any]) -> int:
    """Return the number of a row's block."""
    return int(row["block"].as_py())


def array(cell: pa.Scalar, kind: Any) -> Any:
    """Read a cell of bytes as numbers, without copying where they lie on an even address."""
    return np.require(np.frombuffer(cell.as_buffer(), kind), requirements=["A"])


@dataclass(frozen=True)
class Pack:
    """Pack rows (item, worker, label, gold, truth), sorted by item, into blocks of whole items."""

    least: int = BLOCK_LABELS

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield a block as soon as it has enough labels; what belongs to its last item waits for the rest of it."""
        context = task_context()
        return self.pack(batches, (context.partitionId() if context else 0) * PARTITION_BLOCKS)

    def pack(self, batches: Batches, number: int) -> Iterator[pa.RecordBatch]:
        """Do so, numbering the blocks from ``number``."""
        waiting: list[pa.RecordBatch] = []
        held = 0
        for batch in batches:
            if not len(batch):
                continue
            waiting.append(batch)
            held += len(batch)
            if held < self.least:
                continue
            rows = pa.Table.from_batches(waiting).combine_chunks()
            last = int(_starts(rows["item"])[-2])
            if last:
                yield _block(rows.slice(0, last), number)
                number += 1
            waiting, held = rows.slice(last).to_batches(), len(rows) - last
        if held:
            yield _block(pa.Table.from_batches(waiting), number)


def _block(rows: pa.Table, number: int) -> pa.RecordBatch:
    starts = _starts(rows["item"])
    items = rows["item"].take(pa.array(starts[:-1]))
    columns = {
        "starts": starts,
        "worker": rows["worker"].to_numpy().astype(np.int32),
        "label": rows["label"].to_numpy().astype(np.int16),
        **{name: rows[name].to_numpy()[starts[:-1]].astype(np.int32) for name in ("gold", "truth")},
    }
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("item", items.type)])) as stream:
        stream.write_table(pa.table({"item": items}))
    return pa.RecordBatch.from_pydict(
        {
            "block": pa.array([number], pa.int64()),
            "n_items": pa.array([len(items)], pa.int64()),
            "n_labels": pa.array([len(rows)], pa.int64()),
            "n_gold": pa.array([int((columns["gold"] >= 0).sum())], pa.int64()),
            "longest": pa.array([int(np.diff(starts).max())], pa.int64()),
            **{name: pa.array([values.tobytes()], pa.binary()) for name, values in columns.items()},
            "items": pa.array([sink.getvalue().to_pybytes()], pa.binary()),
        }
    )


def block_items(row: dict[str, Any]) -> pa.Array:
    """Return the items of a block."""
    with pa.ipc.open_stream(row["items"].as_buffer()) as stream:
        return stream.read_all()["item"].combine_chunks()


def _starts(item: pa.ChunkedArray) -> Any:
    """Return where each item of a sorted column begins, and the end; shape (n_items + 1,)."""
    changes = np.flatnonzero(pc.not_equal(item[1:], item[:-1]).to_numpy())
    return np.concatenate([[0], changes + 1, [len(item)]]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Bytes:
    """A cell of bytes where it lies in its batch; Arrow's own scalar would be a copy."""

    column: pa.BinaryArray
    position: int

    def as_buffer(self) -> pa.Buffer:
        """Return the bytes without copying them."""
        _, offsets, data = self.column.buffers()
        first, last = np.frombuffer(offsets, np.int32)[self.column.offset + self.position :][:2].tolist()
        return data.slice(first, last - first)

    def as_py(self) -> bytes:
        """Return a copy of the bytes."""
        return bytes(self.as_buffer())


def rows_of(batches: Batches) -> Iterator[dict[str, Any]]:
    """Yield every row as scalars by name."""
    for batch in batches:
        cells = [partial(Bytes, column) if column.type == pa.binary() else column.__getitem__ for column in batch.columns]
        for position in range(len(batch)):
            yield {name: cell(position) for name, cell in zip(batch.schema.names, cells, strict=True)}
