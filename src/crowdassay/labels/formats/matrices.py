"""Matrices and triples: a column for each worker (cleanlab, MACE), Snorkel's label matrix, nltk's coder, item, label."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.columns import check_given, matching_columns, not_workers
from crowdassay.labels.delimited import SAMPLE_BYTES, rows_of
from crowdassay.labels.formats.parse import as_name, is_map
from crowdassay.labels.formats.record import Import, text_column
from crowdassay.labels.jsontext import EXACT_DECODER
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import refuse_bad_bytes
from crowdassay.labels.roles import BESIDE, ITEM_WORKER_LABEL, ROLES
from crowdassay.labels.values import listed, number_key, number_of
from crowdassay.read_options import ReadOptions

ABSTAIN = "-1"
NO_LABEL_CELLS = frozenset({"", "nan", "none", "null", "na", "<na>"})
INDEX_NAMES = frozenset({"", "unnamed: 0", "index", "id"}) | {
    word + suffix for word in ROLES["item"].words for suffix in ("", "_id", "id")
}
# Columns beside the workers' own: what is known or was made of their labels.
KNOWN_COLUMN = re.compile(r"(gold|truth|true|ground|gt$|majority|consensus|final|adjudicat|aggregat|target)", re.IGNORECASE)
NUMBERED_WORKER = re.compile(rf"(?:{'|'.join(ROLES['worker'].words)})[\s_\-]*(?:\d+|[a-z])", re.IGNORECASE)
MOST_HEADLESS_CLASSES = 50  # classes up to which a table without a header is taken for labels only
ROWS_SAMPLED = 200  # rows that are looked at
ROWS_TO_COMPARE = 10  # rows from which on a column may be told from its neighbours though some of its values repeat


def recognise_wide(probe: Probe) -> bool:
    """Return whether a table has a column for each worker: by its header, or because every cell is one of a few classes."""
    if probe.kind != "delimited" or len(probe.header) < 2:
        return False
    if all(any(ROLES[role].is_named(name) for name in probe.header) for role in ITEM_WORKER_LABEL):
        return False
    if sum(bool(NUMBERED_WORKER.fullmatch(name)) for name in probe.header) > 1:
        return True
    rows = cells_of(probe, limit=ROWS_SAMPLED)
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if not any(ROLES[role].is_named(name) for name in probe.header for role in (*ITEM_WORKER_LABEL, "truth", *BESIDE)):
        indexed = len(probe.header) > 2 and probe.header[0].lower() in {"", "unnamed: 0"}
        if indexed and all(is_nothing(cell) or _is_code(cell) for row in rows[1:] for cell in row[1:]):
            return True
    return _is_headless(rows)


def recognise_triples(probe: Probe) -> bool:
    """Return whether JSON is a list of lists of three."""
    first = probe.first
    return isinstance(first, list) and len(first) == 3 and not any(isinstance(part, list | dict) for part in first)


def read_matrix(probe: Probe, wanted: ReadOptions) -> Import:
    """Read a matrix of items by workers; empty cells and NaN are no label, and of -1 the user must say what it is."""
    return as_import(_array(probe) if probe.kind == "array" else _wide(probe, wanted), probe, wanted)


def as_import(wide: Wide, probe: Probe, wanted: ReadOptions) -> Import:
    """Turn a table with a row for each item and a column for each worker into judgements."""
    cells = text_column((cell for row in wide.rows for cell in row), probe.path.name) if wide.cells is None else wide.cells
    present = pc.invert(pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(cells)), pa.array(sorted(NO_LABEL_CELLS))))
    row, column = np.divmod(np.flatnonzero(present.to_numpy(zero_copy_only=False)), len(wide.workers))
    label = cells.filter(present)
    unique = pc.unique(label)
    plain = pa.array([number_key(text.strip()) or text for text in unique.to_pylist()], pa.string())
    label = plain.take(pc.index_in(label, value_set=unique))  # 1.0 and 1.000e+00, as pandas and NumPy write, are 1
    check_abstentions(label, wanted, probe.shown)
    if wanted.missing:  # no judgement at all, like an empty cell
        none = pa.array([number_key(text) or text for text in wanted.missing], label.type)
        given = pc.invert(pc.is_in(label, value_set=none))
        kept = given.to_numpy(zero_copy_only=False)
        label, row, column = label.filter(given), row[kept], column[kept]
    source = probe.path.name
    item = pa.array(row).cast(pa.string()) if wide.items is None else text_column(wide.items, source).take(pa.array(row))
    notes = [*wide.notes, *(["Items are numbered by row, from 0."] if wide.items is None else [])]
    columns = {"item": wide.item_name, "worker": "column", "label": "cell"}
    return Import(item, text_column(wide.workers, source).take(pa.array(column)), label, columns, notes=tuple(notes))


def read_triples(probe: Probe, wanted: ReadOptions) -> Import:
    """Read nltk's triples, coder, item and label in this order, from JSON or lines without a header."""
    triples = _lists(probe) if probe.kind == "records" else cells_of(probe)
    for number, triple in enumerate(triples, 1):
        if len(triple) != 3:
            raise DataError(f"Row {number} of {probe.shown} has {len(triple)} values; each needs coder, item and label.")
    worker, item, label = (text_column(map(as_name, part), probe.path.name) for part in zip(*triples, strict=True))
    check_abstentions(label, wanted, probe.shown)
    note = "Each row was taken as coder, item and label, the order that nltk uses."
    return Import(item, worker, label, {"item": "second", "worker": "first", "label": "third"}, notes=(note,))


