"""Comparisons sorted and counted, and their likelihood, evaluated in two parts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.labels.sides import LEFT, RIGHT, TIED
from crowdassay.ranking.identified import Identified
from crowdassay.ranking.pairs import Pairs
from crowdassay.solvers.newton import Evaluation, evaluate_parts, halves

BLOCK_PAIRS = 65_536  # comparisons by nobody in particular that are gone over together
SAMPLE_PAIRS = 200_000  # comparisons to begin with where there are many more
MOST_PAIR_PARAMETERS = 3000  # up to which all second derivatives are kept
SPLIT_PAIRS = 50_000  # comparisons from which the pass is made in two parts, always the same two
LEAST_VARIANCE = 1e-4  # of a population
NO_TIES = -40.0  # log propensity of ties where there are none


@dataclass(frozen=True, eq=False)
class PairRows:
    """Comparisons sorted by worker, equal ones counted together where nothing tells them apart.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_groups + 1,)
        Groups are workers, then blocks of comparisons by nobody in particular.
    free : ndarray of bool, shape (n_groups,)
        Whether a group is a worker with effects of their own.
    sided : ndarray of bool, shape (n_groups,)
        Whether a worker's own side can be told.
    known : int
        How many of the groups are workers.
    fixed : ndarray of bool, shape (2 + n_styles,)
        Which of position, ties and styles cannot be told and stay at zero.
    cluster : ndarray of int64, shape (n_rows,), optional
        Comparisons that may depend on each other; nothing is then counted together.
    """

    left: IntArray
    right: IntArray
    outcome: IntArray
    weight: FloatArray
    style: FloatArray
    starts: IntArray
    free: BoolArray
    sided: BoolArray
    known: int
    n_items: int
    fixed: BoolArray
    cluster: IntArray | None = None


def make_rows(
    pairs: Pairs,
    *,
    ties: str,
    by_worker: bool,
    identified: Identified | None = None,
    weight: FloatArray | None = None,
    cluster: IntArray | None = None,
) -> PairRows:
    """Sort and count comparisons; ``weight`` (n_pairs,) says how often each counts, ``cluster`` which depend on each other."""
    left, right, outcome, style = pairs.left, pairs.right, pairs.outcome, pairs.style
    worker = pairs.worker if by_worker else np.full(pairs.n_pairs, -1, np.int64)
    count = (np.ones(pairs.n_pairs) if pairs.weight is None else pairs.weight) * (1.0 if weight is None else weight)
    if ties == "half" and (outcome == TIED).any():
        tied = np.flatnonzero(outcome == TIED)
        first = np.where(outcome == TIED, LEFT, outcome)
        half = np.where(outcome == TIED, 0.5, 1.0) * count
        left, right, worker = (np.concatenate([part, part[tied]]) for part in (left, right, worker))
        cluster = None if cluster is None else np.concatenate([cluster, cluster[tied]])
        style = np.concatenate([style, style[tied]])
        outcome = np.concatenate([first, np.full(len(tied), RIGHT)])
        count = np.concatenate([half, 0.5 * count[tied]])
    n_items, known = pairs.n_items, len(pairs.workers) if by_worker else 0
    place = np.where(worker < 0, known, worker)
    if style.shape[1] == 0 and cluster is None:  # equal comparisons can be counted together
        key = ((place * n_items + left) * n_items + right) * 3 + outcome
        top = (known + 1) * n_items * n_items * 3
        if top <= max(4 * len(key), 1 << 20):
            counts = np.bincount(key, count, top)
            key = np.flatnonzero(counts)
            count = np.asarray(counts[key], float)
        else:
            key, group = np.unique(key, return_inverse=True)
            count = np.asarray(np.bincount(group, count), float)
        key, outcome = np.divmod(key, 3)
        key, right = np.divmod(key, n_items)
        place, left = np.divmod(key, n_items)
        style = np.zeros((len(key), 0))
    else:
        order = np.argsort(place, kind="stable")
        left, right, outcome, place = left[order], right[order], outcome[order], place[order]
        count, style = count[order], style[order]
        cluster = None if cluster is None else cluster[order]
    starts = np.searchsorted(place, np.arange(known + 1))
    blocks = np.arange(starts[-1], len(place), BLOCK_PAIRS)
    starts = np.concatenate([starts, blocks[1:], [len(place)]] if len(blocks) else [starts]).astype(np.int64)
    free = np.arange(len(starts) - 1) < known
    sided, fixed = free.copy(), np.zeros(2 + style.shape[1], bool)
    if identified is not None:
        sided[:known] = identified.sided[:known]
        fixed[0], fixed[2:] = not identified.position, ~identified.styles
    return PairRows(
        left.astype(np.int64), right.astype(np.int64), outcome.astype(np.int64), count, np.ascontiguousarray(style), starts,
        free, sided, known, n_items, fixed, cluster,
    )  # fmt: skip


def used_workers(rows: PairRows) -> BoolArray:
    """Mark the workers who have compared anything, shape (n_workers,)."""
    return np.diff(rows.starts[: rows.known + 1]) > 0


def some_workers(rows: PairRows) -> PairRows | None:
    """Return the comparisons of every few workers, about `SAMPLE_PAIRS`; None where these are not far fewer, or nobody's."""
    every = len(rows.left) // SAMPLE_PAIRS
    if every < 4 or rows.known < 20 * every or rows.starts[rows.known] < len(rows.left) // 2:
        return None
    chosen = np.arange(0, rows.known, every)
    place = np.concatenate([np.arange(rows.starts[w], rows.starts[w + 1]) for w in chosen])
    starts = np.concatenate([[0], np.cumsum(np.diff(rows.starts)[chosen])]).astype(np.int64)
    if len(np.unique(np.concatenate([rows.left[place], rows.right[place]]))) < rows.n_items:
        return None
    return PairRows(
        rows.left[place], rows.right[place], rows.outcome[place], rows.weight[place], rows.style[place], starts,
        np.ones(len(chosen), bool), rows.sided[chosen], len(chosen), rows.n_items, rows.fixed,
    )  # fmt: skip


