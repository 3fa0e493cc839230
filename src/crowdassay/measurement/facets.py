"""Many-facet Rasch measurement: raters, tasks, criteria ... on one scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.estimators.fittable import FittableStudy
from crowdassay.labels.roles import ROLES
from crowdassay.labels.values import shown
from crowdassay.measurement.clusters import ENOUGH_QUESTIONS, clustered_variances
from crowdassay.measurement.design import (
    Design,
    estimate_extremes,
    find_subsets,
    graph_subsets,
    make_design,
    null_space,
    set_aside,
)
from crowdassay.measurement.fit import MOST_DENSE, FacetsFit, fit_facets
from crowdassay.measurement.ratings import Ratings, check_facets, object_facet, read_ratings
from crowdassay.measurement.residuals import Residuals, drift, find_residuals, group_differences, interactions, object_errors
from crowdassay.measurement.tables import (
    FACETS,
    FACETS_SHOWN,
    categories_table,
    facets_table,
    measures_table,
    notes,
    thresholds_table,
)
from crowdassay.results.parameters import check_choice

ESTIMATIONS = ("marginal", "joint")


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class ManyFacet(FittableStudy[Ratings]):
    r"""Place raters, tasks and any other facets of ratings on one scale, in logits (Linacre 1989).

    .. math::  \log \frac{P(x_n = k)}{P(x_n = k - 1)} = \theta_{i(n)} - \sum_f \beta_{f, e_f(n)} - \tau_k

    :math:`\theta` is the measure of what is rated, :math:`\beta` the severity of a rater or the difficulty of a criterion, and
    :math:`\tau_k` the threshold between the scores k - 1 and k. Every :math:`\beta_f` has mean zero.

    Parameters
    ----------
    facets : sequence of str
        Columns: what a rating is of, and who gave it.
    positive : sequence of str
        Facets whose measure raises ratings; the first is what is measured. By default the first facet that is not called
        like a rater (rater, judge, worker, annotator ...).
    steps : str or None
        A facet each element of which has thresholds of its own (partial credit). None: one rating scale for all.
    estimation : {'marginal', 'joint'}
        Integrate the objects' measures over a normal population, or estimate them all along with everything else, as Facets
        does. Joint estimates lie too far apart where objects have few ratings; they suppose no population.
    correct : bool
        Joint: shrink by (L - 1) / L, with L ratings for each object (Wright and Douglas 1977).
    max_iter : int
    tol : float
        Largest change of a parameter, in logits, at which to stop.

    Attributes
    ----------
    notes_ : list of str
        What a reader of the results should know.
    centre_, spread_ : float
        Mean and standard deviation of the objects' population; of the measures themselves in a joint fit.
    log_likelihood_ : float
    converged_ : bool
    n_iter_ : int

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"task": list("aabbcc") * 4, "rater": list("xyyxxy") * 4, "score": [1, 2, 2, 3, 1, 3] * 4})
    >>> ManyFacet(facets=["rater", "task"]).fit(table).measures_.column_names[:5]
    ['facet', 'element', 'ratings', 'mean_rating', 'measure']

    References
    ----------
    J. M. Linacre. Many-facet Rasch measurement. 1989.
    """

    facets: Sequence[str] = ()
    positive: Sequence[str] = ()
    steps: str | None = None
    estimation: str = "marginal"
    correct: bool = False
    max_iter: int = 100
    tol: float = 1e-6

    fit_leaves: ClassVar[str] = "_ratings"
    fitted_to: ClassVar[str] = "ratings"
    saved_as: ClassVar[tuple[type, type]] = (Ratings, FacetsFit)

    def fit(self, data: object, **reading: Any) -> Self:
        """Fit ratings from a frame or a file, one row for each.

        Parameters
        ----------
        data : frame, str, Path or Ratings
        **reading
            As for `crowdassay.measurement.ratings.read_ratings`: score_column, group_column (for `differences_`), time_column
            (for `drift_`), question_column, allow_drops, bins, missing, classes, sheet, encoding, no_header.
        """
        self._check()
        if isinstance(data, Ratings):
            self._refuse_reading(reading)
        ratings = data if isinstance(data, Ratings) else read_ratings(data, self.facets, **reading)
        design = self._lay_out(ratings)
        fit = fit_facets(design, joint=self.estimation == "joint", max_iter=self.max_iter, tol=self.tol)
        if (factor := self._shrinkage(design)) < 1.0:
            fit = dataclasses.replace(fit, parameters=factor * fit.parameters, covariance=factor**2 * fit.covariance)
        return self._restore(ratings, fit)

    def _lay_out(self, ratings: Ratings) -> Design:
        """Find out what is measured, set extreme elements aside, and number the parameters."""
        places = [ratings.facet(name) for name in self.positive]
        item = object_facet(ratings.facets, self.positive)
        steps = None if self.steps is None else ratings.facet(self.steps)
        if steps == item:
            raise ParameterError(f"The facet {shown(self.steps)} is what is measured; thresholds belong to another facet.")
        every = tuple(range(len(ratings.facets)))
        kept, self._extremes = set_aside(
            ratings, steps, every if self.estimation == "joint" else tuple(f for f in every if f != item)
        )
        if not kept.any():
            raise DataError(
                "No element has both higher and lower ratings than the ends of the scale, so that nothing can be measured; "
                "more ratings, or fewer facets, are needed."
            )
        self._item, self._steps, self._positive = item, steps, frozenset([item, *places])
        self._sign = np.array([1.0 if f in self._positive else -1.0 for f in every])
        return make_design(ratings, kept, item, self._positive, steps)

    def _restore(self, data: Ratings, fit: FacetsFit) -> Self:
        design = self._lay_out(data)
        fit.check(design)
        for name in ("_joint_design", "_residuals"):
            self.__dict__.pop(name, None)
        self._ratings, self._design, self._fit = data, design, fit
        self.centre_, self.spread_ = fit.centre, fit.spread
        self.log_likelihood_, self.converged_, self.n_iter_ = fit.log_likelihood, fit.converged, fit.n_iter
        self._measures, self._errors = self._measure()
        if self.estimation == "joint":
            known = self._measures[self._item][np.isfinite(self._measures[self._item])]
            self.centre_, self.spread_ = float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else 0.0
        self.notes_ = notes(self)
        return self

    def _check(self) -> None:
        check_facets(self.facets)
        check_choice("estimation", self.estimation, ESTIMATIONS)
        if self.correct and self.estimation != "joint":
            raise ParameterError("The correction is for joint estimates; marginal ones need none.")
        if self.max_iter < 1 or not self.tol > 0:
            raise ParameterError("max_iter must be at least 1, and tol above 0.")
        for name in (*self.positive, *([] if self.steps is None else [self.steps])):
            if name not in self.facets:
                raise ParameterError(f"{shown(name)} is not among the facets {', '.join(self.facets)}.")

    def _shrinkage(self, design: Design) -> float:
        """Return (L - 1) / L, with L ratings for each object; 1 without the correction."""
        return max(design.ratings_each - 1.0, 0.0) / design.ratings_each if self.correct else 1.0

    def _measure(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Return measures and standard errors of every facet's elements; those set aside are estimated last."""
        ratings, design, fit = self._ratings, self._design, self._fit
        measures = [np.full(len(names), np.nan) for names in ratings.names]
        errors = [np.full(len(names), np.nan) for names in ratings.names]
        variance = fit.covariance if fit.covariance.ndim == 1 else np.diag(fit.covariance)
        clustered = None
        if (cluster := self._clusters()) is not None:
            clustered = clustered_variances(design, fit, cluster)
            variance = clustered[0]
        used, filled = design.used, design.filled
        for other, span in zip(design.others, design.spans, strict=True):
            measures[other] = np.where(used[span], fit.parameters[span], np.nan)
            errors[other] = np.where(used[span], np.sqrt(np.maximum(variance[span], 0.0)), np.nan)
        if self.estimation == "joint":
            theta, error = object_errors(design, fit, refit=self._shrinkage(design) < 1.0)
        else:
            theta, error = fit.moments[:, 0], np.sqrt(np.maximum(fit.moments[:, 1], 0.0))
        if clustered is not None:
            error = np.sqrt(np.maximum(clustered[1], 0.0))
        measures[self._item] = np.where(filled, theta, np.nan)
        errors[self._item] = np.where(filled, error, np.nan)
        estimate_extremes(ratings, self._steps, design, fit.parameters, self._sign, self._extremes, measures, errors)
        return measures, errors

    def _clusters(self) -> IntArray | None:
        """Return the question of each rating that is used, from 0 on; None where no, or hardly any, questions are known."""
        if self._ratings.question is None or self._fit.covariance.ndim == 1:
            return None
        codes = np.unique(self._ratings.question[self._design.rows], return_inverse=True)[1].ravel()
        return codes if codes.max() + 1 >= ENOUGH_QUESTIONS else None

    @cached_property
    def _residuals(self) -> Residuals:
        """What the model expects of the ratings of objects that are not extreme, at their most likely measures."""
        return find_residuals(self._design, self._fit, joint=self.estimation == "joint")

    @cached_property
    def _joint_design(self) -> tuple[BoolArray, IntArray, IntArray]:
        """Whether each facet is connected by ratings alone, and the subsets of parameters and objects."""
        design = self._design
        if design.n_beta > MOST_DENSE:
            part, group = graph_subsets(design)
        else:
            part, group = find_subsets(design, null_space(design, joint=True))
        used, whole = design.used, np.ones(len(self._ratings.facets), bool)
        for other, span in zip(design.others, design.spans, strict=True):
            whole[other] = len(np.unique(part[span][used[span]])) <= 1
        whole[self._item] = len(np.unique(group[group >= 0])) <= 1
        return whole, part, group

    @property
    def connected_(self) -> bool:
        """Whether ratings alone connect all elements of every facet."""
        self._fitted()
        return bool(self._joint_design[0].all())

    @property
    def measures_(self) -> Any:
        """Frame of facet, element, ratings, mean_rating, measure, standard_error, infit, outfit ..., facet by facet."""
        return self._frame(measures_table(self))

    @property
    def facets_(self) -> Any:
        """Frame with a row for each facet: how far its elements lie apart (separation, reliability) and whether they differ."""
        return self._frame(facets_table(self))

    @property
    def categories_(self) -> Any:
        """Frame with a row for each score: how often it was given, the mean logit where it was, outfit."""
        return self._frame(categories_table(self))

    @property
    def thresholds_(self) -> Any:
        """Frame of thresholds between neighbouring scores, those in disorder marked."""
        return self._frame(thresholds_table(self))

    @property
    def differences_(self) -> Any:
        """Frame of elements that groups see differently, by facet; the most telling first. `fit` needs group_column."""
        return self._frame(pa.concat_tables([one[0] for one in self._group_tests()]))

    @property
    def group_shifts_(self) -> Any:
        """Frame of how much higher (or lower) than elsewhere an element is rated in each group."""
        return self._frame(pa.concat_tables([one[1] for one in self._group_tests()]))

    def _group_tests(self) -> list[tuple[pa.Table, pa.Table]]:
        fitted = self._fitted()
        every = [group_differences(fitted, self._residuals, f) for f in range(len(fitted.facets))]
        tests = [one for one in every if one is not None]
        if not tests:
            raise DataError("No element was rated in two groups, so that groups cannot be compared.")
        return tests

    @property
    def drift_(self) -> Any:
        """Frame of how the raters' severity moves with time, the most telling first. `fit` needs time_column."""
        return self._frame(self._drift_table())

    def _drift_table(self) -> pa.Table:
        fitted, facet = self._fitted(), self._rater_facet()
        return drift(fitted, self._residuals, facet, self._sign[facet])

    def _rater_facet(self) -> int:
        """Return the facet that is called like a rater, or else the first that is not measured."""
        others = self._design.others
        return next((f for f in others if ROLES["worker"].is_named(self._ratings.facets[f])), others[0])

    def interactions(self, one: str, two: str) -> Any:
        """Return the bias of each pair of elements of two facets, the most telling first."""
        table = self._bias_table(one, two).drop_columns(["facet", "other_facet"])
        names = {"element": one, "other_element": two}
        return self._frame(table.rename_columns([names.get(name, name) for name in table.column_names]))

    def _bias_table(self, one: str, two: str) -> pa.Table:
        fitted = self._fitted()
        places = fitted.facet(one), fitted.facet(two)
        if places[0] == places[1]:
            raise ParameterError("An interaction is between two facets.")
        return interactions(fitted, self._design, self._fit.covariance, self._residuals, *places)

    def _card(self) -> str:
        return FACETS.html(facets_table(self), FACETS_SHOWN, title="Facets")
