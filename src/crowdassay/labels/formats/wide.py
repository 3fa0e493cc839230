"""Tables with a row for each item and a column for each worker, in files, frames and arrays; and nltk's triples.

cleanlab and MACE write such tables, Snorkel such a matrix; a triple is coder, item and label.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError, DataError, ParameterError
from crowdassay.labels.cells import join_cells, without
from crowdassay.labels.columns import check_given, split_names
from crowdassay.labels.delimited import SAMPLE_BYTES
from crowdassay.labels.formats.not_workers import is_nothing, opposed
from crowdassay.labels.formats.parse import as_name, is_map
from crowdassay.labels.formats.record import Import, facts_table, gold_table, text_column
from crowdassay.labels.formats.stems import names_of_workers
from crowdassay.labels.formats.wide_columns import (
    are_classes,
    choose_workers,
    not_workers,
    odd_ones,
    same_answers,
)
from crowdassay.labels.formats.wide_items import choose_item, naming_rows, numbered_rows
from crowdassay.labels.formats.wide_proposals import numbered_proposal, worker_proposal
from crowdassay.labels.jsontext import EXACT_DECODER, flat, only_list
from crowdassay.labels.native import mixed_column
from crowdassay.labels.probe import Probe
from crowdassay.labels.raw import refuse_bad_bytes
from crowdassay.labels.roles import BESIDE, ITEM_WORKER_LABEL, ROLES, SHORT_NUMBERED, is_worker_name
from crowdassay.labels.values import (
    are_numbers,
    counted,
    in_natural_order,
    listed,
    mapping,
    number_key,
    number_of,
    shown,
    shown_file,
)
from crowdassay.read_options import ReadOptions, join_names

ABSTAIN = "-1"
# A class or a gap; nan and null are gaps.
DOUBTFUL = frozenset({"none", "na", "n/a"})
ROWS_OF_A_DESIGN = 10  # rows from which on the same number of labels in each is no chance
CLASSES_NAMED = 8  # that a message lists to be copied
FULL_COLUMNS = 3  # which may well be item, worker and label
ROWS_SAMPLED = 200  # rows that are looked at


def recognise_matrix(probe: Probe) -> bool:
    """Return whether a table has a column for each worker: by its header, or because every cell is one of a few classes."""
    numbered = [name for name in probe.header or mapping(probe.first) if is_worker_name(name)]
    if len(numbered) > 1 and not any(isinstance(mapping(probe.first).get(name), dict) for name in numbered):
        short = all(re.fullmatch(SHORT_NUMBERED, name, re.IGNORECASE) for name in numbered)
        with suppress(ColumnError):  # numbered alike, but no workers with one question
            if proposal_matrix(probe) or not short:  # under a short name there must be classes as well
                return True
    if probe.kind != "delimited":
        return False
    rows = cells_of(probe, limit=ROWS_SAMPLED)
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if not any(ROLES[role].is_named(name) for name in probe.header for role in (*ITEM_WORKER_LABEL, "truth", *BESIDE)):
        indexed = len(probe.header) > 2 and probe.header[0].lower() in {"", "unnamed: 0"}
        codes = {number_of(cell) for row in rows[1:] for cell in row[1:] if not is_nothing(cell)}
        if indexed and all(code is not None and code.is_integer() and abs(code) < 1000 for code in codes):
            return True
    return _is_headless(rows)


def proposal_matrix(probe: Probe) -> list[str]:
    """Return in which case which option reads a file with a column for each worker; nothing if it would misread its first rows.

    Raises `ColumnError` where columns that answer alike are something else.
    """
    try:
        rows = cells_of(probe, limit=ROWS_SAMPLED)
    except DataError:
        return []
    body = [row for row in rows[1:] if len(row) == len(rows[0])]
    if not body or any(cell.startswith("{") for row in body for cell in row[1:2]):
        return []
    return worker_proposal([name.strip() for name in rows[0]], [[row[n].strip() for row in body] for n in range(len(rows[0]))])


def proposal_numbered_matrix(probe: Probe) -> list[str]:
    """Return the options for columns of answers that end in numbered workers, as ``tag_ann1`` does."""
    if probe.kind == "delimited":
        return numbered_proposal(probe.header)
    names, *rows = cells_of(probe)
    return numbered_proposal(names, list(zip(*rows, strict=True)))


def recognise_triples(probe: Probe) -> bool:
    """Return whether JSON is a list of lists of three."""
    first = probe.first
    return isinstance(first, list) and len(first) == 3 and not any(isinstance(part, list | dict) for part in first)


def proposal_triples(probe: Probe) -> list[str]:
    """Return in which case which option reads lines of worker, item and label without a header; nothing for other lines."""
    try:
        rows = cells_of(probe, limit=ROWS_SAMPLED)
    except DataError:
        return []
    if len(rows) < 2 or any(len(row) != FULL_COLUMNS for row in rows):
        return []
    headed = not any(rows[0][n].strip() == row[n].strip() for row in rows[1:] for n in range(FULL_COLUMNS))
    if headed or not are_classes([row[-1].strip() for row in rows]):
        return []
    return ["if every line is worker, item, label without a header, say --from nltk"]


def read_matrix(probe: Probe, wanted: ReadOptions) -> Import:
    """Read a matrix of items by workers; empty cells and NaN are no label, and the user must say what -1 is."""
    if probe.kind != "array":
        return _from_cells(probe, wanted).rows(wanted, probe.shown)
    try:
        matrix = np.load(probe.path, allow_pickle=False)
    except (ValueError, OSError, EOFError):
        raise DataError(f"{probe.shown} is not a complete array of numbers; save it with numpy.save.") from None
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf":
        raise DataError(f"{probe.shown} must hold a matrix of numbers, items by workers.")
    columns = [pa.array(column).cast(pa.string()) for column in matrix.T]
    return wide_texts(None, [str(n) for n in range(len(columns))], columns, probe.path.name).rows(wanted, probe.shown)


def read_triples(probe: Probe, wanted: ReadOptions) -> Import:
    """Read nltk's triples, coder, item and label in this order, from JSON or lines without a header."""
    triples = list(probe.values()) if probe.kind == "records" else cells_of(probe)
    if not triples or not all(isinstance(triple, list) for triple in triples):
        raise DataError(f"{probe.shown} must hold a list of lists [coder, item, label].")
    for number, triple in enumerate(triples, 1):
        if len(triple) != 3:
            raise DataError(
                f"Row {number} of {probe.shown} has {counted(len(triple), 'value')}; each needs coder, item and label."
            )
    worker, item, label = (text_column(map(as_name, part), probe.path.name) for part in zip(*triples, strict=True))
    check_abstentions(label, wanted, probe.shown)
    note = "Each row was taken as coder, item and label, the order that nltk uses."
    return Import(item, worker, label, {"item": "second", "worker": "first", "label": "third"}, notes=(note,))


