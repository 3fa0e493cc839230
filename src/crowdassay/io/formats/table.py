"""Tools' exports that are tables: read the columns that are needed, and leave rows out by reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError
from crowdassay.io.formats.look import Look
from crowdassay.io.formats.record import as_name
from crowdassay.io.native import Column
from crowdassay.io.scan import PARQUET, scan
from crowdassay.io.values import listed, shown, shown_file


def read_columns(seen: Look, names: Iterable[str]) -> pa.Table:
    """Read columns by name, as text, in file order; no other column is read."""
    roles = list(dict.fromkeys(names))
    kind = PARQUET if seen.kind == "parquet" else ".csv"
    table, _ = scan(seen.path, kind, roles, {name: name for name in roles})
    if not table.num_rows:
        raise DataError(f"There were no labels found: {shown_file(seen.path.name)} holds a header only.")
    return table


def item_column(seen: Look, wanted: str | None, prefix: str, otherwise: str) -> str:
    """Return the column that names the item: the one asked for, the only one with the prefix, or the tool's id."""
    if wanted is not None:
        for name in (wanted, prefix + wanted):
            if name in seen.header:
                return name
        raise ColumnError(f"There is no column {shown(wanted)} for the item; the columns are {listed(seen.header)}.")
    inputs = [name for name in seen.header if prefix and name.startswith(prefix)]
    return inputs[0] if len(inputs) == 1 or (inputs and otherwise not in seen.header) else otherwise


def leave_out(table: pa.Table, reasons: Mapping[str, Any]) -> tuple[pa.Table, dict[str, int]]:
    """Drop rows; a row is counted under the first reason that applies.

    Parameters
    ----------
    table : pyarrow.Table, length n
    reasons : mapping
        From reason to a boolean mask of length n.
    """
    dropped, gone = {}, None
    for reason, mask in reasons.items():
        fresh = mask if gone is None else pc.and_not(mask, gone)
        if count := pc.sum(fresh).as_py():
            dropped[reason] = int(count)
        gone = mask if gone is None else pc.or_(gone, mask)
    return (table if gone is None else table.filter(pc.invert(gone))), dropped


def is_true(column: Column) -> Column:
    """Tell where a cell says yes."""
    return pc.fill_null(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(column)), pa.array(["true", "1", "yes", "x"])), False)


def is_filled(column: Column) -> Column:
    """Tell where a cell holds more than blanks."""
    return pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(column), ""), False)


def one_choice(column: Column, split: Callable[[str], list[Any]]) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the only choice in every cell, null where there is not exactly one, and a mask of cells with several."""
    chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    encoded = chunked.combine_chunks().dictionary_encode()
    encoded = encoded if isinstance(encoded, pa.DictionaryArray) else encoded.combine_chunks()
    chosen = [split(text) for text in encoded.dictionary.to_pylist()]
    only = pa.array([as_name(texts[0]) if len(texts) == 1 else None for texts in chosen], pa.string())
    several = pa.array([len(texts) > 1 for texts in chosen], pa.bool_())
    mask = pc.fill_null(several.take(encoded.indices), False)
    return pa.chunked_array([only.take(encoded.indices)]), pa.chunked_array([mask])
