"""Deal labels into folds so that every item's and every worker's labels spread over them."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.labels import Labels


def deal(labels: Labels, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Return the fold of every label, shape (n_labels,).

    In random order each label goes to the fold that has the fewest labels of its item, among those the fewest of its
    worker, and among those the fewest of all. So the labels of an item are spread evenly, to within one.
    """
    if not 2 <= n_folds <= labels.n_labels:
        raise ParameterError(f"The number of folds must lie between 2 and the number of labels, not {n_folds}.")
    from crowdassay.engines.kernels.folds import deal as dealt  # noqa: PLC0415  numba loads on first use

    order = generator.permutation(labels.n_labels)
    return np.asarray(dealt(order, labels.label_item, labels.worker, labels.n_items, labels.n_workers, n_folds))


def keep(labels: Labels, chosen: np.ndarray) -> Labels:
    """Return the chosen labels (a mask of shape (n_labels,)) with the vocabularies and the gold of all."""
    return Labels.from_codes(
        labels.label_item[chosen],
        labels.worker[chosen],
        labels.label[chosen],
        items=labels.items,
        workers=labels.workers,
        classes=labels.classes,
        report=labels.report,
        frame=labels.frame,
    ).with_gold(labels.gold)
