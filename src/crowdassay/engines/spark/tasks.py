"""What runs inside Spark's executors: pack labels into blocks, sweep blocks, add sums. Arrow batches in and out, no Spark.

A block is one row: the codes of some items' labels as raw bytes, so that a sweep reads arrays and converts nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.engines.files.engine import BlockEngine
from crowdassay.engines.gather import ItemSelection, take
from crowdassay.labels.labels import Labels
from crowdassay.models.family import Model

BLOCKS = (
    "block bigint, n_items bigint, n_labels bigint, n_gold bigint, longest bigint, "
    "starts binary, worker binary, label binary, gold binary, truth binary, items binary"
)
CODES = ("block", "starts", "worker", "label", "gold")  # the columns of a block that a sweep reads
GATHERED = "block bigint, starts binary, worker binary, label binary, gold binary"
SUMS = "shard int, block bigint, objective double, totals binary, sums binary"
BLOCK_LABELS = 4_000_000  # labels after which a block ends with its item
SHIFT = 2**24  # blocks of a partition are numbered from the partition's number times this

Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class Sweep:
    """One sweep as it travels to the executors.

    Attributes
    ----------
    tables : ndarray of shape (n_workers, n_classes, n_classes)
        ``sigma``, or log probabilities where there is no model.
    log_prior : ndarray of shape (n_classes,)
    weights : Weights
    model : Model or None
        None counts; a model fits its items.
    weak_items : bool
        Whether the items' tables stay small, see `crowdassay.engines.memory.weak_items`.
    item_tol : float
        See `Engine.sweep`.
    shards : int
        Ranges of workers into which the sums are cut, a row each.
    """

    tables: FloatArray
    log_prior: FloatArray
    weights: Weights
    model: Model | None
    weak_items: bool = False
    item_tol: float = 0.0
    shards: int = 1

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Sweep the blocks of one partition as they come, and yield their sum."""
        yield from self.sweep((block_number(row), self.engine(row)) for row in rows_of(batches))
        settle()

    def sweep(self, blocks: Iterable[tuple[int, BlockEngine]]) -> Iterator[pa.RecordBatch]:
        """Do so with the engines of numbered blocks."""
        first: int | None = None
        objective, totals, sums = 0.0, np.zeros(self.tables.shape[1]), np.zeros(self.tables.shape)
        for number, engine in blocks:
            first = number if first is None else first
            if self.model is None:
                counted = engine.count(self.tables, self.log_prior, self.weights)
                value, table, classes = counted.objective, counted.counts, counted.totals
            else:
                swept = engine.sweep(self.model, self.tables, self.log_prior, self.weights, self.item_tol)
                value, table, classes = swept.objective, swept.gradient, swept.totals
            objective += value
            totals += classes
            sums += table
        if first is not None:
            yield sums_batch(first, objective, totals, sums, self.shards)

    def engine(self, row: dict[str, Any]) -> BlockEngine:
        """Return what sweeps a block. Copies have been looked at when they were made, and hold their cells."""
        n_workers, n_classes = self.tables.shape[:2]
        labels = block_labels(row, n_workers, n_classes, Copied if "cells" in row else Labels)
        # One thread a task, since Spark runs as many tasks as it has cores; it holds linear algebra to that as well.
        engine = BlockEngine(labels, weak_items=self.weak_items, threads=1)
        if "cells" in row:
            engine.cells = array(row["cells"], np.uint32)
        return engine


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


@dataclass(frozen=True, eq=False)
class Gather:
    """What brings the labels of a few items of every block to the driver."""

    selection: ItemSelection
    n_workers: int
    n_classes: int

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield a smaller block for every block."""
        for row in rows_of(batches):
            labels = block_labels(row, self.n_workers, self.n_classes)
            few = take(labels, self.selection.rows(labels, 0))
            codes: dict[str, Any] = {"starts": few.starts, "worker": few.worker, "label": few.label, "gold": few.gold}
            yield pa.RecordBatch.from_pydict(
                {"block": pa.array([block_number(row)], pa.int64())}
                | {name: pa.array([code.tobytes()], pa.binary()) for name, code in codes.items()}
            )


def block_number(row: dict[str, Any]) -> int:
    """Return the number of a row's block."""
    return int(row["block"].as_py())


def sums_batch(block: int, objective: float, totals: FloatArray, sums: FloatArray, shards: int) -> pa.RecordBatch:
    """Cut sums (n_workers, ...) into ranges of workers, a row each; the first row alone has the objective and the totals."""
    parts = np.array_split(sums, shards)
    return pa.RecordBatch.from_pydict(
        {
            "shard": pa.array(range(shards), pa.int32()),
            "block": pa.array([block] * shards, pa.int64()),
            "objective": pa.array([objective] + [0.0] * (shards - 1), pa.float64()),
            "totals": pa.array([totals.tobytes()] + [b""] * (shards - 1), pa.binary()),
            "sums": pa.array([part.tobytes() for part in parts], pa.binary()),
        }
    )


def add(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Add the rows of every shard, in block order, so that the same rows give the same bits."""
    by_shard: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(batches):
        by_shard.setdefault(int(row["shard"].as_py()), []).append(row)
    for shard, rows in sorted(by_shard.items()):
        rows.sort(key=lambda row: int(row["block"].as_py()))
        first = rows[0]
        yield pa.RecordBatch.from_pydict(
            {
                "shard": pa.array([shard], pa.int32()),
                "block": pa.array([first["block"].as_py()], pa.int64()),
                "objective": pa.array([sum(row["objective"].as_py() for row in rows)], pa.float64()),
                "totals": pa.array([_total(rows, "totals").tobytes()], pa.binary()),
                "sums": pa.array([_total(rows, "sums").tobytes()], pa.binary()),
            }
        )


def read_sums(table: pa.Table) -> tuple[float, FloatArray, FloatArray]:
    """Return the objective, the totals and the sums, flat, of all rows that partitions or shards have sent."""
    rows = [row for batch in add(table.to_batches()) for row in rows_of([batch])]
    return rows[0]["objective"].as_py(), _total(rows[:1], "totals"), np.concatenate([_total([row], "sums") for row in rows])


class Copied(Labels):
    """Labels of a copy, whose codes need not be looked through at every sweep."""

    def __post_init__(self) -> None:
        """Trust them."""


def block_labels(
    row: dict[str, Any], n_workers: int, n_classes: int, kind: type[Labels] = Labels, **vocabularies: pa.Array
) -> Labels:
    """Return the labels of a block; vocabularies that are not given are empty of values but have the right length."""
    starts = array(row["starts"], np.int64)
    names = {"items": pa.nulls(len(starts) - 1), "workers": pa.nulls(n_workers), "classes": pa.nulls(n_classes)}
    return kind(
        starts,
        array(row["worker"], np.int32),
        array(row["label"], np.int16),
        gold=array(row["gold"], np.int32),
        **{**names, **vocabularies},
    )


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
        return self.pack(batches, (context.partitionId() if context else 0) * SHIFT)

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


def _total(rows: list[dict[str, Any]], name: str) -> FloatArray:
    total = array(rows[0][name], np.float64).copy()
    for row in rows[1:]:
        if len(part := array(row[name], np.float64)):
            total += part
    return total
