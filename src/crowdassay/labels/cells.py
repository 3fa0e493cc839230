"""The rules on single cells: what is blank, how a number is spelt, what no cell may hold.

Each rule stands here once, for Arrow and beside it, where a database applies it, as SQL that DuckDB and Spark share, but
for the few words in which they differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.values import as_text, is_text, number_key, number_of, shown

ArrowColumn: TypeAlias = pa.Array | pa.ChunkedArray

BETWEEN_PARTS = " | "  # stands between the columns that make an item; bars in their cells are doubled, so no two items are one
# Beyond this neighbouring whole numbers share one float, so that such ids are damaged already: they are left visible as text.
EXACT = 2**53


# Whether the text {0} is white space only, as Unicode has it; only values that begin below '!' or above '~' need the look.
DUCKDB_BLANK = r"({0} < '!' OR {0} > '~') AND regexp_full_match({0}, '[\p{{Z}}\s\x0b\x1c-\x1f\x{{85}}]*')"
SPARK_BLANK = r"{0} rlike r'^(?U)\s*$'"

COMPLETE = " and ".join(f"{role} is not null" for role in ITEM_WORKER_LABEL)
# A row counts as missing the first value that it misses.
MISSING_COUNTS = (
    "count_if(item is null) as no_item, count_if(item is not null and worker is null) as no_worker, "
    "count_if(item is not null and worker is not null and label is null) as no_label"
)


def missing_rows(counts: Mapping[str, int]) -> dict[str, int]:
    """Return how many rows were dropped by reason, from what `MISSING_COUNTS` counts."""
    return {f"missing {role}": int(counts[f"no_{role}"]) for role in ITEM_WORKER_LABEL if counts[f"no_{role}"]}


def as_array(column: ArrowColumn) -> pa.Array:
    """Return a column in one piece, without a dictionary."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def blank(texts: ArrowColumn) -> Any:
    """Return which texts are white space only."""
    return pc.equal(pc.utf8_trim_whitespace(texts), "")


def blank_as_null(column: str, is_blank: str) -> str:
    """Return the SQL of a column of text in which blank cells are null."""
    return f"CASE WHEN {is_blank.format(column)} THEN NULL ELSE {column} END"


def is_whole(numbers: FloatArray) -> BoolArray:
    """Return which floating-point numbers are whole, and exactly so."""
    return np.asarray(np.isfinite(numbers) & (np.trunc(numbers) == numbers) & (np.abs(numbers) < EXACT))


def float_text(values: pa.Array) -> pa.Array:
    """Write floating-point numbers as text: whole ones without exponent or point as far as they are exact, NaN as null.

    >>> float_text(pa.array([1e15, 0.5, float("nan")])).to_pylist()
    ['1000000000000000', '0.5', None]
    """
    numbers = values.to_numpy(zero_copy_only=False)
    whole = is_whole(numbers)
    texts = pc.if_else(pa.array(~np.isnan(numbers)), pa.array(numbers + 0, values.type).cast(pa.string()), None)
    if not whole.any():
        return texts
    plain = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(whole), plain, texts)


def from_floats(values: pa.Array) -> pa.Array:
    """Return floating-point numbers as whole numbers where all are, else as text; NaN as null."""
    numbers = values.to_numpy(zero_copy_only=False)
    present = ~np.isnan(numbers)
    if np.all(is_whole(numbers) | ~present):
        return pa.array(np.where(present, numbers, 0).astype(np.int64), mask=~present)
    return float_text(values)


def join_cells(columns: Sequence[ArrowColumn]) -> pa.Array:
    """Join columns that make the item together, as text; null where one of them is missing or blank.

    >>> join_cells([pa.array(["a", "b|", " "]), pa.array([1.0, 2.5, 3.0])]).to_pylist()
    ['a | 1', 'b|| | 2.5', None]
    """
    texts = []
    for column in map(as_array, columns):
        text = float_text(column) if pa.types.is_floating(column.type) else as_text(column)
        texts.append(pc.replace_substring(pc.if_else(blank(text), None, text), "|", "||"))
    return pc.binary_join_element_wise(*texts, BETWEEN_PARTS)


