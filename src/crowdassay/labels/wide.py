"""Frames with a row for each item and a column for each worker, and matrices of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import ArrowColumn, without
from crowdassay.labels.columns import check_given, matching_columns, not_workers
from crowdassay.labels.formats.matrices import INDEX_NAMES, KNOWN_COLUMN, MOST_HEADLESS_CLASSES, check_abstentions
from crowdassay.labels.formats.record import Import
from crowdassay.labels.native import as_narwhal, kind_of_frame, mixed_column, sequence_column, series_column
from crowdassay.labels.values import listed
from crowdassay.read_options import ReadOptions

THREE = 3  # full columns may well be item, worker and label


@dataclass(frozen=True, eq=False)
class Cells:
    """A table of labels: a name for each row, a name and a column for each worker.

    Attributes
    ----------
    items : pyarrow.Array, length n_rows
    workers : list of str
    labels : list of pyarrow.Array, n_rows each
        Nothing where a worker has not labelled the item.
    names : dict
        What the caller calls items and, where it is said, workers.
    notes : tuple of str
    """

    items: pa.Array
    workers: list[str]
    labels: list[pa.Array]
    names: dict[str, str]
    notes: tuple[str, ...] = ()

    def rows(self, asked: ReadOptions) -> Import:
        """Return one row for each label."""
        n_items, n_workers = len(self.items), len(self.workers)
        item, worker = np.divmod(np.arange(n_items * n_workers), max(n_workers, 1))  # items in the order of the rows
        label: Any = pa.chunked_array(_alike(self.labels)).take(pa.array(worker * n_items + item))
        check_abstentions(label, asked, "the matrix of labels")
        label = without(label, asked.missing)
        present = pc.invert(pc.is_null(label, nan_is_null=True))
        kept = np.asarray(present.combine_chunks())
        names = pa.array(self.workers, pa.string()).take(pa.array(worker[kept]))
        return Import(self.items.take(pa.array(item[kept])), names, label.filter(present), self.names, notes=self.notes)


def matrix_cells(matrix: Any) -> Cells:
    """Take a two-dimensional array: items by row and workers by column, both numbered from 0."""
    workers = [str(number) for number in range(matrix.shape[1])]
    items = pa.array(range(len(matrix)))
    return Cells(items, workers, [_whole(sequence_column(matrix[:, n], "label")) for n in range(len(workers))], {})


def frame_cells(frame: Any, asked: ReadOptions) -> tuple[Cells, str] | None:
    """Take a frame's columns for workers, those that were named or all that may be; None if `frame` is no frame.

    An item is named by a column, else by pandas' index, else by its row. Returns the kind of frame as well.
    """
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    given = as_narwhal(frame)
    if given is None:
        return None
    narwhal, there = given
    narwhal = narwhal.collect() if isinstance(narwhal, nw.LazyFrame) else narwhal
    items, own = _items(narwhal, there, asked)
    rest = [name for name in there if name != own]
    left = [name for name in rest if KNOWN_COLUMN.match(name)] if not asked.worker_columns else []
    workers = (
        matching_columns(rest, asked.worker_columns) if asked.worker_columns else [name for name in rest if name not in left]
    )
    if not workers:
        raise ColumnError(f"No column looks like a worker's ({listed(list(there))}); name them with --worker-columns.")
    labels = [_whole(series_column(narwhal.get_column(there[name]))) for name in workers]
    axis = getattr(getattr(nw.to_native(narwhal), "columns", None), "name", None)
    names = {"item": own or "item"} | ({} if axis is None else {"worker": str(axis)})
    return Cells(items, workers, labels, names, tuple(not_workers(left))), kind_of_frame(str(narwhal.implementation))


def looks_wide(frame: Any) -> bool:
    """Return whether every column of a frame, but for one that names items, holds labels from the same few classes."""
    try:
        taken = frame_cells(frame, ReadOptions())
    except (ColumnError, DataError):
        return False
    if taken is None or len(taken[0].workers) < 2:
        return False
    cells = taken[0]
    values = [set(pc.drop_null(column).to_pylist()) - {np.nan} for column in cells.labels]
    classes: set[Any] = set().union(*values)
    alone = [n for n, some in enumerate(values) if some and not some & set().union(*values[:n], *values[n + 1 :])]
    given = sum(len(column) - column.null_count for column in cells.labels)
    gaps = any(column.null_count for column in cells.labels)
    few = len(classes) <= min(MOST_HEADLESS_CLASSES, given / 2)
    return few and not alone and (gaps or len(cells.workers) > THREE or cells.names["item"] != "item")


def _items(narwhal: Any, there: dict[str, Any], asked: ReadOptions) -> tuple[pa.Array, str | None]:
    """Return the name of every row, and where it is from."""
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    if asked.item_column is not None:
        check_given("item", asked.item_column, list(there))
    index = nw.maybe_get_index(narwhal)
    named = getattr(index, "name", None)
    own = asked.item_column
    if own is None and named is None and not asked.worker_columns:
        own = next((name for name in list(there)[:1] if name.casefold() in INDEX_NAMES), None)
    if own is not None:
        return _whole(series_column(narwhal.get_column(there[own]))), own
    if index is None:
        return pa.array(range(len(narwhal))), None
    return _whole(sequence_column(list(index), "item")), None if named is None else str(named)


def _alike(columns: list[pa.Array]) -> list[pa.Array]:
    """Return columns of one type: categories of the same order as they are, numbers as numbers, all else as text."""
    types = {column.type for column in columns}
    if len(types) == 1 and not pa.types.is_dictionary(columns[0].type):
        return columns
    if len(types) == 1 and all(column.dictionary.equals(columns[0].dictionary) for column in columns):
        return columns
    columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    given = [column for column in columns if column.null_count < len(column)] or columns
    if all(pa.types.is_integer(column.type) or pa.types.is_floating(column.type) for column in given):
        return [column.cast(pa.float64()) for column in columns]
    if len({column.type for column in given}) == 1:
        return [column.cast(given[0].type) for column in columns]
    return [mixed_column(column.to_pylist()) for column in columns]


def _whole(column: ArrowColumn) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
