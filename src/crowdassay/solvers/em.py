"""Expectation-maximisation for models without an item block: one frame, whose M-steps are in `crowdassay.solvers.m_steps`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Counts, Engine, Weights
from crowdassay.solvers.m_steps import EPSILON, MStep, free_tables
from crowdassay.solvers.posteriors import ByTables
from crowdassay.solvers.solution import Progress, Solution
from crowdassay.solvers.stopping import em_settled

NEVER = -700.0  # a log probability that is as good as none, and whose exponential is still a number


def fit_em(
    engine: Engine,
    *,
    estimate_prior: bool,
    smoothing: float = 0.0,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
    update: MStep | None = None,
    start: FloatArray | None = None,
    votes: Counts | None = None,
) -> Solution:
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
        The M-step of another model, such as `crowdassay.solvers.m_steps.coin_update`.
    start : ndarray of shape (n_workers, n_classes, n_classes), optional
        Log tables to begin with instead of the vote shares.
    votes : Counts, optional
        The engine's counts at the vote shares, where they are known already.
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
        converged = em_settled(history, tol)
    log_p, log_prior = engine.to_host(log_p), engine.to_host(log_prior)
    objective = history[-1] if history else None
    return Solution(ByTables(log_p, log_prior), log_p, log_prior, objective, tuple(history), len(history), converged)


@dataclass(frozen=True, eq=False)
class Trial:
    """One of several runs of EM.

    Attributes
    ----------
    update : callable
        The M-step.
    settings : mapping
        What was asked for, for a summary.
    start : ndarray of shape (n_workers, n_classes, n_classes) or None
        Log tables to begin with instead of the vote shares.
    notes : tuple of str
    """

    update: MStep
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: FloatArray | None = None
    notes: tuple[str, ...] = ()


def fit_best_em(
    engine: Engine,
    trials: Iterable[Trial],
    *,
    estimate_prior: bool,
    max_iter: int,
    tol: float,
    margin: float = 0.0,
    progress: Progress | None = None,
) -> tuple[Solution, Trial]:
    """Run EM several times; return the solution of the highest objective, with the passes of all runs, and which run it was.

    A later run must be better by ``margin`` of the objective: runs that end in the same place differ by rounding, which must
    not choose between them.
    """
    best: tuple[Solution, Trial] | None = None
    highest, done, votes = -np.inf, 0, at_vote_shares(engine)

    def report(n_iter: int, objective: float) -> None:
        if progress is not None:
            progress(done + n_iter, objective)

    for trial in trials:
        found = fit_em(
            engine, estimate_prior=estimate_prior, max_iter=max_iter, tol=tol, progress=report, update=trial.update,
            start=trial.start, votes=votes,
        )  # fmt: skip
        done += found.n_iter
        assert found.objective is not None
        if best is None or found.objective > highest + margin * abs(highest):
            best, highest = (found, trial), found.objective
    assert best is not None
    solution, chosen = best
    return replace(solution, n_iter=done, settings=chosen.settings, notes=chosen.notes), chosen


def at_vote_shares(engine: Engine) -> Counts:
    """Count labels by worker and class, every item weighed by its vote shares: where most fits begin."""
    flat = np.full(engine.n_classes, -np.log(engine.n_classes))
    tables = engine.xp.full((engine.n_workers, engine.n_classes, engine.n_classes), flat[0])
    return engine.count(tables, flat, Weights.VOTES)


def without_absent(log_prior: FloatArray, engine: Engine) -> FloatArray:
    """Return a class prior (n_classes,) under which classes without a label or a known item have no chance.

    Nothing is known of how workers label them, and a class about which nothing is known would explain any labels.
    """
    return np.where(engine.class_counts > 0, log_prior, NEVER)
