"""Take the labels of a few items back from a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.gpu.device import Array, to_host
from crowdassay.engines.gpu.layout import Group, Layout
from crowdassay.labels.labels import Labels


def gather(layout: Layout, gold: list[Array] | None, selection: ItemSelection, n_classes: int, xp: Any) -> Labels:
    """Return the selected items in their order, without names of items, workers and classes.

    Parameters
    ----------
    layout : Layout
    gold : list of array, optional
        Known classes of each group's items, -1 where unknown.
    selection : ItemSelection
    n_classes : int
    xp : module
        CuPy, or NumPy in the simulator.
    """
    marked = None if selection.workers is None else layout.by_place(xp.asarray(selection.workers), xp)
    numbers, lengths, codes, known = [], [], [], []
    for at, group in enumerate(layout.groups):
        in_order = isinstance(group.items, slice)
        items = xp.arange(group.items.start, group.items.stop) if in_order else xp.asarray(group.items)
        chosen = xp.zeros(group.n_items, bool)
        if selection.known and gold is not None:
            chosen |= xp.asarray(gold[at]).ravel() >= 0
        if selection.step:
            chosen |= items % selection.step == 0
        if marked is not None:
            chosen |= _labelled_by(group, marked, n_classes, xp)
        rows = to_host(xp.flatnonzero(chosen))
        begins, sizes, stride = _places(group, rows)
        at_label = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.repeat(begins, sizes) + stride * at_label
        codes.append(to_host(xp.asarray(group.codes)[xp.asarray(place)]).astype(np.int64))
        numbers.append(to_host(items[xp.asarray(rows)]))
        lengths.append(sizes)
        known.append(
            np.full(len(rows), -1, np.int32) if gold is None else to_host(xp.asarray(gold[at]).ravel()[xp.asarray(rows)])
        )
    size, code = np.concatenate(lengths), np.concatenate(codes)
    starts = np.concatenate([[0], np.cumsum(size)])
    order = np.argsort(np.concatenate(numbers), kind="stable")
    ends = np.concatenate([[0], np.cumsum(size[order])])
    code = code[np.arange(ends[-1]) + np.repeat(starts[:-1][order] - ends[:-1], size[order])]
    worker = code // n_classes
    if layout.first_place is not None:
        worker = np.searchsorted(to_host(layout.first_place), worker, side="right") - 1
    return Labels(
        ends, worker.astype(np.int32), (code % n_classes).astype(np.int16), pa.nulls(len(order)),
        pa.nulls(len(layout.label_counts)), pa.nulls(n_classes), np.concatenate(known)[order].astype(np.int32),
    )  # fmt: skip


def _places(group: Group, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where the labels of some items begin, how many they are, and how far apart they lie."""
    if group.threads == 1:
        return rows, np.full(len(rows), group.length), group.n_items
    starts = to_host(group.starts)
    return starts[rows], starts[rows + 1] - starts[rows], 1


def _labelled_by(group: Group, marked: Array, n_classes: int, xp: Any) -> Array:
    """Return which items of a group a marked place has labelled, (n_items,)."""
    by_marked = marked[xp.asarray(group.codes) // np.uint32(n_classes)]
    if group.threads == 1:
        return by_marked.reshape(group.length, group.n_items).any(axis=0)
    ends = xp.zeros(len(by_marked) + 1, np.int64)
    xp.cumsum(by_marked, out=ends[1:])
    starts = xp.asarray(group.starts)
    return ends[starts[1:]] > ends[starts[:-1]]
