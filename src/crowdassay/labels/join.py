"""Take some items out of labels, and put labels of several sets of items together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels


def take_items(labels: Labels, rows: IntArray, *, named: bool = True) -> Labels:
    """Return the labels of some items (n_rows,), in that order; without their names unless these are wanted."""
    sizes = np.diff(labels.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(starts[-1]) + np.repeat(labels.starts[:-1][rows] - starts[:-1], sizes)
    return replace(
        labels,
        starts=starts,
        worker=labels.worker[chosen],
        label=labels.label[chosen],
        gold=labels.gold[rows],
        items=labels.items.take(pa.array(rows)) if named else pa.nulls(len(rows)),
        time=None if labels.time is None else labels.time[chosen],
        duration=None if labels.duration is None else labels.duration[chosen],
        item_text=labels.item_text.take(pa.array(rows)) if named and labels.item_text is not None else None,
    )


def slice_items(labels: Labels, first: int, last: int) -> Labels:
    """Return the labels of the items from ``first`` up to ``last``, without names or anything else that goes with labels."""
    starts = labels.starts[first : last + 1]
    rows = slice(starts[0], starts[-1])
    n_items = len(starts) - 1
    return Labels(
        starts - starts[0],
        labels.worker[rows],
        labels.label[rows],
        pa.nulls(n_items),
        labels.workers,
        labels.classes,
        labels.gold[first:last],
    )


def without_absent_workers(labels: Labels) -> tuple[Labels, IntArray]:
    """Return the labels with those workers alone who gave some, and the codes (n_present,) that these had before."""
    present, worker = np.unique(labels.worker, return_inverse=True)
    fewer = replace(labels, worker=worker.astype(np.int32), workers=labels.workers.take(pa.array(present)))
    return fewer, present.astype(np.int64)


def join_items(parts: Sequence[Labels]) -> Labels:
    """Return the labels of several sets of items together, of the same workers and classes."""
    sizes = np.concatenate([np.diff(labels.starts) for labels in parts])
    texts = [labels.item_text for labels in parts if labels.item_text is not None]
    return replace(
        parts[0],
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        worker=np.concatenate([labels.worker for labels in parts]),
        label=np.concatenate([labels.label for labels in parts]),
        gold=np.concatenate([labels.gold for labels in parts]),
        items=pa.concat_arrays([labels.items for labels in parts]),
        time=_together([labels.time for labels in parts]),
        duration=_together([labels.duration for labels in parts]),
        item_text=pa.concat_arrays(texts) if len(texts) == len(parts) else None,
    )


def _together(columns: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return numbers that go with the labels; None where some part has none."""
    known = [column for column in columns if column is not None]
    return np.concatenate(known) if len(known) == len(columns) else None