@dataclass
class Wide:
    """A table with a column for each worker: the names of the items, if it has any, and of the workers, and the cells."""

    items: list[str] | None
    workers: list[str]
    rows: Sequence[Sequence[str]]
    item_name: str = "row"
    notes: tuple[str, ...] = ()
    cells: pa.Array | None = None


def check_abstentions(label: pa.Array | pa.ChunkedArray, wanted: ReadOptions, source: str) -> None:
    """Refuse labels of -1 of which nobody has said what they mean."""
    values = pc.unique(label.cast(label.type.value_type) if pa.types.is_dictionary(label.type) else label)
    if not wanted.missing and any(number_key(str(value)) == ABSTAIN for value in values.to_pylist() if value is not None):
        raise ParameterError(
            f"{source[:1].upper()}{source[1:]} holds -1, which is a label in some data and means that none was given in "
            "others; say --missing -1 if it means none, or --missing none if it is a label."
        )


def _array(probe: Probe) -> Wide:
    try:
        matrix = np.load(probe.path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise DataError(f"{probe.shown} is not a complete array of numbers; save it with numpy.save.") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
        raise DataError(f"{probe.shown} must hold a matrix of numbers, items by workers.")
    return Wide(None, [str(n) for n in range(matrix.shape[1])], [], cells=pa.array(matrix.ravel()).cast(pa.string()))


def _wide(probe: Probe, wanted: ReadOptions) -> Wide:
    rows, source = cells_of(probe), probe.shown
    first, width = [cell.strip() for cell in rows[0]], max(len(row) for row in rows)
    numbers = [str(n) for n in range(width)]
    named = bool(wanted.worker_columns or wanted.item_column)
    if first == numbers and not (named or wanted.no_header or probe.kind == "records"):
        raise DataError(
            f"The first line of {source} ({', '.join(numbers)}) may be a header or the labels of the first item; say "
            "--no-header, name the columns, keep the index column, or save the matrix with numpy.save."
        )
    named = named or probe.kind == "records"
    headed = not wanted.no_header and (named or not (_are_labels(first, rows[1:]) or _is_headless(rows)))
    header, body = (first, rows[1:]) if headed else (numbers, rows)
    for number, row in enumerate(body, 1 + headed):
        if len(row) != width and "".join(row).strip():
            raise DataError(f"Row {number} of {source} has {len(row)} values, not {width}.")
    body = [row for row in body if len(row) == width]
    if not body:
        raise DataError(f"No labels found: {source} holds a header only.")
    if not headed:
        note = "The first line was taken for labels, not for names: workers are numbered by column, from 0."
        return Wide(None, numbers, body, notes=(note,))
    return _chosen(header, body, wanted, source)


def _chosen(header: list[str], body: list[list[str]], wanted: ReadOptions, source: str) -> Wide:
    """Choose the workers' columns and the item's; the others are named in a note."""
    item, notes = wanted.item_column, []
    if item is not None:
        check_given("item", item, header)
    index = header.index(item) if item is not None else 0 if header[0].lower() in INDEX_NAMES else None
    columns = {n: [row[n].strip() for row in body] for n in range(len(header))}
    if wanted.worker_columns:
        named = matching_columns(header, wanted.worker_columns)
        chosen = [n for n, name in enumerate(header) if name in named]
    else:
        chosen = [n for n in columns if n != index]
        numbered = [n for n in chosen if NUMBERED_WORKER.fullmatch(header[n])]
        others = [n for n in chosen if _is_other(header[n], columns[n], [columns[m] for m in chosen if m != n])]
        chosen = numbered if len(numbered) > 1 else [n for n in chosen if n not in others]
        left = [header[n] for n in columns if n not in {index, *chosen}]
        if index is None and others and others[0] == 0 and len(set(columns[0])) == len(columns[0]):
            index, left = 0, left[1:]
        notes += not_workers(left)
    if not chosen:
        raise ColumnError(f"No column of {source} looks like a worker's ({listed(header)}); name them with --worker-columns.")
    items = None if index is None else [row[index] for row in body]
    name = "row" if index is None else header[index] or "first column"
    return Wide(items, [header[n] for n in chosen], [[row[n] for n in chosen] for row in body], name, tuple(notes))


def _is_other(name: str, cells: list[str], rest: list[list[str]]) -> bool:
    """Return whether a column holds something else than one worker's labels: known classes by name, or texts of its own."""
    if KNOWN_COLUMN.match(name):
        return True
    if not rest or NUMBERED_WORKER.fullmatch(name):  # no other column to compare it with, or plainly named after a worker
        return False
    given = [cell for cell in cells if not is_nothing(cell)]
    shared = {cell for column in rest for cell in column}
    different = set(given)
    own = sum(cell not in shared for cell in given)
    if len(given) < ROWS_TO_COMPARE:
        return len(given) > 1 and len(different) == len(given) == own
    return len(different) > 0.5 * len(given) and own > 0.5 * len(given)


def _are_labels(first: list[str], body: Sequence[Sequence[str]]) -> bool:
    """Return whether a first line holds numbers and empty cells only, as labels and hardly any names do."""
    if all(is_nothing(cell) for cell in first):
        return False
    return all(is_nothing(cell) or number_of(cell) is not None for cell in first) and first[0] != ""


def _is_headless(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether every cell, the first line's too, is one of a few classes: a matrix of labels without names."""
    first, body = [cell.strip() for cell in rows[0]], rows[1:]
    given = {cell for cell in first if not is_nothing(cell)}
    below = {cell.strip() for row in body for cell in row if not is_nothing(cell)}
    cells = sum(not is_nothing(cell) for row in body for cell in row)
    if not given or not given <= below or len(below) > min(MOST_HEADLESS_CLASSES, cells / 2) or len(first) < 2:
        return False
    if _is_apart(rows):
        return False
    gaps = any(is_nothing(cell) for row in rows for cell in row)
    return gaps or len(first) > 3  # three full columns may well be item, worker and label


def _is_apart(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether some column of several values shares none with the others: names, not a worker's labels.

    >>> _is_apart([["Alex", "1", "2"], ["Paul", "2", "1"], ["Alex", "1", "1"]]), _is_apart([["a", "b"], ["b", "a"]])
    (True, False)
    """
    width = min(map(len, rows))
    held = [{row[n].strip() for row in rows if not is_nothing(row[n])} for n in range(width)]
    return any(len(own) > 1 and not any(own & held[m] for m in range(width) if m != n) for n, own in enumerate(held))


def _lists(probe: Probe) -> list[Sequence[Any]]:
    lists = list(probe.values())
    if not lists or not all(isinstance(value, list) for value in lists):
        raise DataError(f"{probe.shown} must hold a list of lists [coder, item, label].")
    return lists


def cells_of(probe: Probe, limit: int | None = None) -> list[list[str]]:
    """Read every row of delimited text; without a separator, white space separates. JSON becomes a header and rows."""
    if probe.kind == "records":
        return _cells_of_records(probe)
    raw = b"".join(probe.start.splitlines(keepends=True)[:limit][: -1 if len(probe.start) >= SAMPLE_BYTES else None])
    if limit is None:
        with probe.opened() as stream:
            raw = stream.read()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        if limit is None:
            refuse_bad_bytes(probe.path, raw)
        return []
    if probe.dialect is None or len(probe.header) < 2:
        return [line.split() for line in text.splitlines() if line.strip()]
    try:
        return [row for row in rows_of(text, probe.dialect) if row]
    except csv.Error:
        raise DataError(f"{probe.shown} is not a table of separated values; export it again.") from None


def _cells_of_records(probe: Probe) -> list[list[str]]:
    """Lay out objects as a table, each a row: those of a list, or those that an object holds, with their names first."""
    with probe.opened() as stream:
        raw = stream.read()
    try:
        whole = EXACT_DECODER.decode(raw.decode("utf-8-sig").strip())
    except UnicodeDecodeError:
        refuse_bad_bytes(probe.path, raw)
    except (ValueError, RecursionError):  # a record on each line
        whole = None
    if is_map(whole):
        if all(name.isdigit() for row in whole.values() for name in row):  # columns of rows, as pandas writes a frame
            whole = {row: {name: column.get(row) for name, column in whole.items()} for row in next(iter(whole.values()))}
        named = [{"": name, **row} for name, row in whole.items()]
    else:
        named = [value for value in probe.values() if isinstance(value, dict)]
    names = list(dict.fromkeys(name for row in named for name in row))
    if not names:
        raise DataError(f"No labels found: {probe.shown} holds no objects with names and labels.")
    return [names, *([as_name(row.get(name)) or "" for name in names] for row in named)]


def is_nothing(cell: str) -> bool:
    """Return whether a cell means that there is no label."""
    return cell.strip().lower() in NO_LABEL_CELLS


def _is_code(cell: str) -> bool:
    number = number_of(cell)
    return number is not None and number == int(number) and abs(number) < 1000
