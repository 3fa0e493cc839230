r"""Fit comparisons: Newton's method on the scores, each worker's own effects profiled out, populations by empirical Bayes.

.. math::  \eta = e^{\rho_w} (s_l - s_r + x \cdot b) + g + g_w, \qquad
           s_i \sim N(0, \tau^2), \quad \rho_w \sim N(0, \sigma_\rho^2), \quad g_w \sim N(0, \sigma_g^2)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.ranking.likelihood import (
    LEAST_VARIANCE,
    MOST_PAIR_PARAMETERS,
    PairRows,
    PairsLikelihood,
    some_workers,
    used_workers,
    worker_precision,
)
from crowdassay.results.saved.study import check_shapes
from crowdassay.solvers.lbfgs import minimise, negated
from crowdassay.solvers.newton import MOST_HALVINGS, hold, shorten, solve_ridge
from crowdassay.threads import one_blas_thread

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

SPREADS_TRIED = (0.05, 0.25, 0.5, 0.8)  # of log reliability
TRIED_UP_TO = 100_000  # comparisons up to which these are tried
LONGEST_SCORE_STEP = 3.0  # in logits
NEAR_STEP = 0.05  # of scores, from which on workers' effects follow with one step each
ROUGHLY = 1e-3  # largest change of a score at which a fit stops that is only to begin with
SETTLED_CHANGE = 1e-3  # relative change of a variance at which to stop
TIE_MODELS = ("davidson", "rao-kupper", "half")
LENGTHENED_STEPS = 40  # steps of EM that are lengthened
LARGEST_VARIANCE = {"scores": 36.0, "reliability": 1.0, "bias": 9.0}
WIDE_PRIOR = 5.0  # standard deviation, in logits, of the advantage of a side and of the propensity of ties
PRIOR_VARIANCE = {"scores": 1.0, "reliability": 0.1, "bias": 0.1}  # what two more members of each population would have


@dataclass(frozen=True, eq=False)
class PairsFit:
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
    precision : ndarray of shape (n_parameters,)
        What is known beforehand adds to the information.
    evidence : float
        Log probability of the comparisons, scores and effects integrated out.
    centre : float
        Of the population of log reliability.
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

    n_items: int
    precision: FloatArray
    evidence: float = -np.inf
    centre: float = 0.0

    def check(self, n_items: int, n_styles: int, n_workers: int) -> None:
        """Raise ValueError where these are estimates of other comparisons."""
        size = (n_items + 2 + n_styles,)
        check_shapes(
            self, point=size, effects=(n_workers, 2), spread=(n_workers, 2), information=size * self.information.ndim,
            locked=size, precision=size,
        )  # fmt: skip
        if self.n_items != n_items or self.variances.keys() != PRIOR_VARIANCE.keys():
            raise ValueError("estimates of other comparisons")


def fit_pairs(rows: PairRows, model: BradleyTerry, start: PairsFit | None = None) -> PairsFit:
    """Estimate scores and everything else.

    With few comparisons, workers' reliability and the scores explain the same answers, and a population that is only looked at
    where both are likeliest grows without end. So the spread of reliability is chosen among `SPREADS_TRIED` by how probable all
    comparisons are with scores and effects integrated out (Laplace's approximation), where there are up to `TRIED_UP_TO`
    comparisons; with more, EM finds it.

    Parameters
    ----------
    rows : PairRows
    model : BradleyTerry
        How ties come about, whether a side may have an advantage, the prior, and when to stop.
    start : PairsFit, optional
        Where to begin; its populations are kept.
    """
    with one_blas_thread():
        if rows.n_items + 2 + rows.style.shape[1] > MOST_PAIR_PARAMETERS:
            return _fit_large(rows, model)
        if start is not None:
            return _maximise(rows, model, start, learn=False)
        rough = replace(model, tol=ROUGHLY)
        if rows.known and len(rows.left) <= TRIED_UP_TO:
            best = tried = None
            for spread in SPREADS_TRIED:
                tried = _maximise(rows, rough, tried, reliability=spread**2)
                best = tried if best is None or tried.evidence > best.evidence else best
            assert best is not None
            return _maximise(rows, model, best, reliability=best.variances["reliability"])
        some = some_workers(rows)  # most of the way on some of the workers, the last steps with all
        return _maximise(rows, model, None if some is None else _maximise(some, rough))


def _maximise(
    rows: PairRows, model: BradleyTerry, begin: PairsFit | None = None, *, learn: bool = True, reliability: float | None = None
) -> PairsFit:
    """Maximise by Newton's method from where another fit ended; the populations are estimated on the way, or kept."""
    problem = PairsLikelihood(rows, ties=model.ties, position=model.position)
    point, variances, estimated = problem.initial_point(), _first_variances(model), model.prior == "estimated"
    if begin is not None:
        point, variances = np.where(problem.locked, point, begin.point), dict(begin.variances)
        if len(begin.effects) == rows.known:
            problem.effects[: rows.known], problem.centre = begin.effects, begin.centre
    if reliability is not None:
        variances["reliability"] = reliability
    converged, n_iter = False, 0
    value, gradient, matrix = problem.evaluate(point, variances)
    for n_iter in range(1, model.max_iter + 1):
        prior_now = scores_precision(problem, variances)
        penalised = value - 0.5 * float(prior_now @ point**2)
        whole, slope = matrix + np.diag(prior_now), gradient - prior_now * point
        held = lock_matrix(whole, problem.locked, rows.n_items, shared=variances["scores"] == 0)
        step = shorten(solve_ridge(held, np.where(problem.locked, 0.0, slope)), LONGEST_SCORE_STEP)
        for _ in range(MOST_HALVINGS):
            near = bool(np.abs(step).max() < NEAR_STEP)
            before = problem.effects.copy()
            ahead = problem.evaluate(point + step, variances, near=near)
            if learn and near:
                break  # the value before was that of other populations
            if ahead[0] - 0.5 * float(prior_now @ (point + step) ** 2) >= penalised - 1e-7 * (1 + abs(penalised)):
                break
            step *= 0.5
            problem.effects = before
        point, (value, gradient, matrix) = point + step, ahead
        moved = 0.0
        if learn:
            old = worker_precision(variances)
            whole = matrix + np.diag(scores_precision(problem, variances))
            moved = update_variances(
                problem, point, whole, variances, scores=estimated, fixed=reliability is not None, n_iter=n_iter
            )
            change = worker_precision(variances) - old
            value -= 0.5 * float((squared_effects(problem) @ change).sum())
            if estimated:
                shift, lost = recentre(problem, point, gradient, matrix, variances)
                value, moved = value - lost, max(moved, abs(shift))
        if np.abs(step).max() < model.tol and moved < SETTLED_CHANGE:
            converged = True
            break
        if moved < SETTLED_CHANGE and np.abs(step).max() < 100 * model.tol:
            learn = False  # the populations have settled; what is left is the last digits of the scores
    about_zero = problem.effects[: rows.known, 0][used_workers(rows)] ** 2  # the constraint is no part of the likelihood
    value += 0.5 * worker_precision(variances)[0] * float((squared_effects(problem)[:, 0] - about_zero).sum())
    evidence = log_evidence(problem, value, point, matrix, variances)
    return _finish(problem, point, matrix, variances, value, n_iter, evidence, converged=converged)


def _first_variances(model: BradleyTerry) -> dict[str, float]:
    """Return the variances of the populations to begin with."""
    scores = 0.0 if model.prior is None else 1.0 if isinstance(model.prior, str) else float(model.prior) ** 2
    return {**PRIOR_VARIANCE, "scores": scores}


def _finish(
    problem: PairsLikelihood, point: FloatArray, information: FloatArray, variances: dict[str, float], value: float,
    n_iter: int, evidence: float = -np.inf, *, converged: bool,
) -> PairsFit:  # fmt: skip
    """Return the estimates, the scores less their mean."""
    n_items, known = problem.rows.n_items, slice(0, problem.rows.known)
    locked = problem.locked[:n_items]
    point[:n_items] = np.where(locked, 0.0, point[:n_items] - point[:n_items][~locked].mean())
    return PairsFit(
        point, problem.effects[known], problem.spread[known, :2], information, variances, problem.locked, value, n_iter,
        converged, n_items, scores_precision(problem, variances), evidence, problem.centre,
    )  # fmt: skip


def _fit_large(rows: PairRows, model: BradleyTerry) -> PairsFit:
    """Fit with more items than second derivatives can be kept of: L-BFGS, every parameter scaled by its own."""
    problem = PairsLikelihood(rows, ties=model.ties, position=model.position)
    point, variances, learn = problem.initial_point(), _first_variances(model), model.prior == "estimated"
    value, n_iter, converged = 0.0, 0, False
    free, initial = ~problem.locked, point.copy()
    for _ in range(8 if learn else 1):
        added = scores_precision(problem, variances)
        diagonal = problem.evaluate(point, variances)[2] + added
        scales = 1.0 / np.sqrt(np.maximum(diagonal, 1e-3))[free]

        def penalised(inner: FloatArray, added: FloatArray = added) -> tuple[float, FloatArray]:
            whole = initial.copy()
            whole[free] = inner
            got, gradient, _ = problem.evaluate(whole, variances)
            return got - 0.5 * float(added @ whole**2), (gradient - added * whole)[free]

        found = minimise(negated(penalised), point[free], scales, maxiter=10 * model.max_iter, maxcor=20, ftol=1e-12, gtol=1e-6)
        point = point.copy()
        point[free] = found.point
        n_iter, converged, value = n_iter + found.n_iter, found.converged, -found.value
        if learn:
            information = problem.evaluate(point, variances)[2] + scores_precision(problem, variances)
            scores = point[: rows.n_items][free[: rows.n_items]]
            square = scores**2 + 1.0 / information[: rows.n_items][free[: rows.n_items]]
            before = variances["scores"]
            variances["scores"] = float(np.clip(square.mean(), LEAST_VARIANCE, LARGEST_VARIANCE["scores"]))
            if abs(np.log(variances["scores"] / before)) < 0.02:
                break
    information = problem.evaluate(point, variances)[2]
    return _finish(problem, point, information, variances, value, n_iter, converged=converged)


def lock_matrix(matrix: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    """Return the matrix with locked parameters out of the way and, with ``shared``, the mean of the scores held."""
    held = hold(matrix, locked)
    if shared:
        free = (~locked[:n_items]).astype(float)
        held[:n_items, :n_items] += max(float(np.diag(matrix).max()), 1e-12) * np.outer(free, free) / max(free.sum(), 1.0)
    return held


def scores_precision(problem: PairsLikelihood, variances: dict[str, float]) -> FloatArray:
    """Return what is known beforehand adds to the information, shape (n_parameters,).

    Scores come from their population. The advantage of a side and the propensity of ties lie within a few times `WIDE_PRIOR` of
    zero, so that they stay finite where one side won all, or all are ties.
    """
    added, n_items = np.zeros(problem.size), problem.rows.n_items
    if variances["scores"]:
        added[:n_items] = 1.0 / variances["scores"]
    added[n_items : n_items + 2] = WIDE_PRIOR**-2.0
    added[n_items:][problem.locked[n_items:]] = 0.0
    return added


def squared_effects(problem: PairsLikelihood) -> FloatArray:
    """Return the squares of the workers' effects about their population's centre, shape (n_workers, 2)."""
    used = used_workers(problem.rows)
    return np.asarray(((problem.effects[: problem.rows.known] - [problem.centre, 0.0]) ** 2)[used])


def update_variances(
    problem: PairsLikelihood,
    point: FloatArray,
    matrix: FloatArray,
    variances: dict[str, float],
    *,
    scores: bool,
    fixed: bool,
    n_iter: int,
) -> float:
    """Move the variances to what scores and effects show: a step of EM, lengthened at first; return the largest change."""
    n_items, rows = problem.rows.n_items, problem.rows
    moved = 0.0
    stretch = 1.5 if n_iter <= LENGTHENED_STEPS else 0.5  # what goes round in circles by then goes more slowly
    squares: dict[str, FloatArray] = {}  # of the members of each population, as they are expected
    for n, name in enumerate(("reliability", "bias")):
        used = used_workers(rows) & (rows.sided[: rows.known] | (name == "reliability"))
        if used.any() and not (fixed and name == "reliability"):
            squares[name] = problem.effects[: rows.known][used][:, n] ** 2 + problem.spread[: rows.known][used][:, n]
    if scores:
        free = ~problem.locked[:n_items]
        inverse = np.linalg.inv(lock_matrix(matrix, problem.locked, n_items, shared=False))
        squares["scores"] = point[:n_items][free] ** 2 + np.diag(inverse)[:n_items][free]
    for name, square in squares.items():
        value = (float(square.sum()) + 2 * PRIOR_VARIANCE[name]) / (len(square) + 2)
        change = np.log(np.clip(value, LEAST_VARIANCE, LARGEST_VARIANCE[name]) / variances[name])
        moved = max(moved, abs(float(change)))
        variances[name] = float(np.clip(variances[name] * np.exp(stretch * change), LEAST_VARIANCE, LARGEST_VARIANCE[name]))
    return moved


def recentre(
    problem: PairsLikelihood, point: FloatArray, gradient: FloatArray, matrix: FloatArray, variances: dict[str, float]
) -> tuple[float, float]:
    r"""Shift the workers' mean log reliability to zero, and scale the scores accordingly; all arrays change in place.

    Reliabilities twice as high and scores half as large predict the same, so that a scale must be chosen: the average worker
    has reliability 1. Left to the populations it would be found in hundreds of steps, and wrongly, since the likeliest scores
    are drawn towards zero and the reliabilities up. With :math:`\bar\rho = 0` as a constraint, its Lagrange multiplier moves
    the population's centre to :math:`-\sigma_\rho^2 \sum_i s_i^2 / (\tau^2 W)`. Comparisons that name no worker are an average
    worker's, and choose the scale themselves.

    Returns
    -------
    shift : float
        The mean that was taken off.
    lost : float
        What the effects' penalty has changed by.
    """
    rows, n_items = problem.rows, problem.rows.n_items
    used = np.flatnonzero(used_workers(rows))
    if not len(used) or rows.known < len(rows.free):
        return 0.0, 0.0
    before = float(squared_effects(problem)[:, 0].sum())
    shift = float(problem.effects[used, 0].mean())
    problem.effects[used, 0] -= shift
    scaled = np.ones(problem.size)
    scaled[:n_items] = scaled[n_items + 2 :] = np.exp(shift)
    point *= scaled
    gradient /= scaled
    matrix /= scaled[:, None] * scaled[None, :]
    variances["scores"] = float(np.clip(variances["scores"] * np.exp(2 * shift), LEAST_VARIANCE, LARGEST_VARIANCE["scores"]))
    pull = float((point[:n_items] ** 2).sum()) / variances["scores"]
    problem.centre = -variances["reliability"] * pull / len(used)
    return shift, 0.5 * worker_precision(variances)[0] * (float(squared_effects(problem)[:, 0].sum()) - before)


def log_evidence(
    problem: PairsLikelihood, value: float, point: FloatArray, matrix: FloatArray, variances: dict[str, float]
) -> float:  # fmt: skip
    """Return the log probability of the comparisons, scores and effects integrated out by Laplace's approximation."""
    rows = problem.rows
    added = scores_precision(problem, variances)
    used = used_workers(rows)
    sided = (used & rows.sided[: rows.known]).sum()
    populations = used.sum() * np.log(variances["reliability"]) + sided * np.log(variances["bias"])
    populations += (~problem.locked[: rows.n_items]).sum() * np.log(variances["scores"]) if variances["scores"] else 0.0
    held = lock_matrix(matrix + np.diag(added), problem.locked, rows.n_items, shared=not variances["scores"])
    free = held[np.ix_(~problem.locked, ~problem.locked)]
    size = float(np.linalg.slogdet(free)[1]) + float(problem.spread[: rows.known, 2][used].sum())
    return value - 0.5 * float(added @ point**2) - 0.5 * float(populations) - 0.5 * size
