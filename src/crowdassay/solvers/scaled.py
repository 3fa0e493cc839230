r"""Posterior mode of models in which an item scales its workers: all parameters together, by L-BFGS.

.. math::  F(\theta, \lambda) = L(\theta, \lambda) - \tfrac12 \sum_i |\theta_i - \gamma|^2 - \tfrac12 |\gamma - m|^2
           - \tfrac12 \sum_j (\lambda_j - e)^2

L is the log-marginal of the labels, with the classes summed out. Its gradient is that of EM's expected log-likelihood at the
current posterior, so that F and EM share their fixed points; maximising F itself takes fewer passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ScaledSums, Weights
from crowdassay.labels.labels import Labels
from crowdassay.solvers.lbfgs import maximise
from crowdassay.solvers.solution import Progress

SCALED_START_TOLERANCE = 1e-6  # the fit to the vote shares is only a start
SECOND_START_LABELS = 50_000  # labels up to which a second start is worth its time
SECOND_START_CELLS = 10**6  # labels times squared classes up to which it is

Likelihood = Callable[[FloatArray, FloatArray, Weights], ScaledSums]
"""One pass with worker parameters (n_workers, size) and log scales (n_items,); its gradient is by these parameters."""
Curvature = Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""What labels know of every worker parameter (n_workers, size) and log scale (n_items,), given these and a posterior."""


@dataclass(frozen=True, eq=False)
class ScaledProblem:
    """The function to maximise.

    Attributes
    ----------
    labels : Labels
    likelihood : callable
    mean : ndarray of shape (size,)
        m: prior mean of the workers' parameters, or with ``pooled`` of the population's gamma.
    easiness : float
        e: prior mean of the log scales.
    pooled : bool
        Whether workers scatter around a population that is itself estimated; otherwise gamma is m.
    curvature : callable, optional
        Without, all parameters of a worker are taken to be known alike.
    """

    labels: Labels
    likelihood: Likelihood
    mean: FloatArray
    easiness: float
    pooled: bool = False
    curvature: Curvature | None = None

    def start(self) -> FloatArray:
        """Return the prior means as one flat vector."""
        return np.concatenate([np.tile(self.mean, self.labels.n_workers), np.full(self.labels.n_items, float(self.easiness))])

    def scales(self, point: FloatArray, weights: Weights) -> FloatArray:
        """Return a step length for every coordinate: what is known of a worker grows with the number of labels.

        In these scales L-BFGS needs a third of the passes, or fewer; by the curvature where it starts, half of these.
        """
        if self.curvature is not None:
            theta, log_scale = self.split(point)
            known = self.curvature(theta, log_scale, self.likelihood(theta, log_scale, weights).posterior)
            return 1.0 / np.sqrt(1.0 + np.concatenate([part.ravel() for part in known]))
        counts = np.bincount(self.labels.worker, minlength=self.labels.n_workers)
        return np.concatenate([np.repeat(1.0 / np.sqrt(1.0 + counts / 4.0), len(self.mean)), np.ones(self.labels.n_items)])

    def split(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return worker parameters (n_workers, size) and log scales (n_items,)."""
        edge = len(point) - self.labels.n_items
        return point[:edge].reshape(self.labels.n_workers, -1), point[edge:]

    def evaluate(self, point: FloatArray, weights: Weights) -> tuple[float, FloatArray]:
        """Pass over the labels once; return F and its gradient."""
        theta, log_scale = self.split(point)
        sums = self.likelihood(theta, log_scale, weights)
        centre = population(theta, self.mean, pooled=self.pooled)
        apart, away, off = theta - centre, centre - self.mean, log_scale - self.easiness
        penalty = 0.5 * float(np.sum(apart**2) + np.sum(away**2) + np.sum(off**2))
        return sums.objective - penalty, np.concatenate([(sums.gradient - apart).ravel(), sums.slope - off])


@dataclass(frozen=True, eq=False)
class Mode:
    """What was found: parameters, the last pass at them, and how.

    Attributes
    ----------
    theta : ndarray of shape (n_workers, size)
    log_scale : ndarray of shape (n_items,)
    posterior : ndarray of shape (n_items, n_classes)
    objective : float
    history : tuple of float
    n_iter : int
    converged : bool
    """

    theta: FloatArray
    log_scale: FloatArray
    posterior: FloatArray
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


def population(theta: FloatArray, mean: FloatArray, *, pooled: bool) -> FloatArray:
    r"""Return gamma, shape (size,): the best one for these workers, :math:`(m + \sum_i \theta_i) / (1 + n)`, or m."""
    return (mean + theta.sum(axis=0)) / (1 + len(theta)) if pooled else mean


def fit_scaled(problem: ScaledProblem, *, max_iter: int, tol: float, progress: Progress | None = None) -> Mode:
    """Maximise from the parameters that fit the vote shares and, on small data, from the prior means too; keep the higher.

    Neither start is better throughout: from the vote shares workers can settle upside down, from the prior means all classes.
    """
    best: Mode | None = None
    used = 0

    def report(n_iter: int, value: float) -> None:
        if progress is not None:
            progress(used + n_iter, value)

    for from_votes in (True, False) if worth_another(problem.labels) else (True,):
        if best is not None and used >= max_iter:
            break
        point = problem.start()
        if from_votes and max_iter > 1:
            fit, scales = partial(problem.evaluate, weights=Weights.VOTES), problem.scales(point, Weights.VOTES)
            point, *_, spent, _ = maximise(fit, point, scales, max_iter=max_iter - 1, tol=SCALED_START_TOLERANCE)
            used += spent
        optimum, value, history, spent, converged = maximise(
            partial(problem.evaluate, weights=Weights.FREE),
            point,
            problem.scales(point, Weights.FREE),
            max_iter=max_iter - used,
            tol=tol,
            step=report,
        )
        used += spent
        if best is None or value > best.objective:
            theta, log_scale = problem.split(optimum)
            posterior = problem.likelihood(theta, log_scale, Weights.FREE).posterior
            best = Mode(theta, log_scale, posterior, value, history, used, converged)
    assert best is not None
    return replace(best, n_iter=used)


def worth_another(labels: Labels) -> bool:
    """Return whether labels are so few that a second start costs little: a pass takes a table of squared classes each."""
    return labels.n_labels <= SECOND_START_LABELS and labels.n_labels * labels.n_classes**2 <= SECOND_START_CELLS


def predict_scaled(likelihood: Likelihood, theta: FloatArray, easiness: float, n_items: int) -> FloatArray:
    """Return class probabilities (n_items, n_classes) of items whose log scales are fitted and whose workers are known."""

    def evaluate(log_scale: FloatArray) -> tuple[float, FloatArray]:
        sums, off = likelihood(theta, log_scale, Weights.FREE), log_scale - easiness
        return sums.objective - 0.5 * float(off @ off), sums.slope - off

    log_scale, *_ = maximise(evaluate, np.full(n_items, float(easiness)), np.ones(n_items), max_iter=1000, tol=1e-12)
    return likelihood(theta, log_scale, Weights.FREE).posterior
