"""Match features to items: a frame by its item column, an array by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import FloatArray
from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.columns import find_columns
from crowdassay.labels.native import series_column
from crowdassay.labels.values import as_text, listed, shown

LARGEST_FEATURE = 1e100  # whose square is still finite


def read_features(features: Any) -> tuple[FloatArray, tuple[str, ...], pa.Array | None, str]:
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

    frame: Any = nw.from_native(features, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return _array(features)
    try:
        key = find_columns(frame.columns, ("item",), {})["item"]
    except ColumnError:
        raise ColumnError(f"The features need one column named 'item'; the columns are {listed(frame.columns)}.") from None
    names = tuple(name for name in frame.columns if name != key)
    words = [name for name in names if not (frame[name].dtype.is_numeric() or frame[name].dtype == nw.Boolean)]
    if words:
        raise DataError(f"Features must be numbers, but the columns {listed(words)} are not; encode or drop them.")
    kind = str(frame.implementation)
    values = (
        np.column_stack([frame[name].cast(nw.Float64).to_numpy() for name in names]) if names else np.empty((len(frame), 0))
    )
    items = series_column(frame[key])
    items = items.combine_chunks() if isinstance(items, pa.ChunkedArray) else items
    items = items.dictionary_decode() if pa.types.is_dictionary(items.type) else items
    return _checked(values), names, items, kind if kind in {"pandas", "polars"} else "pyarrow"


def match_features(features: Any, items: pa.Array) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the features in the order of ``items``, shape (n_items, n_features), and their names.

    Rows of other items are ignored; an item without a row, or with two, is an error.
    """
    values, names, item_names, _ = read_features(features)
    if item_names is None:
        if len(values) != len(items):
            raise DataError(
                f"The features have {len(values)} rows but there are {len(items)} items; give one row for each item."
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


def _array(features: Any) -> tuple[FloatArray, tuple[str, ...], None, str]:
    try:
        values = np.asarray(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Features cannot be read from a {type(features).__name__}; give a frame or an array.") from None
    if values.ndim != 2:
        raise DataError(f"The features must have the shape (n_items, n_features), not {values.shape}.")
    return _checked(values), tuple(f"feature {number}" for number in range(values.shape[1])), None, "pyarrow"


def _checked(values: FloatArray) -> FloatArray:
    bad = np.flatnonzero(~(np.abs(values) <= LARGEST_FEATURE).all(axis=1))
    if len(bad):
        raise DataError(
            f"The features of row {shown(int(bad[0]) + 1)} are missing, infinite or beyond 1e100; fill or drop them."
        )
    return values
