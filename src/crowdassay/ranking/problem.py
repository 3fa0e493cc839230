"""The likelihood of comparisons, evaluated in two parts at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.ranking.outcomes import TIE
from crowdassay.ranking.populations import worker_precision
from crowdassay.ranking.rows import Rows
from crowdassay.threads import available_cores

MOST_PARAMETERS = 3000  # up to which all second derivatives are kept
SPLIT_FROM = 50_000  # comparisons from which the pass is made in two parts, always the same two
NO_TIES = -40.0  # log propensity of ties where there are none


class Problem:
    """The likelihood of comparisons as a function of scores, position bias, tie propensity and styles."""

    def __init__(self, rows: Rows, *, ties: str, position: bool, effects: FloatArray | None = None) -> None:
        from crowdassay.ranking import chance, kernel  # noqa: PLC0415  numba loads on first use

        self.rows, self.kernel = rows, kernel
        self.ties = chance.RAO_KUPPER if ties == "rao-kupper" else chance.DAVIDSON
        self.size = rows.n_items + 2 + rows.style.shape[1]
        self.dense = self.size <= MOST_PARAMETERS
        self.effects = np.zeros((len(rows.starts) - 1, 2)) if effects is None else effects
        self.spread = np.zeros((len(self.effects), 3))
        self.centre = 0.0  # of the population of log reliability; see `recentre`
        has_ties = bool((rows.outcome == TIE).any())
        self.locked = np.zeros(self.size, bool)
        self.locked[rows.n_items] = not position
        self.locked[rows.n_items + 1] = not has_ties
        self.locked[: rows.n_items] = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items) == 0
        groups = len(rows.starts) - 1
        cuts = [0, groups]
        if len(rows.left) >= SPLIT_FROM and groups > 1:
            cuts.insert(1, int(np.searchsorted(rows.starts, len(rows.left) // 2)))
        self.parts = [(a, b) for a, b in pairwise(cuts) if b > a]

    def opening(self) -> FloatArray:
        """Return a point to begin with."""
        point = np.zeros(self.size)
        tied = float(self.rows.weight[self.rows.outcome == TIE].sum() / self.rows.weight.sum())
        point[self.rows.n_items + 1] = (
            NO_TIES if tied == 0 else np.log(tied / max(1 - tied, 1e-3) * 2) if self.ties == 0 else -1.0
        )
        return point

    def evaluate(
        self, point: FloatArray, variances: dict[str, float], clusters: int = 0, *, near: bool = False
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Return the log-likelihood, its gradient, the information and, with ``clusters``, the sum of squared scores.

        ``clusters`` is 1 for scores summed by worker (comparisons by nobody in particular each on their own), 2 for each
        comparison on its own. ``near`` says that the workers' effects hardly move any more.
        """
        rows = self.rows
        width = self.size if self.dense else 1
        precision = np.append(worker_precision(variances), self.centre)
        jobs = []
        for begin, end in self.parts:
            jobs += [(begin, min(end, rows.known), clusters), (max(begin, rows.known), end, 2 if clusters else 0)]
        jobs = [job for job in jobs if job[0] < job[1]]
        gradients = [np.zeros(self.size) for _ in jobs]
        matrices = [np.zeros((self.size, width)) for _ in jobs]
        meats = [np.zeros((self.size, self.size) if clusters else (1, 1)) for _ in jobs]

        def work(n: int) -> float:
            begin, end, how = jobs[n]
            return float(
                self.kernel.pass_over(
                    begin, end, rows.starts, rows.left, rows.right, rows.outcome, rows.weight, rows.style, point, rows.n_items,
                    self.effects, precision, rows.free, self.ties, self.dense, gradients[n], matrices[n], self.spread, how,
                    meats[n], near,
                )
            )  # fmt: skip

        if len(jobs) == 1:
            value = work(0)
        else:
            with ThreadPoolExecutor(min(len(jobs), available_cores())) as pool:
                value = sum(pool.map(work, range(len(jobs))))
        matrix = np.sum(matrices, axis=0)
        return value, np.sum(gradients, axis=0), matrix if self.dense else matrix[:, 0], np.sum(meats, axis=0)
