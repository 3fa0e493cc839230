"""EM in which an item's votes keep a share of its class weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Weights
from crowdassay.engines.local import log_softmax
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.solvers.outcome import Progress
from crowdassay.solvers.population import Population

LEAST = 1e-9  # probability that a worker's table gives to any answer


@dataclass(frozen=True, eq=False)
class Anchored:
    """Workers, population and items, and how they were found.

    Attributes
    ----------
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
        Mean log probabilities of the workers' answers.
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        What the workers' tables rest on: expected answers, with item effects those not explained by them.
    population : Population
    log_prior : ndarray of shape (n_classes,)
    posterior : ndarray of shape (n_items, n_classes)
    effects : ndarray of shape (n_items, n_classes, n_classes) or None
        With item effects, the best effect of each item by true class.
    sweeps : int
    converged : bool
    """

    log_p: FloatArray
    counts: FloatArray
    population: Population
    log_prior: FloatArray
    posterior: FloatArray
    effects: FloatArray | None
    sweeps: int
    converged: bool


def fit_anchored(
    engine: RandomItemsEngine,
    *,
    anchor: float,
    precision: float | None = None,
    max_sweeps: int,
    tolerance: float,
    progress: Progress | None = None,
) -> Anchored:
    r"""Alternate class weights, the population and the workers, from the vote shares V.

    .. math::  \hat Q_{jc} = (1 - a)\, Q_{jc} + a\, V_{jc}

    Without items and at a given population this raises (1 - a) times the log-likelihood of the labels plus a times that of
    labels and classes, the classes drawn from the votes: the votes serve as known classes that are not quite trusted.

    Parameters
    ----------
    engine : RandomItemsEngine
    anchor : float
        The weight a of the votes, from 0 to 1.
    precision : float, optional
        Of the items' random effects; None leaves items out.
    max_sweeps : int
    tolerance : float
        Mean over items of the largest change of a probability at which to stop.
    progress : callable, optional
        Told the sweeps so far and the log-likelihood.
    """
    n_classes = engine.n_classes
    flat = np.full((engine.n_workers, n_classes, n_classes), -np.log(n_classes))
    votes = engine.count(flat, flat[0, 0], Weights.VOTES)
    counts, totals, population = votes.counts, votes.totals, Population(n_classes)
    effects = None if precision is None else np.zeros((engine.n_items, n_classes, n_classes))
    before: FloatArray | None = None
    sweeps, converged = 0, False
    while True:
        population.learn(counts)
        log_p = population.log_tables(counts)
        log_prior = digamma(totals + 1.0) - digamma(totals.sum() + n_classes)
        sweeps += 1
        if precision is None or effects is None:
            posterior = np.empty((engine.n_items, n_classes))
            sums = engine.count(log_p, log_prior, posterior=posterior)
            value = sums.objective
            new_counts = (1 - anchor) * sums.counts + anchor * votes.counts
            new_totals = (1 - anchor) * sums.totals + anchor * votes.totals
        else:
            p = np.maximum(np.exp(log_softmax(log_p)), LEAST)
            found = engine.integrate(p, log_prior, anchor=anchor, precision=precision, effects=effects)
            value, posterior, new_totals = found.objective, found.posterior, found.totals
            new_counts = unexplained_counts(p, population.prior, found.observed, found.expected, found.variance)
        if progress is not None:
            progress(sweeps, value)
        converged = before is not None and float(np.abs(posterior - before).max(axis=1).mean()) < tolerance
        if converged or sweeps >= max_sweeps:
            return Anchored(log_p, counts, population, log_prior, posterior, effects, sweeps, converged)
        counts, totals, before = new_counts, new_totals, posterior


def unexplained_counts(
    p: FloatArray, prior: FloatArray, observed: FloatArray, expected: FloatArray, variance: FloatArray
) -> FloatArray:
    r"""Turn observed and expected answers into the counts that a worker would have without item effects.

    .. math::  p' \propto p\, \frac{o + \alpha}{e + |\alpha|\, p}, \qquad n = (N + |\alpha|)\, p' - \alpha, \qquad
               N = \frac{\sum \operatorname{Var}}{\sum_k p_k (1 - p_k)}

    One step of iterative scaling: where o = e nothing is left to explain, and without effects n is exactly o. An answer that
    the item's effect makes certain says nothing about the worker, so it adds nothing to N.

    Parameters
    ----------
    p, observed, expected : ndarray of shape (n_workers, n_classes, n_classes)
    prior : ndarray of shape (n_classes, n_classes)
    variance : ndarray of shape (n_workers, n_classes)
    """
    strength = prior.sum(axis=1)[:, None]
    scaled = p * (observed + prior) / (expected + strength * p)
    scaled /= scaled.sum(axis=2, keepdims=True)
    size = np.minimum(variance / np.maximum((p * (1 - p)).sum(axis=2), LEAST), observed.sum(axis=2))
    return np.maximum(scaled * (size[:, :, None] + strength) - prior, 0.0)
