"""Read known classes, truth or gold, and match them to the items of `Labels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import ColumnError, DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.classes import class_coder
from crowdassay.labels.encode import code_column, text_cells
from crowdassay.labels.expert_sheet import ExpertSheet, sheet_notes
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import frame_columns, sequence_column
from crowdassay.labels.report import gold_notes
from crowdassay.labels.roles import SHEET_ROLES
from crowdassay.labels.source import read_table
from crowdassay.labels.sources import local_sources
from crowdassay.labels.values import as_text, listed, shown, shown_file
from crowdassay.notes import NoteKind, kind_of
from crowdassay.read_options import join_names

Found = TypeVar("Found")
NOTHING_ANSWERED = {"items": 0, "unknown_items": 0, "unknown_labels": 0}  # of a sheet that is still empty


def match_truth(
    labels: Labels, truth: object, *, what: Literal["truth", "gold"] = "truth"
) -> tuple[NDArray[np.int32], dict[str, int]]:
    """Return the known class of every item.

    Ids and classes are compared as text, so numbers in a frame match those in a CSV file; classes equal as numbers match too.

    Parameters
    ----------
    labels : Labels
    truth : str, Path, frame or mapping
        A file or frame with columns for item and label, or a mapping (or pandas Series) from item to label.
    what : {'truth', 'gold'}
        What to call it in messages.

    Returns
    -------
    codes : ndarray of int32, shape (n_items,)
        -1 where unknown.
    counts : dict
        ``items`` matched, ``unknown_items`` that have no labels and, of gold, ``unknown_labels``: items whose label is no
        class. Of truth that is refused, since a score without them would flatter. Of an expert's sheet it is refused by row,
        and ``drawn`` of the items count as drawn at random: see `crowdassay.labels.expert_sheet`.

    Examples
    --------
    >>> from crowdassay.labels.encode import encode
    >>> labels = encode(pa.array([1, 2]), pa.array(["ann", "ann"]), pa.array(["no", "yes"]))
    >>> match_truth(labels, {"2": "yes", "3": "no"})
    (array([-1,  1], dtype=int32), {'items': 1, 'unknown_items': 1})
    """
    columns = truth_columns(truth, labels.report.columns.get("item"))
    sheet = ExpertSheet.of(columns)
    if sheet is not None:
        sheet.check(labels.classes)
        columns = sheet.columns()
        if not len(columns[0]):
            return np.full(labels.n_items, -1, np.int32), NOTHING_ANSWERED
    item_column, label_column, *_ = columns
    (item, items), (label, values) = code_column(item_column, "item"), code_column(label_column, what)
    present = (item >= 0) & (label >= 0)
    if not present.any():
        raise nothing_known(what)
    item, items, label, values = item[present], as_text(items), label[present], as_text(values)
    booleans = pa.types.is_boolean(label_column.type)
    meaning = meanings(values.to_pylist(), labels.classes, booleans=booleans)[label]
    known = np.full(len(items), -1)
    known[item[::-1]] = meaning[::-1]  # of several rows the first stays
    if len(clash := np.flatnonzero(meaning != known[item])):
        row, earlier = clash[0], np.argmax(item == item[clash[0]])
        raise two_labels(what, items[int(item[row])], [values[int(label[earlier])], values[int(label[row])]])
    where = pc.fill_null(pc.index_in(items, value_set=as_text(labels.items)), -1).to_numpy(zero_copy_only=False)
    found = (known != -1) & (where >= 0)
    matched, strangers = found & (known >= 0), np.flatnonzero(found & (known < -1))
    if len(strangers) and (what == "truth" or not matched.any()):
        which = strangers[0]
        raise no_class(what, items[int(which)], values[int(-2 - known[which])], labels.class_names)
    n_unknown = int(((known != -1) & (where < 0)).sum())
    if not matched.any():
        raise none_matched(what, n_unknown, items[int(item[0])], labels.items[0])
    codes = np.full(labels.n_items, -1, np.int32)
    codes[where[matched]] = known[matched]
    counts = {"items": int(matched.sum()), "unknown_items": n_unknown}
    if what == "truth":
        return codes, counts
    drawn = {} if sheet is None else sheet.counts(items.filter(pa.array(matched)).to_pylist())
    return codes, {**counts, "unknown_labels": len(strangers), **drawn}


def take_gold(labels: Labels, gold: object) -> Labels:
    """Return labels with the known classes of a file, frame or mapping; the report notes those that are of no use."""
    columns = truth_columns(gold, labels.report.columns.get("item"))
    codes, counts = match_truth(labels, columns, what="gold")
    said = [*sheet_notes(ExpertSheet.of(columns)), *gold_notes(counts)]
    report = replace(labels.report, notes=(*labels.report.notes, *said), drawn=counts.get("drawn", 0))
    return replace(labels.with_gold(codes), report=report)


def meanings(texts: Sequence[str], classes: pa.Array, *, booleans: bool = False) -> IntArray:
    """Return the class of each of some different texts (n_texts,).

    Texts that are no class stay apart from each other, below -1, so that conflicts among them show too: text n is -2 - n.

    >>> meanings(["yes", "maybe"], pa.array(["no", "yes"])).tolist()
    [1, -3]
    """
    code = class_coder(classes, booleans=booleans)
    class_of = np.array([code(text) for text in texts], np.int64)
    return np.where(class_of < 0, -2 - np.arange(len(class_of)), class_of)


def nothing_known(what: str) -> DataError:
    """Return the error for a truth or gold without rows."""
    return DataError(f"The {what} holds no item with a label; check its columns.")


def two_labels(what: str, item: object, labels: Sequence[object]) -> DataError:
    """Return the error for an item that is known to have two classes."""
    return DataError(f"The {what} gives item {shown(item)} different labels ({listed(labels)}); keep one.")


def no_class(what: str, item: object, label: object, classes: Sequence[str]) -> DataError:
    """Return the error for a label that is none of the classes."""
    return DataError(
        f"The {what} gives item {shown(item)} the label {shown(label)}, which is not among the classes ({listed(classes)}); if "
        "it is one, give all classes with --classes."
    )


def none_matched(what: str, count: int, known_item: object, item: object) -> DataError:
    """Return the error for a truth or gold of other items than those that have labels."""
    return DataError(
        f"None of the {count} {what} items appears in the labels (for example {shown(known_item)}, where the labels have "
        f"{shown(item)}); are the ids written the same way?"
    )


def truth_columns(truth: object, item: str | None = None) -> list[ArrowColumn]:
    """Take the item and label columns out of a file, frame, mapping or Series; and ``drawn``, where there is one.

    ``item`` is the column, or the columns, that tell items in the labels: they do so here as well, if they are here.
    """
    if isinstance(truth, list) and truth and all(isinstance(one, pa.Array | pa.ChunkedArray) for one in truth):
        return truth  # they were taken out before
    if isinstance(truth, str | Path):
        return list(as_in_labels(partial(read_known, truth), item).columns)
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    if nw.dependencies.is_pandas_series(truth):
        truth = truth.to_dict()  # the index holds the items
    if isinstance(truth, Mapping):
        return [sequence_column(list(truth.keys()), "item"), sequence_column(list(truth.values()), "label")]
    if taken := as_in_labels(lambda given: frame_columns(truth, SHEET_ROLES, given), item):
        return taken[0]
    raise DataError(f"Known classes cannot be read from a {type(truth).__name__}; give a file, a frame or a mapping.")


def as_in_labels(read: Callable[[Mapping[str, str | None]], Found], item: str | None) -> Found:
    """Read known classes by the columns that tell items in the labels; by what columns are called where these are not there."""
    if item is not None:
        with suppress(ColumnError):
            return read({"item": item})
    return read({})


def read_truth(
    path: str | Path,
    *,
    item_column: str | Sequence[str] | None = None,
    label_column: str | None = None,
    like: str | None = None,
) -> pa.Table:
    """Read a truth or gold file as a table with text columns ``item`` and ``label``; rows without either are dropped.

    Parameters
    ----------
    path : str or Path
        Or what is elsewhere, as in `read_labels`.
    item_column : str or list of str, optional
        Several columns name the item together. Found by name (``item``...) when not given.
    label_column : str, optional
        Found by name (``truth``, ``gold``, ``label``...) when not given.
    like : str, optional
        What tells items in the labels; taken where no column was given and the file has it.
    """
    item = item_column if item_column is None or isinstance(item_column, str) else join_names(item_column)

    def read(given: Mapping[str, str | None]) -> pa.Table:
        return read_known(path, {"item": item, "truth": label_column, **given})

    return as_in_labels(read, like if item is None else None).select(["item", "label"]).drop_null()


def read_known(path: str | Path, given: Mapping[str, str | None]) -> pa.Table:
    """Read what a file knows of items as text columns ``item``, ``label`` and, where it has one, ``drawn``; all of its rows."""
    with local_sources([path]) as (name,):
        table, _, notes = read_table(name, SHEET_ROLES, given)
    if any(kind_of(note) is NoteKind.OTHER_SHEETS for note in notes):  # nobody would see which was read
        raise DataError(
            f"{shown_file(path)} has several sheets; save the one that is meant as a workbook of its own, or as CSV."
        )
    names = ["label" if name == "truth" else name for name in table.column_names]
    return pa.table([text_cells(table[name], name) for name in table.column_names], names)
