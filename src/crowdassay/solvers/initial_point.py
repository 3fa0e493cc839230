"""Where to begin on large data: at the fit without items, whose passes cost a fraction of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.solvers.ascent import WorkerProblem
from crowdassay.solvers.em import at_vote_shares
from crowdassay.solvers.lbfgs import maximise
from crowdassay.statistics import log_softmax

START_TOLERANCE = 1e-4  # the fit to the vote counts is only a start
OPENING_TOLERANCE = 1e-7  # relative rise of the objective at which the opening fit stops; its passes are cheap


def initial_point(problem: WorkerProblem, step: Callable[[float], None]) -> tuple[FloatArray, float, bool]:
    """Fit the workers to the vote shares, one pass in all, then freely but without the item block.

    Return the point, its objective, which is a lower bound of the objective with items, and whether sweeps are left. The
    problem learns its natural scales from the counts expected there.
    """
    engine, model = problem.engine, problem.model
    votes = at_vote_shares(engine).counts
    problem.n_iter += 1
    smoothed = votes + 1.0 / engine.n_classes
    problem.learn_units(votes, smoothed / smoothed.sum(axis=2, keepdims=True))
    point = fit_counts(problem, votes)
    plain = type(problem)(engine, replace(model, item=None), problem.log_prior, problem.max_iter - 1)
    plain.n_iter, plain.curvature = problem.n_iter, problem.curvature
    point, value, alive = plain.maximise(point, Weights.FREE, OPENING_TOLERANCE, step)
    problem.n_iter = plain.n_iter
    if alive and problem.n_iter < problem.max_iter - 1:
        log_p = log_softmax(plain.tables(point))
        problem.learn_units(engine.count(log_p, problem.log_prior).counts, np.exp(log_p))
        problem.n_iter += 1
    return point, value, alive


def fit_counts(problem: WorkerProblem, counts: FloatArray) -> FloatArray:
    r"""Maximise :math:`\sum_{ick} n_{ick} \log p_i(k \mid c)` less the penalty over the worker coordinates, a flat vector."""
    mass = counts.sum(axis=2, keepdims=True)

    def evaluate(flat: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(problem.tables(flat))
        penalty, slope = problem.penalise(flat)
        gradient = problem.flat(problem.transpose(counts - mass * np.exp(log_p))) - slope
        return float((counts * log_p).sum()) - penalty, gradient

    return maximise(evaluate, problem.origin(), problem.scales(), max_iter=100, tol=START_TOLERANCE)[0]