@dataclass(frozen=True, eq=False)
class Wide:
    """A table of labels: a name for each row, a name and a column for each worker.

    Attributes
    ----------
    items : pyarrow.Array, length n_rows
    workers : list of str
    labels : list of pyarrow.Array, n_rows each
        Nothing where a worker has not labelled the item.
    names : dict
        What the source calls items and, where it is said, workers.
    notes : tuple of str
    gold : pyarrow.Table, optional
        As `Import` has it.
    about : pyarrow.Table, optional
        The items and all columns of the source, whatever they hold.
    """

    items: pa.Array
    workers: list[str]
    labels: list[pa.Array]
    names: dict[str, str]
    notes: tuple[str, ...] = ()
    gold: pa.Table | None = None
    about: pa.Table | None = None

    def rows(self, asked: ReadOptions, source: str = "the matrix of labels") -> Import:
        """Return one row for each label."""
        n_items, n_workers = len(self.items), len(self.workers)
        item, worker = np.divmod(np.arange(n_items * n_workers), max(n_workers, 1))  # items in the order of the rows
        label: Any = pa.chunked_array(_alike(self.labels)).take(pa.array(worker * n_items + item))
        check_abstentions(label, asked, source)
        label = without(label, asked.missing)
        present = pc.invert(pc.is_null(label, nan_is_null=True))
        kept = np.asarray(present.combine_chunks())
        names = pa.array(self.workers, pa.string()).take(pa.array(worker[kept]))
        items = self.items.take(pa.array(item[kept]))
        return Import(items, names, label.filter(present), self.names, notes=self.notes, gold=self.gold, about=self.about)


