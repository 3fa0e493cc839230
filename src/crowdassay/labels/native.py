"""Take Arrow columns out of whatever the caller has: frames through Narwhals, sequences, arrays.

Features are matched to items: a frame by its item column, an array by position.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray
from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import ArrowColumn, as_array, join_cells
from crowdassay.labels.columns import find_columns, join_parts, several_parts
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.roles import RoleLike
from crowdassay.labels.values import as_text, counted, listed, shown, text_of

if TYPE_CHECKING:
    import narwhals as nw

ANY_FRAME = "any"  # the kind of frame of results whose labels came in none: pandas where it is installed, else PyArrow
LARGEST_FEATURE = 1e100  # whose square is still finite


def frame_columns(
    frame: object, roles: Sequence[RoleLike], given: Mapping[str, str | None]
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
        narwhal = narwhal.select([nw.col(there[name]) for name in dict.fromkeys(names.values())]).collect()
    columns = {role: series_column(narwhal.get_column(there[name])) for role, name in names.items()}
    columns |= {role: join_cells([columns[part] for part in parts]) for role, parts in several_parts(names).items()}
    names = join_parts(names)
    return [columns[role] for role in names], names, kind_of_frame(implementation)


def frame_table(frame: object) -> pa.Table:
    """Return all columns of a frame, but for lists and objects, by their names as text."""
    taken = as_narwhal(frame)
    assert taken is not None
    narwhal, there = taken[0].lazy().collect(), taken[1]
    columns = {name: series_column(narwhal.get_column(own)) for name, own in there.items()}
    return pa.table({name: column for name, column in columns.items() if not pa.types.is_nested(column.type)})


def as_narwhal(frame: object) -> tuple[Any, dict[str, Any]] | None:
    """Return an eager or lazy frame as Narwhals has it, and its columns by their names as text; None if it is no frame.

    A list of records is one, too, and so is whatever hands over its columns by Arrow's PyCapsule interface.
    """
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    if hasattr(frame, "iloc") and getattr(getattr(frame, "columns", None), "nlevels", 1) > 1:  # as pandas has it
        raise DataError(
            "The columns of the frame have names of several levels; give each one name, as with "
            "frame.columns = ['_'.join(map(str, name)) for name in frame.columns]."
        )
    try:
        narwhal: Any = nw.from_native(arrow_table(frame), pass_through=True)
        if not isinstance(narwhal, nw.DataFrame | nw.LazyFrame):
            return None
        return narwhal, {str(name): name for name in narwhal.collect_schema().names()}
    except nw.exceptions.DuplicateError:
        raise ColumnError("The frame has several columns of the same name; rename all but one.") from None


def is_records(data: object) -> bool:
    """Return whether data are a list of records, such as [{"item": "a", "worker": "ann", "label": 1}]."""
    return isinstance(data, list) and bool(data) and all(isinstance(row, Mapping) for row in data)


def arrow_table(data: Any) -> Any:
    """Return records, and what hands over its columns by Arrow's PyCapsule interface, as an Arrow table; all else as it is.

    >>> arrow_table([{"item": "a", "label": 1}, {"item": "b"}]).to_pydict()
    {'item': ['a', 'b'], 'label': [1, None]}
    """
    if is_records(data):
        names = dict.fromkeys(name for row in data for name in row)
        return pa.table({str(name): sequence_column([row.get(name) for row in data], str(name)) for name in names})
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    if not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return data
    try:
        known = nw.from_native(data, pass_through=True, allow_series=True) is not data
        return data if known else pa.table(data)
    except (nw.exceptions.DuplicateError, pa.ArrowException, TypeError, ValueError):  # or one column, which is no table
        return data


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
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values = [value for value in whole.dictionary.drop_null().to_pylist() if str(value).strip()]
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


def _is_missing(value: object) -> bool:
    # pandas' own missing values are known by name, since pandas may not be installed.
    return value is None or type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, float) and math.isnan(value))


def read_features(features: object) -> tuple[FloatArray, tuple[str, ...], pa.Array | None, str]:
    """Return the numbers (n_rows, n_features), their names, the items (None for an array) and the kind of frame.

    Parameters
    ----------
    features : frame or array
        A frame with an item column and otherwise only numbers, or an array of shape (n_rows, n_features).

    Examples
    --------
    >>> read_features(pa.table({"item": ["a", "b"], "length": [1, 2]}))[:2]
    (array([[1.], [2.]]), ('length',))
    """
    import narwhals as nw  # noqa: PLC0415 - slow to load

    taken = as_narwhal(features)
    if taken is None:
        try:
            values = np.asarray(features, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(f"Features cannot be read from a {type(features).__name__}; give a frame or an array.") from None
        if values.ndim != 2:
            raise DataError(f"The features must have the shape (n_items, n_features), not {values.shape}.")
        return _checked(values), tuple(f"feature {number}" for number in range(values.shape[1])), None, "pyarrow"
    frame = taken[0].collect() if isinstance(taken[0], nw.LazyFrame) else taken[0]
    try:
        key = find_columns(frame.columns, ("item",), {})["item"]
    except ColumnError:
        raise ColumnError(f"The features need one column named 'item'; the columns are {listed(frame.columns)}.") from None
    names = tuple(name for name in frame.columns if name != key)
    words = [name for name in names if not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean)]
    if words:
        raise DataError(f"Features must be numbers, but the columns {listed(words)} are not; encode or drop them.")
    values = (
        np.column_stack([frame[name].cast(nw.Float64).to_numpy() for name in names]) if names else np.empty((len(frame), 0))
    )
    return _checked(values), names, as_array(series_column(frame[key])), kind_of_frame(str(frame.implementation))


def match_features(features: object, items: pa.Array) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the features in the order of ``items``, shape (n_items, n_features), and their names.

    Rows of other items are ignored; an item without a row, or with two, is an error.
    """
    values, names, item_names, _ = read_features(features)
    if item_names is None:
        if len(values) != len(items):
            raise DataError(
                f"The features have {counted(len(values), 'row')} for {counted(len(items), 'item')}; give one row for each "
                "item."
            )
        return values, names
    item_names = as_text(item_names)
    counts = pc.value_counts(item_names)
    twice = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(twice):
        raise DataError(f"The features have several rows for the items {listed(twice.to_pylist(), limit=3)}; keep one.")
    row = pc.fill_null(pc.index_in(as_text(items), value_set=item_names), -1).to_numpy(zero_copy_only=False)
    missing = items.filter(pa.array(row < 0))
    if len(missing):
        raise DataError(f"The features have no row for the items {listed(missing.to_pylist(), limit=3)}; every item needs one.")
    return values[row], names


def _checked(values: FloatArray) -> FloatArray:
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST_FEATURE).all(axis=1))
    if len(bad):
        raise DataError(
            f"The features of row {shown(int(bad[0]) + 1)} are missing, infinite or beyond 1e100; fill or drop them."
        )
    return values
