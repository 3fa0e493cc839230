"""Columns beside item, worker and label: when a judgement was given, how long it took, and what it weighs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.values import as_text, number_of, shown, shown_file

WHOLE_TEXT = r"^[0-9]{1,19}$"
NUMBER_TEXT = r"^\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
DATE_TYPES = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))  # dates with and without a zone are two types
AMERICAN_DATES = ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y %H:%M")  # as Appen and spreadsheets write them
TIME_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (np.inf, 1e9))  # numbers up to which times are seconds, and so on


@dataclass(frozen=True, eq=False)
class Times:
    """When judgements were given.

    Attributes
    ----------
    order : ndarray of int64 or float64, shape (n_rows,)
        Exact, to tell earlier from later: whole numbers keep all their digits.
    seconds : ndarray of float64, shape (n_rows,)
        Since 1970, NaN where unknown. Numbers too large for seconds are taken as milli-, micro- or nanoseconds.
    """

    order: NDArray[Any]
    seconds: FloatArray


def read_times(column: ArrowColumn, source: str) -> Times:
    """Read times: each is a number of at least 0 or a date, and none may be missing.

    >>> read_times(pa.array(["2024-05-01 10:00", "2024-05-01"]), "a.csv").order.argsort().tolist()
    [1, 0]
    >>> read_times(pa.array(["1700000000000000001", "1700000000000000000"]), "a.csv").order.argsort().tolist()
    [1, 0]
    """
    times = _times(column)
    if times is not None and not np.isnan(times.seconds).any():
        return times
    texts = _texts(column).to_pylist()
    kinds = ["number" if text is not None and _is_number(text) else _date_kind(text) for text in texts]
    _refuse(column, np.array([kind is None for kind in kinds]), "time", source)
    if "number" in kinds:
        which = kinds.index(min(set(kinds), key=kinds.count))
        raise DataError(
            f"Some times in {shown_file(source)} are numbers and some are dates (data row {which + 1}: {shown(texts[which])}); "
            "write them all one way."
        )
    raise DataError(f"Some times in {shown_file(source)} have a time zone and some have none; write them all one way.")


def find_times(column: ArrowColumn) -> FloatArray | None:
    """Read times as seconds where they can be read, NaN where one is missing; None where they cannot be read as times."""
    times = _times(column)
    return None if times is None else times.seconds


def find_durations(column: ArrowColumn) -> FloatArray | None:
    """Read how many seconds judgements took, NaN where that is missing; None where these are no numbers of at least 0."""
    texts = _texts(column)
    seconds = np.array([np.nan if text is None else number_of(text) for text in texts.to_pylist()], dtype=float)
    known = ~texts.is_null().to_numpy(zero_copy_only=False)
    if not known.any() or np.isnan(seconds[known]).any() or (seconds[known] < 0).any():
        return None
    return seconds


def read_weights(column: ArrowColumn, source: str) -> BoolArray:
    """Return which labels count: weights are 0 or one common number, since a method takes a label once or not at all."""
    values = np.array([np.nan if text is None else _float(text) for text in _texts(column).to_pylist()], dtype=float)
    _refuse(column, ~(np.isfinite(values) & (values >= 0)), "weight", source)
    used = values[values > 0]
    if len(used) and used.max() > used.min():
        raise DataError(
            f"The labels in {shown_file(source)} have different weights (from {used.min():g} to {used.max():g}), and every "
            "method counts a label once or not at all; give weights of 0 and 1, or leave out --weight-column."
        )
    return np.asarray(values > 0)


def _times(column: ArrowColumn) -> Times | None:
    whole = _whole(column)
    if pa.types.is_temporal(whole.type):
        whole = whole.cast(pa.timestamp("ns"))
        return _from_nanoseconds(whole.cast(pa.int64()))
    if pa.types.is_integer(whole.type) and (pc.min(whole).as_py() or 0) >= 0:
        return _from_numbers(whole)
    text = _texts(whole)
    if text.null_count == len(text):
        return None
    if _all_match(text, WHOLE_TEXT):
        with suppress(pa.ArrowInvalid):  # more than 64 bits hold
            return _from_numbers(text.cast(pa.int64()))
    if _all_match(text, NUMBER_TEXT):
        return _from_numbers(text.cast(pa.float64()))
    return _dates(text)


def _dates(text: pa.Array) -> Times | None:
    for kind in DATE_TYPES:
        try:
            return _from_nanoseconds(text.cast(kind).cast(pa.int64()))
        except pa.ArrowException:
            pass
    for form in AMERICAN_DATES:
        read = pc.strptime(text, form, "s", error_is_null=True)
        if read.null_count == text.null_count:
            return _from_nanoseconds(read.cast(pa.timestamp("ns")).cast(pa.int64()))
    return None


def _from_numbers(values: pa.Array) -> Times | None:
    order = values.fill_null(0).to_numpy(zero_copy_only=False)
    if not np.isfinite(order).all():
        return None
    seconds = order.astype(float)
    seconds /= next(unit for most, unit in TIME_UNITS if seconds.max(initial=0) < most)
    seconds[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return Times(order, seconds)


def _from_nanoseconds(values: pa.Array) -> Times:
    order = values.fill_null(0).to_numpy(zero_copy_only=False)
    seconds = order / 1e9
    seconds[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return Times(order, seconds)


def _all_match(text: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(text, pattern), skip_nulls=True).as_py())


def _texts(column: ArrowColumn) -> pa.Array:
    """Return a column as text, blank cells as null."""
    text = pc.utf8_trim_whitespace(as_text(_whole(column)))
    return pc.if_else(pc.equal(text, ""), None, text)


def _whole(column: ArrowColumn) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _is_number(text: str) -> bool:
    number = number_of(text)
    return number is not None and number >= 0


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _date_kind(text: str | None) -> str | None:
    for kind in DATE_TYPES:
        try:
            if pa.scalar(text, pa.string()).cast(kind).is_valid:
                return str(kind)
        except pa.ArrowException:
            pass
    return None


def _refuse(column: ArrowColumn, bad: BoolArray, what: str, source: str) -> None:
    if not bad.any():
        return
    row = int(bad.argmax())
    value = column[row].as_py()
    held = "is missing" if value is None else f"is {shown(value)}"
    kinds = "a number of at least 0 or a date such as 2024-05-01T10:00:00" if what == "time" else "a number of at least 0"
    others = f" ({int(bad.sum())} rows are wrong)" if bad.sum() > 1 else ""
    raise DataError(f"The {what} in data row {row + 1} of {shown_file(source)} {held}{others}; it needs {kinds}.")
