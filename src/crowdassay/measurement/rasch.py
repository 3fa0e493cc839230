"""The Rasch model: right or wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
from scipy import sparse

from crowdassay.errors import DataError
from crowdassay.labels.labels import Labels
from crowdassay.measurement.base import Measurement, extreme_items
from crowdassay.measurement.responses import Responses, mark_responses


@dataclasses.dataclass(kw_only=True, eq=False)
class Rasch(Measurement):
    r"""Measure ability and difficulty from right and wrong answers.

    .. math::  P(x_{ij} = 1) = \frac{1}{1 + \exp(b_j - \theta_i)}, \qquad \theta_i \sim N(0, s^2)

    `Rasch.from_fit` scores a label 1 where it equals the truth, else 0.

    References
    ----------
    G. Rasch. Probabilistic models for some intelligence and attainment tests. 1960.
    R. D. Bock, M. Aitkin. Marginal maximum likelihood estimation of item parameters. 1981.
    """

    def _prepare(self, responses: Responses) -> Responses:
        if responses.n_steps != 1:
            raise DataError(
                f"The Rasch model takes scores 0 and 1, and these go up to {responses.n_steps}; "
                "use RatingScale or PartialCredit."
            )
        return responses.on_one_scale()

    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        return mark_responses(labels, truth)

    def _basis(self, responses: Responses) -> tuple[sparse.csr_array, sparse.csr_array]:
        each = sparse.eye_array(len(responses.items), format="csr")
        return each, each

    def _unbounded(self, responses: Responses) -> np.ndarray:
        return extreme_items(responses)

    def _thresholds(self) -> pa.Table:
        data = self._fitted()
        value, error = self._read(self._rows)
        columns = {"item": data.items, "step": np.ones(len(value), np.int64), "threshold": value, "standard_error": error}
        return pa.table(columns)
