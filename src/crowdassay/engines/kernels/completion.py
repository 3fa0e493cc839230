"""Robust rank-one completion of a sparse symmetric matrix, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


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
