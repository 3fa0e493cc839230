"""Penalties and class prior learned from the labels: refit until they agree with what was found (empirical Bayes)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ItemEngine
from crowdassay.models.family import VANISHING, Model
from crowdassay.solvers.profiled import fit_profiled
from crowdassay.solvers.solution import AsFound, Progress, Solution
from crowdassay.statistics import log_softmax

EMPIRICAL_ROUNDS = 20
EMPIRICAL_CHANGE = 0.01  # relative change of the penalty, and change of a log probability of the prior, at which to stop
STRONGEST = 1e6  # penalty beyond which workers do not differ
LEAST_SQUARES = 1e-9  # sum of squared deviations below which workers are taken to be alike


def fit_empirical(
    engine: ItemEngine,
    model: Model,
    *,
    penalties: bool,
    prior: bool,
    starts: int,
    max_iter: int,
    tol: float,
    start: FloatArray | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Fit the family, learn its worker penalty, its class prior or both from the fit, and go on until they settle.

    The item penalty keeps its proportion to the workers'. The objective's history is that of the last fit.

    Parameters
    ----------
    engine : ItemEngine
    model : Model
        Its penalties are where learning begins.
    penalties, prior : bool
        What is learned.
    starts, max_iter, tol, start, progress
        As `fit_profiled` takes them; ``max_iter`` for all fits together.
    """
    log_prior = np.zeros(engine.n_classes)
    n_iter = 0
    for round_ in range(EMPIRICAL_ROUNDS):
        solution = fit_profiled(
            engine,
            model,
            log_prior,
            starts=starts if round_ == 0 else 1,
            max_iter=max(max_iter - n_iter, 1),
            tol=tol,
            start=start,
            progress=progress,
        )
        assert solution.sigma is not None
        n_iter += solution.n_iter
        items = solution.predict(engine)
        old, old_prior = model, log_prior
        if prior:
            log_prior = learned_prior(items.posterior)
        if penalties:
            labels = engine.labels
            by_class = [np.bincount(labels.worker, q[labels.label_item], labels.n_workers) for q in items.posterior.T]
            alpha = learned_penalty(model, solution.sigma, np.stack(by_class, axis=1))
            model = replace(model, alpha=alpha, beta=model.beta * alpha / model.alpha)
        moved = max(abs(np.log(model.alpha / old.alpha)), float(np.abs(np.ptp(log_prior - old_prior))))
        if moved < EMPIRICAL_CHANGE or n_iter >= max_iter:
            break
        start = model.worker.coordinates(solution.sigma)
    return replace(solution, predict=AsFound(items), n_iter=n_iter)


def learned_prior(posterior: FloatArray) -> FloatArray:
    """Return the log class prior that posteriors (n_items, n_classes) speak for, one item added to each class."""
    totals = posterior.sum(axis=0) + 1.0
    return np.asarray(np.log(totals / totals.sum()))


def learned_penalty(model: Model, sigma: FloatArray, n: FloatArray) -> float:
    r"""Return the worker penalty that explains how far workers lie apart, by MacKay's fixed point.

    .. math::  \alpha \leftarrow \frac{\sum_{ir} h_{ir} / (\alpha + h_{ir})}{\sum_{ir} d_{ir}^2}, \qquad
               h_{ir} = \sum_c n_{ic} \operatorname{Var}_{k \sim p_i(c, \cdot)} B_{ckr}

    with d the workers' deviations (from the population where there is one) and h what their labels know of them. This is the
    variance of the deviations, each with its own posterior uncertainty 1 / (alpha + h) added.

    Parameters
    ----------
    model : Model
    sigma : ndarray of shape (n_workers, n_classes, n_classes)
    n : ndarray of shape (n_workers, n_classes)
        Labels of each worker by true class.

    References
    ----------
    D. J. C. MacKay. Bayesian interpolation. 1992.
    """
    basis, p = model.worker, np.exp(log_softmax(sigma))
    known = np.zeros((len(p), basis.size))
    for c, part, columns in basis.blocks():
        known[:, part] += n[:, c, None] * (p[:, c] @ columns**2 - (p[:, c] @ columns) ** 2)
    deviations = model.deviations(basis.coordinates(sigma))
    determined = float((known / (model.alpha + known)).sum())
    return float(np.clip(determined / max(float((deviations**2).sum()), LEAST_SQUARES), VANISHING, STRONGEST))
