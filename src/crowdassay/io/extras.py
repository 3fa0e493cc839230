"""Columns beside item, worker and label: when a judgement was given, and what it weighs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError
from crowdassay.io.native import Column
from crowdassay.io.values import as_text, shown, shown_file


def read_times(column: Column, source: str) -> FloatArray:
    """Return times as numbers that only serve to order; each is a number of at least 0 or an ISO 8601 date.

    >>> read_times(pa.array(["2024-05-01 10:00", "2024-05-01"]), "a.csv").argsort().tolist()
    [1, 0]
    """
    values = _numbers(column)
    if values is not None:
        _refuse(column, ~(np.isfinite(values) & (values >= 0)), "time", source)
        return values
    text = pc.utf8_trim_whitespace(as_text(_whole(column)))
    _refuse(column, text.is_null().to_numpy(zero_copy_only=False), "time", source)
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return text.cast(kind).cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float)
        except pa.ArrowException:
            pass  # dates with and without a zone are two types
    _refuse(column, np.array([not _is_date(value) for value in text.to_pylist()]), "time", source)
    raise DataError(f"Some times in {shown_file(source)} have a time zone and some have none; write them all one way.")


def read_weights(column: Column, source: str) -> BoolArray:
    """Return which labels count: weights are 0 or one common number, since a method takes a label once or not at all."""
    values = _numbers(column)
    if values is None:
        texts = as_text(_whole(column)).to_pylist()
        values = np.array([_number(text) for text in texts])
    _refuse(column, ~(np.isfinite(values) & (values >= 0)), "weight", source)
    used = values[values > 0]
    if len(used) and used.max() > used.min():
        raise DataError(
            f"The labels in {shown_file(source)} have different weights (from {used.min():g} to {used.max():g}), and every "
            "method counts a label once or not at all; give weights of 0 and 1, or leave out --weight-column."
        )
    return np.asarray(values > 0)


def _whole(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _numbers(column: Column) -> FloatArray | None:
    """Return a column as floats, missing ones as NaN; None if it holds other text."""
    try:
        return np.asarray(_whole(column).cast(pa.float64()).fill_null(np.nan).to_numpy(zero_copy_only=False))
    except pa.ArrowException:
        return None


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def _is_date(text: str | None) -> bool:
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return pa.scalar(text).cast(kind).is_valid
        except pa.ArrowException:
            pass
    return False


def _refuse(column: Column, bad: BoolArray, what: str, source: str) -> None:
    if not bad.any():
        return
    row = int(bad.argmax())
    value = column[row].as_py()
    held = "is missing" if value is None else f"is {shown(value)}"
    kinds = "a number of at least 0 or a date such as 2024-05-01T10:00:00" if what == "time" else "a number of at least 0"
    others = f" ({int(bad.sum())} rows are wrong)" if bad.sum() > 1 else ""
    raise DataError(f"The {what} in data row {row + 1} of {shown_file(source)} {held}{others}; it needs {kinds}.")
