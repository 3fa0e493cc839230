"""Tables with a column for each worker in memory: frames, and matrices of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import ArrowColumn, join_cells
from crowdassay.labels.columns import check_given, split_names
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.formats.stems import names_of_workers
from crowdassay.labels.formats.wide import FULL_COLUMNS, Wide
from crowdassay.labels.formats.wide_columns import MOST_HEADLESS_CLASSES, choose_workers, not_workers
from crowdassay.labels.formats.wide_items import INDEX_NAMES
from crowdassay.labels.native import as_narwhal, kind_of_frame, sequence_column, series_column
from crowdassay.labels.values import text_of
from crowdassay.read_options import ReadOptions


def matrix_cells(matrix: Any) -> Wide:
    """Take a two-dimensional array: items by row and workers by column, both numbered from 0."""
    workers = [str(number) for number in range(matrix.shape[1])]
    items = pa.array(range(len(matrix)))
    return Wide(items, workers, [_whole(sequence_column(matrix[:, n], "label")) for n in range(len(workers))], {})


def frame_cells(frame: Any, asked: ReadOptions) -> tuple[Wide, str] | None:
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
    rest = [name for name in there if own is None or name not in split_names(own, list(there))]
    columns = {name: _whole(series_column(narwhal.get_column(there[name]))) for name in rest}
    rows = (column.slice(0, FIRST_ROWS).to_pylist() for column in columns.values())
    first = [["" if value is None or value != value else text_of(value) for value in row] for row in rows]  # noqa: PLR0124 - NaN
    chosen, left, _ = choose_workers(rest, first, asked, "the frame")
    labels = [columns[rest[n]] for n in chosen]
    workers, of_part = names_of_workers(rest, chosen)
    axis = getattr(getattr(nw.to_native(narwhal), "columns", None), "name", None)
    names = {"item": own or "item"} | ({} if axis is None else {"worker": str(axis)})
    notes = (*not_workers([rest[n] for n in left]), *of_part)
    return Wide(items, workers, labels, names, notes), kind_of_frame(str(narwhal.implementation))


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
    return few and not alone and (gaps or len(cells.workers) > FULL_COLUMNS or cells.names["item"] != "item")


def _items(narwhal: Any, there: dict[str, Any], asked: ReadOptions) -> tuple[pa.Array, str | None]:
    """Return the name of every row, and where it is from."""
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    parts = [] if asked.item_column is None else split_names(asked.item_column, list(there))
    for part in parts:
        check_given("item", part, list(there))
    if len(parts) > 1:
        return join_cells([_whole(series_column(narwhal.get_column(there[part]))) for part in parts]), asked.item_column
    index = nw.maybe_get_index(narwhal)
    named = getattr(index, "name", None)
    own = asked.item_column
    if own is None and named is None and not asked.worker_columns:
        own = next((name for name in list(there)[:1] if name.casefold() in INDEX_NAMES), None)
        if own is not None and narwhal.get_column(there[own]).n_unique() < len(narwhal):
            own = None  # a row is an item unless the column is asked for
    if own is not None:
        return _whole(series_column(narwhal.get_column(there[own]))), own
    if index is None:
        return pa.array(range(len(narwhal))), None
    return _whole(sequence_column(list(index), "item")), None if named is None else str(named)


def _whole(column: ArrowColumn) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
