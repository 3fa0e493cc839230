r"""Fit comparisons: Newton's method on the scores, each worker's own effects profiled out, populations by empirical Bayes.

.. math::  \eta = e^{\rho_w} (s_l - s_r + x \cdot b) + g + g_w
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from crowdassay.ranking.populations import (
    LARGEST_VARIANCE,
    PRIOR_VARIANCE,
    lock_matrix,
    log_evidence,
    recentre,
    scores_precision,
    squared_effects,
    update_variances,
)
from crowdassay.results.saved.study import check_shapes
from crowdassay.solvers.lbfgs import minimise, negated
from crowdassay.solvers.newton import MOST_HALVINGS, shorten, solve_ridge
from crowdassay.threads import one_blas_thread

SPREADS_TRIED = (0.05, 0.25, 0.5, 0.8)  # of log reliability
TRIED_UP_TO = 100_000  # comparisons up to which these are tried
LONGEST_SCORE_STEP = 3.0  # in logits
NEAR_STEP = 0.05  # of scores, from which on workers' effects follow with one step each
ROUGHLY = 1e-3  # largest change of a score at which a fit stops that is only to begin with
SETTLED_CHANGE = 1e-3  # relative change of a variance at which to stop
TIE_MODELS = ("davidson", "rao-kupper", "half")


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


@dataclass(frozen=True)
class Settings:
    """How to fit.

    Attributes
    ----------
    ties : {'davidson', 'rao-kupper', 'half'}
    position : bool
        Whether the left side may have an advantage.
    prior : float, 'estimated' or None
        Standard deviation of the population of scores; None for none.
    max_iter : int
    tol : float
        Largest change of a score at which to stop.
    """

    ties: str
    position: bool
    prior: float | str | None
    max_iter: int
    tol: float

    def first_variances(self) -> dict[str, float]:
        """Return the variances of the populations to begin with."""
        scores = 0.0 if self.prior is None else 1.0 if isinstance(self.prior, str) else float(self.prior) ** 2
        return {**PRIOR_VARIANCE, "scores": scores}


def fit_pairs(rows: PairRows, settings: Settings, start: PairsFit | None = None) -> PairsFit:
    """Estimate scores and everything else.

    With few comparisons, workers' reliability and the scores explain the same answers, and a population that is only looked at
    where both are likeliest grows without end. So the spread of reliability is chosen among `SPREADS_TRIED` by how probable all
    comparisons are with scores and effects integrated out (Laplace's approximation), where there are up to `TRIED_UP_TO`
    comparisons; with more, EM finds it.

    Parameters
    ----------
    rows : PairRows
    settings : Settings
    start : PairsFit, optional
        Where to begin; its populations are kept.
    """
    with one_blas_thread():
        if rows.n_items + 2 + rows.style.shape[1] > MOST_PAIR_PARAMETERS:
            return _fit_large(rows, settings, start)
        if start is not None:
            return _maximise(rows, settings, start, learn=False)
        rough = replace(settings, tol=ROUGHLY)
        if rows.known and len(rows.left) <= TRIED_UP_TO:
            best = tried = None
            for spread in SPREADS_TRIED:
                tried = _maximise(rows, rough, tried, reliability=spread**2)
                best = tried if best is None or tried.evidence > best.evidence else best
            assert best is not None
            return _maximise(rows, settings, best, reliability=best.variances["reliability"])
        some = some_workers(rows)  # most of the way on some of the workers, the last steps with all
        return _maximise(rows, settings, None if some is None else _maximise(some, rough))


def _maximise(
    rows: PairRows, settings: Settings, begin: PairsFit | None = None, *, learn: bool = True, reliability: float | None = None
) -> PairsFit:
    """Maximise by Newton's method from where another fit ended; the populations are estimated on the way, or kept."""
    problem = PairsLikelihood(rows, ties=settings.ties, position=settings.position)
    point, variances, estimated = problem.initial_point(), settings.first_variances(), settings.prior == "estimated"
    if begin is not None:
        point, variances = np.where(problem.locked, point, begin.point), dict(begin.variances)
        if len(begin.effects) == rows.known:
            problem.effects[: rows.known], problem.centre = begin.effects, begin.centre
    if reliability is not None:
        variances["reliability"] = reliability
    converged, n_iter = False, 0
    value, gradient, matrix, _ = problem.evaluate(point, variances)
    for n_iter in range(1, settings.max_iter + 1):
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
        point, (value, gradient, matrix, _) = point + step, ahead
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
        if np.abs(step).max() < settings.tol and moved < SETTLED_CHANGE:
            converged = True
            break
        if moved < SETTLED_CHANGE and np.abs(step).max() < 100 * settings.tol:
            learn = False  # the populations have settled; what is left is the last digits of the scores
    information = matrix
    about_zero = problem.effects[: rows.known, 0][used_workers(rows)] ** 2  # the constraint is no part of the likelihood
    value += 0.5 * worker_precision(variances)[0] * float((squared_effects(problem)[:, 0] - about_zero).sum())
    evidence = log_evidence(problem, value, point, matrix, variances)
    mean = point[: rows.n_items][~problem.locked[: rows.n_items]].mean()
    point[: rows.n_items] = np.where(problem.locked[: rows.n_items], 0.0, point[: rows.n_items] - mean)
    known = slice(0, rows.known)
    return PairsFit(
        point, problem.effects[known], problem.spread[known, :2], information, variances, problem.locked, value, n_iter,
        converged, rows.n_items, scores_precision(problem, variances), evidence, problem.centre,
    )  # fmt: skip


def _fit_large(rows: PairRows, settings: Settings, start: PairsFit | None) -> PairsFit:
    """Fit with more items than second derivatives can be kept of: L-BFGS, every parameter scaled by its own."""
    problem = PairsLikelihood(rows, ties=settings.ties, position=settings.position)
    point, variances = problem.initial_point(), settings.first_variances()
    learn = start is None and settings.prior == "estimated"
    if start is not None:
        point, variances = np.where(problem.locked, point, start.point), dict(start.variances)
    value, n_iter, converged = 0.0, 0, False
    free, initial = ~problem.locked, point.copy()
    for _ in range(8 if learn else 1):
        added = scores_precision(problem, variances)
        diagonal = problem.evaluate(point, variances)[2] + added
        scales = 1.0 / np.sqrt(np.maximum(diagonal, 1e-3))[free]

        def penalised(inner: FloatArray, added: FloatArray = added) -> tuple[float, FloatArray]:
            whole = initial.copy()
            whole[free] = inner
            got, gradient, _, _ = problem.evaluate(whole, variances)
            return got - 0.5 * float(added @ whole**2), (gradient - added * whole)[free]

        found = minimise(
            negated(penalised), point[free], scales, maxiter=10 * settings.max_iter, maxcor=20, ftol=1e-12, gtol=1e-6
        )
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
    point[: rows.n_items] -= np.where(free[: rows.n_items], point[: rows.n_items][free[: rows.n_items]].mean(), 0.0)
    known = slice(0, rows.known)
    return PairsFit(
        point, problem.effects[known], problem.spread[known, :2], information, variances, problem.locked, value, n_iter,
        converged, rows.n_items, scores_precision(problem, variances),
    )  # fmt: skip
