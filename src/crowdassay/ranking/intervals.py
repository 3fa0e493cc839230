r"""How uncertain scores are, by a sandwich, a bootstrap or the model's own covariance, and which can be told apart.

.. math::  V = H^{-1} (J + \Lambda) H^{-1}, \qquad H = I + \Lambda

I is the information, :math:`\Lambda` what the population of scores adds, and J the sum of squared scores of the likelihood:
over workers where at least `ENOUGH_WORKERS` are known, since comparisons by one worker are alike, else over comparisons. (With
fewer workers who differ, the model's own V is taken.) Where the model holds, J is I and V is the inverse of H.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.fit import PairsFit, Settings, fit_pairs
from crowdassay.ranking.likelihood import PairRows, PairsLikelihood, make_rows
from crowdassay.ranking.pairs import Pairs
from crowdassay.ranking.populations import lock_matrix

ENOUGH_WORKERS = 30  # workers from which to sum by worker
MOST_ITEMS_COMPARED = 3000  # items up to which all pairs are tested


def model_covariance(fit: PairsFit) -> FloatArray:
    """Return the covariance of the parameters if the model holds, shape (n_parameters, n_parameters) or the diagonal."""
    if fit.information.ndim == 1:
        with np.errstate(divide="ignore"):
            return np.where(fit.locked, 0.0, 1.0 / np.maximum(fit.information + fit.precision, 1e-12))
    return _centred(fit, _inverse(fit))


def sandwich(rows: PairRows, fit: PairsFit, *, ties: str, position: bool, by_worker: bool) -> FloatArray:
    """Return the covariance of the parameters, shape (n_parameters, n_parameters)."""
    problem = PairsLikelihood(rows, ties=ties, position=position, effects=_effects(rows, fit))
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
    fit: PairsFit,
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


def _effects(rows: PairRows, fit: PairsFit) -> FloatArray:
    effects = np.zeros((len(rows.starts) - 1, 2))
    if len(fit.effects) == rows.known:
        effects[: rows.known] = fit.effects
    return effects


def _inverse(fit: PairsFit) -> FloatArray:
    whole = fit.information + np.diag(fit.precision)
    held = lock_matrix(whole, fit.locked, fit.n_items, shared=not fit.variances["scores"])
    inverse = np.linalg.inv(held)
    inverse[fit.locked, :] = 0.0
    inverse[:, fit.locked] = 0.0
    return np.asarray(inverse)


def _centred(fit: PairsFit, covariance: FloatArray) -> FloatArray:
    """Return the covariance of scores less their mean."""
    n = fit.n_items
    free = (~fit.locked[:n]).astype(float)
    keep = np.eye(len(covariance))
    keep[:n, :n] -= np.outer(np.ones(n), free) / max(free.sum(), 1.0)
    return np.asarray(keep @ covariance @ keep.T)


def holm(p: FloatArray, level: float) -> BoolArray:
    """Return which of several hypotheses are rejected so that the chance of any false rejection is at most ``level``.

    >>> holm(np.array([0.001, 0.04, 0.02]), 0.05).tolist()
    [True, True, True]
    """
    order = np.argsort(p, kind="stable")
    passed = p[order] <= level / np.arange(len(p), 0, -1)
    stop = len(p) if passed.all() else int(np.argmin(passed))
    rejected = np.zeros(len(p), bool)
    rejected[order[:stop]] = True
    return rejected


def better(score: FloatArray, covariance: FloatArray, level: float) -> BoolArray:
    """Return a table (n, n) of whether the row's score is surely above the column's, all pairs tested together (Holm)."""
    one, two = np.triu_indices(len(score), 1)
    variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
    gap = score[one] - score[two]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * ndtr(-np.abs(gap) / np.sqrt(np.maximum(variance, 1e-300)))
    sure = holm(p, level)
    table = np.zeros((len(score), len(score)), bool)
    table[one, two] = sure & (gap > 0)
    table[two, one] = sure & (gap < 0)
    return table


def rank_ranges(above: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank that each can have, given who is surely above whom; both (n,)."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def groups_alike(score: FloatArray, above: BoolArray) -> list[str]:
    """Return for each the groups it belongs to; two that share a group cannot be told apart.

    Groups are runs in the order of the scores, named a, b ... z, aa ...

    >>> above = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> groups_alike(np.array([2.0, 1.0, 0.0]), above)
    ['a', 'a b', 'b']
    """
    order = np.argsort(-score, kind="stable")
    apart = above | above.T
    runs: list[tuple[int, int]] = []
    last = 0
    for first in range(len(order)):
        last = max(last, first)
        while last + 1 < len(order) and not apart[order[last + 1], order[first : last + 1]].any():
            last += 1
        if not runs or last > runs[-1][1]:
            runs.append((first, last))
    names: list[list[str]] = [[] for _ in order]
    for n, (first, last) in enumerate(runs):
        for place in order[first : last + 1]:
            names[place].append(_letters(n))
    return [" ".join(name) for name in names]


def _letters(n: int) -> str:
    text = ""
    while True:
        n, digit = divmod(n, 26)
        text = chr(ord("a") + digit) + text
        if n == 0:
            return text
        n -= 1
