"""Encode three columns, whatever they came from, as `Labels`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.classes import arrange_classes, check_classes, many_classes
from crowdassay.labels.coding import Codes, code_column, recode
from crowdassay.labels.labels import COMPILED_LABELS, ImportReport, Labels
from crowdassay.labels.repeats import Repeats, any_repeats, find_repeats, repeat_notes
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.similar import similar_workers
from crowdassay.labels.values import counted, is_text, listed, shown
from crowdassay.read_options import REPEAT_POLICIES


def encode(
    item: pa.Array | pa.ChunkedArray,
    worker: pa.Array | pa.ChunkedArray,
    label: pa.Array | pa.ChunkedArray,
    *,
    classes: Iterable[Any] | None = None,
    repeats: str = "keep",
    allow_drops: bool = False,
    time: NDArray[Any] | None = None,
    extras: Mapping[str, FloatArray] | None = None,
    text: pa.Array | pa.ChunkedArray | None = None,
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
    vanished = len(coded[0][1])
    coded, dropped, kept = _drop_missing(coded)
    vanished -= len(coded[0][1])
    beside = {name: values if kept is None else values[kept] for name, values in (extras or {}).items()}
    time = time if time is None or kept is None else time[kept]
    (item_codes, items), (worker_codes, workers), (label_codes, values) = coded
    if len(item_codes) == 0:
        why = f"all {rows_read} rows miss a value ({_counts(dropped)})" if rows_read else "there are no rows"
        raise DataError(f"No labels found in {source}: {why}; check the file and the column names.")
    parts = np.array_split(label_codes, 1 + len(label_codes) // COMPILED_LABELS)  # each is counted as int64
    counts = np.sum([np.bincount(part, minlength=len(values)) for part in parts], axis=0)
    class_values, class_of, notes = arrange_classes(values, counts, classes)
    class_codes = class_of.astype(np.int16)[label_codes]
    del coded, label_codes  # as large as the file
    if sum(dropped.values()) * 2 > rows_read:
        if not allow_drops:
            raise DataError(
                f"More than half of the {rows_read} rows in {source} miss a value ({_counts(dropped)}); check the file and the "
                "column names, or say --allow-drops."
            )
        notes.insert(0, f"More than half of the rows were dropped ({_counts(dropped)}); check the file and the column names.")
    notes.extend([*vanished_items(vanished), *similar_workers(workers)])
    notes.extend(many_classes(class_values, given=classes is not None))
    vocabularies = {"items": items, "workers": workers, "classes": class_values}
    labels = Labels.from_codes(item_codes, worker_codes, class_codes, **vocabularies, frame=frame)
    again: Repeats | None = None
    rows: Any = slice(None)
    if any_repeats(labels.starts, labels.worker):
        again = find_repeats(item_codes, worker_codes, class_codes, len(workers), time)
    if again:
        by = "in row order" if time is None else f"by the time column {shown((columns or {}).get('time', 'time'))}"
        notes.extend(_notes_on(again, repeats, by, lambda row: (workers[int(worker_codes[row])], items[int(item_codes[row])])))
        if repeats in {"first", "last"}:
            keep = np.ones(len(item_codes), bool)
            keep[again.not_first if repeats == "first" else again.not_last] = False
            labels = Labels.from_codes(item_codes[keep], worker_codes[keep], class_codes[keep], **vocabularies, frame=frame)
            rows = keep
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
        order="given" if classes is not None else "natural" if labels.numeric or not is_text(values.type) else "alphabetical",
    )
    if beside:
        order = np.argsort(item_codes[rows], kind="stable")  # as the labels themselves were sorted
        labels = replace(labels, **{name: values[rows][order] for name, values in beside.items()})
    if text is not None:
        shows = text if kept is None else text.filter(pa.array(kept))
        labels = replace(labels, item_text=_first_texts(shows, item_codes, len(items)))
    return replace(labels, report=report)


def vanished_items(count: int) -> list[str]:
    """Note items that have rows but no label that counts.

    >>> vanished_items(2)
    ['2 items are left without any label, and not in the result.']
    """
    if not count:
        return []
    return [f"{counted(count, 'item')} {'is' if count == 1 else 'are'} left without any label, and not in the result."]


def _coded(*columns: pa.Array | pa.ChunkedArray) -> list[tuple[Codes, pa.Array]]:
    first, *others = zip(columns, ITEM_WORKER_LABEL, strict=True)
    if len(columns[0]) < COMPILED_LABELS:
        with ThreadPoolExecutor(1) as helper:  # items take about as long as the other two
            rest = helper.submit(lambda: [code_column(*column) for column in others])
            return [code_column(*first), *rest.result()]
    coded = [code_column(*column) for column in (first, *others)]  # a long column takes all cores, and much memory, by itself
    pa.default_memory_pool().release_unused()  # hash tables, as large as the column of items
    return coded


def _first_texts(text: pa.Array | pa.ChunkedArray, item_codes: Codes, n_items: int) -> pa.Array:
    first = np.zeros(n_items, np.int64)
    first[item_codes[::-1]] = np.arange(len(item_codes))[::-1]
    return text.take(pa.array(first)).combine_chunks() if isinstance(text, pa.ChunkedArray) else text.take(pa.array(first))


def check_options(classes: Iterable[Any] | None, repeats: str) -> None:
    """Refuse options that make no sense before any file is read."""
    if repeats not in REPEAT_POLICIES:
        raise ParameterError(f"repeats must be one of {listed(REPEAT_POLICIES)}, not {shown(repeats)}.")
    if classes is not None:
        check_classes(classes)


def _drop_missing(
    coded: list[tuple[Codes, pa.Array]],
) -> tuple[list[tuple[Codes, pa.Array]], dict[str, int], BoolArray | None]:
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


def _counts(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{reason}: {count}" for reason, count in dropped.items())


def _notes_on(repeats: Repeats, policy: str, by: str, pair_at: Callable[[int], tuple[pa.Scalar, pa.Scalar]]) -> list[str]:
    def pair(row: int) -> str:
        worker, item = pair_at(row)
        return f"worker {shown(worker.as_py())} on item {shown(item.as_py())}"

    return repeat_notes(
        policy, by, repeats.count, pair(repeats.earliest), repeats.conflicts, [pair(int(row)) for row in repeats.conflict_rows]
    )