def wide_texts(
    items: Sequence[str] | None, workers: Sequence[str], columns: Iterable[Sequence[str] | pa.Array], source: str,
    name: str = "row", notes: Iterable[str] = (), naming: Sequence[str] = (),
) -> Wide:  # fmt: skip
    """Return a table of the texts that a file holds, a column for each worker.

    Items without names are numbered; the note on that says which columns are ``naming`` what is different in every row.
    """
    labels = [_labels(column if isinstance(column, pa.Array) else text_column(column, source)) for column in columns]
    if items is None:
        items, notes = [str(n) for n in range(len(labels[0]))], (*notes, numbered_rows(naming))
    names = {"item": name, "worker": "column", "label": "cell"}
    return Wide(text_column(items, source), text_column(workers, source).to_pylist(), labels, names, tuple(notes))


def _labels(cells: pa.Array) -> pa.Array:
    """Return cells as labels: 1.0 and 1.000e+00, as pandas and NumPy write, are 1, and what means no label is null."""
    coded = cells.dictionary_encode()
    texts = [
        None if is_nothing(text) and text.strip().lower() not in DOUBTFUL else number_key(text.strip()) or text
        for text in coded.dictionary.to_pylist()
    ]
    return pa.array(texts, pa.string()).take(coded.indices)


def without_gaps(labels: Sequence[pa.Array], wanted: ReadOptions, source: str) -> tuple[list[pa.Array], list[str]]:
    """Return labels without words such as NA where these mean that there is none, and a note; refuse what may be a class.

    They are gaps where all other labels are numbers, and where every row has as many others, and fewer than there are workers.
    """
    texts = pc.unique(pa.chunked_array(labels, pa.string())).drop_null().to_pylist()
    named = {*wanted.missing, *map(str, wanted.classes or ())}
    words = [text for text in texts if text.lower() in DOUBTFUL and text not in named]
    if not words:
        return list(labels), []
    kept = [without(column, words) for column in labels]
    found = sum(after.null_count - before.null_count for before, after in zip(labels, kept, strict=True))
    stand = "stands" if len(words) == 1 else "stand"
    said = f"{listed(words)} {stand} in {found:,} of {counted(len(kept) * len(kept[0]), 'cell')}"
    n_labels = np.sum([np.asarray(column.is_valid()) for column in kept], axis=0)
    designed = len(n_labels) >= ROWS_OF_A_DESIGN and 0 < n_labels[0] < len(kept) and (n_labels == n_labels[0]).all()
    others = in_natural_order({*texts} - {*words})
    if designed or are_numbers(others):
        return kept, [f"{said}: taken for no label. If that is a class, name all classes with --classes."]
    missing = " ".join(f"--missing {shown_file(word)}" for word in words)
    classes = join_names([*others, *words]) if len(texts) <= CLASSES_NAMED else "..."
    raise ParameterError(
        f"In {source} {said}; if nobody answered there, say {missing}; if that is a class, name all classes, as in --classes "
        f"{shown_file(classes)}."
    )


def check_abstentions(label: pa.Array | pa.ChunkedArray, wanted: ReadOptions, source: str) -> None:
    """Refuse labels of -1 unless the user has said what they mean."""
    values = pc.unique(label.cast(label.type.value_type) if pa.types.is_dictionary(label.type) else label)
    if not wanted.missing and any(number_key(str(value)) == ABSTAIN for value in values.to_pylist() if value is not None):
        raise ParameterError(
            f"{source[:1].upper()}{source[1:]} holds -1, which is a label in some data and means that none was given in "
            "others; say --missing -1 if nobody answered there, or --missing none (nothing is missing) if it is a label."
        )


