"""Rasch, rating scale and partial credit models: the many-facet model with two facets, workers measured by items."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from scipy import sparse

from crowdassay.arrays import BoolArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.fittable import FittableStudy
from crowdassay.labels.labels import Labels
from crowdassay.labels.truth import match_truth
from crowdassay.labels.values import listed
from crowdassay.measurement.design import Design, make_design
from crowdassay.measurement.fit import NARROWEST_SPREAD, FacetsFit, NormalPrior, fit_facets
from crowdassay.measurement.ratings import Ratings, Responses, grade_responses, mark_responses, read_responses
from crowdassay.results.parameters import check_types
from crowdassay.results.result import Result
from crowdassay.tables import Column, TableOf

MAX_STEPS, SMALL_STEP = 200, 1e-7  # of Newton's method; logits at which it stops
ABILITIES_IN_CARD = 10
ERROR_COLUMN = Column("standard_error", "error", "number", "of the figure before it, in logits")
ABILITIES_TABLE = TableOf(
    "abilities",
    (
        Column("worker", format="name"),
        Column("n_responses", "responses", "count"),
        Column("ability", format="number", about="logits; 0 is the average worker"),
        ERROR_COLUMN,
    ),
)
DIFFICULTIES_TABLE = TableOf(
    "difficulties",
    (
        Column("item", format="name"),
        Column("n_responses", "responses", "count"),
        Column("difficulty", format="number", about="the ability at which the item is answered half right"),
        ERROR_COLUMN,
    ),
)
STEPS_TABLE = TableOf(
    "steps",
    (
        Column("item", about="where each item has steps of its own"),
        Column("step", format="count"),
        Column("threshold", format="number", about="where the step to this score is as likely as not"),
        ERROR_COLUMN,
    ),
)


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class PartialCredit(FittableStudy[Responses]):
    r"""Measure ability and difficulty from graded scores, every item with steps of its own.

    .. math::  \log \frac{P(x_{ij} = l)}{P(x_{ij} = l - 1)} = \theta_i - \delta_{jl}, \qquad \theta_i \sim N(0, s^2)

    An item's difficulty is the mean of its steps. In a table of responses an item's highest score is the highest that was
    seen on it. `PartialCredit.from_fit` scores a label by its closeness to the truth on the scale of classes. Item parameters
    maximise the marginal likelihood; a worker's ability is its mean given the worker's responses.

    Parameters
    ----------
    prior : float or None
        Standard deviation of a weak Gaussian prior on item parameters about the average item, in logits; it keeps an item
        that everybody got right from being infinitely easy. None is plain maximum likelihood, which refuses such items.
    spread : float or None
        s, the standard deviation of ability; None estimates it.

    Attributes
    ----------
    spread_, log_likelihood_ : float
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> scores = (list("aaabbbcccddd"), list("xyz") * 4, [0, 1, 2, 1, 2, 2, 0, 0, 1, 1, 0, 2])
    >>> PartialCredit().fit(scores).thresholds_.column("step").to_pylist()
    [1, 2, 1, 2, 1, 1, 2]

    References
    ----------
    G. N. Masters. A Rasch model for partial credit scoring. 1982.
    """

    prior: float | None = 3.0
    spread: float | None = None

    own_steps: ClassVar[bool] = True
    """Whether every item has steps of its own."""
    fit_leaves: ClassVar[str] = "_responses"
    fitted_to: ClassVar[str] = "responses"
    saved_as: ClassVar[tuple[type, type]] = (Responses, FacetsFit)

    def fit(
        self, data: object, *, item_column: str | None = None, worker_column: str | None = None, score_column: str | None = None
    ) -> Self:
        """Fit scored responses.

        Parameters
        ----------
        data : frame, path, triple (items, workers, scores) or Labels
            One row for each response; scores are whole numbers from 0 up.
        item_column, worker_column, score_column : str, optional
            Found by name when not given.
        """
        return self._fit_responses(read_responses(data, item_column, worker_column, score_column))

    @classmethod
    def from_fit(cls, fit: Estimator | Result, truth: object = None, **parameters: Any) -> Self:
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
        return model._fit_responses(model._mark(result.labels, codes))

    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        """Return the scores of labels, given the classes (n_items,) taken for true."""
        return grade_responses(labels, truth)

    def _prepare(self, responses: Responses) -> Responses:
        """Return the responses with the scores that each item can give, or refuse them."""
        return responses

    def _fit_responses(self, responses: Responses) -> Self:
        check_types(self)
        for name, value in (("prior", self.prior), ("spread", self.spread)):
            if value is not None and not NARROWEST_SPREAD <= value < np.inf:
                raise ParameterError(f"{name} must be None or a number of at least {NARROWEST_SPREAD}, not {value!r}.")
        responses = self._prepare(responses)
        for edge, word in ((responses.low, "lowest"), (responses.high, "highest")):
            if np.all(responses.score == edge[responses.item]):
                raise DataError(f"Every response has the {word} score its item can give; there is nothing to compare.")
        infinite = _infinite_items(responses, own_steps=self.own_steps)
        if self.prior is None and infinite.any():
            names = listed(responses.items.filter(pa.array(infinite)).to_pylist(), limit=3)
            raise DataError(f"The items {names} lack a score they can give, so their estimates are infinite; set prior=3.0.")
        design = design_responses(responses, own_steps=self.own_steps)
        steps = step_rows(responses, design, own_steps=self.own_steps)
        prior = None if self.prior is None else make_prior(steps, design.n_beta, self.prior, own_steps=self.own_steps)
        fit = fit_facets(
            design, joint=False, max_iter=MAX_STEPS, tol=SMALL_STEP, standard=True, spread=self.spread, prior=prior
        )  # fmt: skip
        return self._restore(responses, fit)

    def _restore(self, data: Responses, fit: FacetsFit) -> Self:
        design = design_responses(data, own_steps=self.own_steps)
        fit.check(design)
        self._responses, self._fit, self._steps = data, fit, step_rows(data, design, own_steps=self.own_steps)
        self.spread_, self.log_likelihood_ = fit.spread, fit.log_likelihood
        self.converged_, self.n_iter_ = fit.converged, fit.n_iter
        return self

    @property
    def abilities_(self) -> Any:
        """Frame of worker, n_responses, ability and standard_error."""
        return self._frame(self._abilities())

    def _abilities(self) -> pa.Table:
        data = self._fitted()
        mean, variance = self._fit.moments.T
        count = np.bincount(data.worker, minlength=len(data.workers))
        error = np.sqrt(np.maximum(variance, 0.0))
        return ABILITIES_TABLE.fill(worker=data.workers, n_responses=count, ability=mean, standard_error=error)

    @property
    def difficulties_(self) -> Any:
        """Frame of item, n_responses, difficulty and standard_error."""
        data = self._fitted()
        size = len(data.items)
        count = np.bincount(data.item, minlength=size)
        value, error = self._fit.linear(sparse.eye_array(size, len(self._fit.parameters), format="csr"))
        return self._frame(DIFFICULTIES_TABLE.fill(item=data.items, n_responses=count, difficulty=value, standard_error=error))

    @property
    def thresholds_(self) -> Any:
        """Frame of step (item and step where each item has its own), threshold and standard_error."""
        data = self._fitted()
        value, error = self._fit.linear(self._steps)
        names: dict[str, Any] = {"step": np.arange(1, data.n_steps + 1)}
        if self.own_steps:
            item, step = np.nonzero(data.possible_steps())
            names = {"item": data.items.take(pa.array(item)), "step": step + 1}
        return self._frame(STEPS_TABLE.fill(**names, threshold=value, standard_error=error))

    def _card(self) -> str:
        return ABILITIES_TABLE.html(self._abilities().slice(0, ABILITIES_IN_CARD), title="Abilities")


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Rasch(PartialCredit):
    r"""Measure ability and difficulty from right and wrong answers.

    .. math::  P(x_{ij} = 1) = \frac{1}{1 + \exp(b_j - \theta_i)}, \qquad \theta_i \sim N(0, s^2)

    `Rasch.from_fit` scores a label 1 where it equals the truth, else 0. Parameters and tables are those of `PartialCredit`.

    Examples
    --------
    >>> answers = (list("aaabbbccc"), list("xyz") * 3, [1, 1, 0, 1, 0, 0, 1, 1, 1])
    >>> Rasch().fit(answers).abilities_.column("ability").to_numpy().argmax()
    np.int64(0)

    References
    ----------
    G. Rasch. Probabilistic models for some intelligence and attainment tests. 1960.
    R. D. Bock, M. Aitkin. Marginal maximum likelihood estimation of item parameters. 1981.
    """

    def _mark(self, labels: Labels, truth: np.ndarray) -> Responses:
        return mark_responses(labels, truth)

    def _prepare(self, responses: Responses) -> Responses:
        if responses.n_steps != 1:
            raise DataError(
                f"The Rasch model takes scores 0 and 1, and these go up to {responses.n_steps}; "
                "use RatingScale or PartialCredit."
            )
        return responses.on_one_scale()


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class RatingScale(PartialCredit):
    r"""Measure ability and difficulty from graded scores with one set of steps for all items.

    .. math::  \log \frac{P(x_{ij} = l)}{P(x_{ij} = l - 1)} = \theta_i - b_j - \tau_l, \qquad \sum_l \tau_l = 0

    `RatingScale.from_fit` scores a label by its closeness to the truth on the scale of classes. Parameters and tables are
    those of `PartialCredit`.

    Examples
    --------
    >>> scores = (list("aaabbbcccddd"), list("xyz") * 4, [0, 1, 2, 1, 2, 2, 0, 0, 1, 1, 0, 2])
    >>> RatingScale().fit(scores).thresholds_.column("threshold").to_numpy().sum().round(6)
    np.float64(0.0)

    References
    ----------
    D. Andrich. A rating formulation for ordered response categories. 1978.
    """

    own_steps: ClassVar[bool] = False

    def _prepare(self, responses: Responses) -> Responses:
        unused = np.flatnonzero(responses.counts().sum(axis=0) == 0)
        if self.prior is None and len(unused):
            raise DataError(f"No response has the score {unused[0]}, so the steps around it are infinite; set prior=3.0.")
        return responses.on_one_scale()


def _infinite_items(responses: Responses, *, own_steps: bool) -> BoolArray:
    """Mark the items that have no finite estimate without a prior, shape (n_items,)."""
    counts, possible = responses.counts(), responses.possible_scores()
    if own_steps:
        return np.asarray((possible & (counts == 0)).any(axis=1))
    every, total = np.arange(len(counts)), counts.sum(axis=1)
    return np.asarray((counts[every, responses.low] == total) | (counts[every, responses.high] == total))


def design_responses(responses: Responses, *, own_steps: bool) -> Design:
    """Return responses sorted by worker: the workers are what is measured, the items the other facet, which lowers scores.

    Items with steps of their own have a table of thresholds each; otherwise those that can give the same scores share one,
    and all tables share their parameters.
    """
    facets = np.column_stack([responses.item, responses.worker]), (responses.items, responses.workers)
    ratings = Ratings(("item", "worker"), *facets, responses.score, np.arange(responses.n_steps + 1.0))
    every, possible = np.ones(len(responses.score), bool), responses.possible_scores()
    if own_steps:
        return make_design(ratings, every, 1, frozenset([1]), 0, possible)
    design = make_design(ratings, every, 1, frozenset([1]), None, np.ones((1, responses.n_steps + 1), bool))
    seen, table = np.unique(possible, axis=0, return_inverse=True)
    return dataclasses.replace(design, step=table.ravel()[design.code[:, 0]], seen=seen, slot=np.where(seen, design.slot, -1))


def step_rows(responses: Responses, design: Design, *, own_steps: bool) -> sparse.csr_array:
    """Return the matrix that takes parameters to steps, shape (n_steps, n_parameters); with ``own_steps`` all items' steps."""
    place = design.one_each
    if own_steps:
        item, step = np.nonzero(responses.possible_steps())
        return place[item] + place[design.slot[item, step + 1]] - place[design.slot[item, step]]
    whole = np.concatenate([[-1], np.arange(design.n_beta, design.n_parameters), [-1]])
    return place[whole[1:]] - place[whole[:-1]]


def make_prior(steps: sparse.csr_array, n_items: int, width: float, *, own_steps: bool) -> NormalPrior:
    """Return the prior on all steps, or on difficulties about their mean and on the steps that all items share."""
    terms, shared = steps, np.ones(steps.shape[0])
    if not own_steps:
        terms = sparse.vstack([sparse.eye_array(n_items, steps.shape[1]), steps]).tocsr()
        shared = (np.arange(terms.shape[0]) < n_items).astype(float)
    return NormalPrior(terms, shared / np.sqrt(shared.sum()), width**-2)