def worker_precision(variances: dict[str, float]) -> FloatArray:
    """Return the precision of log reliability and of bias, shape (2,)."""
    return np.array([1.0 / max(variances[name], LEAST_VARIANCE) for name in ("reliability", "bias")])


class PairsLikelihood:
    """The likelihood of comparisons as a function of scores, position bias, tie propensity and styles."""

    def __init__(self, rows: PairRows, *, ties: str, position: bool, effects: FloatArray | None = None) -> None:
        from crowdassay.ranking import kernel  # noqa: PLC0415  numba loads on first use

        self.rows, self.kernel = rows, kernel
        self.rao_kupper = ties == "rao-kupper"
        self.size = rows.n_items + 2 + rows.style.shape[1]
        self.dense = self.size <= MOST_PAIR_PARAMETERS
        self.effects = np.zeros((len(rows.starts) - 1, 2)) if effects is None else effects
        self.spread = np.zeros((len(self.effects), 3))
        self.centre = 0.0  # of the population of log reliability; see `recentre`
        has_ties = bool((rows.outcome == TIED).any())
        self.locked = np.zeros(self.size, bool)
        self.locked[rows.n_items :] = rows.fixed
        self.locked[rows.n_items] |= not position
        self.locked[rows.n_items + 1] = not has_ties
        self.locked[: rows.n_items] = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items) == 0
        self.parts = halves(rows.starts, SPLIT_PAIRS)

    def initial_point(self) -> FloatArray:
        """Return a point to begin with."""
        point = np.zeros(self.size)
        tied = float(self.rows.weight[self.rows.outcome == TIED].sum() / self.rows.weight.sum())
        if tied == 0:
            point[self.rows.n_items + 1] = NO_TIES
        else:
            point[self.rows.n_items + 1] = -1.0 if self.rao_kupper else np.log(tied / max(1 - tied, 1e-3) * 2)
        return point

    def evaluate(self, point: FloatArray, variances: dict[str, float], *, near: bool = False) -> Evaluation:
        """Return the log-likelihood, its gradient and the information; ``near``: the workers' effects hardly move any more."""
        rows = self.rows
        population = np.append(worker_precision(variances), self.centre)

        def work(begin: int, end: int, gradient: FloatArray, matrix: FloatArray) -> Any:
            return self.kernel.pass_over(
                begin, end, rows.starts, rows.left, rows.right, rows.outcome, rows.weight, rows.style, point, rows.n_items,
                self.effects, population, rows.free, rows.sided, self.rao_kupper, self.dense, gradient, matrix, self.spread,
                near,
            )  # fmt: skip

        return evaluate_parts(work, self.parts, self.size, dense=self.dense)
