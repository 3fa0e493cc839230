"""Small problems that many tests share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.labels.labels import Labels


def random_labels(seed: int, n_items: int = 12, n_workers: int = 6, n_classes: int = 3, gold: int = 0) -> Labels:
    """Ragged labels: the first item has one, the last worker has one, some pairs repeat."""
    generator = np.random.default_rng(seed)
    item = [0, *np.repeat(np.arange(1, n_items), generator.integers(1, 6, n_items - 1))]
    worker = [*generator.integers(n_workers - 1, size=len(item) - 1), n_workers - 1]
    label = generator.integers(n_classes, size=len(item))
    labels = Labels.from_codes(
        np.array(item),
        np.array(worker),
        label,
        items=pa.array([f"i{j}" for j in range(n_items)]),
        workers=pa.array([f"w{i}" for i in range(n_workers)]),
        classes=pa.array([f"c{c}" for c in range(n_classes)]),
    )
    known = np.full(n_items, -1)
    known[:gold] = generator.integers(n_classes, size=gold)
    return labels.with_gold(known)
