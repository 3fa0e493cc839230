"""Encode three columns, whatever they came from, as `Labels`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.classes import arrange_classes, check_classes, class_order, many_classes
from crowdassay.labels.coding import Codes, code_column, recode
from crowdassay.labels.labels import COMPILED_LABELS, Labels
from crowdassay.labels.repeats import Repeats, any_repeats, find_repeats, pair_name, repeat_notes
from crowdassay.labels.report import ImportReport, check_dropped, similar_workers, vanished_items
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.values import listed, shown
from crowdassay.read_options import REPEAT_POLICIES


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
    check_options(classes, repeats)
    rows_read = len(item)
    if not rows_read == len(worker) == len(label):
        raise DataError(f"The columns differ in length: {len(item)} items, {len(worker)} workers, {len(label)} labels.")
    coded = _coded(item, worker, label)
    n_items = len(coded[0][1])
    coded, dropped, kept = _drop_missing(coded)
    notes = check_dropped(rows_read, dropped, source, allow=allow_drops)
    (item_codes, items), (worker_codes, workers), (label_codes, values) = coded
    class_values, class_codes, class_notes = _code_classes(label_codes, values, classes)
    del coded, label_codes  # as large as the file
    notes += [*class_notes, *vanished_items(n_items - len(items)), *similar_workers(workers)]
    notes += many_classes(class_values, given=classes is not None)
    codes = (item_codes, worker_codes, class_codes)
    make = partial(Labels.from_codes, items=items, workers=workers, classes=class_values, frame=frame)
    labels = make(*codes)
    by = None if time is None else (columns or {}).get("time", "time")
    again = _find_repeats(labels, codes, time if time is None or kept is None else time[kept])
    rows = None if again is None else again.kept(repeats, len(item_codes))
    if again is not None:
        notes += _notes_on(again, repeats, by, codes, labels)
    if again is not None and rows is not None:
        labels = make(*(column[rows] for column in codes))
        dropped["repeated judgement"] = again.count
    report = ImportReport(
        source=source,
        columns=dict(columns or {}),
        rows_read=rows_read,
        rows_kept=labels.n_labels,
        dropped=dropped,
        repeats=again.count if again else 0,
        conflicts=again.conflicts if again else 0,
        repeats_policy=repeats,
        notes=tuple(notes),
        order=class_order(class_values, given=classes is not None),
    )
    if extras:
        numbers = {name: values if kept is None else values[kept] for name, values in extras.items()}
        labels = _with_numbers(labels, numbers, item_codes, rows)
    if text is not None:
        shows = text if kept is None else text.filter(pa.array(kept))
        labels = replace(labels, item_text=_first_texts(shows, item_codes, len(items)))
    return replace(labels, report=report)


def check_options(classes: Iterable[Any] | None, repeats: str) -> None:
    """Refuse options that make no sense before any file is read."""
    if repeats not in REPEAT_POLICIES:
        raise ParameterError(f"repeats must be one of {listed(REPEAT_POLICIES)}, not {shown(repeats)}.")
    if classes is not None:
        check_classes(classes)


def _coded(*columns: ArrowColumn) -> list[tuple[Codes, pa.Array]]:
    first, *others = zip(columns, ITEM_WORKER_LABEL, strict=True)
    if len(columns[0]) < COMPILED_LABELS:
        with ThreadPoolExecutor(1) as helper:  # items take about as long as the other two
            rest = helper.submit(lambda: [code_column(*column) for column in others])
            return [code_column(*first), *rest.result()]
    coded = [code_column(*column) for column in (first, *others)]  # a long column takes all cores, and much memory, by itself
    pa.default_memory_pool().release_unused()  # hash tables, as large as the column of items
    return coded


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


def _code_classes(
    codes: Codes, values: pa.Array, classes: Iterable[Any] | None
) -> tuple[pa.Array, NDArray[np.int16], list[str]]:
    """Return the classes in order, the class of every label, and notes."""
    parts = np.array_split(codes, 1 + len(codes) // COMPILED_LABELS)  # each is counted as int64
    counts = np.sum([np.bincount(part, minlength=len(values)) for part in parts], axis=0)
    class_values, class_of, notes = arrange_classes(values, counts, classes)
    return class_values, class_of.astype(np.int16)[codes], notes


def _find_repeats(labels: Labels, codes: Sequence[Any], time: NDArray[Any] | None) -> Repeats | None:
    if not any_repeats(labels.starts, labels.worker):
        return None
    item, worker, label = codes
    return find_repeats(item, worker, label, labels.n_workers, time)


def _notes_on(repeats: Repeats, policy: str, time_column: str | None, codes: Sequence[Any], labels: Labels) -> list[str]:
    item, worker, _ = codes
    first, *others = [
        pair_name(labels.workers[int(worker[row])].as_py(), labels.items[int(item[row])].as_py())
        for row in (repeats.earliest, *repeats.conflict_rows)
    ]
    return repeat_notes(policy, time_column, repeats.count, first, repeats.conflicts, others)


def _with_numbers(labels: Labels, numbers: Mapping[str, FloatArray], item_codes: Codes, rows: BoolArray | None) -> Labels:
    """Add numbers that go with the labels, in the order in which the labels themselves were sorted."""
    used = slice(None) if rows is None else rows
    order = np.argsort(item_codes[used], kind="stable")
    beside: dict[str, Any] = {name: values[used][order] for name, values in numbers.items()}
    return replace(labels, **beside)


def _first_texts(text: ArrowColumn, item_codes: Codes, n_items: int) -> pa.Array:
    first = np.zeros(n_items, np.int64)
    first[item_codes[::-1]] = np.arange(len(item_codes))[::-1]
    return text.take(pa.array(first)).combine_chunks() if isinstance(text, pa.ChunkedArray) else text.take(pa.array(first))
