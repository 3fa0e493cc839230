"""GLAD: the abilities of workers and the difficulty of items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ScaledSums, Weights
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.scaled import (
    ScaledEstimator,
    WorkersFound,
    check_mean,
    expected_counts,
    match_tables,
    table_accuracy,
)
from crowdassay.labels.labels import Labels
from crowdassay.solvers.scaled import Mode, ScaledProblem, population, predict_scaled
from crowdassay.statistics import log_softmax


@dataclass(kw_only=True, eq=False, repr=False)
class GLAD(ScaledEstimator):
    r"""Give each worker an ability and each item an easiness that multiplies it (Whitehill and others 2009).

    .. math::  P(x_{ij} = y_j) = \frac{1}{1 + e^{-\alpha_i \beta_j}}, \qquad
               \alpha_i \sim N(1, 1), \quad \log \beta_j \sim N(1, 1)

    Wrong answers fall on the other classes alike. With ``confusion`` each worker has a table instead (Mineiro 2011),

    .. math::  P(x_{ij} = k \mid y_j = c) \propto \exp[\beta_j\, \sigma_i(c, k)], \quad \sigma_i(c, c) = 0, \quad
               \sigma_i(c, k) \sim N(\gamma(c, k), 1), \quad \gamma(c, k) \sim N(-1, 1)

    where the paper writes :math:`1 / \delta_j` for :math:`\beta_j`. The mode of the posterior, classes summed out.

    Parameters
    ----------
    confusion : bool
        A table for each worker instead of one ability.
    ability : float
        Prior mean of alpha; with ``confusion`` minus the prior mean of gamma.
    easiness : float
        Prior mean of log beta.
    max_iter : int
        Passes over the labels, all starts together.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    J. Whitehill, P. Ruvolo, T. Wu, J. Bergsma, J. Movellan. Whose vote should count more: optimal integration of labels
    from labelers of unknown expertise. 2009.

    Examples
    --------
    >>> glad = GLAD().fit((["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"]))
    >>> glad.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "glad"

    confusion: bool = False
    ability: float = 1.0
    easiness: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-9
    threads: int | None = None

    def _problem(self, engine: LocalEngine) -> ScaledProblem:
        check_mean("ability", self.ability)
        likelihood = self._likelihood(engine)
        curvature = likelihood.curvature if isinstance(likelihood, TableLikelihood) else None
        return ScaledProblem(engine.labels, likelihood, self._mean(engine.labels), self.easiness, self.confusion, curvature)

    def _likelihood(self, engine: LocalEngine) -> TableLikelihood | LogisticLikelihood:
        return TableLikelihood(engine) if self.confusion else LogisticLikelihood(engine)

    def _workers(self, engine: LocalEngine, mode: Mode) -> WorkersFound:
        n_classes, settings = engine.n_classes, {"ability": self.ability, "easiness": self.easiness}
        if self.confusion:
            tables = mode.theta.reshape(-1, n_classes, n_classes)
            counts = expected_counts(engine, tables, mode.log_scale, mode.posterior)
            return WorkersFound(tables, counts, partial(table_accuracy, tables), settings, "glad-confusion")
        ability = mode.theta[:, 0]
        counts = _expected_counts(engine.labels, ability, mode.log_scale, mode.posterior)
        lead = float(np.log(n_classes - 1))  # wrong answers share what is left
        right = partial(_accuracy, ability, n_classes)
        return WorkersFound(mode.theta[:, :, None] * np.eye(n_classes), counts, right, settings, lead=lead)

    def _mean(self, labels: Labels) -> FloatArray:
        if self.confusion:
            return self.ability * (np.eye(labels.n_classes) - 1.0).ravel()
        return np.array([float(self.ability)])

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None
        known = fitted.sigma.reshape(len(fitted.sigma), -1) if self.confusion else fitted.sigma[:, :1, 0]
        theta = match_tables(fitted.labels, labels, known, population(known, self._mean(labels), pooled=self.confusion))
        likelihood = self._likelihood(LocalEngine(labels, threads=self.threads))
        return predict_scaled(likelihood, theta, self.easiness, labels.n_items)


class TableLikelihood:
    """One pass with a table for each worker, flat in theta (n_workers, n_classes ** 2), zero on the diagonal."""

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    def __call__(self, theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
        n_classes = self.engine.n_classes
        sums = self.engine.scaled(theta.reshape(-1, n_classes, n_classes), log_scale, weights)
        sums.gradient[:, range(n_classes), range(n_classes)] = 0.0
        return ScaledSums(sums.objective, sums.gradient.reshape(theta.shape), sums.slope, sums.posterior)

    def curvature(self, theta: FloatArray, log_scale: FloatArray, posterior: FloatArray) -> tuple[FloatArray, FloatArray]:
        r"""Return about what labels know of the tables (n_workers, n_classes ** 2) and of the log scales (n_items,).

        .. math::  h_{ick} = \sum_j a_j^2\, Q_{jc}\, p_{ick} (1 - p_{ick}), \qquad
                   h_j = a_j^2 \sum_{ic} Q_{jc} \operatorname{Var}_{k \sim p_{ic}} s_{ick}

        with the probabilities p of an item of average scale.
        """
        labels, tables = self.engine.labels, theta.reshape(-1, self.engine.n_classes, self.engine.n_classes)
        p, squares = np.exp(log_softmax(np.exp(log_scale.mean()) * tables)), np.exp(2 * log_scale)
        given = observed_counts(labels, posterior * squares[:, None]).sum(axis=2)
        spread = (p * tables**2).sum(axis=2) - (p * tables).sum(axis=2) ** 2
        each = (posterior[labels.label_item] * spread[labels.worker]).sum(axis=1)
        items = np.asarray(squares * np.bincount(labels.label_item, each, labels.n_items), float)
        return (given[:, :, None] * p * (1.0 - p)).reshape(theta.shape), items


class LogisticLikelihood:
    r"""One pass with one ability for each worker, theta (n_workers, 1).

    With :math:`z = \alpha_i \beta_j`, a right answer has the log odds z, so that item j's log joint of class c is
    :math:`\sum_i \log \frac{1}{1 + e^{z}}`, and :math:`z + \log(K - 1)` more for each label c. No table is needed.
    """

    def __init__(self, engine: LocalEngine) -> None:
        self.engine = engine

    def __call__(self, theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
        return self.engine.abilities(theta, log_scale, weights)


def _accuracy(ability: FloatArray, n_classes: int, log_scale: float) -> FloatArray:
    """Return the workers' mean probability of a right answer, the same for all classes, shape (n_classes,)."""
    return np.full(n_classes, scipy.special.expit(ability * np.exp(log_scale)).mean())


def _expected_counts(labels: Labels, ability: FloatArray, log_scale: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return how often each worker should be right and wrong for each true class, (n_workers, n_classes, n_classes)."""
    n_classes = labels.n_classes
    right = scipy.special.expit(ability[labels.worker] * np.exp(log_scale)[labels.label_item])
    total = observed_counts(labels, posterior).sum(axis=2)
    diagonal = np.empty((labels.n_workers, n_classes))
    for c in range(n_classes):
        diagonal[:, c] = np.bincount(labels.worker, right * posterior[labels.label_item, c], labels.n_workers)
    counts = np.repeat((total - diagonal)[:, :, None] / max(n_classes - 1, 1), n_classes, axis=2)
    counts[:, range(n_classes), range(n_classes)] = diagonal
    return np.maximum(counts, 0.0)
