"""Deal labels into folds one after the other, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np


@nb.njit(cache=True)
def deal(order, item, worker, n_items, n_workers, n_folds):
    """Return the fold (n_labels,) of every label, dealt in ``order``; see `crowdassay.estimators.selection.heldout.deal`."""
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
