"""Masters' partial credit model: scores whose steps are each item's own."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
from scipy import sparse

from crowdassay.labels.labels import Labels
from crowdassay.measurement.base import Measurement, possible_steps
from crowdassay.measurement.responses import Responses, grade_responses


@dataclasses.dataclass(kw_only=True, eq=False)
class PartialCredit(Measurement):
    r"""Measure ability and difficulty from graded scores, every item with steps of its own.

    .. math::  \log \frac{P(x_{ij} = l)}{P(x_{ij} = l - 1)} = \theta_i - \delta_{jl}

    An item's difficulty is the mean of its steps. In a table of responses an item's highest score is the highest that was
    seen on it. `PartialCredit.from_fit` scores a label by its closeness to the truth on the scale of classes.

    References
    ----------
    G. N. Masters. A Rasch model for partial credit scoring. 1982.
    """

    def _prepare(self, responses: Responses) -> Responses:
        return responses

    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        return grade_responses(labels, truth)

    def _basis(self, responses: Responses) -> tuple[sparse.csr_array, sparse.csr_array]:
        possible = possible_steps(responses)
        steps = sparse.eye_array(possible.size, format="csr")[:, np.flatnonzero(possible)]
        mean = sparse.kron(sparse.eye_array(len(possible)), np.ones((1, responses.n_steps)))
        return steps, sparse.diags_array(1.0 / possible.sum(axis=1)) @ mean.tocsr() @ steps

    def _unbounded(self, responses: Responses) -> np.ndarray:
        scores = np.arange(responses.n_steps + 1)
        inside = (scores >= responses.low[:, None]) & (scores <= responses.high[:, None])
        return np.asarray((inside & (responses.counts() == 0)).any(axis=1))

    def _thresholds(self) -> pa.Table:
        data = self._fitted()
        item, step = np.nonzero(possible_steps(data))
        value, error = self._read(self._rows[item * data.n_steps + step])
        columns = {"item": data.items.take(pa.array(item)), "step": step + 1, "threshold": value, "standard_error": error}
        return pa.table(columns)
