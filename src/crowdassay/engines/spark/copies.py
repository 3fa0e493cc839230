"""Copies of blocks on executors' own disks, so that a task need not bring them from Spark to Python every time.

The first task leaves a copy of every block it reads, and with it what every sweep would work out of it again. Later ones ask
Spark for the numbers of blocks alone and map the copies into memory, which costs nothing where the system still has them there.
A copy that is not to be found, since Spark has moved a block or lost an executor, makes the task read all blocks as the first
did: the answer is the same to the last bit.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from crowdassay.engines.blocks import code_cells
from crowdassay.engines.spark.tasks import MISSING_COPY, Batches, RunTask, block_number, found_row, rows_of


@dataclass(frozen=True, eq=False)
class LeaveCopies:
    """A task for whole blocks, each of which is copied on its way."""

    token: str
    task: RunTask

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Copy the blocks of one partition and hand them on."""
        yield from self.task(self._copied(batches))

    def _copied(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for position in range(len(batch)):
                row = self._with_cells(batch.slice(position, 1))
                if path := _path(self.token, row["block"][0].as_py()):
                    with suppress(OSError):  # no room is no reason to stop
                        _write(row, path)
                yield row

    def _with_cells(self, row: pa.RecordBatch) -> pa.RecordBatch:
        cells = code_cells(self.task.read(next(rows_of([row]))).labels)
        return row.append_column("cells", pa.array([cells.tobytes()], pa.binary()))


@dataclass(frozen=True, eq=False)
class FromCopies:
    """The same task for the numbers of blocks."""

    token: str
    task: RunTask

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run the task on the copies of one partition's blocks; without one of them, say so."""
        return self.run(block_number(row) for row in rows_of(batches))

    def run(self, blocks: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Do so for blocks of these numbers."""
        numbers = list(blocks)
        paths = [path for number in numbers if (path := _path(self.token, number)) is not None and path.exists()]
        if len(paths) == len(numbers):
            yield from self.task(map(_read, paths))
            return
        yield found_row(MISSING_COPY, numbers[0], None)


@dataclass(frozen=True, eq=False)
class Forget:
    """Remove what a place has left on the executors that hold its blocks."""

    token: str

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Remove it, and hand the numbers of the blocks on."""
        for batch in batches:
            if path := _path(self.token, 0):
                shutil.rmtree(path.parent, ignore_errors=True)
            yield batch


def _path(token: str, number: int) -> Path | None:
    """Return where a block's copy is: with Spark's own temporary files, which an executor removes when it ends."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(folder) / f"crowdassay-{token}" / f"{number}.arrow" if folder else None


def _write(row: pa.RecordBatch, path: Path) -> None:
    """Write a file that is whole from the moment it is there; another task may be writing the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_suffix(f".{os.getpid()}")
    try:
        with pa.OSFile(str(half), "wb") as file, pa.ipc.new_file(file, row.schema) as stream:
            stream.write_batch(row)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _read(path: Path) -> pa.RecordBatch:
    return pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
