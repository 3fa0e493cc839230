"""Comparisons sorted and counted for the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.outcomes import LEFT, RIGHT, TIE
from crowdassay.ranking.pairs import Pairs

BLOCK_SIZE = 65_536  # comparisons by nobody in particular that are gone over together
SAMPLE_SIZE = 200_000  # comparisons to begin with where there are many more


@dataclass(frozen=True, eq=False)
class Rows:
    """Comparisons sorted by worker, equal ones counted together where nothing tells them apart.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_groups + 1,)
        Groups are workers, then blocks of comparisons by nobody in particular.
    free : ndarray of bool, shape (n_groups,)
        Whether a group is a worker with effects of their own.
    known : int
        How many of the groups are workers.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    weight: FloatArray
    style: FloatArray
    starts: IntArray
    free: BoolArray
    known: int
    n_items: int


def make_rows(pairs: Pairs, *, ties: str, by_worker: bool, weight: FloatArray | None = None) -> Rows:
    """Sort and count comparisons."""
    left, right, outcome, style = pairs.left, pairs.right, pairs.outcome, pairs.style
    worker = pairs.worker if by_worker else np.full(pairs.n_pairs, -1, np.int64)
    count: Any = np.ones(pairs.n_pairs) if weight is None else weight
    if ties == "half" and (outcome == TIE).any():
        tied = np.flatnonzero(outcome == TIE)
        first = np.where(outcome == TIE, LEFT, outcome)
        half = np.where(outcome == TIE, 0.5, 1.0) * count
        left, right, worker = (np.concatenate([part, part[tied]]) for part in (left, right, worker))
        style = np.concatenate([style, style[tied]])
        outcome = np.concatenate([first, np.full(len(tied), RIGHT)])
        count = np.concatenate([half, 0.5 * count[tied]])
    n_items, known = pairs.n_items, len(pairs.workers) if by_worker else 0
    place = np.where(worker < 0, known, worker)
    if style.shape[1] == 0:  # equal comparisons can be counted together
        key = ((place * n_items + left) * n_items + right) * 3 + outcome
        top = (known + 1) * n_items * n_items * 3
        if top <= max(4 * len(key), 1 << 20):
            counts = np.bincount(key, count, top)
            key = np.flatnonzero(counts)
            count = counts[key]
        elif weight is None and ties != "half":  # each counts once: sorting will do
            key = np.sort(key)
            first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
            count = np.diff(np.append(first, len(key))).astype(float)
            key = key[first]
        else:
            order = np.argsort(key, kind="stable")
            fresh = np.concatenate([[True], np.diff(key[order]) != 0])
            count = np.add.reduceat(count[order], np.flatnonzero(fresh))
            key = key[order][fresh]
        key, outcome = np.divmod(key, 3)
        key, right = np.divmod(key, n_items)
        place, left = np.divmod(key, n_items)
        style = np.zeros((len(key), 0))
    else:
        order = np.argsort(place, kind="stable")
        left, right, outcome, place = left[order], right[order], outcome[order], place[order]
        count, style = count[order], style[order]
    starts = np.searchsorted(place, np.arange(known + 1))
    blocks = np.arange(starts[-1], len(place), BLOCK_SIZE)
    starts = np.concatenate([starts, blocks[1:], [len(place)]] if len(blocks) else [starts]).astype(np.int64)
    free = np.arange(len(starts) - 1) < known
    return Rows(
        left.astype(np.int64), right.astype(np.int64), outcome.astype(np.int64), count, np.ascontiguousarray(style), starts,
        free, known, n_items,
    )  # fmt: skip


def used_workers(rows: Rows) -> BoolArray:
    """Tell which workers have compared anything, shape (n_workers,)."""
    return np.diff(rows.starts[: rows.known + 1]) > 0


def some_workers(rows: Rows) -> Rows | None:
    """Return the comparisons of every few workers, about `SAMPLE_SIZE`; None where these are not far fewer, or nobody's."""
    every = len(rows.left) // SAMPLE_SIZE
    if every < 4 or rows.known < 20 * every or rows.starts[rows.known] < len(rows.left) // 2:
        return None
    chosen = np.arange(0, rows.known, every)
    place = np.concatenate([np.arange(rows.starts[w], rows.starts[w + 1]) for w in chosen])
    starts = np.concatenate([[0], np.cumsum(np.diff(rows.starts)[chosen])]).astype(np.int64)
    if len(np.unique(np.concatenate([rows.left[place], rows.right[place]]))) < rows.n_items:
        return None
    return Rows(
        rows.left[place], rows.right[place], rows.outcome[place], rows.weight[place], rows.style[place], starts,
        np.ones(len(chosen), bool), len(chosen), rows.n_items,
    )  # fmt: skip
