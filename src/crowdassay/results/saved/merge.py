"""New labels beside those of a model: known ones are not counted again, conflicts follow the policy, the rest is added."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import ImportReport
from crowdassay.labels.values import as_text, counted, shown
from crowdassay.read_options import REPEAT_POLICIES


@dataclass(frozen=True, eq=False)
class Sifted:
    """What of new labels is to be taken in.

    Attributes
    ----------
    old : Labels
        The model's labels, less those that newer ones replace.
    new : Labels or None
        Those to add; None where there are none.
    known, left_out, replaced : int
        New labels that the model had word for word; that gave way to older ones; old labels that gave way to new ones.
    """

    old: Labels
    new: Labels | None
    known: int
    left_out: int
    replaced: int


def sift(old: Labels, new: Labels, repeats: str = "keep") -> Sifted:
    """Compare new labels with those of a model, in the same classes.

    A label is known if the model has it: same item, worker and class, as many times. Other labels of a worker on an item that
    the worker has labelled before follow ``repeats``: keep all, keep the first, keep the last (the new one), or refuse.
    """
    if repeats not in REPEAT_POLICIES:
        raise ParameterError(f"repeats must be one of {', '.join(REPEAT_POLICIES)}, not {shown(repeats)}.")
    _, item_of = join_names(old.items, new.items)
    workers, worker_of = join_names(old.workers, new.workers)
    pair = item_of[new.label_item] * len(workers) + worker_of[new.worker]
    old_pair = old.label_item * len(workers) + old.worker
    near = np.isin(old_pair, pair)  # few, as a rule
    known = _known(pair * old.n_classes + new.label, old_pair[near] * old.n_classes + old.label[near])
    met = ~known & np.isin(pair, old_pair[near])
    gone = np.zeros(old.n_labels, bool)
    keep = ~known
    if repeats == "error" and met.any():
        row = int(np.flatnonzero(met)[0])
        worker, item = new.workers[int(new.worker[row])].as_py(), new.items[int(new.label_item[row])].as_py()
        raise DataError(
            f"A worker may judge an item once, but the model has another label by worker {shown(worker)} on item {shown(item)} "
            f"({counted(int(met.sum()), 'such label')} in all); choose --repeats keep, first or last."
        )
    if repeats == "first":
        keep &= ~met
    if repeats == "last":
        gone = np.isin(old_pair, pair[met])
    left_out = int(met.sum()) if repeats == "first" else 0
    if gone.any():  # all items and workers are kept
        sizes = np.bincount(old.label_item[~gone], minlength=old.n_items)
        old = replace(old, starts=np.append(0, np.cumsum(sizes)), worker=old.worker[~gone], label=old.label[~gone])
    return Sifted(old, _some(new, keep), int(known.sum()), left_out, int(gone.sum()))


def _known(new: IntArray, old: IntArray) -> BoolArray:
    """Return which of the new labels (n_new,) the old ones hold: of several that are alike, as many as there are old ones."""
    values, counts = np.unique(old, return_counts=True)
    order = np.argsort(new, kind="stable")
    ranked = new[order]
    rank = np.arange(len(new)) - np.searchsorted(ranked, ranked)  # 0 for the first of those alike, 1 for the second ...
    place = np.minimum(np.searchsorted(values, ranked), max(len(values) - 1, 0))
    repeated = np.zeros(len(new), bool)
    if len(values):
        repeated[order] = (values[place] == ranked) & (rank < counts[place])
    return repeated


def _some(labels: Labels, keep: BoolArray) -> Labels | None:
    """Return some of the labels, with the names that these need; None if there are none."""
    if keep.all():
        return labels
    if not keep.any():
        return None
    items, item = np.unique(labels.label_item[keep], return_inverse=True)
    workers, worker = np.unique(labels.worker[keep], return_inverse=True)
    some = Labels.from_codes(
        item,
        worker,
        labels.label[keep],
        items=labels.items.take(pa.array(items)),
        workers=labels.workers.take(pa.array(workers)),
        classes=labels.classes,
        report=labels.report,
        frame=labels.frame,
    )
    return some.with_gold(labels.gold[items].astype(np.int64)) if (labels.gold[items] >= 0).any() else some


def merge(old: Labels, new: Labels) -> tuple[Labels, IntArray]:
    """Return all labels together, and the codes of the items that got new ones; old codes stay what they are."""
    items, item_of = join_names(old.items, new.items)
    workers, worker_of = join_names(old.workers, new.workers)
    item = item_of[new.label_item]
    order = np.argsort(item, kind="stable")
    item = item[order]
    ends = np.append(old.starts, np.full(len(items) - old.n_items, old.starts[-1]))[1:]
    where = ends[item]  # new labels of an item come after its old ones
    sizes = np.append(np.diff(old.starts), np.zeros(len(items) - old.n_items, np.int64))
    sizes += np.bincount(item, minlength=len(items))
    gold = np.append(old.gold, np.full(len(items) - old.n_items, -1, np.int32))
    told = new.gold >= 0
    gold[item_of[told]] = new.gold[told]
    labels = Labels(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.insert(old.worker, where, worker_of[new.worker[order]].astype(np.int32)),
        np.insert(old.label, where, new.label[order]),
        items,
        workers,
        old.classes,
        gold,
        join_reports(old.report, new.report),
        old.frame,
    )
    return labels, np.unique(item)


def join_reports(old: ImportReport, new: ImportReport) -> ImportReport:
    """Return what was read and what was dropped in all."""
    reasons = {**old.dropped, **new.dropped}
    return replace(
        old,
        rows_read=old.rows_read + new.rows_read,
        rows_kept=old.rows_kept + new.rows_kept,
        dropped={reason: old.dropped.get(reason, 0) + new.dropped.get(reason, 0) for reason in reasons},
        repeats=old.repeats + new.repeats,
        conflicts=old.conflicts + new.conflicts,
        notes=tuple(dict.fromkeys((*old.notes, *new.notes))),
    )


def join_names(old: pa.Array, new: pa.Array) -> tuple[pa.Array, IntArray]:
    """Append what is new to a vocabulary; return it and the code in it of every value of ``new``. Ids compare as text."""
    texts = as_text(new)
    place = pc.index_in(as_text(old), value_set=texts)  # the small one is hashed, the large one passes by
    known = np.flatnonzero(np.asarray(place.is_valid()))
    codes = np.full(len(new), -1, np.int64)
    codes[np.asarray(place.drop_null())] = known
    fresh = np.flatnonzero(codes < 0)
    codes[fresh] = len(old) + np.arange(len(fresh))
    added = texts.take(pa.array(fresh))
    try:
        return pa.concat_arrays([old, added.cast(old.type)]), codes
    except pa.ArrowException:  # numbers so far, and now an id that is none
        return pa.concat_arrays([as_text(old), added]), codes
