"""Take some items out of labels, and put labels of several sets of items together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels


def take_items(labels: Labels, rows: IntArray, *, named: bool = True) -> Labels:
    """Return the labels of some items (n_rows,), in that order; without their names unless these are wanted."""
    sizes = np.diff(labels.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(starts[-1]) + np.repeat(labels.starts[:-1][rows] - starts[:-1], sizes)
    items = labels.items.take(pa.array(rows)) if named else pa.nulls(len(rows))
    return replace(
        labels,
        starts=starts,
        worker=labels.worker[chosen],
        label=labels.label[chosen],
        gold=labels.gold[rows],
        items=items,
        time=None if labels.time is None else labels.time[chosen],
        duration=None if labels.duration is None else labels.duration[chosen],
        item_text=None if labels.item_text is None else labels.item_text.take(pa.array(rows)),
    )


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
        time=_joined([labels.time for labels in parts]),
        duration=_joined([labels.duration for labels in parts]),
        item_text=None if len(texts) < len(parts) else pa.concat_arrays(texts),
    )


def _joined(arrays: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return arrays one after the other; None if any is missing."""
    whole = [array for array in arrays if array is not None]
    return np.concatenate(whole) if len(whole) == len(arrays) else None
