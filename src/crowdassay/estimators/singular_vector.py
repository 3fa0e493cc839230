"""The leading singular vector of the labels, by Ghosh, Kale and McAfee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.binary import (
    first_weights,
    item_scores,
    label_signs,
    log_odds_scale,
    log_odds_tables,
    sign_matrix,
)
from crowdassay.estimators.power import leading_vector
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.result import Result
from crowdassay.solvers.outcome import Announce, Progress


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
    """

    method: ClassVar[str] = "singular-vector"

    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        signs = label_signs(labels, self.method)
        matrix = sign_matrix(labels, signs)
        part = connected_parts(matrix)
        weights, _, converged = leading_vector(lambda v: matrix.T @ (matrix @ v), first_weights(labels), part)
        weights = weights[: labels.n_workers]
        own = weights[labels.worker]
        scale = log_odds_scale(item_scores(labels, signs * own), own)
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        return table_result(
            engine, self.method, {}, log_odds_tables(scale * weights), np.full(2, -np.log(2.0)), converged=converged
        )

    def _predict_proba(self, labels: Labels) -> FloatArray:
        label_signs(labels, self.method)
        return judge_by_tables(self._fitted(), labels, self.threads)


def connected_parts(matrix: scipy.sparse.csr_array) -> IntArray:
    """Return which connected part of the labels each column of an items by workers matrix belongs to, shape (n_columns,)."""
    links = scipy.sparse.block_array([[None, matrix], [matrix.T, None]])
    return np.asarray(scipy.sparse.csgraph.connected_components(links, directed=False)[1][matrix.shape[0] :], dtype=np.int64)