def _from_cells(probe: Probe, wanted: ReadOptions) -> Wide:
    rows, source = cells_of(probe), probe.shown
    first = [cell.strip() for cell in rows[0]]
    rows = [row if "".join(row[len(first) :]).strip() else row[: len(first)] for row in rows]  # separators may end every row
    width = max(len(row) for row in rows)
    numbers = [str(n) for n in range(width)]
    named = bool(wanted.worker_columns or wanted.item_column)
    if first == numbers and not (named or wanted.no_header or probe.kind == "records"):
        raise DataError(
            f"The first line of {source} ({', '.join(numbers)}) may be a header or the labels of the first item; say "
            "--no-header, name the columns, keep the index column, or save the matrix with numpy.save."
        )
    named = named or probe.kind == "records"
    numbers_or_gaps = all(is_nothing(cell) or number_of(cell) is not None for cell in first)  # as labels and hardly any names
    numeric = numbers_or_gaps and first[0] != "" and not all(map(is_nothing, first))
    headed = not wanted.no_header and (named or not (numeric or _is_headless(rows)))
    header, body = (first, rows[1:]) if headed else (numbers, rows)
    for number, row in enumerate(rows, 1):
        if len(row) != width and "".join(row).strip():
            raise DataError(f"Row {number} of {source} has {counted(len(row), 'value')}, not {width}.")
    body = [row for row in body if len(row) == width]
    if not body:
        raise DataError(f"No labels found: {source} holds a header only.")
    if not headed and named:  # by their number, as with every table without a header
        return _chosen([str(n + 1) for n in range(width)], body, wanted, probe)
    if not headed and wanted.no_header and _is_apart(body):
        raise ColumnError(
            f"The columns of {source} hold different things, so that not every one is a worker's; name them by their number, "
            "from 1, beside --no-header: those that hold item, worker and label, or with --worker-columns those of the workers."
        )
    if not headed:
        note = "The first line was taken for labels, not for names: workers are numbered by column, from 0."
        return _with_gaps(wide_texts(None, numbers, zip(*body, strict=True), probe.path.name, notes=(note,)), wanted, probe)
    return _chosen(header, body, wanted, probe)


def _chosen(header: list[str], body: list[list[str]], wanted: ReadOptions, probe: Probe) -> Wide:
    """Take the workers' columns and the item's; the others are noted, and one that knows the truth is gold."""
    names, every = header, list(zip(*body, strict=True))
    header, cells = _with_joint_item(names, every, wanted.item_column)
    columns = [[cell.strip() for cell in column] for column in cells]
    item, notes = choose_item(header, cells, wanted)  # names as they are: white space may be what tells them apart
    workers, left, known = choose_workers(header, columns, wanted, probe.shown, item)
    if item is None and left and left[0] == 0 and len(set(cells[0])) == len(cells[0]):
        item, left, notes = 0, left[1:], []
    items = None if item is None else cells[item]
    name = "row" if item is None else header[item] or "first column"
    odd = [*odd_ones(header, columns, workers), *same_answers(header, columns, workers)] if wanted.worker_columns else []
    notes = [*notes, *not_workers([header[n] for n in left]), *odd, *opposed(header, columns, workers)]
    beside = naming_rows(header, columns, [n for n in range(len(header)) if n not in workers])
    called, of_part = names_of_workers(header, workers)
    labels = [cells[n] for n in workers]
    table = wide_texts(items, called, labels, probe.path.name, name, [*notes, *of_part], beside)
    table = _with_gaps(table, wanted, probe)
    facts = ([cell.strip() for cell in column] for column in every)
    table = replace(table, about=facts_table(names, [table.items.to_pylist(), *facts], probe.path.name))
    if known is None:
        return table
    labels = _labels(
        text_column([cell if not is_nothing(cell) else "" for cell in columns[known]], probe.path.name)
    ).to_pylist()
    gold = gold_table(zip(table.items.to_pylist(), labels, strict=True), probe.path.name)
    note = f"The column {shown(header[known])} was taken for what was decided in the end, as gold."
    return replace(table, gold=gold, notes=(*table.notes, note))


def _with_gaps(table: Wide, wanted: ReadOptions, probe: Probe) -> Wide:
    """Return a table without the words that mean no label; JSON has a word of its own for that."""
    if probe.kind == "records":
        return table
    labels, said = without_gaps(table.labels, wanted, probe.shown)
    return replace(table, labels=labels, notes=(*table.notes, *said))