def join_sql(parts: Sequence[str]) -> str:
    """Return the same in SQL, of parts that are text with null for what is blank."""
    return f" || '{BETWEEN_PARTS}' || ".join(f"replace({part}, '|', '||')" for part in parts)


# The same in Spark's SQL; to DuckDB such columns come as texts already. `floor` overflows.
SPARK_WHOLE = f"{{0}} is null or isnan({{0}}) or ({{0}} = rint({{0}}) and abs({{0}}) < {EXACT})"
SPARK_FROM_WHOLE = "cast(nanvl({0}, null) as bigint)"
SPARK_FLOAT_TEXT = (
    f"case when {SPARK_WHOLE} then cast({SPARK_FROM_WHOLE} as string) "
    "when abs({0}) >= 0.000001 and abs({0}) < 1e10 "
    "then trim(trailing '0' from cast(cast({0} as decimal(38, 22)) as string)) "
    "else regexp_replace(regexp_replace(lower(cast({0} as string)), '[.]0e', 'e'), 'e([0-9])', 'e+$1') end"
)


def without(values: pa.Array, texts: Sequence[str]) -> pa.Array:
    """Return an array in which values that read like one of some texts are null; numbers however they are spelt.

    >>> without(pa.array(["-1", "-1.0", "-01", "2"]), ["-1"]).to_pylist()
    [None, None, '-01', '2']
    """
    if not texts:
        return values
    if pa.types.is_floating(values.type):  # -1 is meant, whatever the column's type
        written = [number_key(text) or text for text in texts]
        numbers = pa.array([float(text) for text in written if number_of(text) is not None], values.type)
        return pc.if_else(pc.is_in(values, value_set=numbers), None, values)
    written = as_text(values)
    keys = {number_key(text) for text in texts} - {None}
    if keys:
        texts = [*texts, *(text for text in pc.unique(written).drop_null().to_pylist() if number_key(text) in keys)]
    return pc.if_else(pc.is_in(written, value_set=pa.array(texts, pa.string())), None, values)


# The same in DuckDB's SQL, with what `without_bound` binds; leading zeros mean codes. Spark's labels are filtered in Spark.
WITHOUT = (
    "CASE WHEN list_contains($missing, label::VARCHAR) OR (list_contains($numbers, TRY_CAST(label::VARCHAR AS DOUBLE))"
    r" AND regexp_full_match(label::VARCHAR, '[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?')) THEN NULL ELSE {0} END"
)


def without_bound(texts: Sequence[str]) -> dict[str, Any]:
    """Return the parameters of `WITHOUT`."""
    return {"missing": list(texts), "numbers": [float(key) for key in map(number_key, texts) if key]}


def first_nul(column: ArrowColumn) -> int | None:
    """Return the first row of a text with a NUL byte, which many programs take for its end; None if there is none."""
    if not is_text(column.type):
        return None
    row: int = pc.index(pc.match_substring(column, "\0"), True).as_py()
    return row if row >= 0 else None


def refuse_nul(column: ArrowColumn, role: str, where: str = "") -> None:
    """Raise `DataError` where a text holds a NUL byte."""
    if (row := first_nul(column)) is not None:
        bad = shown(column[row].as_py())
        raise DataError(f"The {role} {bad}{where} holds a NUL byte; remove it or re-save the file as UTF-8.")


def refuse_infinite(column: ArrowColumn, role: str) -> None:
    """Raise `DataError` where floating-point numbers that should name something are infinite."""
    if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
        raise infinite(role)


def infinite(role: str) -> DataError:
    """Return the error for a column that holds infinite numbers."""
    return DataError(f"The {role} column holds an infinite number, which is no {role}; leave such cells empty.")


def not_one_value(role: str, kind: object, where: str = "") -> DataError:
    """Return the error for a column of lists, structures and the like."""
    held = str(kind).split("<")[0].removeprefix("large_")
    return DataError(f"The {role} column{where} holds {held} values; it needs one text, number or date per row.")
