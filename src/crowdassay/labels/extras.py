"""Columns beside item, worker and label: when a judgement was given, how long it took, and what it weighs."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn, as_array
from crowdassay.labels.values import as_text, number_of, shown, shown_file

WHOLE_TEXT = r"^[0-9]{1,19}$"
NUMBER_TEXT = r"^\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
DATE_TYPES = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))  # dates with and without a zone are two types
SLASHED_DATE = r"^(?P<one>[0-9]{1,2})/(?P<two>[0-9]{1,2})/(?P<year>[0-9]{4})(?P<clock>(?: [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)?)$"
ZONE_OF_UTC = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}.*[0-9]) ?(?:UTC|GMT)$"  # as Ruby and Zooniverse write times
CLOCKS = (" %H:%M:%S", " %H:%M", "")
MONTHS = 12
EARLIEST_MOMENT = 1e9  # seconds since 1970, of numbers that nobody called times
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
    times = find_times(column)
    if times is not None and not np.isnan(times.seconds).any():
        return times
    written = _texts(column)
    texts = written.to_pylist()
    slashed = pc.match_substring_regex(written, SLASHED_DATE)
    if pc.all(slashed, skip_nulls=True).as_py() and not written.null_count:
        raise DataError(
            f"The times in {shown_file(source)} may have the day first or the month first (data row 1: {shown(texts[0])}); "
            "write them as 2024-12-31 10:00."
        )
    kinds = [_time_kind(text) for text in in_iso(written).to_pylist()]
    _refuse(column, np.array([kind is None for kind in kinds]), "time", source)
    if "number" in kinds:
        which = kinds.index(min(set(kinds), key=kinds.count))
        raise DataError(
            f"Some times in {shown_file(source)} are numbers and some are dates (data row {which + 1}: {shown(texts[which])}); "
            "write them all one way."
        )
    raise DataError(f"Some times in {shown_file(source)} have a time zone and some have none; write them all one way.")


def find_durations(column: ArrowColumn) -> FloatArray | None:
    """Read how many seconds judgements took, NaN where that is missing; None where these are no numbers of at least 0."""
    seconds, known = _numbers(column)
    return seconds if known.any() and (seconds[known] >= 0).all() else None


def read_weights(column: ArrowColumn, source: str) -> BoolArray:
    """Return which labels count: weights are 0 or one common number, since a method takes a label once or not at all."""
    values, _ = _numbers(column)
    _refuse(column, ~(values >= 0), "weight", source)
    used = values[values > 0]
    if len(used) and used.max() > used.min():
        raise DataError(
            f"The labels in {shown_file(source)} have different weights (from {used.min():g} to {used.max():g}), and every "
            "method counts a label once or not at all; give weights of 0 and 1, or leave out --weight-column."
        )
    return np.asarray(values > 0)


def find_times(column: ArrowColumn) -> Times | None:
    """Read times where they can be read, NaN seconds where one is missing; None where they cannot be read as times."""
    whole = as_array(column)
    dated = pa.types.is_temporal(whole.type)
    if dated:
        whole = whole.cast(pa.timestamp("ns")).cast(pa.int64())
    if dated or (pa.types.is_integer(whole.type) and (pc.min(whole).as_py() or 0) >= 0):
        return _since_1970(whole, 1e9 if dated else None)
    text = _texts(whole)
    if text.null_count == len(text):
        return None
    for pattern, kind in ((WHOLE_TEXT, pa.int64()), (NUMBER_TEXT, pa.float64())):
        if pc.all(pc.match_substring_regex(text, pattern), skip_nulls=True).as_py():
            with suppress(pa.ArrowInvalid):  # more than 64 bits hold
                return _since_1970(text.cast(kind))
    dates = in_iso(text)
    for kind in DATE_TYPES:
        with suppress(pa.ArrowException):
            return _since_1970(dates.cast(kind).cast(pa.int64()), 1e9)
    return _slashed_times(text)


def are_durations(seconds: FloatArray) -> bool:
    """Return whether numbers are hardly moments: fractions of seconds in the first years after 1970.

    >>> are_durations(np.array([26.7, 924.6])), are_durations(np.array([1.0, 2.0])), are_durations(np.array([1700000000.5]))
    (True, False, False)
    """
    given = seconds[~np.isnan(seconds)]
    return bool(len(given)) and bool(given.max() < EARLIEST_MOMENT) and not bool(np.all(given == np.rint(given)))


def in_iso(text: pa.Array) -> pa.Array:
    """Return dates whose zone is written as a word, UTC or GMT, as ISO 8601; any other text stays as it is.

    >>> in_iso(pa.array(["2017-09-22 15:59:18 UTC", "2017-09-22"])).to_pylist()
    ['2017-09-22 15:59:18Z', '2017-09-22']
    """
    return pc.replace_substring_regex(text, ZONE_OF_UTC, r"\1Z")


def _slashed_times(text: pa.Array) -> Times | None:
    if (day_first := _day_first(text)) is None:
        return None
    day = "%d/%m/%Y" if day_first else "%m/%d/%Y"
    read = pc.coalesce(*(pc.strptime(text, day + clock, "s", error_is_null=True) for clock in CLOCKS))
    if read.null_count > text.null_count:
        return None
    return _since_1970(read.cast(pa.timestamp("ns")).cast(pa.int64()), 1e9)


def _day_first(text: pa.Array) -> bool | None:
    """Return whether dates such as 25/3/2024 begin with the day; None where they do not say, or are none.

    A number above 12 tells, in one date for all; so do dates that are all the same day, whose order is that of the clock.

    >>> _day_first(pa.array(["3/25/2024", "3/2/2024 10:00"])), _day_first(pa.array(["03/02/2024 10:00", "04/02/2024 10:00"]))
    (False, None)
    """
    parts = pc.extract_regex(text, SLASHED_DATE)
    if parts.null_count > text.null_count:
        return None
    one, two, year = (pc.struct_field(parts, name).drop_null().cast(pa.int64()).to_numpy() for name in ("one", "two", "year"))
    first, second = bool((one > MONTHS).any()), bool((two > MONTHS).any())
    if first != second:
        return first
    same = len(set(zip(one.tolist(), two.tolist(), year.tolist(), strict=True))) == 1
    return False if not first and (same or bool((one == two).all())) else None


def from_american(text: str | None) -> str | None:
    """Write a time of a tool that always writes the month first as ISO 8601; any other text stays as it is.

    >>> from_american("3/2/2024 10:00:01"), from_american("2024-03-02")
    ('2024-03-02 10:00:01', '2024-03-02')
    """
    found = re.match(SLASHED_DATE, text or "")
    if found is None:
        return text
    clock = found["clock"]
    hour = f" {clock.strip():0>5}" if clock.count(":") == 1 else f" {clock.strip():0>8}" if clock else ""
    return f"{found['year']}-{int(found['one']):02}-{int(found['two']):02}{hour}"


def _since_1970(values: pa.Array, unit: float | None = None) -> Times | None:
    """Return times of numbers; what part of a second they count is told by their size where it is not given."""
    order = values.fill_null(0).to_numpy(zero_copy_only=False)
    if not np.isfinite(order).all():
        return None
    seconds = order.astype(float)
    seconds /= unit or next(unit for most, unit in TIME_UNITS if seconds.max(initial=0) < most)
    seconds[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return Times(order, seconds)


def _texts(column: ArrowColumn) -> pa.Array:
    """Return a column as text, blank cells as null."""
    text = pc.utf8_trim_whitespace(as_text(as_array(column)))
    return pc.if_else(pc.equal(text, ""), None, text)


def _numbers(column: ArrowColumn) -> tuple[FloatArray, BoolArray]:
    """Return the numbers of a column, NaN where there is none, and which cells hold something."""
    texts = _texts(column)
    numbers = [None if text is None else number_of(text) for text in texts.to_pylist()]
    return np.array(numbers, dtype=float), np.asarray(texts.is_valid())


def _time_kind(text: str | None) -> str | None:
    """Return whether a text is a number or which type of date, None for neither."""
    number = None if text is None else number_of(text)
    if number is not None and number >= 0:
        return "number"
    for kind in DATE_TYPES:
        with suppress(pa.ArrowException):
            if pa.scalar(text, pa.string()).cast(kind).is_valid:
                return str(kind)
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
