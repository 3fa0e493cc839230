"""The pass over pairs of workers who meet on the same items, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def compare_tables(starts, workers, labels, code, order, by_worker, item, tables, least, slots, edges, counts, rows):
    """Compare how often every two workers agree with how often their tables say they would.

    ``code`` (n_items,) is the class of each item; ``order`` and ``by_worker`` list labels by worker; ``tables``
    (n_workers, n_classes, n_classes). Adds the excess of every pair with at least ``least`` common items, in standard
    deviations, to the histogram ``counts`` over ``edges``, and keeps in ``rows`` (size, 6) the pairs of largest excess:
    excess, common items, agreements, expected agreements, worker, worker. Returns the number of pairs.
    """
    n_classes, n_pairs = tables.shape[1], 0
    slot, mates = np.full(len(by_worker) - 1, -1, np.int64), np.empty(slots, np.int64)
    shared, agreed = np.zeros((slots, n_classes)), np.zeros(slots)
    for i in range(len(by_worker) - 1):
        size = 0
        for p in range(by_worker[i], by_worker[i + 1]):
            n = order[p]
            j = item[n]
            for o in range(starts[j], starts[j + 1]):
                if workers[o] <= i:
                    continue
                s = slot[workers[o]]
                if s < 0:
                    s = slot[workers[o]] = size
                    mates[s], agreed[s] = workers[o], 0.0
                    shared[s] = 0.0
                    size += 1
                shared[s, code[j]] += 1.0
                if labels[n] == labels[o]:
                    agreed[s] += 1.0
        for s in range(size):
            slot[mates[s]] = -1
            common = shared[s].sum()
            if common < least:
                continue
            expected, variance = 0.0, 0.0
            for c in range(n_classes):
                if shared[s, c] > 0.0:
                    same = 0.0
                    for k in range(n_classes):
                        same += tables[i, c, k] * tables[mates[s], c, k]
                    expected += shared[s, c] * same
                    variance += shared[s, c] * same * (1.0 - same)
            excess = (agreed[s] - expected) / np.sqrt(variance + 1e-12)
            n_pairs += 1
            counts[np.searchsorted(edges, excess)] += 1
            weakest = rows[:, 0].argmin()
            if excess > rows[weakest, 0]:
                rows[weakest, 0], rows[weakest, 1], rows[weakest, 2] = excess, common, agreed[s]
                rows[weakest, 3], rows[weakest, 4], rows[weakest, 5] = expected, i, mates[s]
    return n_pairs
