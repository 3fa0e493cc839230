"""Matrix mean-subsequence-reduced: skills by robust rank-one completion of how workers agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.eigenvectors import leading_vector
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_run
from crowdassay.solvers.m_steps import coin_tables
from crowdassay.solvers.posteriors import ByTables
from crowdassay.solvers.solution import Progress, Solution

MOST_PAIRS = 200_000_000  # pairs of workers with a common item; each takes some tens of bytes


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
        log_prior = np.full(labels.n_classes, -np.log(labels.n_classes))
        predict = ByTables(log_p, log_prior)
        return Solution(predict, log_p, log_prior, n_iter=n_iter, converged=converged, settings={"trim": trim})

    def _start(self, size: int) -> FloatArray:
        return np.full(size, 0.5)


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
    from crowdassay.engines.kernels.completion import trimmed_pass  # noqa: PLC0415  numba loads on first use

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
