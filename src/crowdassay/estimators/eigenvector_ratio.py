"""The ratio of eigenvectors, by Dalvi, Dasgupta, Kumar and Rastogi."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.binary import first_weights, label_signs, log_odds_tables, sign_matrix
from crowdassay.estimators.power import leading_vector
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice
from crowdassay.results.result import Result
from crowdassay.solvers.outcome import Announce, Progress

EVEN = 0.5  # reliability of everyone when no two workers share an item


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
    """

    method: ClassVar[str] = "eigenvector-ratio"

    pairs: str = "shares"
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_choice("pairs", self.pairs, ("shares", "counts"))
        matrix = sign_matrix(labels, label_signs(labels, self.method))
        reliability, converged = find_reliability(matrix, self.pairs, first_weights(labels))
        n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
        # n labels cannot show a worker to be better than (n + 1) in (n + 2), and estimates may lie beyond one.
        most = n_labels / (n_labels + 2.0)
        log_odds = 2.0 * np.arctanh(np.clip(reliability[: labels.n_workers], -most, most))
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        log_p, log_prior = log_odds_tables(log_odds), np.full(2, -np.log(2.0))
        return table_result(engine, self.method, {"pairs": self.pairs}, log_p, log_prior, converged=converged)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        label_signs(labels, self.method)
        return judge_by_tables(self._fitted(), labels, self.threads)


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
