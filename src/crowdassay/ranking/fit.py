r"""Fit comparisons: Newton's method on the scores, each worker's own effects profiled out, populations by empirical Bayes.

.. math::  \eta = e^{\rho_w} (s_l - s_r + x \cdot b) + g + g_w, \qquad
           s_i \sim N(0, \tau^2), \quad \rho_w \sim N(0, \sigma_\rho^2), \quad g_w \sim N(0, \sigma_g^2)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.outcomes import LEFT, RIGHT, TIE
from crowdassay.ranking.pairs import Pairs
from crowdassay.threads import available_cores, one_blas_thread

DENSE = 3000  # items up to which all second derivatives are kept
SPLIT = 50_000  # comparisons from which the pass is made in two parts, always the same two
BLOCK = 65_536  # comparisons by nobody in particular that are gone over together
NONE = -40.0  # log propensity of ties where there are none
LEAST_SPREAD, MOST_SPREAD = 1e-4, 9.0  # bounds of variances
TOP = {"scores": 36.0, "reliability": 1.0, "bias": 9.0}
SPREADS = (0.05, 0.25, 0.5, 0.8)  # of log reliability
FEW = 100_000  # comparisons up to which these are tried
GUESS = {"scores": 1.0, "reliability": 0.1, "bias": 0.1}  # what two more members of each population would have
NEAR = 0.05  # steps of scores from which on workers' effects follow with one step each
SAMPLE = 200_000  # comparisons to begin with where there are many more
SETTLED = 1e-3  # relative change of a variance at which to stop
TIES = ("davidson", "rao-kupper", "half")


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
    blocks = np.arange(starts[-1], len(place), BLOCK)
    starts = np.concatenate([starts, blocks[1:], [len(place)]] if len(blocks) else [starts]).astype(np.int64)
    free = np.arange(len(starts) - 1) < known
    return Rows(
        left.astype(np.int64), right.astype(np.int64), outcome.astype(np.int64), count, np.ascontiguousarray(style), starts,
        free, known, n_items,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of scores and of everything else.

    Attributes
    ----------
    point : ndarray of shape (n_parameters,)
        Scores (mean zero), position bias in logits, log tie propensity, styles.
    effects, spread : ndarray of shape (n_workers, 2)
        Log reliability and own bias of each worker, and their variances.
    information : ndarray of shape (n_parameters, n_parameters), or (n_parameters,) where only the diagonal was kept
        Of the comparisons, the workers' effects profiled out; without the population of scores.
    variances : dict
        Of scores (0 for no population), reliability and bias.
    locked : ndarray of bool, shape (n_parameters,)
        Parameters that were not estimated.
    """

    point: FloatArray
    effects: FloatArray
    spread: FloatArray
    information: FloatArray
    variances: dict[str, float]
    locked: BoolArray
    log_likelihood: float
    n_iter: int
    converged: bool

    n_items: int = 0
    evidence: float = -np.inf

    @property
    def precision(self) -> FloatArray:
        """What the population of scores adds to the information, shape (n_parameters,)."""
        added = np.zeros(len(self.point))
        if self.variances["scores"]:
            added[: self.n_items] = 1.0 / self.variances["scores"]
        return added


