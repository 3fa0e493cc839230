"""Which of the ranked can be told apart, and which cannot."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from crowdassay.arrays import BoolArray, FloatArray, IntArray

MOST_ITEMS_COMPARED = 3000  # items up to which all pairs are tested


def holm(p: FloatArray, level: float) -> BoolArray:
    """Return which of several hypotheses are rejected so that the chance of any false rejection is at most ``level``.

    >>> holm(np.array([0.001, 0.04, 0.02]), 0.05).tolist()
    [True, True, True]
    """
    order = np.argsort(p, kind="stable")
    passed = p[order] <= level / np.arange(len(p), 0, -1)
    stop = len(p) if passed.all() else int(np.argmin(passed))
    rejected = np.zeros(len(p), bool)
    rejected[order[:stop]] = True
    return rejected


def better(score: FloatArray, covariance: FloatArray, level: float) -> BoolArray:
    """Return a table (n, n) of whether the row's score is surely above the column's, all pairs tested together (Holm)."""
    one, two = np.triu_indices(len(score), 1)
    variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
    gap = score[one] - score[two]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * ndtr(-np.abs(gap) / np.sqrt(np.maximum(variance, 1e-300)))
    sure = holm(p, level)
    table = np.zeros((len(score), len(score)), bool)
    table[one, two] = sure & (gap > 0)
    table[two, one] = sure & (gap < 0)
    return table


def rank_ranges(above: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank that each can have, given who is surely above whom; both (n,)."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def groups_alike(score: FloatArray, above: BoolArray) -> list[str]:
    """Return for each the groups it belongs to; two that share a group cannot be told apart.

    Groups are runs in the order of the scores, named a, b ... z, aa ...

    >>> above = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> groups_alike(np.array([2.0, 1.0, 0.0]), above)
    ['a', 'a b', 'b']
    """
    order = np.argsort(-score, kind="stable")
    apart = above | above.T
    runs: list[tuple[int, int]] = []
    last = 0
    for first in range(len(order)):
        last = max(last, first)
        while last + 1 < len(order) and not apart[order[last + 1], order[first : last + 1]].any():
            last += 1
        if not runs or last > runs[-1][1]:
            runs.append((first, last))
    names: list[list[str]] = [[] for _ in order]
    for n, (first, last) in enumerate(runs):
        for place in order[first : last + 1]:
            names[place].append(_letters(n))
    return [" ".join(name) for name in names]


def _letters(n: int) -> str:
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(ord("a") + digit) + text
        if n == 0:
            return text
        n -= 1
