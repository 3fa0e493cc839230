"""Read known classes, truth or gold, and match them to the items of `Labels`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.errors import DataError
from crowdassay.labels.cells import ArrowColumn
from crowdassay.labels.classes import class_coder
from crowdassay.labels.coding import Codes, code_column
from crowdassay.labels.labels import Labels
from crowdassay.labels.native import frame_columns, sequence_column
from crowdassay.labels.probe import probe
from crowdassay.labels.raw import as_utf8, check_file
from crowdassay.labels.report import gold_notes
from crowdassay.labels.roles import TRUTH_ROLES, AnyRole
from crowdassay.labels.source import open_source
from crowdassay.labels.sources import local_sources
from crowdassay.labels.values import as_text, listed, shown


def match_truth(
    labels: Labels, truth: Any, *, what: Literal["truth", "gold"] = "truth"
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
        class. Of truth that is refused, since a score without them would flatter.

    Examples
    --------
    >>> from crowdassay.labels.encode import encode
    >>> labels = encode(pa.array([1, 2]), pa.array(["ann", "ann"]), pa.array(["no", "yes"]))
    >>> match_truth(labels, {"2": "yes", "3": "no"})
    (array([-1,  1], dtype=int32), {'items': 1, 'unknown_items': 1})
    """
    item, items, label, values, booleans = _pairs(truth, what)
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
    return codes, counts if what == "truth" else {**counts, "unknown_labels": len(strangers)}


def take_gold(labels: Labels, gold: Any) -> Labels:
    """Return labels with the known classes of a file, frame or mapping; the report notes those that are of no use."""
    codes, counts = match_truth(labels, gold, what="gold")
    report = replace(labels.report, notes=(*labels.report.notes, *gold_notes(counts)))
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
    """Return what is said of a truth or gold without rows."""
    return DataError(f"The {what} holds no item with a label; check its columns.")


def two_labels(what: str, item: object, labels: Sequence[object]) -> DataError:
    """Return what is said of an item that is known to have two classes."""
    return DataError(f"The {what} gives item {shown(item)} different labels ({listed(labels)}); keep one.")


def no_class(what: str, item: object, label: object, classes: Sequence[str]) -> DataError:
    """Return what is said of a label that is none of the classes."""
    return DataError(
        f"The {what} gives item {shown(item)} the label {shown(label)}, which is not among the classes ({listed(classes)}); if "
        "it is one, give all classes with --classes."
    )


def none_matched(what: str, count: int, known_item: object, item: object) -> DataError:
    """Return what is said of a truth or gold of other items than those that have labels."""
    return DataError(
        f"None of the {count} {what} items appears in the labels (for example {shown(known_item)}, where the labels have "
        f"{shown(item)}); are the ids written the same way?"
    )


def _pairs(truth: Any, what: str) -> tuple[Codes, pa.Array, Codes, pa.Array, bool]:
    """Return the codes of known items and of their labels, with the texts of both, and whether labels are truth values."""
    item_column, label_column = truth_columns(truth)
    item, items = code_column(item_column, "item")
    label, values = code_column(label_column, what)
    present = (item >= 0) & (label >= 0)
    if not present.any():
        raise nothing_known(what)
    return item[present], as_text(items), label[present], as_text(values), pa.types.is_boolean(label_column.type)


def truth_columns(truth: Any) -> list[ArrowColumn]:
    """Take the item and label columns out of a file, frame, mapping or Series."""
    if isinstance(truth, str | Path):
        return list(read_truth(truth).columns)
    import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

    if nw.dependencies.is_pandas_series(truth):
        truth = truth.to_dict()  # the index holds the items
    if isinstance(truth, Mapping):
        return [sequence_column(list(truth.keys()), "item"), sequence_column(list(truth.values()), "label")]
    if taken := frame_columns(truth, TRUTH_ROLES, {}):
        return taken[0]
    raise DataError(f"Known classes cannot be read from a {type(truth).__name__}; give a file, a frame or a mapping.")


def read_truth(path: str | Path, *, item_column: str | None = None, label_column: str | None = None) -> pa.Table:
    """Read a truth or gold file as a table with text columns ``item`` and ``label``; rows without either are dropped.

    Parameters
    ----------
    path : str or Path
        Or what is elsewhere, as in `read_labels`.
    item_column, label_column : str, optional
        Found by name (``item``, ``truth``, ``gold``, ``label``...) when not given.
    """
    table = read_known(path, TRUTH_ROLES, {"item": item_column, "truth": label_column})
    return table.rename_columns(["item", "label"])


def read_known(path: str | Path, roles: Sequence[AnyRole], given: Mapping[str, str | None]) -> pa.Table:
    """Read what a file knows of items as a table with a text column for each role; rows without one of them are dropped."""
    with local_sources([path]) as (name,), as_utf8(check_file(name)[0]) as (text, _):
        seen = probe(text)
        table = open_source(seen, roles, given).read()
        seen.check_unchanged()
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        codes, vocabulary = code_column(column, name)
        columns[name] = as_text(vocabulary).take(pa.array(codes, mask=codes < 0))
    return pa.table(columns).drop_null()