class Problem:
    """The likelihood of comparisons as a function of scores, position bias, tie propensity and styles."""

    def __init__(self, rows: Rows, *, ties: str, position: bool, effects: FloatArray | None = None) -> None:
        from crowdassay.ranking import kernel  # noqa: PLC0415  numba loads on first use

        self.rows, self.kernel = rows, kernel
        self.ties = kernel.RAO_KUPPER if ties == "rao-kupper" else kernel.DAVIDSON
        self.size = rows.n_items + 2 + rows.style.shape[1]
        self.dense = self.size <= DENSE
        self.effects = np.zeros((len(rows.starts) - 1, 2)) if effects is None else effects
        self.spread = np.zeros((len(self.effects), 3))
        has_ties = bool((rows.outcome == TIE).any())
        self.locked = np.zeros(self.size, bool)
        self.locked[rows.n_items] = not position
        self.locked[rows.n_items + 1] = not has_ties
        self.locked[: rows.n_items] = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items) == 0
        groups = len(rows.starts) - 1
        cuts = [0, groups]
        if len(rows.left) >= SPLIT and groups > 1:
            cuts.insert(1, int(np.searchsorted(rows.starts, len(rows.left) // 2)))
        self.parts = [(a, b) for a, b in pairwise(cuts) if b > a]

    def opening(self) -> FloatArray:
        """Return a point to begin with."""
        point = np.zeros(self.size)
        tied = float(self.rows.weight[self.rows.outcome == TIE].sum() / self.rows.weight.sum())
        point[self.rows.n_items + 1] = NONE if tied == 0 else np.log(tied / max(1 - tied, 1e-3) * 2) if self.ties == 0 else -1.0
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
        precision = _worker_precision(variances)
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


def fit_pairs(  # noqa: PLR0915  one loop, read from top to bottom
    rows: Rows,
    *,
    ties: str,
    position: bool,
    prior: float | str | None,
    max_iter: int,
    tol: float,
    start: Fit | None = None,
    reliability: float | None = None,
) -> Fit:
    """Estimate scores and everything else.

    With few comparisons, workers' reliability and the scores explain the same answers, and a population that is only looked at
    where both are likeliest grows without end. So the spread of reliability is chosen among `SPREADS` by how probable all
    comparisons are with scores and effects integrated out (Laplace's approximation), where there are up to `FEW` comparisons;
    with more, EM finds it.

    Parameters
    ----------
    rows : Rows
    ties : {'davidson', 'rao-kupper', 'half'}
    position : bool
        Whether the left side may have an advantage.
    prior : float, 'estimated' or None
        Standard deviation of the population of scores; None for none.
    max_iter : int
    tol : float
        Largest change of a score at which to stop.
    start : Fit, optional
        Where to begin; its populations are kept.
    reliability : float, optional
        The variance of reliability, if it is not to be estimated.
    """
    settings: dict[str, Any] = {"ties": ties, "position": position, "prior": prior, "max_iter": max_iter}
    if start is None and reliability is None and rows.known and len(rows.left) <= FEW and rows.n_items + 2 <= DENSE:
        fits = [fit_pairs(rows, **settings, tol=1e-3, reliability=spread**2) for spread in SPREADS]
        best = max(fits, key=lambda one: one.evidence)
        return fit_pairs(rows, **settings, tol=tol, reliability=best.variances["reliability"])
    problem = Problem(rows, ties=ties, position=position, effects=None if start is None else start.effects.copy())
    variances = {"scores": 0.0, "reliability": GUESS["reliability"], "bias": GUESS["bias"]}
    if reliability is not None:
        variances["reliability"] = reliability
    if prior is not None:
        variances["scores"] = 1.0 if isinstance(prior, str) else float(prior) ** 2
    point = problem.opening()
    if start is not None:
        variances, point = dict(start.variances), start.point.copy()
        point[problem.locked] = problem.opening()[problem.locked]
    learn = start is None
    if not problem.dense:
        return _fit_large(problem, point, variances, learn=learn and prior == "estimated", max_iter=max_iter)
    sample = _some_workers(rows) if learn else None
    if sample is not None:  # most of the way on some of the workers, the last steps with all
        some = fit_pairs(sample, ties=ties, position=position, prior=prior, max_iter=max_iter, tol=1e-3)
        point, variances = some.point.copy(), dict(some.variances)
    converged, n_iter = False, 0
    with one_blas_thread():
        value, gradient, matrix, _ = problem.evaluate(point, variances)
        for n_iter in range(1, max_iter + 1):  # noqa: B007  it is reported
            prior_now = _prior(problem, variances)
            penalised = value - 0.5 * float(prior_now @ point**2)
            whole, slope = matrix + np.diag(prior_now), gradient - prior_now * point
            step = _solve(whole, slope, problem.locked, rows.n_items, shared=variances["scores"] == 0)
            step *= min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
            for _ in range(30):
                near = bool(np.abs(step).max() < NEAR)
                before = problem.effects.copy()
                ahead = problem.evaluate(point + step, variances, near=near)
                if ahead[0] - 0.5 * float(prior_now @ (point + step) ** 2) >= penalised - 1e-7 * (1 + abs(penalised)):
                    break
                step *= 0.5
                problem.effects = before
            point, (value, gradient, matrix, _) = point + step, ahead
            moved = 0.0
            if learn:
                old = _worker_precision(variances)
                whole = matrix + np.diag(_prior(problem, variances))
                moved = _update(problem, point, whole, variances, scores=prior == "estimated", fixed=reliability is not None)
                change = _worker_precision(variances) - old
                value -= 0.5 * float(((problem.effects[: rows.known] ** 2) @ change).sum())
            if np.abs(step).max() < tol and moved < SETTLED:
                converged = True
                break
            if moved < SETTLED and np.abs(step).max() < 100 * tol:
                learn = False  # the populations have settled; what is left is the last digits of the scores
        information = matrix
        evidence = _evidence(problem, value, point, matrix, variances)
    mean = point[: rows.n_items][~problem.locked[: rows.n_items]].mean()
    point[: rows.n_items] = np.where(problem.locked[: rows.n_items], 0.0, point[: rows.n_items] - mean)
    known = slice(0, rows.known)
    return Fit(
        point, problem.effects[known], problem.spread[known, :2], information, variances, problem.locked, value, n_iter,
        converged, rows.n_items, evidence,
    )  # fmt: skip


def _prior(problem: Problem, variances: dict[str, float]) -> FloatArray:
    added = np.zeros(problem.size)
    if variances["scores"]:
        added[: problem.rows.n_items] = 1.0 / variances["scores"]
    return added


def _evidence(
    problem: Problem, value: float, point: FloatArray, matrix: FloatArray, variances: dict[str, float]
) -> float:  # fmt: skip
    """Return the log probability of the comparisons, scores and effects integrated out by Laplace's approximation."""
    rows = problem.rows
    added = _prior(problem, variances)
    used = np.diff(rows.starts[: rows.known + 1]) > 0
    populations = used.sum() * (np.log(variances["reliability"]) + np.log(variances["bias"]))
    populations += (~problem.locked[: rows.n_items]).sum() * np.log(variances["scores"]) if variances["scores"] else 0.0
    held = lock_matrix(matrix + np.diag(added), problem.locked, rows.n_items, shared=not variances["scores"])
    free = held[np.ix_(~problem.locked, ~problem.locked)]
    size = float(np.linalg.slogdet(free)[1]) + float(problem.spread[: rows.known, 2][used].sum())
    return value - 0.5 * float(added @ point**2) - 0.5 * float(populations) - 0.5 * size


def _worker_precision(variances: dict[str, float]) -> FloatArray:
    return np.array([1.0 / max(variances[name], LEAST_SPREAD) for name in ("reliability", "bias")])


def _some_workers(rows: Rows) -> Rows | None:
    """Return the comparisons of every few workers, about `SAMPLE` in all; None where these are not far fewer, or nobody's."""
    every = len(rows.left) // SAMPLE
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


def lock_matrix(matrix: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    """Return the matrix with locked parameters out of the way and, with ``shared``, the mean of the scores held."""
    scale = max(float(np.diag(matrix).max()), 1e-12)
    held = matrix.copy()
    held[locked, :] = 0.0
    held[:, locked] = 0.0
    held[locked, locked] = scale
    if shared:
        free = (~locked[:n_items]).astype(float)
        held[:n_items, :n_items] += scale * np.outer(free, free) / max(free.sum(), 1.0)
    return held


def _solve(matrix: FloatArray, gradient: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    held = lock_matrix(matrix, locked, n_items, shared=shared)
    slope = np.where(locked, 0.0, gradient)
    ridge, scale = 0.0, float(np.diag(held).max())
    for _ in range(40):
        try:
            return np.asarray(cho_solve(cho_factor(held + ridge * np.eye(len(held))), slope))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-8 * scale)
    return slope / scale


def _update(
    problem: Problem, point: FloatArray, matrix: FloatArray, variances: dict[str, float], *, scores: bool, fixed: bool
) -> float:
    """Move the variances to what scores and effects show (a step of EM, lengthened); return the largest relative change."""
    n_items, rows = problem.rows.n_items, problem.rows
    moves = [0.0]
    wanted: dict[str, float] = {}
    if rows.known:
        used = np.diff(rows.starts[: rows.known + 1]) > 0
        for n, name in enumerate(("reliability", "bias")):
            if fixed and name == "reliability":
                continue
            square = problem.effects[: rows.known][used][:, n] ** 2 + problem.spread[: rows.known][used][:, n]
            wanted[name] = (float(square.sum()) + 2 * GUESS[name]) / (used.sum() + 2)
    if scores:
        free = ~problem.locked[:n_items]
        held = lock_matrix(matrix, problem.locked, n_items, shared=False)
        variance = np.diag(np.linalg.inv(held))[:n_items][free]
        wanted["scores"] = (float((point[:n_items][free] ** 2 + variance).sum()) + 2 * GUESS["scores"]) / (free.sum() + 2)
    for name, value in wanted.items():
        change = np.log(np.clip(value, LEAST_SPREAD, TOP[name]) / variances[name])
        moves.append(abs(float(change)))
        variances[name] = float(np.clip(variances[name] * np.exp(1.5 * change), LEAST_SPREAD, TOP[name]))
    return max(moves)


def _fit_large(problem: Problem, point: FloatArray, variances: dict[str, float], *, learn: bool, max_iter: int) -> Fit:
    """Fit with more items than second derivatives can be kept of: L-BFGS, every parameter scaled by its own."""
    rows, value, n_iter, converged = problem.rows, 0.0, 0, False
    free, opening = ~problem.locked, point.copy()
    for _ in range(8 if learn else 1):
        added = _prior(problem, variances)
        diagonal = problem.evaluate(point, variances)[2] + added
        scale = np.sqrt(np.maximum(diagonal, 1e-3))[free]

        def negative(scaled: FloatArray, added: FloatArray = added, scale: FloatArray = scale) -> tuple[float, FloatArray]:
            whole = np.zeros(problem.size)
            whole[~free] = opening[~free]
            whole[free] = scaled / scale
            got, gradient, _, _ = problem.evaluate(whole, variances)
            return -(got - 0.5 * float(added @ whole**2)), -(gradient - added * whole)[free] / scale

        options = {"maxiter": 10 * max_iter, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-6}
        with one_blas_thread():
            found: Any = minimize(negative, point[free] * scale, jac=True, method="L-BFGS-B", options=options)
        point = point.copy()
        point[free] = found.x / scale
        n_iter, converged, value = n_iter + int(found.nit), bool(found.success), -float(found.fun)
        if learn:
            information = problem.evaluate(point, variances)[2] + _prior(problem, variances)
            scores = point[: rows.n_items][free[: rows.n_items]]
            square = scores**2 + 1.0 / information[: rows.n_items][free[: rows.n_items]]
            before = variances["scores"]
            variances["scores"] = float(np.clip(square.mean(), LEAST_SPREAD, MOST_SPREAD * 4))
            if abs(np.log(variances["scores"] / before)) < 0.02:
                break
    information = problem.evaluate(point, variances)[2]
    point[: rows.n_items] -= np.where(free[: rows.n_items], point[: rows.n_items][free[: rows.n_items]].mean(), 0.0)
    known = slice(0, rows.known)
    return Fit(
        point, problem.effects[known], problem.spread[known, :2], information, variances, problem.locked, value, n_iter,
        converged, rows.n_items,
    )  # fmt: skip
