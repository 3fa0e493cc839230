"""Take Arrow columns out of whatever the caller has: frames through Narwhals, sequences, arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, TypeAlias

import narwhals as nw
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.io.columns import find_columns
from crowdassay.io.delimited import FIRST_ROWS
from crowdassay.io.values import listed, shown, text_of

Column: TypeAlias = pa.Array | pa.ChunkedArray


def frame_columns(
    frame: Any, roles: Sequence[str], given: Mapping[str, str | None]
) -> tuple[list[Column], dict[str, str], str] | None:
    """Take one column per role from an eager or lazy frame; None if `frame` is no frame.

    Returns
    -------
    columns : list of pyarrow.Array or pyarrow.ChunkedArray
    names : dict
        The frame's own name of each, by role.
    kind : {'pandas', 'polars', 'pyarrow'}
        The kind of frame to hand results back in.
    """
    try:
        narwhal: Any = nw.from_native(frame, pass_through=True)
        if not isinstance(narwhal, nw.DataFrame | nw.LazyFrame):
            return None
        there = {str(name): name for name in narwhal.collect_schema().names()}
    except nw.exceptions.DuplicateError:
        raise ColumnError("The frame has several columns of the same name; rename all but one.") from None
    names = find_columns(list(there), roles, given, lambda: narwhal.lazy().head(FIRST_ROWS).collect().rows(named=True))
    implementation = str(narwhal.implementation)
    narwhal = narwhal.select([nw.col(there[name]) for name in names.values()])
    if isinstance(narwhal, nw.LazyFrame):
        narwhal = narwhal.collect()
    columns = [series_column(narwhal.get_column(there[name])) for name in names.values()]
    return columns, names, implementation if implementation in {"pandas", "polars"} else "pyarrow"


def wide_columns(
    frame: Any, patterns: Sequence[str], item: str | None
) -> tuple[pa.Array, pa.Array, pa.ChunkedArray, str] | None:
    """Take items, workers and labels from a frame with a column for each worker; None if `frame` is no frame.

    An item is named by a column, else by pandas' index, else by its row. Cells without a value are no labels.
    """
    narwhal: Any = nw.from_native(frame, pass_through=True)
    if isinstance(narwhal, nw.LazyFrame):
        narwhal = narwhal.collect()
    if not isinstance(narwhal, nw.DataFrame):
        return None
    names = [str(name) for name in narwhal.columns]
    chosen = [name for name in narwhal.columns if any(fnmatchcase(str(name), pattern) for pattern in patterns)]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ColumnError(f"No column is named {shown(pattern)}; the columns are {listed(names)}.")
    index = nw.maybe_get_index(narwhal)
    if item is not None:
        if item not in names:
            raise ColumnError(f"There is no column {shown(item)} for the item; the columns are {listed(names)}.")
        items = series_column(narwhal.get_column(narwhal.columns[names.index(item)]))
    else:
        items = pa.array(range(len(narwhal))) if index is None else sequence_column(list(index), "item")
    whole = items.combine_chunks() if isinstance(items, pa.ChunkedArray) else items
    cells = [series_column(narwhal.get_column(name)) for name in chosen]
    if len({cell.type for cell in cells}) > 1:
        numbers = all(pa.types.is_integer(cell.type) or pa.types.is_floating(cell.type) for cell in cells)
        cells = [cell.cast(pa.float64()) if numbers else _mixed(cell.to_pylist()) for cell in cells]
    flat = [cell.combine_chunks() if isinstance(cell, pa.ChunkedArray) else cell for cell in cells]
    label = pa.chunked_array(flat)
    item_column = pa.concat_arrays([whole] * len(chosen))
    worker = pa.array([str(name) for name in chosen for _ in range(len(narwhal))], pa.string())
    present = pc.invert(pc.is_null(label, nan_is_null=True))
    kept = present.combine_chunks()
    implementation = str(narwhal.implementation)
    kind = implementation if implementation in {"pandas", "polars"} else "pyarrow"
    return item_column.filter(kept), worker.filter(kept), label.filter(present), kind


def sequence_column(values: Any, role: str) -> Column:
    """Turn a list, array or series into an Arrow column; values of mixed type become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise DataError(f"The {role}s must be a sequence of values, not {shown(values)}.")
    series = nw.from_native(values, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):
        return series_column(series)
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"The {role}s must be a flat sequence, not an array of {values.ndim} dimensions.")
    values = values if hasattr(values, "dtype") else list(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return _mixed(values)


def series_column(series: nw.Series[Any]) -> Column:
    """Turn a Narwhals series into an Arrow column; values of mixed type become text."""
    try:
        return series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return _mixed(series.to_list(), series.is_null().to_list())


def ordered_values(column: Column) -> list[Any] | None:
    """Return the categories of an ordered categorical, in order, or None when there are fewer than two."""
    if not (pa.types.is_dictionary(column.type) and column.type.ordered):
        return None
    chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    chunks = chunk.chunks if isinstance(chunk, pa.ChunkedArray) else [chunk]
    values = chunks[0].dictionary.drop_null().to_pylist() if chunks else []
    values = [value for value in values if str(value).strip()]
    return values if len(values) > 1 else None


def _mixed(values: Sequence[Any], missing: Sequence[bool] | None = None) -> pa.Array:
    missing = [_is_missing(value) for value in values] if missing is None else missing
    texts = [None if absent else text_of(value) for value, absent in zip(values, missing, strict=True)]
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError as error:
        row = texts.index(error.object)
        raise DataError(f"Row {row + 1} holds half of a surrogate pair ({shown(error.object)}); correct it.") from None


def _is_missing(value: Any) -> bool:
    # pandas' own missing values are known by name, since pandas may not be installed.
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, float) and math.isnan(value))
