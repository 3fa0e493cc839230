"""Votes weighted by leading eigenvectors, for two classes: of the labels, and of how workers agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.two_classes import (
    first_weights,
    item_scores,
    label_signs,
    log_odds_scale,
    log_odds_tables,
    sign_matrix,
)
from crowdassay.results.parameters import check_choice
from crowdassay.solvers.posteriors import ByTables
from crowdassay.solvers.solution import Progress, Solution

POWER_ITERATIONS = 3000
VECTOR_CHANGE = 1e-12  # change of any entry at which the power iteration stops
EVEN = 0.5  # reliability of everyone when no two workers share an item
EVEN_CLASSES = np.full(2, -np.log(2.0))  # log prior


@dataclass(kw_only=True, eq=False, repr=False)
class SingularVector(Estimator):
    r"""Take the signs of the leading left singular vector of the labels, items by workers; two classes.

    .. math::  A \approx s\, u v^\top, \qquad
               \hat t_j = \operatorname{sign} u_j = \operatorname{sign} \sum_i A_{ij} v_i

    with labels :math:`A_{ij} = \pm 1` and 0 where there is none. When worker i is right with probability :math:`p_i`, the
    expectation of A is :math:`t_j (2 p_i - 1)` wherever there is a label, so that v weighs workers by their worth. The
    sign of v, which the decomposition leaves open, is the one for which most workers are better than chance. Labels that
    fall into parts without a common worker or item have a vector for each part.

    The answer is a vote with weights v; its score becomes log odds by the scale of `log_odds_scale`. Known items are
    answered by one worker more, who counts as much as all others and has a voice in that sign for each.

    Parameters
    ----------
    threads : int or None
        Of the last step; None takes all cores.

    References
    ----------
    A. Ghosh, S. Kale, P. McAfee. Who moderates the moderators? Crowdsourcing abuse detection in user-generated content. 2011.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> SingularVector().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "singular-vector"

    threads: int | None = None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the leading singular vector, and vote with it."""
        labels = self._local(engine).labels
        signs = label_signs(labels, self.method)
        matrix = sign_matrix(labels, signs)
        part = connected_parts(matrix)
        weights, _, converged = leading_vector(lambda v: matrix.T @ (matrix @ v), first_weights(labels), part)
        weights = weights[: labels.n_workers]
        own = weights[labels.worker]
        scale = log_odds_scale(item_scores(labels, signs * own), own)
        log_p = log_odds_tables(scale * weights)
        return Solution(ByTables(log_p, EVEN_CLASSES), log_p, EVEN_CLASSES, converged=converged)


@dataclass(kw_only=True, eq=False, repr=False)
class EigenvectorRatio(Estimator):
    r"""Find the workers' reliabilities from how often pairs of workers agree, then take a weighted vote; two classes.

    .. math::  M = A^\top A, \quad N = |A|^\top |A| \quad \text{off the diagonal}, \qquad
               E M_{ii'} = w_i w_{i'} N_{ii'}, \quad w_i = 2 p_i - 1

    with labels :math:`A_{ji} = \pm 1`: agreements minus disagreements of two workers, and the items they share. Where N is
    nearly of rank one the leading eigenvectors of M and N satisfy the following; so do those of M / N, cell by cell, and of
    1[N > 0].

    .. math::  w_i = \sqrt{\lambda_M / \lambda_N}\; v_{M,i} / v_{N,i}

    Each label then votes with the log odds of :math:`p_i`, and the posterior is that of the one-coin model. The sign that the
    eigenvector leaves open is the one for which most workers are better than chance. Diagonals are left out, since agreement
    with oneself says nothing; a worker who shares no item with anyone is taken for average. Known items are answered by one
    worker more, who counts as much as all others and has a voice in that sign for each.

    Parameters
    ----------
    pairs : {'shares', 'counts'}
        Take the eigenvectors of M / N and 1[N > 0], every pair of workers counting alike, or of M and N, every shared item
        counting alike. The second goes astray where a few workers give most labels.
    threads : int or None
        Of the last step; None takes all cores.

    References
    ----------
    N. Dalvi, A. Dasgupta, R. Kumar, V. Rastogi. Aggregating crowdsourced binary ratings. 2013.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> EigenvectorRatio().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "eigenvector-ratio"

    pairs: str = "shares"
    threads: int | None = None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the reliabilities, and vote with their log odds."""
        check_choice("pairs", self.pairs, ("shares", "counts"))
        labels = self._local(engine).labels
        matrix = sign_matrix(labels, label_signs(labels, self.method))
        reliability, converged = find_reliability(matrix, self.pairs, first_weights(labels))
        n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
        # n labels cannot show a worker to be better than (n + 1) in (n + 2), and estimates may lie beyond one.
        most = n_labels / (n_labels + 2.0)
        log_odds = 2.0 * np.arctanh(np.clip(reliability[: labels.n_workers], -most, most))
        log_p = log_odds_tables(log_odds)
        predict = ByTables(log_p, EVEN_CLASSES)
        return Solution(predict, log_p, EVEN_CLASSES, converged=converged, settings={"pairs": self.pairs})


def connected_parts(matrix: scipy.sparse.csr_array) -> IntArray:
    """Return which connected part of the labels each column of an items by workers matrix belongs to, shape (n_columns,)."""
    links = scipy.sparse.block_array([[None, matrix], [matrix.T, None]])
    return np.asarray(scipy.sparse.csgraph.connected_components(links, directed=False)[1][matrix.shape[0] :], dtype=np.int64)


def find_reliability(matrix: scipy.sparse.csr_array, pairs: str, start: FloatArray) -> tuple[FloatArray, bool]:
    """Return 2 p - 1 of every column of a `sign_matrix`, shape (n_columns,), and whether the iterations converged."""
    agreements, items = off_diagonal(matrix), off_diagonal(abs(matrix))
    if pairs == "shares":
        per_item = items.copy()
        per_item.data = 1.0 / items.data
        agreements = scipy.sparse.csr_array(agreements.multiply(per_item))
        items.data = np.ones_like(items.data)
    part = np.asarray(scipy.sparse.csgraph.connected_components(items, directed=False)[1], dtype=np.int64)
    agreement, v_agreement, settled = leading_pair(agreements, start, part)
    shared, v_shared, also_settled = leading_pair(items, np.ones(len(start)), part)
    paired = (shared > 0) & (v_shared > 0)
    scale = np.sqrt(np.maximum(agreement, 0.0) / np.where(paired, shared, 1.0))
    ratio = scale * v_agreement / np.where(paired, v_shared, 1.0)
    average = float(ratio[paired].mean()) if paired.any() else EVEN
    return np.where(paired, ratio, average), settled and also_settled


def off_diagonal(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return matrix.T @ matrix without its diagonal."""
    product = scipy.sparse.csr_array(matrix.T @ matrix)
    product.setdiag(0.0)
    product.eliminate_zeros()
    return product


def leading_pair(matrix: scipy.sparse.csr_array, start: FloatArray, part: IntArray) -> tuple[FloatArray, FloatArray, bool]:
    """Return each part's largest eigenvalue of a symmetric matrix (n, n) at its entries (n,), the vector, if it converged.

    Half of the largest row sum on the diagonal makes the largest eigenvalue the largest in size, too.
    """
    shift = 0.5 * float(abs(matrix).sum(axis=0).max())
    vector, value, converged = leading_vector(lambda v: matrix @ v + shift * v, start, part)
    return value - shift, vector, converged


def leading_vector(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, part: IntArray
) -> tuple[FloatArray, FloatArray, bool]:
    r"""Return the leading eigenvector of a symmetric operator whose largest eigenvalue is the largest in size, part by part.

    An eigenvector of labels that fall apart lives on one part only. Here each part has a vector of its own, of length one and
    of the sign that most of its entries share with the start, by the start's weights. Library routines leave that sign open,
    and pick any mixture of vectors with equal eigenvalues, not the same one every time.

    Parameters
    ----------
    apply : callable
        Multiplies a vector (n,) by the operator, which leaves parts apart.
    start : ndarray of shape (n,)
        Not negative.
    part : ndarray of shape (n,)
        Which part each entry belongs to.

    Returns
    -------
    vector : ndarray of shape (n,)
        Zero on parts that the operator maps to zero.
    value : ndarray of shape (n,)
        The eigenvalue of the part of each entry.
    converged : bool
    """
    vector, value, change = start, np.zeros(len(start)), np.inf
    for _ in range(POWER_ITERATIONS):
        before, vector = vector, apply(vector)
        value = np.sqrt(np.bincount(part, weights=vector**2))[part]
        vector = vector / np.where(value > 0, value, 1.0)
        change = float(np.abs(vector - before).max())
        if change < VECTOR_CHANGE:
            break
    signs = np.bincount(part, weights=start * np.sign(vector))[part]
    return np.where(signs < 0, -vector, vector), value, change < VECTOR_CHANGE
