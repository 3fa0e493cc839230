r"""What comparisons link, which scores they leave infinite, and which two to compare next.

A comparison of i and j is worth most where their order is in doubt and the comparison would tell much:

.. math::  \Phi\!\left(-\frac{|s_i - s_j|}{\sqrt{V_{ij}}}\right) \, \log(1 + w_{ij} V_{ij}), \qquad w_{ij} = p_{ij} (1 - p_{ij})

the chance that the order is wrong times the information gained. After each pair the uncertainty is updated as if the
comparison had been made; a pair is named once.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from scipy.special import ndtr

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError
from crowdassay.labels.values import listed
from crowdassay.ranking.pairs import LEFT, RIGHT, Pairs
from crowdassay.statistics import connected_parts

MOST_ITEMS_PAIRED = 2000  # items up to which all pairs are looked at


def find_parts(pairs: Pairs) -> IntArray:
    """Return which connected part each item belongs to, the largest 0; shape (n_items,)."""
    label = connected_parts(pairs.left, pairs.right, pairs.n_items)
    order = np.argsort(-np.bincount(label), kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[label])


def refuse_infinite(pairs: Pairs) -> None:
    """Refuse comparisons in which some items were never beaten by the rest: their maximum likelihood scores are infinite."""
    winner = np.concatenate([pairs.left[pairs.outcome != RIGHT], pairs.right[pairs.outcome != LEFT]])
    loser = np.concatenate([pairs.right[pairs.outcome != RIGHT], pairs.left[pairs.outcome != LEFT]])
    label = connected_parts(winner, loser, pairs.n_items, both_ways=True)
    if label.any():
        small = np.argsort(np.bincount(label), kind="stable")[0]
        names = listed(pairs.items.filter(pa.array(label == small)).to_pylist(), limit=3)
        raise DataError(
            f"Without a prior some scores are infinite: {names} always won against the rest, or always lost, or never met "
            "them. Leave --prior out, and it is estimated, or give it as a number."
        )


def choose_pairs(score: FloatArray, covariance: FloatArray, count: int) -> list[tuple[int, int, float, float]]:
    """Return up to ``count`` pairs: two items, the chance that their order is wrong, and what a comparison is worth."""
    one, two = np.triu_indices(len(score), 1)
    gap = np.abs(score[one] - score[two])
    chance = 1.0 / (1.0 + np.exp(-np.clip(gap, 0, 50)))
    weight = chance * (1.0 - chance)
    spread = covariance.copy()
    chosen = []
    taken = np.zeros(len(one), bool)
    for _ in range(min(count, len(one))):
        variance = spread[one, one] + spread[two, two] - 2 * spread[one, two]
        wrong = ndtr(-gap / np.sqrt(np.maximum(variance, 1e-12)))
        worth = np.where(taken, -1.0, wrong * np.log1p(weight * np.maximum(variance, 0.0)))
        best = int(np.argmax(worth))
        taken[best] = True
        i, j = int(one[best]), int(two[best])
        chosen.append((i, j, float(wrong[best]), float(worth[best])))
        column = spread[:, i] - spread[:, j]
        spread = spread - np.outer(column, column) * weight[best] / (1.0 + weight[best] * variance[best])
    return chosen
