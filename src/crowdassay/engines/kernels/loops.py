"""Compiled loops of single methods: robust rank-one completion, and labels dealt into folds one after the other."""

from __future__ import annotations

import numpy as np

from crowdassay.engines.kernels.compiled import _jit


@_jit
def trimmed_pass(starts, columns, values, other, own, trim, least):
    """Set each entry of ``own`` to the mean of value / other over its row, the extremes on both sides of it left out.

    Up to ``trim`` ratios above the entry and as many below it are left out, the farthest first (mean-subsequence-reduced).
    ``least`` bounds the entries of ``other`` away from zero.
    """
    longest = 0
    for i in range(len(own)):
        longest = max(longest, starts[i + 1] - starts[i])
    ratios = np.empty(longest)
    for i in range(len(own)):
        size = starts[i + 1] - starts[i]
        if size == 0:
            continue
        below, above = 0, 0
        for p in range(size):
            n = starts[i] + p
            ratios[p] = values[n] / max(other[columns[n]], least)
            if ratios[p] < own[i]:
                below += 1
            elif ratios[p] > own[i]:
                above += 1
        kept = np.sort(ratios[:size])[min(trim, below) : size - min(trim, above)]
        if len(kept) > 0:
            own[i] = kept.mean()


@_jit
def deal(order, item, worker, n_items, n_workers, n_folds):
    """Return the fold (n_labels,) of every label, dealt in ``order``; see `crowdassay.estimators.select.deal`."""
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
