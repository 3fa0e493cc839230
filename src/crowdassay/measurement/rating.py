"""Andrich's rating scale model: scores whose steps are the same for all items."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.linalg import null_space

from crowdassay.arrays import FloatArray
from crowdassay.errors import DataError
from crowdassay.labels.labels import Labels
from crowdassay.measurement.base import Measurement, extreme_items, possible_steps
from crowdassay.measurement.responses import Responses, grade_responses


@dataclasses.dataclass(kw_only=True, eq=False)
class RatingScale(Measurement):
    r"""Measure ability and difficulty from graded scores with one set of steps for all items.

    .. math::  \log \frac{P(x_{ij} = l)}{P(x_{ij} = l - 1)} = \theta_i - b_j - \tau_l, \qquad \sum_l \tau_l = 0

    `RatingScale.from_fit` scores a label by its closeness to the truth on the scale of classes.

    References
    ----------
    D. Andrich. A rating formulation for ordered response categories. 1978.
    """

    def _prepare(self, responses: Responses) -> Responses:
        unused = np.flatnonzero(responses.counts().sum(axis=0) == 0)
        if self.prior is None and len(unused):
            raise DataError(f"No response has the score {unused[0]}, so the steps around it are infinite; set prior=3.0.")
        return responses.on_one_scale()

    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        return grade_responses(labels, truth)

    def _basis(self, responses: Responses) -> tuple[sparse.csr_array, sparse.csr_array]:
        n_items, contrasts = len(responses.items), _contrasts(responses.n_steps)
        own = sparse.kron(sparse.eye_array(n_items), np.ones((responses.n_steps, 1)))
        shared = sparse.csr_array(np.tile(contrasts, (n_items, 1)))
        steps = sparse.hstack([own, shared]).tocsr()
        rows = sparse.hstack([sparse.eye_array(n_items), sparse.csr_array((n_items, contrasts.shape[1]))]).tocsr()
        return sparse.diags_array(possible_steps(responses).ravel().astype(float)).tocsr() @ steps, rows

    def _unbounded(self, responses: Responses) -> np.ndarray:
        return extreme_items(responses)

    def _thresholds(self) -> pa.Table:
        data = self._fitted()
        contrasts = _contrasts(data.n_steps)
        ahead = sparse.csr_array((data.n_steps, len(data.items)))
        value, error = self._read(sparse.hstack([ahead, sparse.csr_array(contrasts)]).tocsr())
        return pa.table({"step": np.arange(1, data.n_steps + 1), "threshold": value, "standard_error": error})


def _contrasts(n_steps: int) -> FloatArray:
    """Return orthonormal columns that sum to zero, (n_steps, n_steps - 1), so that the prior treats all steps alike."""
    return np.asarray(null_space(np.ones((1, n_steps))))
