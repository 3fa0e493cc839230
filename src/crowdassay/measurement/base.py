"""What the measurement models share: fitting, and tables with standard errors."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy import sparse

from crowdassay.arrays import FloatArray
from crowdassay.errors import DataError, NotFittedError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.labels.frames import to_frame
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.labels.values import listed
from crowdassay.measurement.information import covariance
from crowdassay.measurement.marginal import NARROWEST, WIDEST, Marginal
from crowdassay.measurement.responses import Responses, read_responses
from crowdassay.results.parameters import check_types
from crowdassay.results.result import Result


@dataclasses.dataclass(kw_only=True, eq=False)
class Measurement(ABC):
    r"""Place the ability of workers and the difficulty of items on one scale, in logits.

    .. math::  \log \frac{P(x_{ij} = l)}{P(x_{ij} = l - 1)} = \theta_i - \delta_{jl}, \qquad \theta_i \sim N(0, s^2)

    Item parameters maximise the marginal likelihood; a worker's ability is its mean given the worker's responses.

    Parameters
    ----------
    prior : float or None
        Standard deviation of a weak Gaussian prior on item parameters about the average item, in logits; it keeps an item
        that everybody got right from being infinitely easy. None is plain maximum likelihood, which refuses such items.
    spread : float or None
        s, the standard deviation of ability; None estimates it.
    """

    prior: float | None = 3.0
    spread: float | None = None

    @abstractmethod
    def _prepare(self, responses: Responses) -> Responses:
        """Check the scores and say which of them each item can give."""

    @abstractmethod
    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        """Score labels by the classes (n_items,) taken for true."""

    @abstractmethod
    def _basis(self, responses: Responses) -> tuple[sparse.csr_array, sparse.csr_array]:
        """Return the matrices that turn parameters into steps (n_items * n_steps, .) and into difficulties (n_items, .)."""

    @abstractmethod
    def _unbounded(self, responses: Responses) -> np.ndarray:
        """Mark the items that have no finite estimate without a prior, shape (n_items,)."""

    @abstractmethod
    def _thresholds(self) -> pa.Table:
        """Tabulate the steps."""

    def fit(
        self, data: Any, *, item_column: str | None = None, worker_column: str | None = None, score_column: str | None = None
    ) -> Self:
        """Fit scored responses.

        Parameters
        ----------
        data : frame, path, triple (items, workers, scores) or Labels
            One row for each response; scores are whole numbers from 0 up.
        item_column, worker_column, score_column : str, optional
            Found by name when not given.
        """
        return self._fit(read_responses(data, item_column, worker_column, score_column))

    @classmethod
    def from_fit(cls, fit: Estimator | Result, truth: Any = None, **parameters: Any) -> Self:
        """Score the labels of a fit and measure them.

        Parameters
        ----------
        fit : fitted Estimator, or Result
        truth : frame, mapping or path, optional
            The known classes; items without are left out. By default the classes the fit has chosen are taken for true.
        **parameters
            Of the model.
        """
        if not isinstance(fit, Estimator | Result):
            raise ParameterError(f"A fitted estimator or a result is needed, not a {type(fit).__name__}.")
        result = fit if isinstance(fit, Result) else fit._fitted()
        codes = result.code if truth is None else match_truth(result.labels, truth)[0]
        model = cls(**parameters)
        return model._fit(model._mark(result.labels, codes))

    def _fit(self, responses: Responses) -> Self:
        check_types(self)
        for name, value in (("prior", self.prior), ("spread", self.spread)):
            if value is not None and not NARROWEST <= value < np.inf:
                raise ParameterError(f"{name} must be None or a number of at least {NARROWEST}, not {value!r}.")
        responses = self._prepare(responses)
        for edge, word in ((responses.low, "lowest"), (responses.high, "highest")):
            if np.all(responses.score == edge[responses.item]):
                raise DataError(f"Every response has the {word} score its item can give; there is nothing to compare.")
        bad = self._unbounded(responses)
        if self.prior is None and bad.any():
            names = listed(responses.items.filter(pa.array(bad)).to_pylist(), limit=3)
            raise DataError(f"The items {names} lack a score they can give, so their estimates are infinite; set prior=3.0.")
        basis, self._difficulty_rows = self._basis(responses)
        shift = (self._difficulty_rows.sum(axis=0) > 0).astype(float)
        problem = Marginal(responses, basis, shift, 0.0 if self.prior is None else self.prior**-2)
        parameters, self.converged_ = problem.maximise(self.spread)
        self.spread_ = float(np.exp(parameters[-1]))
        at_edge = not NARROWEST * 1.001 < self.spread_ < WIDEST * 0.999
        self._covariance = covariance(problem, parameters, fixed_spread=self.spread is not None or at_edge)
        self.log_likelihood_, weight = problem.expect(parameters)
        self._ability = np.sum(weight * problem.theta, axis=1)
        self._ability_error = np.sqrt(np.sum(weight * (problem.theta - self._ability[:, None]) ** 2, axis=1))
        self._responses, self._rows, self._beta = responses, basis, parameters[:-1]
        return self

    @property
    def abilities_(self) -> Any:
        """Frame of worker, n_responses, ability and standard_error."""
        data = self._fitted()
        n_responses = np.bincount(data.worker, minlength=len(data.workers))
        columns = {"worker": data.workers, "n_responses": n_responses, "ability": self._ability}
        return to_frame(pa.table(columns | {"standard_error": self._ability_error}), data.frame)

    @property
    def difficulties_(self) -> Any:
        """Frame of item, n_responses, difficulty and standard_error."""
        data = self._fitted()
        value, error = self._read(self._difficulty_rows)
        n_responses = np.bincount(data.item, minlength=len(data.items))
        columns = {"item": data.items, "n_responses": n_responses, "difficulty": value, "standard_error": error}
        return to_frame(pa.table(columns), data.frame)

    @property
    def thresholds_(self) -> Any:
        """Frame of step (item and step where each item has its own), threshold and standard_error."""
        return to_frame(self._thresholds(), self._fitted().frame)

    def _read(self, rows: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
        """Return linear functions of the parameters and their standard errors."""
        variance = np.asarray((rows @ self._covariance).multiply(rows).sum(axis=1)).ravel()
        return rows @ self._beta, np.sqrt(np.maximum(variance, 0.0))

    def _fitted(self) -> Responses:
        if "_responses" not in self.__dict__:
            raise NotFittedError(f"This {type(self).__name__} has not been fitted; call fit(responses) first.")
        return self._responses


def extreme_items(responses: Responses) -> np.ndarray:
    """Mark the items on which all responses have the lowest score, or all the highest; shape (n_items,)."""
    counts, every = responses.counts(), np.arange(len(responses.items))
    total = counts.sum(axis=1)
    return (counts[every, responses.low] == total) | (counts[every, responses.high] == total)


def possible_steps(responses: Responses) -> np.ndarray:
    """Mark the steps 1, 2 ... that an item has, shape (n_items, n_steps)."""
    step = np.arange(1, responses.n_steps + 1)
    return (step > responses.low[:, None]) & (step <= responses.high[:, None])
