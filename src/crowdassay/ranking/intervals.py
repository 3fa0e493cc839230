r"""How uncertain scores are: a sandwich over workers or comparisons, a bootstrap, or the model's own word.

.. math::  V = H^{-1} (J + \Lambda) H^{-1}, \qquad H = I + \Lambda

I is the information, :math:`\Lambda` what the population of scores adds, and J the sum of squared scores of the likelihood:
over workers where at least `ENOUGH_WORKERS` are known, since comparisons by one worker are alike, else over comparisons. (With
fewer workers who differ, the model's own V is taken.) Where the model holds, J is I and V is the inverse of H.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.ranking.fit import Fit, Settings, fit_pairs
from crowdassay.ranking.linear import lock_matrix
from crowdassay.ranking.pairs import Pairs
from crowdassay.ranking.problem import Problem
from crowdassay.ranking.rows import Rows, make_rows

ENOUGH_WORKERS = 30  # workers from which to sum by worker


def model_covariance(fit: Fit) -> FloatArray:
    """Return the covariance of the parameters if the model holds, shape (n_parameters, n_parameters) or the diagonal."""
    if fit.information.ndim == 1:
        with np.errstate(divide="ignore"):
            return np.where(fit.locked, 0.0, 1.0 / np.maximum(fit.information + fit.precision, 1e-12))
    return _centred(fit, _inverse(fit))


def sandwich(rows: Rows, fit: Fit, *, ties: str, position: bool, by_worker: bool) -> FloatArray:
    """Return the covariance of the parameters, shape (n_parameters, n_parameters)."""
    problem = Problem(rows, ties=ties, position=position, effects=_effects(rows, fit))
    problem.centre = fit.centre
    _, _, _, meat = problem.evaluate(fit.point, fit.variances, 1 if by_worker else 2)
    used = int((np.diff(rows.starts[: rows.known + 1]) > 0).sum()) if by_worker else rows.weight.sum()
    meat = meat * used / max(used - 1, 1) + np.diag(fit.precision)
    meat[fit.locked, :] = 0.0
    meat[:, fit.locked] = 0.0
    inverse = _inverse(fit)
    return _centred(fit, inverse @ meat @ inverse)


def bootstrap(
    pairs: Pairs,
    fit: Fit,
    settings: Settings,
    *,
    worker_effects: bool,
    by_worker: bool,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Return scores of resamples, shape (resamples, n_items): workers drawn with all they compared, or comparisons.

    The populations are those of the fit.
    """
    scores = np.empty((resamples, pairs.n_items))
    alone = pairs.worker < 0
    for n in range(resamples):
        if by_worker:
            size = len(pairs.workers)
            drawn = np.bincount(rng.integers(size, size=size), minlength=size)
            weight = np.where(alone, rng.poisson(1.0, pairs.n_pairs), drawn[pairs.worker]).astype(float)
        else:
            weight = np.bincount(rng.integers(pairs.n_pairs, size=pairs.n_pairs), minlength=pairs.n_pairs).astype(float)
        keep = weight > 0
        rows = make_rows(pairs.only(keep), ties=settings.ties, by_worker=worker_effects, weight=weight[keep])
        again = fit_pairs(rows, settings, replace(fit, effects=_effects(rows, fit)))
        scores[n] = again.point[: pairs.n_items]
    return scores


def _effects(rows: Rows, fit: Fit) -> FloatArray:
    effects = np.zeros((len(rows.starts) - 1, 2))
    if len(fit.effects) == rows.known:
        effects[: rows.known] = fit.effects
    return effects


def _inverse(fit: Fit) -> FloatArray:
    whole = fit.information + np.diag(fit.precision)
    held = lock_matrix(whole, fit.locked, fit.n_items, shared=not fit.variances["scores"])
    inverse = np.linalg.inv(held)
    inverse[fit.locked, :] = 0.0
    inverse[:, fit.locked] = 0.0
    return np.asarray(inverse)


def _centred(fit: Fit, covariance: FloatArray) -> FloatArray:
    """Return the covariance of scores less their mean."""
    n = fit.n_items
    free = (~fit.locked[:n]).astype(float)
    keep = np.eye(len(covariance))
    keep[:n, :n] -= np.outer(np.ones(n), free) / max(free.sum(), 1.0)
    return np.asarray(keep @ covariance @ keep.T)
