"""A spool: encoded labels on disk as Parquet, in blocks of whole items; workers and classes alone are in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crowdassay.arrays import CodeArray, IntArray
from crowdassay.labels.cells import refuse_nul
from crowdassay.labels.labels import Labels, Vocabularies
from crowdassay.labels.report import ImportReport

LABELS_FILE, ITEMS_FILE, IDS_FILE = "labels.parquet", "items.parquet", "ids.parquet"
LEAST_BLOCK_LABELS, MOST_BLOCK_LABELS = 1 << 18, 1 << 23  # labels
# Without nulls, statistics and compression a column of numbers is read at about the speed of copying it.
UNCOMPRESSED = {"compression": "none", "write_statistics": False}
SPOOLED_LABELS = pa.schema([pa.field("worker", pa.int32(), False), pa.field("label", pa.int16(), False)])
SPOOLED_ITEMS = pa.schema([pa.field(name, pa.int32(), False) for name in ("n_labels", "gold", "truth")])


@dataclass(frozen=True, eq=False)
class Spool(Vocabularies):
    """Labels on disk; all that is said of them, `crowdassay.labels.labels.Facts`, is in memory.

    Attributes
    ----------
    folder : Path
    workers, classes : pyarrow.Array
    worker_counts : ndarray of shape (n_workers,)
        Number of labels of each worker.
    class_counts : ndarray of shape (n_classes,)
        Number of labels of each class, and of items known to have it.
    sizes : ndarray of shape (n_blocks, 3)
        Of each block the number of items, of labels, and of labels of the item that has most.
    report : ImportReport
    n_gold : int
        Items whose class is known.
    truth : dict, optional
        Where there is a truth: how many of its items have labels, and how many have none.
    """

    folder: Path
    workers: pa.Array
    classes: pa.Array
    worker_counts: IntArray
    class_counts: IntArray
    sizes: IntArray
    report: ImportReport
    n_gold: int = 0
    truth: dict[str, int] | None = None
    frame: ClassVar[str] = "pyarrow"

    @property
    def n_items(self) -> int:
        return int(self.sizes[:, 0].sum())

    @property
    def n_labels(self) -> int:
        return int(self.sizes[:, 1].sum())

    @property
    def longest(self) -> int:
        """Number of labels of the item that has most."""
        return int(self.sizes[:, 2].max())

    @cached_property
    def first_item(self) -> IntArray:
        """Number of items before each block, and in all, shape (n_blocks + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes[:, 0])])

    def block(self, number: int, *, ids: bool = False) -> Labels:
        """Read one block; the items' names are null unless they are asked for."""
        labels, items = self._read(LABELS_FILE, number), self._read(ITEMS_FILE, number, ["n_labels", "gold"])
        starts = np.zeros(len(items) + 1, np.int64)
        np.cumsum(_numbers(items["n_labels"]), out=starts[1:])
        return Labels(
            starts,
            _numbers(labels["worker"]),
            _numbers(labels["label"]),
            self.ids(number) if ids else pa.nulls(len(items)),
            self.workers,
            self.classes,
            _numbers(items["gold"]),
            self.report,
        )

    def ids(self, number: int) -> pa.Array:
        """Read the names of a block's items."""
        return self._read(IDS_FILE, number)["item"].combine_chunks()

    def known(self, number: int) -> NDArray[np.int32]:
        """Read the true classes of a block's items, -1 where unknown."""
        return _numbers(self._read(ITEMS_FILE, number, ["truth"])["truth"])

    def _read(self, name: str, number: int, columns: list[str] | None = None) -> pa.Table:
        # A reader of its own for every call, since readers are not for several threads.
        with pq.ParquetFile(self.folder / name, metadata=self._metadata[name], pre_buffer=False) as file:
            return file.read_row_group(number, columns, use_threads=False)

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        return {name: pq.read_metadata(self.folder / name) for name in (LABELS_FILE, ITEMS_FILE, IDS_FILE)}


class SpoolWriter:
    """Write a spool block by block: `add` the blocks, then `name` their items."""

    def __init__(self, folder: Path, n_workers: int, n_classes: int) -> None:
        self.folder, self.worker_counts = folder, np.zeros(n_workers, np.int64)
        self.class_counts = np.zeros(n_classes, np.int64)
        self.sizes: list[tuple[int, int, int]] = []
        self._labels = pq.ParquetWriter(folder / LABELS_FILE, SPOOLED_LABELS, use_dictionary=["label"], **UNCOMPRESSED)
        self._items = pq.ParquetWriter(folder / ITEMS_FILE, SPOOLED_ITEMS, **UNCOMPRESSED)

    def add(self, n_labels: IntArray, worker: CodeArray, label: CodeArray, gold: CodeArray, truth: CodeArray) -> None:
        """Write a block of items with these numbers of labels, the labels one item after the other."""
        pair = (np.asarray(worker, np.int32), np.asarray(label, np.int16))
        self._labels.write_table(pa.table(pair, schema=SPOOLED_LABELS), row_group_size=max(len(worker), 1))
        three = [np.asarray(column, np.int32) for column in (n_labels, gold, truth)]
        self._items.write_table(pa.table(three, schema=SPOOLED_ITEMS), row_group_size=len(n_labels))
        self.worker_counts += np.bincount(pair[0], minlength=len(self.worker_counts))
        known = three[1][three[1] >= 0]
        for codes in (pair[1], known):
            self.class_counts += np.bincount(codes, minlength=len(self.class_counts))
        self.sizes.append((len(n_labels), len(worker), int(n_labels.max())))

    def name(self, batches: Iterable[pa.RecordBatch], kind: pa.DataType) -> None:
        """Write the names of all items, record batches of one column in item order, and close the spool."""
        self._labels.close()
        self._items.close()
        schema = pa.schema([("item", kind)])
        held: list[pa.Array] = []
        waiting = iter(self.sizes)
        wanted = next(waiting)[0]
        with pq.ParquetWriter(self.folder / IDS_FILE, schema, compression="zstd") as writer:
            for batch in batches:
                refuse_nul(batch.column(0), "item")
                held.append(batch.column(0))
                while wanted and sum(map(len, held)) >= wanted:
                    names = pa.chunked_array(held, kind)
                    writer.write_table(pa.table([names.slice(0, wanted)], schema=schema), row_group_size=wanted)
                    held = names.slice(wanted).chunks
                    wanted = next(waiting, (0, 0, 0))[0]


def _numbers(column: pa.ChunkedArray) -> Any:
    """Return a column as an array, without copying where it is in one piece."""
    return column.chunk(0).to_numpy() if column.num_chunks == 1 else column.to_numpy()


def block_size(n_workers: int, n_classes: int) -> int:
    """Return the number of labels in a block: many for each cell of the workers' tables, which every block adds up."""
    return min(max(LEAST_BLOCK_LABELS, 8 * n_workers * n_classes**2), MOST_BLOCK_LABELS)
