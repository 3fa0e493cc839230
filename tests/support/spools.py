"""Spool labels that are in memory, to compare engines on the same labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay.arrays import CodeArray
from crowdassay.labels.labels import Labels
from crowdassay.labels.spool import Spool, SpoolWriter, block_size


def spool_labels(labels: Labels, folder: Path, size: int | None = None, truth: CodeArray | None = None) -> Spool:
    """Spool labels that are in memory, in blocks of about ``size`` labels; ``truth`` (n_items,) are codes to score against."""
    writer = SpoolWriter(folder, labels.n_workers, labels.n_classes)
    first, known = 0, np.full(labels.n_items, -1) if truth is None else truth
    while first < labels.n_items:
        wanted = labels.starts[first] + (size or block_size(labels.n_workers, labels.n_classes))
        last = max(int(np.searchsorted(labels.starts, wanted, "right")) - 1, first + 1)
        part, rows = slice(first, last), slice(labels.starts[first], labels.starts[last])
        counts = np.diff(labels.starts[first : last + 1])
        writer.add(counts, labels.worker[rows], labels.label[rows], labels.gold[part], known[part])
        first = last
    writer.name(pa.table({"item": labels.items}).to_batches(), labels.items.type)
    return Spool(
        folder,
        labels.workers,
        labels.classes,
        writer.worker_counts,
        writer.class_counts,
        np.array(writer.sizes),
        labels.report,
        int((labels.gold >= 0).sum()),
        None if truth is None else {"items": int((known >= 0).sum()), "unknown_items": 0},
    )
