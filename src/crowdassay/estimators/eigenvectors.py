"""Votes weighted by leading eigenvectors of the labels or of how workers agree, or by a robust completion of the latter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.two_classes import (
    first_weights,
    item_scores,
    label_signs,
    log_odds_scale,
    log_odds_tables,
    sign_matrix,
)
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice, check_run
from crowdassay.solvers.em import coin_tables, without_absent
from crowdassay.solvers.solution import ByTables, Progress, Solution

POWER_ITERATIONS = 3000
VECTOR_CHANGE = 1e-12  # change of any entry at which the power iteration stops
EVEN = 0.5  # reliability of everyone when no two workers share an item
MOST_PAIRS = 200_000_000  # pairs of workers with a common item; each takes some tens of bytes
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


@dataclass(kw_only=True, eq=False, repr=False)
class MMSR(Estimator):
    r"""Find skills from how often pairs of workers agree, some pairs ignored as outliers, and vote with them.

    With :math:`C_{il}` the share of common items on which workers i and l agree, and one-coin workers of accuracy
    :math:`p_i`,

    .. math::  E\Big[\frac{K}{K-1} C_{il} - \frac{1}{K-1}\Big] = s_i s_l, \qquad s_i = \frac{K p_i - 1}{K - 1}

    so that the skills are a rank-one completion of a matrix of which only the pairs with common items are seen. The completion
    alternates :math:`|s_i| \leftarrow` mean of :math:`|X_{il}| / |s_l|` over l, leaving out the ``trim`` largest ratios above
    :math:`|s_i|` and the ``trim`` smallest below it: up to so many workers of every neighbourhood may lie as they please. Signs
    are those of the leading eigenvector of X, most workers being better than chance. Skills within
    :math:`1/\sqrt{n_{\text{items}}}` of certainty are moved there; the classes' probabilities are those of the one-coin model.

    Known items are answered by one worker more, who takes part like the others. After the fit `skills_` (n_workers,) holds the
    log odds :math:`\log[(K - 1) p_i / (1 - p_i)]` by which votes count.

    Parameters
    ----------
    trim : int or None
        How many to leave out on either side; None takes half the smallest number of co-workers, less one.
    max_iter : int
    tol : float
        Change of any skill at which to stop.
    threads : int or None
        Of the last step; None takes all cores.

    References
    ----------
    Q. Ma, A. Olshevsky. Adversarial crowdsourcing through robust rank-one matrix completion. 2020.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> MMSR().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "mmsr"

    trim: int | None = None
    max_iter: int = 10_000
    tol: float = 1e-10
    threads: int | None = None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Complete the matrix of agreements, and vote with the skills found."""
        check_run(self.max_iter, self.tol)
        if self.trim is not None and (not isinstance(self.trim, int) or self.trim < 0):
            raise ParameterError(f"trim must be a whole number of at least 0, or None, not {self.trim!r}.")
        labels = self._local(engine).labels
        agreement = worker_agreement(labels)
        degree = np.diff(agreement.indptr)[: labels.n_workers]
        trim = max(int(degree[degree > 0].min(initial=len(degree))) // 2 - 1, 0) if self.trim is None else self.trim
        size, self.changes_ = complete(
            agreement, trim, self.max_iter, self.tol, labels.n_items, self._start(agreement.shape[0])
        )
        n_iter, converged = len(self.changes_), self.changes_[-1] <= self.tol
        skill = (size * worker_signs(agreement))[: labels.n_workers]
        p = skill_accuracy(skill, labels.n_classes, labels.n_items)
        self.skills_ = np.log(max(labels.n_classes - 1, 1) * p / (1.0 - p))
        log_p = coin_tables(np.log(p)[:, None], np.log1p(-p)[:, None], labels.n_classes)
        log_prior = without_absent(np.full(labels.n_classes, -np.log(labels.n_classes)), engine)
        predict = ByTables(log_p, log_prior)
        return Solution(predict, log_p, log_prior, n_iter=n_iter, converged=converged, settings={"trim": trim})

    def _start(self, size: int) -> FloatArray:
        return np.full(size, 0.5)


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

    ``apply`` multiplies a vector (n,) by the operator, which leaves parts apart; ``start`` (n,) is not negative, and ``part``
    (n,) is the part that each entry belongs to. Returns the vector (n,), zero on parts that the operator maps to zero, the
    eigenvalue of the part of each entry (n,), and whether the iterations converged.
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


def worker_agreement(labels: Labels) -> scipy.sparse.csr_array:
    r"""Return :math:`K/(K-1) C_{il} - 1/(K-1)` for all pairs with common items, the known items' worker last.

    Several labels by one worker on one item share one weight.
    """
    known = np.flatnonzero(labels.gold >= 0)
    item = np.concatenate([labels.label_item, known])
    worker = np.concatenate([labels.worker.astype(np.int64), np.full(len(known), labels.n_workers)])
    label = np.concatenate([labels.label.astype(np.int64), labels.gold[known].astype(np.int64)])
    shape = (labels.n_items, labels.n_workers + 1)
    _, cell, count = np.unique(item * shape[1] + worker, return_inverse=True, return_counts=True)
    weight = 1.0 / count[cell]
    sizes = np.bincount(item)
    if float((sizes.astype(np.float64) ** 2).sum()) > MOST_PAIRS and labels.n_workers**2 > MOST_PAIRS:
        raise DataError(
            f"The method 'mmsr' compares all pairs of workers, too many with {labels.n_workers:,}; use one-coin or dawid-skene."
        )
    seen = scipy.sparse.csr_array((weight, (item, worker)), shape=shape)
    common = scipy.sparse.csr_array(seen.T @ seen)
    same = scipy.sparse.csr_array(common.shape)
    for k in range(labels.n_classes):
        mine = label == k
        chosen = scipy.sparse.csr_array((weight[mine], (item[mine], worker[mine])), shape=shape)
        same = same + chosen.T @ chosen
    pairs = scipy.sparse.coo_array(common)
    off = pairs.row != pairs.col
    row, column = pairs.row[off], pairs.col[off]
    if not len(row):  # scipy gives no array for an empty choice
        return scipy.sparse.csr_array(common.shape)
    share = np.asarray(scipy.sparse.csr_array(same)[row, column]).ravel() / pairs.data[off]
    wrong = max(labels.n_classes - 1, 1)
    agreement = scipy.sparse.csr_array(((labels.n_classes * share - 1.0) / wrong, (row, column)), shape=common.shape)
    agreement.sort_indices()
    return agreement


def complete(
    matrix: scipy.sparse.csr_array, trim: int, max_iter: int, tol: float, n_items: int, start: FloatArray
) -> tuple[FloatArray, tuple[float, ...]]:
    """Return the sizes of the rank-one factor (n_workers + 1,), and the largest change in every sweep, from a start."""
    from crowdassay.engines.kernels.loops import trimmed_pass  # noqa: PLC0415  numba loads on first use

    values, least = np.abs(matrix.data), 1.0 / n_items
    left, right = start.copy(), start.copy()
    changes: list[float] = []
    while len(changes) < max_iter and (not changes or changes[-1] > tol):
        before = np.sqrt(left * right)
        trimmed_pass(matrix.indptr, matrix.indices, values, left, right, trim, least)
        trimmed_pass(matrix.indptr, matrix.indices, values, right, left, trim, least)
        changes.append(float(np.abs(np.sqrt(left * right) - before).max()))
    met = np.diff(matrix.indptr) > 0  # who meets nobody stays at the start and has no part in the scale
    scale = np.sqrt(np.linalg.norm(left[met]) / max(float(np.linalg.norm(right[met])), 1e-300))
    return np.where(met, left / max(float(scale), 1e-300), left), tuple(changes)


def worker_signs(matrix: scipy.sparse.csr_array) -> FloatArray:
    """Return -1 or +1 for each worker: the signs of the leading eigenvector, most workers positive in each connected part."""
    part = scipy.sparse.csgraph.connected_components(matrix, directed=False)[1].astype(np.int64)
    shift = float(np.diff(matrix.indptr).max())  # makes the largest eigenvalue the largest in size
    vector, *_ = leading_vector(lambda v: matrix @ v + shift * v, np.ones(matrix.shape[0]), part)
    return np.where(vector < 0, -1.0, 1.0)


def skill_accuracy(skill: FloatArray, n_classes: int, n_items: int) -> FloatArray:
    """Return the accuracies of skills (n_workers,), kept from certainty by the chance error of so many items."""
    wrong = max(n_classes - 1, 1)
    margin = min(1.0 / np.sqrt(n_items), 0.5)
    kept = np.clip(skill, -1.0 / wrong + margin, 1.0 - margin)
    return np.asarray((kept * wrong + 1.0) / (wrong + 1.0))
