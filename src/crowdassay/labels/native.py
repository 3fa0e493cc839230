"""Take Arrow columns out of whatever the caller has: frames through Narwhals, sequences, arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.columns import find_columns
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.roles import AnyRole
from crowdassay.labels.values import shown, text_of

if TYPE_CHECKING:
    import narwhals as nw


def frame_columns(
    frame: Any, roles: Sequence[AnyRole], given: Mapping[str, str | None]
) -> tuple[list[ArrowColumn], dict[str, str], str] | None:
    """Take one column per role from an eager or lazy frame; None if `frame` is no frame.

    Returns
    -------
    columns : list of pyarrow.Array or pyarrow.ChunkedArray
    names : dict
        The frame's own name of each, by role.
    kind : {'pandas', 'polars', 'pyarrow'}
        The kind of frame to hand results back in.
    """
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    taken = as_narwhal(frame)
    if taken is None:
        return None
    narwhal, there = taken
    names = find_columns(list(there), roles, given, lambda: narwhal.lazy().head(FIRST_ROWS).collect().rows(named=True))
    implementation = str(narwhal.implementation)
    if isinstance(narwhal, nw.LazyFrame):
        narwhal = narwhal.select([nw.col(there[name]) for name in names.values()]).collect()
    columns = [series_column(narwhal.get_column(there[name])) for name in names.values()]
    return columns, names, kind_of_frame(implementation)


def as_narwhal(frame: Any) -> tuple[Any, dict[str, Any]] | None:
    """Return an eager or lazy frame as Narwhals has it, and its columns by their names as text; None if it is no frame."""
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    try:
        narwhal: Any = nw.from_native(frame, pass_through=True)
        if not isinstance(narwhal, nw.DataFrame | nw.LazyFrame):
            return None
        return narwhal, {str(name): name for name in narwhal.collect_schema().names()}
    except nw.exceptions.DuplicateError:
        raise ColumnError("The frame has several columns of the same name; rename all but one.") from None


def kind_of_frame(implementation: str) -> str:
    """Return the kind of frame to hand results back in: the caller's, or else PyArrow's."""
    return implementation if implementation in {"pandas", "polars"} else "pyarrow"


def sequence_column(values: Any, role: str) -> ArrowColumn:
    """Turn a list, array or series into an Arrow column; values of mixed type become text."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
        raise DataError(f"The {role}s must be a sequence of values, not {shown(values)}.")
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    series = nw.from_native(values, pass_through=True, series_only=True)
    if isinstance(series, nw.Series):
        return series_column(series)
    if getattr(values, "ndim", 1) != 1:
        raise DataError(f"The {role}s must be a flat sequence, not an array of {values.ndim} dimensions.")
    values = values if hasattr(values, "dtype") else list(values)
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return mixed_column(values)


def series_column(series: nw.Series[Any]) -> ArrowColumn:
    """Turn a Narwhals series into an Arrow column; values of mixed type become text."""
    try:
        return series.to_arrow()
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError):
        return mixed_column(series.to_list(), series.is_null().to_list())


def ordered_values(column: ArrowColumn) -> list[Any] | None:
    """Return the categories of an ordered categorical, in order, or None when there are fewer than two."""
    if not (pa.types.is_dictionary(column.type) and column.type.ordered):
        return None
    chunk = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    chunks = chunk.chunks if isinstance(chunk, pa.ChunkedArray) else [chunk]
    values = chunks[0].dictionary.drop_null().to_pylist() if chunks else []
    values = [value for value in values if str(value).strip()]
    return values if len(values) > 1 else None


def mixed_column(values: Sequence[Any], missing: Sequence[bool] | None = None) -> pa.Array:
    """Turn values of mixed type into a column of text."""
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
