"""Matrices and triples: cleanlab's wide table, Snorkel's label matrix, nltk's coder, item, label."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.io.columns import WORDS
from crowdassay.io.formats.look import Look, is_named, values
from crowdassay.io.formats.record import Import, Wanted, as_name, text_column
from crowdassay.io.raw import check_text, opened, refuse_bad_bytes
from crowdassay.io.values import listed, number_key, number_of, shown, shown_file

ABSTAIN = "-1"
NOTHING = frozenset({"", "nan", "none", "null", "na", "<na>"})
INDEX = frozenset({"", "unnamed: 0", "index", "id"}) | {word + suffix for word in WORDS["item"] for suffix in ("", "_id", "id")}


def recognise_wide(seen: Look) -> bool:
    """Tell whether the header is that of a frame's unnamed index and annotators, and the cells are small integers."""
    if seen.kind != "delimited" or len(seen.header) < 3 or seen.header[0].lower() not in {"", "unnamed: 0"}:
        return False
    if any(is_named(name, role) for name in seen.header for role in WORDS):
        return False  # a plain file that was written with its index
    sample = _cells(seen, limit=50)[1:]
    return bool(sample) and all(
        len(row) == len(seen.header) and all(cell.strip().lower() in NOTHING or _is_code(cell) for cell in row[1:])
        for row in sample
    )


def recognise_triples(seen: Look) -> bool:
    """Tell whether JSON is a list of lists of three."""
    return (
        isinstance(seen.first, list) and len(seen.first) == 3 and not any(isinstance(part, list | dict) for part in seen.first)
    )


def read_matrix(seen: Look, wanted: Wanted) -> Import:
    """Read a matrix of items by workers; empty cells and NaN are no label, and of -1 the user must say what it is."""
    names, workers, cells = _array(seen) if seen.kind == "array" else _wide(seen, wanted.item)
    present = pc.invert(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(cells)), pa.array(sorted(NOTHING))))
    row, column = np.divmod(np.flatnonzero(present.to_numpy(zero_copy_only=False)), len(workers))
    label = cells.filter(present)
    unique = pc.unique(label)
    plain = pa.array([number_key(text.strip()) or text for text in unique.to_pylist()], pa.string())
    label = plain.take(pc.index_in(label, value_set=unique))  # 1.0 and 1.000e+00, as pandas and NumPy write, are 1
    _check_abstentions(label, wanted, seen)
    if wanted.missing:  # no judgement at all, like an empty cell
        none = pa.array([number_key(text) or text for text in wanted.missing], label.type)
        given = pc.invert(pc.is_in(label, value_set=none))
        kept = given.to_numpy(zero_copy_only=False)
        label, row, column = label.filter(given), row[kept], column[kept]
    item = pa.array(row).cast(pa.string()) if names is None else text_column(names, seen.path.name).take(pa.array(row))
    notes = () if names is not None else ("Items are numbered by row, from 0.",)
    columns = {"item": "row" if names is None else wanted.item or "first column", "worker": "column", "label": "cell"}
    return Import(item, text_column(workers, seen.path.name).take(pa.array(column)), label, columns, notes=notes)


def read_triples(seen: Look, wanted: Wanted) -> Import:
    """Read nltk's triples, coder, item and label in this order, from JSON or lines without a header."""
    triples = _lists(seen) if seen.kind == "records" else _cells(seen)
    for number, triple in enumerate(triples, 1):
        if len(triple) != 3:
            raise DataError(
                f"Row {number} of {shown_file(seen.path.name)} has {len(triple)} values; each needs coder, item and label."
            )
    worker, item, label = (text_column(map(as_name, part), seen.path.name) for part in zip(*triples, strict=True))
    _check_abstentions(label, wanted, seen)
    note = "Each row was taken as coder, item and label, the order that nltk uses."
    return Import(item, worker, label, {"item": "second", "worker": "first", "label": "third"}, notes=(note,))


def _check_abstentions(label: pa.Array, wanted: Wanted, seen: Look) -> None:
    if not wanted.missing and pc.any(pc.equal(label, ABSTAIN)).as_py():
        raise ParameterError(
            f"{shown_file(seen.path.name)} holds -1, which is a label in some data and means that none was given in others; "
            "say --missing -1 if it means none, or --missing none if it is a label."
        )


def _array(seen: Look) -> tuple[None, list[str], pa.Array]:
    try:
        matrix = np.load(seen.path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise DataError(f"{shown_file(seen.path.name)} is not a complete array of numbers; save it with numpy.save.") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
        raise DataError(f"{shown_file(seen.path.name)} must hold a matrix of numbers, items by workers.")
    return None, [str(n) for n in range(matrix.shape[1])], pa.array(matrix.ravel()).cast(pa.string())


def _wide(seen: Look, item: str | None) -> tuple[list[str] | None, list[str], pa.Array]:
    rows = _cells(seen)
    header, width = [cell.strip() for cell in rows[0]], len(rows[0])
    numbers = [str(n) for n in range(width)]
    if header == numbers and item is None:
        raise DataError(
            f"The first line of {shown_file(seen.path.name)} ({', '.join(numbers)}) may be a header or "
            "the labels of the first item; name the columns, keep the index column, or save the matrix with numpy.save."
        )
    headed = item is not None or not all(cell.lower() in NOTHING - {""} or number_of(cell) is not None for cell in header)
    body = rows[1:] if headed else rows
    for number, row in enumerate(body, 1 + headed):
        if len(row) != width:
            raise DataError(f"Row {number} of {shown_file(seen.path.name)} has {len(row)} values, not {width}.")
    if not body:
        raise DataError(f"There were no labels found: {shown_file(seen.path.name)} holds a header only.")
    if item is not None and item not in header:
        raise ColumnError(f"There is no column {shown(item)} for the item; the columns are {listed(header)}.")
    index = header.index(item) if item is not None else 0 if headed and header[0].lower() in INDEX else None
    names = None if index is None else [row[index] for row in body]
    cells = text_column((cell for row in body for n, cell in enumerate(row) if n != index), seen.path.name)
    return names, [name for n, name in enumerate(header if headed else numbers) if n != index], cells


def _lists(seen: Look) -> list[Sequence[Any]]:
    found = list(values(seen.path))
    if not found or not all(isinstance(value, list) for value in found):
        raise DataError(f"{shown_file(seen.path.name)} must hold a list of lists [coder, item, label].")
    return found


def _cells(seen: Look, limit: int | None = None) -> list[list[str]]:
    """Read every row of delimited text; without a separator, white space separates."""
    check_text(seen.path)
    with opened(seen.path) as stream:
        raw = stream.read() if limit is None else b"".join(line for _, line in zip(range(limit), stream, strict=False))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        if limit is None:
            refuse_bad_bytes(seen.path)
        return []
    first = text.lstrip("\r\n").split("\n", 1)[0]
    separator = max((",", ";", "\t", "|"), key=first.count)
    if not first.count(separator):
        return [line.split() for line in text.splitlines() if line.strip()]
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    except csv.Error:
        raise DataError(f"{shown_file(seen.path.name)} is not a table of separated values; export it again.") from None


def _is_code(cell: str) -> bool:
    number = number_of(cell)
    return number is not None and number == int(number) and abs(number) < 1000
