"""What runs inside Spark's executors, without Spark: pack labels into blocks, run tasks on blocks, join what they return.

A block is one row: the codes of some items' labels as raw bytes, so that a task reads arrays and converts nothing. Copies of
blocks lie on executors' own disks, so that a task need not bring them from Spark to Python every time. The first task leaves a
copy of every block it reads, and with it what every sweep would work out of it again. Later ones ask Spark for the numbers of
blocks alone and map the copies into memory, which costs nothing where the system still has them there. A copy that is not to be
found, since Spark has moved a block or lost an executor, makes the task read all blocks as the first did: the answer is the
same to the last bit.
"""

from __future__ import annotations

import gc
import os
import pickle  # only for what our own executors send  # nosec B403
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import DTypeLike, NDArray

from crowdassay.engines.blocks import Block, Joined, code_cells
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import ImportReport

BLOCK_SCHEMA = (
    "block bigint, n_items bigint, n_labels bigint, n_repeats bigint, n_gold bigint, longest bigint, "
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
        if "cells" in row:  # the codes need not be checked again, which would take as long as many a sweep
            cells, labels = array(row["cells"], np.uint32), Labels.__new__(Labels)
            vars(labels).update({"report": ImportReport(), **columns})  # of all fields without a default on the class
        else:
            cells, labels = None, Labels(**columns)
        return Block(row["block"].as_py(), labels, array(row["truth"], np.int32), cells=cells)


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
        Whether each of them gets a range of workers (`crowdassay.engines.base.Sums`), or all of some partitions.
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
    rows = sorted((row["shard"].as_py(), row["block"].as_py(), row["part"].as_py()) for row in rows_of(batches))
    found: dict[int, tuple[int, Any]] = {}
    for shard, block, data in rows:
        part = pickle.loads(data)  # noqa: S301  our own executors'  # nosec B301
        if shard == MISSING_COPY:
            return {shard: (block, part)}
        found[shard] = (found[shard][0], found[shard][1].join(part)) if shard in found else (block, part)
    return found


def found_row(shard: int, block: int, part: Joined | None) -> pa.RecordBatch:
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


@cache  # once a process; to ask how much is frozen takes as long as a collection
def settle() -> None:
    """Keep what a worker process has loaded out of the garbage collections that PySpark orders after every task.

    With the compiler loaded each would take longer than a small sweep.
    """
    if task_context() is not None:
        gc.freeze()


def task_context() -> Any:
    """Return what Spark says about the task that runs, None outside of one."""
    pyspark = sys.modules.get("pyspark")
    return None if pyspark is None else pyspark.TaskContext.get()


def array(cell: pa.Scalar, kind: DTypeLike) -> NDArray[Any]:
    """Read a cell of bytes as numbers, without copying where they lie on an even address."""
    return np.require(np.frombuffer(cell.as_buffer(), kind), requirements=["A"])


@dataclass(frozen=True)
class Pack:
    """Pack rows (item, worker, label, gold, truth), sorted by item and worker, into blocks of whole items."""

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
    same = columns["worker"][1:] == columns["worker"][:-1]
    same[starts[1:-1] - 1] = False  # of two items
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema([("item", items.type)])) as stream:
        stream.write_table(pa.table({"item": items}))
    return pa.RecordBatch.from_pydict(
        {
            "block": pa.array([number], pa.int64()),
            "n_items": pa.array([len(items)], pa.int64()),
            "n_labels": pa.array([len(rows)], pa.int64()),
            "n_repeats": pa.array([int(np.count_nonzero(same))], pa.int64()),
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


@dataclass(frozen=True, eq=False)
class LeaveCopies:
    """A task for whole blocks, each of which is copied on its way."""

    token: str
    task: RunTask

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Copy the blocks of one partition and hand them on."""
        return self.task(self._copied(batches))

    def _copied(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for position in range(len(batch)):
                row = batch.slice(position, 1)
                cells = code_cells(self.task.read(next(rows_of([row]))).labels)
                row = row.append_column("cells", pa.array([cells.tobytes()], pa.binary()))
                if path := copy_path(self.token, row["block"][0].as_py()):
                    with suppress(OSError):  # no room is no reason to stop
                        write_copy(row, path)
                yield row


@dataclass(frozen=True, eq=False)
class FromCopies:
    """The same task for the numbers of blocks."""

    token: str
    task: RunTask

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the task on the copies of one partition's blocks; without one of them, say so."""
        return self.run(row["block"].as_py() for row in rows_of(batches))

    def run(self, blocks: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Do so for blocks of these numbers."""
        numbers = list(blocks)
        paths = [path for number in numbers if (path := copy_path(self.token, number)) is not None and path.exists()]
        if len(paths) == len(numbers):
            yield from self.task(pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0) for path in paths)
            return
        yield found_row(MISSING_COPY, numbers[0], None)


@dataclass(frozen=True, eq=False)
class Forget:
    """Remove what a place has left on the executors that hold its blocks."""

    token: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Remove it, and hand the numbers of the blocks on."""
        for batch in batches:
            if path := copy_path(self.token, 0):
                shutil.rmtree(path.parent, ignore_errors=True)
            yield batch


def copy_path(token: str, number: int) -> Path | None:
    """Return where a block's copy is: with Spark's own temporary files, which an executor removes when it ends."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(folder) / f"crowdassay-{token}" / f"{number}.arrow" if folder else None


def write_copy(row: pa.RecordBatch, path: Path) -> None:
    """Write a file that is whole from the moment it is there; another task may be writing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}")
    try:
        with pa.OSFile(str(half), "wb") as file, pa.ipc.new_file(file, row.schema) as stream:
            stream.write_batch(row)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
