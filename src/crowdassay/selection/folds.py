"""Deal labels into folds so that every item's and every worker's labels spread over them."""

from __future__ import annotations

import numba as nb
import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.data.labels import Labels
from crowdassay.errors import ParameterError


def deal(labels: Labels, n_folds: int, generator: np.random.Generator) -> IntArray:
    """Return the fold of every label, shape (n_labels,).

    In random order each label goes to the fold that has the fewest labels of its item, among those the fewest of its
    worker, and among those the fewest of all. So the labels of an item are spread evenly, to within one.
    """
    if not 2 <= n_folds <= labels.n_labels:
        raise ParameterError(f"The number of folds must lie between 2 and the number of labels, not {n_folds}.")
    order = generator.permutation(labels.n_labels)
    return _deal(order, labels.label_item, labels.worker, labels.n_items, labels.n_workers, n_folds)


@nb.njit(cache=True)
def _deal(order, item, worker, n_items, n_workers, n_folds):  # type: ignore[no-untyped-def]
    of_item = np.zeros((n_items, n_folds), np.int32)
    of_worker = np.zeros((n_workers, n_folds), np.int32)
    of_all = np.zeros(n_folds, np.int64)
    fold = np.empty(len(order), np.int64)
    for n in order:
        j, i = item[n], worker[n]
        best = 0
        for f in range(1, n_folds):
            if of_item[j, f] != of_item[j, best]:
                better = of_item[j, f] < of_item[j, best]
            elif of_worker[i, f] != of_worker[i, best]:
                better = of_worker[i, f] < of_worker[i, best]
            else:
                better = of_all[f] < of_all[best]
            if better:
                best = f
        fold[n] = best
        of_item[j, best] += 1
        of_worker[i, best] += 1
        of_all[best] += 1
    return fold


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
