"""Labels that a model has already: known ones are not counted again, and conflicts follow the policy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import shown
from crowdassay.read_options import REPEAT_POLICIES
from crowdassay.results.saved.names import join_names


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
            f"({int(met.sum())} such labels in all); choose --repeats keep, first or last."
        )
    if repeats == "first":
        keep &= ~met
    if repeats == "last":
        gone = np.isin(old_pair, pair[met])
    left_out = int(met.sum()) if repeats == "first" else 0
    return Sifted(_without(old, gone) if gone.any() else old, _some(new, keep), int(known.sum()), left_out, int(gone.sum()))


def _known(new: IntArray, old: IntArray) -> BoolArray:
    """Tell which of the new labels (n_new,) the old ones hold: of several that are alike, as many as there are old ones."""
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


def _without(labels: Labels, gone: BoolArray) -> Labels:
    """Return labels less some, all items and workers kept."""
    sizes = np.bincount(labels.label_item[~gone], minlength=labels.n_items)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return replace(labels, starts=starts, worker=labels.worker[~gone], label=labels.label[~gone])