def _with_joint_item(
    header: list[str], cells: Sequence[Sequence[str]], item: str | None
) -> tuple[list[str], Sequence[Sequence[str]]]:
    """Return names and columns, with one column for those that make the item together, called as they were given.

    >>> _with_joint_item(["doc", "turn", "ann"], [["p", "p"], ["1", "2"], ["x", "y"]], "doc,turn")
    (['ann', 'doc,turn'], [['x', 'y'], ['p | 1', 'p | 2']])
    """
    parts = [] if item is None else split_names(item, header)
    if item is None or len(parts) < 2:
        return header, cells
    for part in parts:
        check_given("item", part, header)
    joint = join_cells([pa.array(cells[header.index(part)], pa.string()) for part in parts]).to_pylist()
    rest = [n for n, name in enumerate(header) if name not in parts]
    return [*(header[n] for n in rest), item], [*(cells[n] for n in rest), [cell or "" for cell in joint]]


def _is_headless(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether every cell, the first line's too, is one of a few classes: a matrix of labels without names."""
    first, *below = ([cell.strip() for cell in row if not is_nothing(cell)] for row in rows)
    cells = [cell for row in below for cell in row]
    if not first or not set(first) <= set(cells) or not are_classes(cells) or len(rows[0]) < 2 or _is_apart(rows):
        return False
    return len(rows[0]) > FULL_COLUMNS or any(is_nothing(cell) for row in rows for cell in row)


def _is_apart(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether some column of several values shares none with the others: names, not a worker's labels.

    >>> _is_apart([["Alex", "1", "2"], ["Paul", "2", "1"], ["Alex", "1", "1"]]), _is_apart([["a", "b"], ["b", "a"]])
    (True, False)
    """
    width = min(map(len, rows))
    held = [{row[n].strip() for row in rows if not is_nothing(row[n])} for n in range(width)]
    return any(len(own) > 1 and not any(own & held[m] for m in range(width) if m != n) for n, own in enumerate(held))


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
        rows = [row for row in probe.dialect.reader(io.StringIO(text, newline="")) if row]
    except csv.Error:
        raise DataError(f"{probe.shown} is not a table of separated values; export it again.") from None
    if rows and len(rows[0]) + 1 == len(probe.header):
        rows[0] = ["", *rows[0]]  # the names of rows, for which a header by R has none
    return rows


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
        inner = {name for row in whole.values() for name in row}
        complete = all(row.keys() == inner for row in whole.values())
        if all(map(str.isdigit, inner)) and (complete or not all(map(str.isdigit, whole))):  # columns of rows, by pandas
            whole = {row: {name: column.get(row) for name, column in whole.items()} for row in next(iter(whole.values()))}
        named = [{"": name, **row} for name, row in whole.items()]
    else:
        named = list(probe.rows()) if only_list(whole) else [value for value in probe.values() if isinstance(value, dict)]
    if named and all(isinstance(cell, dict) for row in named for cell in row.values()):
        raise DataError(f"{probe.shown} holds objects within objects where a table with a column for each worker has labels.")
    if any(isinstance(cell, dict) for row in named for cell in row.values()):  # such as each judge's verdict
        named = [{name: cell for name, cell in flat(row).items() if not isinstance(cell, dict)} for row in named]
    names = list(dict.fromkeys(name for row in named for name in row))
    if not names:
        raise DataError(f"No labels found: {probe.shown} holds no objects with names and labels.")
    return [names, *([as_name(row.get(name)) or "" for name in names] for row in named)]


def _alike(columns: list[pa.Array]) -> list[pa.Array]:
    """Return columns of one type: categories of the same order as they are, numbers as numbers, all else as text."""
    orders = [column.dictionary for column in columns if pa.types.is_dictionary(column.type)]
    if len({column.type for column in columns}) == 1 and all(order.equals(orders[0]) for order in orders):
        return columns
    columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    given = [column for column in columns if column.null_count < len(column)] or columns
    if all(pa.types.is_integer(column.type) or pa.types.is_floating(column.type) for column in given):
        return [column.cast(pa.float64()) for column in columns]
    if len({column.type for column in given}) == 1:
        return [column.cast(given[0].type) for column in columns]
    return [mixed_column(column.to_pylist()) for column in columns]
