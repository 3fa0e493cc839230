"""Encode columns as codes and vocabularies in order of first appearance, and three of them as `Labels`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn, as_array, blank, from_floats, not_one_value, refuse_infinite
from crowdassay.labels.classes import arrange_classes, class_order, many_classes
from crowdassay.labels.labels import COMPILED_LABELS, Labels
from crowdassay.labels.repeats import RepeatTotals, any_repeats
from crowdassay.labels.report import ImportReport, check_dropped, similar_names, vanished_items
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.values import as_text, counted, is_text

Codes = NDArray[np.int32]


def encode(
    item: ArrowColumn,
    worker: ArrowColumn,
    label: ArrowColumn,
    *,
    classes: Iterable[Any] | None = None,
    repeats: str = "keep",
    allow_drops: bool = False,
    time: NDArray[Any] | None = None,
    extras: Mapping[str, FloatArray] | None = None,
    text: ArrowColumn | None = None,
    source: str = "arrays",
    columns: Mapping[str, str] | None = None,
    frame: str = "pyarrow",
) -> Labels:
    """Encode one judgement per row as `Labels`, and report what happened on the way.

    Rows without item, worker or label are dropped and counted; all other values are kept as they are.

    Parameters
    ----------
    item, worker, label : pyarrow.Array or pyarrow.ChunkedArray, length n_rows
    classes : iterable, optional
        All classes in order; compared with the labels as text. Without it: by number if all are numbers, else sorted.
    repeats : {'keep', 'first', 'last', 'error'}
        What to do when a worker judged an item again.
    allow_drops : bool
        Go on even if more than half of the rows miss a value.
    time : ndarray of shape (n_rows,), optional
        By which the first and last judgement are told; otherwise by row.
    extras : mapping, optional
        Numbers of shape (n_rows,) that go with the labels: ``time`` and ``duration`` of `Labels`.
    text : pyarrow.Array or pyarrow.ChunkedArray, length n_rows, optional
        What the item of each row shows; the first of an item is kept.
    source, columns, frame
        Recorded in the result.

    Raises
    ------
    DataError
        If no row is left, or less than half, a label is not among `classes`, or repeats are not allowed.

    Examples
    --------
    >>> labels = encode(pa.array(["a", "a", "b"]), pa.array([7, 8, 7]), pa.array(["no", "yes", None]))
    >>> labels.n_labels, labels.class_names, labels.report.dropped
    (2, ('no', 'yes'), {'missing label': 1})
    """
    rows_read = len(item)
    if not rows_read == len(worker) == len(label):
        raise DataError(
            f"The columns differ in length: {counted(len(item), 'item')}, {counted(len(worker), 'worker')}, "
            f"{counted(len(label), 'label')}."
        )
    coded = [code_column(column, role) for column, role in zip((item, worker, label), ITEM_WORKER_LABEL, strict=True)]
    if rows_read >= COMPILED_LABELS:
        pa.default_memory_pool().release_unused()  # hash tables, as large as the column of items
    n_items = len(coded[0][1])
    coded, dropped, kept = _drop_missing(coded)
    notes = check_dropped(rows_read, dropped, source, allow=allow_drops)
    (item_codes, items), (worker_codes, workers), (label_codes, values) = coded
    parts = np.array_split(label_codes, 1 + len(label_codes) // COMPILED_LABELS)  # each is counted as int64
    counts = np.sum([np.bincount(part, minlength=len(values)) for part in parts], axis=0)
    class_values, class_of, class_notes = arrange_classes(values, counts, classes)
    codes = (item_codes, worker_codes, class_of.astype(np.int16)[label_codes])
    del coded, label_codes, parts  # as large as the file
    notes += [*class_notes, *vanished_items(n_items - len(items)), *similar_names(workers)]
    notes += many_classes(class_values, int(counts.sum()), given=classes is not None)
    beside: dict[str, Any] = {name: numbers if kept is None else numbers[kept] for name, numbers in (extras or {}).items()}
    make = partial(Labels.from_codes, items=items, workers=workers, classes=class_values, frame=frame)
    labels = make(*codes, **beside)
    repeated = RepeatTotals(repeats, None if time is None else (columns or {}).get("time", "time"))
    if any_repeats(labels.starts, labels.worker):
        rows = repeated.add(0, *codes, len(workers), time if time is None or kept is None else time[kept])
        notes += repeated.notes(lambda _, item, worker: (workers[worker], items[item]))
        if rows is not None:
            labels = make(*(column[rows] for column in codes), **{name: numbers[rows] for name, numbers in beside.items()})
            dropped["repeated judgement"] = repeated.left_out
    if text is not None:
        first = np.zeros(len(items), np.int64)
        first[item_codes[::-1]] = np.arange(len(item_codes))[::-1]
        shows = text if kept is None else text.filter(pa.array(kept))
        labels = replace(labels, item_text=as_array(shows.take(pa.array(first))))
    report = ImportReport(
        source=source,
        columns=dict(columns or {}),
        rows_read=rows_read,
        rows_kept=labels.n_labels,
        dropped=dropped,
        repeats=repeated.count,
        conflicts=repeated.conflicts,
        repeats_policy=repeats,
        notes=tuple(notes),
        order=class_order(class_values, given=classes is not None),
    )
    return replace(labels, report=report)


def _drop_missing(
    coded: list[tuple[Codes, pa.Array]],
) -> tuple[list[tuple[Codes, pa.Array]], dict[str, int], BoolArray | None]:
    """Leave out rows that miss a value; return how many by the first that is missing, and which are kept, None for all."""
    keep = np.ones(len(coded[0][0]), bool)
    dropped = {}
    for role, (codes, _) in zip(ITEM_WORKER_LABEL, coded, strict=True):
        missing = keep & (codes < 0)
        if count := int(np.count_nonzero(missing)):
            dropped[f"missing {role}"] = count
            keep &= ~missing
    if dropped:
        coded = [recode(codes[keep], vocabulary) for codes, vocabulary in coded]
    return coded, dropped, keep if dropped else None


def code_column(column: ArrowColumn, role: str) -> tuple[Codes, pa.Array]:
    """Return the codes (n_rows,) and the vocabulary of a column; null, NaN, empty and blank values get the code -1.

    Text stays as it is, byte for byte. Floating-point columns become whole numbers when all values are whole, else text.
    Messages call the column by its ``role``.

    >>> codes, words = code_column(pa.array(["b", " ", None, "a", "b"]), "label")
    >>> codes.tolist(), words.to_pylist()
    ([0, -1, -1, 1, 0], ['b', 'a'])
    """
    chunked = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
    if chunked.null_count == len(chunked):
        return np.full(len(chunked), -1, np.int32), pa.array([], pa.string())
    codes, vocabulary = _numbered(_encodable(chunked, role))
    if pa.types.is_floating(vocabulary.type):
        refuse_infinite(vocabulary, role)
        vocabulary = from_floats(vocabulary)
        codes, vocabulary = _follow(codes, vocabulary.dictionary_encode())  # -0.0 and 0.0 are now one value
    elif is_text(vocabulary.type):
        vocabulary = vocabulary.cast(pa.string())
        empty = blank(vocabulary)
        if pc.any(empty).as_py():
            vocabulary = pc.if_else(empty, None, vocabulary)
            codes, vocabulary = _follow(codes, vocabulary.dictionary_encode())
    return codes, vocabulary


def text_cells(column: ArrowColumn, role: str) -> pa.Array:
    """Return a column as text, null where a cell is missing or blank."""
    codes, vocabulary = code_column(column, role)
    return as_text(vocabulary).take(pa.array(codes, mask=codes < 0))


def recode(codes: Codes, vocabulary: pa.Array) -> tuple[Codes, pa.Array]:
    """Renumber codes, all >= 0, by first appearance and forget values that do not occur."""
    fresh = pa.array(codes).dictionary_encode()
    return fresh.indices.to_numpy(), vocabulary.take(fresh.dictionary)


def _numbered(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Number the different values in order of appearance, null as -1 or as the empty text."""
    whole = pa.types.is_integer(column.type) and not column.null_count
    if len(column) >= COMPILED_LABELS and (whole or is_text(column.type)):
        from crowdassay.labels.distinct import number_texts  # noqa: PLC0415 - numba is slow to load

        return number_texts(column)
    encoded = column.dictionary_encode().combine_chunks()
    return np.array(encoded.indices.fill_null(-1)), encoded.dictionary


def _encodable(column: pa.ChunkedArray, role: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _encodable(column.cast(kind.value_type), role)
    try:
        if isinstance(kind, pa.BaseExtensionType):  # UUIDs and the like, too rare to be quick about
            return pa.chunked_array([[None if value is None else str(value) for value in column.to_pylist()]], pa.string())
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return column.cast(pa.string())
        if pa.types.is_string_view(kind):
            return column.cast(pa.large_string())
        if pa.types.is_float16(kind):
            return column.cast(pa.float32())
        column.slice(0, 0).dictionary_encode()
    except pa.ArrowException:
        raise not_one_value(role, kind) from None
    return column


def _follow(codes: Codes, renamed: pa.DictionaryArray) -> tuple[Codes, pa.Array]:
    target = np.append(renamed.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    return target[codes], renamed.dictionary  # a code of -1 reads the last entry, which is -1
