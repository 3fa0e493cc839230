r"""How uncertain scores are, by a sandwich, a bootstrap or the model; which can be told apart, and what to compare next.

.. math::  V = H^{-1} (J + \Lambda) H^{-1}, \qquad H = I + \Lambda

I is the information, :math:`\Lambda` what the population of scores adds, and J the sum of squared slopes of the likelihood:
over questions, since answers to one question are alike, and over workers where at least `ENOUGH_CLUSTERS` are known, or over
comparisons where there are neither (`crowdassay.ranking.clusters`). Where the model holds, J is I and V is the inverse of H.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr, stdtr

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.ranking.clusters import apart
from crowdassay.ranking.fit import PairsFit, fit_pairs, lock_matrix
from crowdassay.ranking.likelihood import make_rows
from crowdassay.ranking.pairs import Pairs

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

MOST_ITEMS_COMPARED = 3000  # items up to which all pairs are tested
MOST_ITEMS_PAIRED = 2000  # items up to which all pairs are looked at for the next comparison


def model_covariance(fit: PairsFit) -> FloatArray:
    """Return the covariance of the parameters if the model holds, shape (n_parameters, n_parameters) or the diagonal."""
    if fit.information.ndim == 1:
        with np.errstate(divide="ignore"):
            return np.where(fit.locked, 0.0, 1.0 / np.maximum(fit.information + fit.precision, 1e-12))
    return _centred(fit, _inverse(fit))


def sandwich(model: BradleyTerry) -> FloatArray:
    """Return the covariance of the parameters, shape (n_parameters, n_parameters)."""
    fit, slopes = model._fit, model._slopes
    rows, by_worker = slopes.rows, model._by_worker
    owner = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
    worker = np.where(owner < rows.known, owner, -1)
    if rows.cluster is None:
        codes = worker if by_worker else np.full(len(owner), -1)
        meat = slopes.meat(codes, whole_workers=by_worker)
    else:
        meat = slopes.meat(rows.cluster)
    if not by_worker:
        meat += slopes.from_population()
    elif rows.cluster is not None:  # both ways, less what was counted twice (Cameron, Gelbach and Miller 2011)
        cell = np.unique(rows.cluster * (rows.known + 1) + worker + 1, return_inverse=True)[1].ravel()
        meat = _positive(meat + slopes.meat(worker, whole_workers=True) - slopes.meat(cell))
    inverse = _inverse(fit)
    return _centred(fit, inverse @ (meat + np.diag(fit.precision)) @ inverse)


def bootstrap(model: BradleyTerry) -> FloatArray:
    """Return the covariance of the scores of resamples, (n_items, n_items): of questions and of workers, or of comparisons.

    Each is drawn with all of its comparisons. The populations are those of the fit.
    """
    pairs, rng = model._pairs, np.random.default_rng(model.seed)
    cluster = model._dependent
    if model._by_worker:
        worker = apart(pairs.worker)
        if cluster is None:
            return np.asarray(np.cov(_resampled(model, worker, rng), rowvar=False))
        cell = np.unique(cluster * (int(worker.max()) + 1) + worker, return_inverse=True)[1].ravel()
        both, twice = (_resampled(model, codes, rng) for codes in (worker, cell))
        added = np.cov(both, rowvar=False) - np.cov(twice, rowvar=False)
        return _positive(np.cov(_resampled(model, cluster, rng), rowvar=False) + added)
    every = np.arange(pairs.n_pairs) if cluster is None else cluster
    return np.asarray(np.cov(_resampled(model, every, rng), rowvar=False))


def _resampled(model: BradleyTerry, codes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return scores, (resamples, n_items), where what has one of the codes (n_pairs,) is drawn together."""
    pairs, fit, size = model._pairs, model._fit, int(codes.max()) + 1
    again = replace(model, prior=np.sqrt(fit.variances["scores"]) or None, tol=1e-4)
    scores = np.empty((model.resamples, pairs.n_items))
    for n in range(model.resamples):
        weight = np.bincount(rng.integers(size, size=size), minlength=size)[codes].astype(float)
        keep = weight > 0
        rows = make_rows(
            pairs.only(keep), ties=model.ties, by_worker=model._effects, identified=model._identified, weight=weight[keep]
        )
        scores[n] = fit_pairs(rows, again, fit).point[: pairs.n_items]
    return scores


def _positive(matrix: FloatArray) -> FloatArray:
    """Return the matrix with negative eigenvalues, which only chance can make, set to zero."""
    value, vector = np.linalg.eigh(matrix)
    return np.asarray((vector * np.maximum(value, 0.0)) @ vector.T)


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


def find_degrees(model: BradleyTerry) -> FloatArray:
    """Return the degrees of freedom of each item's variance, shape (n_items,); infinite where no clusters are summed.

    A variance that is summed over clusters is itself estimated, from as many as the item was compared in: one less than these,
    of questions or of workers, whichever are fewer.
    """
    pairs = model._fitted()
    degrees, cluster = np.full(pairs.n_items, np.inf), model._dependent
    if model.intervals == "model":
        return degrees
    clusters = [*([] if cluster is None else [cluster]), *([apart(pairs.worker)] if model._by_worker else [])]
    for codes in clusters:
        degrees = np.minimum(degrees, np.maximum(_clusters_met(pairs, codes) - 1.0, 1.0))
    return degrees


