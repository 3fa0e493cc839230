"""Expectation-maximisation for models without an item block, whose M-step is in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Counts, Engine, Weights
from crowdassay.solvers.absent import without_absent
from crowdassay.solvers.outcome import Progress

EPSILON = float(np.finfo(float).eps)  # added to every count, so that an answer never seen has a finite log probability

Update = Callable[[FloatArray], tuple[FloatArray, float]]
"""An M-step: expected counts (n_workers, n_classes, n_classes) in, log tables of that shape and their log prior density out."""


def fit_em(
    engine: Engine,
    *,
    estimate_prior: bool,
    smoothing: float = 0.0,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
    update: Update | None = None,
    start: FloatArray | None = None,
    votes: Counts | None = None,
) -> tuple[FloatArray, FloatArray, tuple[float, ...], int, bool]:
    """Alternate expected counts and an update of the worker tables, from Q = vote shares.

    Parameters
    ----------
    engine : Engine
    estimate_prior : bool
        Whether the class prior is estimated; otherwise it is uniform.
    smoothing : float
        Of the update of Dawid and Skene's model, `free_tables`, which is used where no other is given.
    max_iter : int
    tol : float
        Relative change of the objective at which to stop.
    progress : callable, optional
    update : callable, optional
        The M-step of another model, such as `crowdassay.solvers.coins.coin_update`.
    start : ndarray of shape (n_workers, n_classes, n_classes), optional
        Log tables to begin with instead of the vote shares.
    votes : Counts, optional
        The engine's counts at the vote shares, where they are known already.

    Returns
    -------
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    history : tuple of float
        The objective at every step.
    n_iter : int
    converged : bool
    """
    n_classes = engine.n_classes
    update = update or free_tables(smoothing)
    xp = engine.xp  # tables stay where the labels are
    log_p = xp.full((engine.n_workers, n_classes, n_classes), -np.log(n_classes)) if start is None else xp.asarray(start)
    log_prior = without_absent(np.full(n_classes, -np.log(n_classes)), engine)
    sums = (votes or at_vote_shares(engine)) if start is None else engine.count(log_p, log_prior)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        log_p, log_density = update(sums.counts)
        if estimate_prior:
            totals = engine.to_host(sums.totals) + EPSILON
            log_prior = without_absent(np.log(totals / totals.sum()), engine)
        sums = engine.count(log_p, log_prior)
        history.append(sums.objective + log_density)
        if progress is not None:
            progress(len(history), history[-1])
        converged = len(history) > 1 and history[-1] - history[-2] < tol * abs(history[-1])
    return engine.to_host(log_p), engine.to_host(log_prior), tuple(history), len(history), converged


def at_vote_shares(engine: Engine) -> Counts:
    """Count labels by worker and class, every item weighed by its vote shares: where most fits begin."""
    flat = np.full(engine.n_classes, -np.log(engine.n_classes))
    tables = engine.xp.full((engine.n_workers, engine.n_classes, engine.n_classes), flat[0])
    return engine.count(tables, flat, Weights.VOTES)


def free_tables(smoothing: float) -> Update:
    r"""Return the update of Dawid and Skene's model: smoothed relative frequencies.

    .. math::  p_i(c, k) = \frac{n_i(c, k) + s}{\sum_{k'} n_i(c, k') + K s}, \qquad
               n_i(c, k) = \sum_j Q_{jc} 1[x_{ij} = k]

    With smoothing s this is the posterior mode under a Dirichlet(1 + s) prior, whose log density is part of the objective.
    """

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        smoothed = counts + (smoothing + EPSILON)
        log_p = np.log(smoothed / smoothed.sum(axis=2, keepdims=True))
        return log_p, smoothing * float(log_p.sum())

    return update