def _clusters_met(pairs: Pairs, codes: IntArray) -> IntArray:
    """Return in how many clusters (n_pairs,) each item was compared, shape (n_items,)."""
    width = int(codes.max()) + 1
    if pairs.n_items * width <= 2 * pairs.n_pairs:  # a table of all is smaller than a sorted list
        seen = np.zeros((pairs.n_items, width), bool)
        for side in (pairs.left, pairs.right):
            seen[side, codes] = True
        return seen.sum(axis=1)
    met = np.unique(np.concatenate([pairs.left * width + codes, pairs.right * width + codes]))
    return np.bincount(met // width, minlength=pairs.n_items)


def _degrees_of_pairs(degrees: FloatArray, one: IntArray, two: IntArray) -> FloatArray:
    """Return the degrees of freedom of differences: those of the item that is known from fewer clusters."""
    return np.minimum(degrees[one], degrees[two])


def _tail(z: FloatArray, degrees: FloatArray) -> FloatArray:
    """Return the chance that Student's t is below z; the normal law where the degrees of freedom are infinite.

    >>> _tail(np.array([-2.0, -2.0]), np.array([1.0, np.inf])).round(3).tolist()
    [0.148, 0.023]
    """
    return np.asarray(stdtr(degrees, z) if np.isfinite(degrees).any() else ndtr(z))


def better(score: FloatArray, covariance: FloatArray, degrees: FloatArray, level: float) -> BoolArray:
    """Return a table (n, n) of whether the row's score is surely above the column's, all pairs tested together (Holm).

    As intervals do, the tests take Student's law, with the degrees of freedom (n,) of the one known from fewer clusters.
    """
    one, two = np.triu_indices(len(score), 1)
    variance = covariance[one, one] + covariance[two, two] - 2 * covariance[one, two]
    gap = score[one] - score[two]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = -np.abs(gap) / np.sqrt(np.maximum(variance, 1e-300))
    p = 2 * _tail(z, _degrees_of_pairs(degrees, one, two))
    sure = holm(p, level)
    table = np.zeros((len(score), len(score)), bool)
    table[one, two] = sure & (gap > 0)
    table[two, one] = sure & (gap < 0)
    return table


def rank_ranges(above: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the best and the worst rank that each can have, given who is surely above whom; both (n,)."""
    return 1 + above.sum(axis=0), len(above) - above.sum(axis=1)


def groups_alike(score: FloatArray, above: BoolArray) -> list[str]:
    """Return the groups of each item, (n,); two items that share a group cannot be told apart.

    Groups are runs in the order of the scores, named a, b ... z, aa ...

    >>> above = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], bool)
    >>> groups_alike(np.array([2.0, 1.0, 0.0]), above)
    ['a', 'a b', 'b']
    """
    order = np.argsort(-np.round(score, 9), kind="stable")
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


def choose_pairs(
    score: FloatArray, covariance: FloatArray, degrees: FloatArray, count: int
) -> list[tuple[int, int, float, float]]:
    r"""Return up to ``count`` pairs to compare next: two items, the chance that their order is wrong, and what it is worth.

    A comparison of i and j is worth most where their order is in doubt and the comparison would tell much:

    .. math::  T\!\left(-\frac{|s_i - s_j|}{\sqrt{V_{ij}}}\right) \log(1 + w_{ij} V_{ij}), \quad w_{ij} = p_{ij} (1 - p_{ij})

    the chance that the order is wrong, by the law that `better` takes, times the information gained. After each pair the
    uncertainty is updated as if the comparison had been made; a pair is named once.
    """
    one, two = np.triu_indices(len(score), 1)
    gap = np.abs(score[one] - score[two])
    chance = 1.0 / (1.0 + np.exp(-np.clip(gap, 0, 50)))
    weight = chance * (1.0 - chance)
    freedom = _degrees_of_pairs(degrees, one, two)
    spread = covariance.copy()
    chosen = []
    taken = np.zeros(len(one), bool)
    for _ in range(min(count, len(one))):
        variance = spread[one, one] + spread[two, two] - 2 * spread[one, two]
        wrong = _tail(-gap / np.sqrt(np.maximum(variance, 1e-12)), freedom)
        worth = np.where(taken, -1.0, wrong * np.log1p(weight * np.maximum(variance, 0.0)))
        best = int(np.argmax(worth))
        taken[best] = True
        i, j = int(one[best]), int(two[best])
        chosen.append((i, j, float(wrong[best]), float(worth[best])))
        column = spread[:, i] - spread[:, j]
        spread = spread - np.outer(column, column) * weight[best] / (1.0 + weight[best] * variance[best])
    return chosen
