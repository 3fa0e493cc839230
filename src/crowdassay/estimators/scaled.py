"""Models in which an item scales its workers' tables: `GLAD` and `LatentTraitAnalysis`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.base import Engine, ScaledSums, Weights
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator, match_rows
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_run
from crowdassay.solvers.em import NEVER, without_absent
from crowdassay.solvers.scaled import Mode, ScaledProblem, fit_scaled, population, predict_scaled
from crowdassay.solvers.solution import Progress, Solution, found
from crowdassay.statistics import log_softmax

CURVE_POINTS = 64  # log scales between which a smooth share of right answers is interpolated


class ScaledEstimator(Estimator):
    """A model in which an item scales its workers: a subclass is its parameters, its likelihood and its workers' tables."""

    easiness: float
    max_iter: int
    tol: float
    threads: int | None

    @abstractmethod
    def _problem(self, engine: LocalEngine, log_prior: FloatArray) -> ScaledProblem:
        """Return the function to maximise, under a class prior (n_classes,)."""

    @abstractmethod
    def _solution(self, engine: LocalEngine, mode: Mode) -> Solution:
        """Return what the mode says of workers and items, by `scaled_solution`."""

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the mode of the posterior, classes summed out."""
        check_run(self.max_iter, self.tol)
        check_mean("easiness", self.easiness)
        local = self._local(engine)
        scaled = LocalEngine(local.labels, threads=self.threads, announce=local.announce)
        log_prior = without_absent(np.full(scaled.n_classes, -np.log(scaled.n_classes)), scaled)
        mode = fit_scaled(self._problem(scaled, log_prior), max_iter=self.max_iter, tol=self.tol, progress=progress)
        return replace(self._solution(scaled, mode), log_prior=log_prior)


def check_mean(name: str, value: float) -> None:
    """Refuse a prior mean that is no number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not np.isfinite(value):
        raise ParameterError(f"{name} must be a number, the mean of its prior, not {value!r}.")


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

    def _problem(self, engine: LocalEngine, log_prior: FloatArray) -> ScaledProblem:
        check_mean("ability", self.ability)
        mean = self._mean(engine.labels)
        if not self.confusion:
            return ScaledProblem(engine.labels, partial(engine.scaled, log_prior=log_prior), mean, self.easiness)
        likelihood = TableLikelihood(engine, log_prior)
        return ScaledProblem(engine.labels, likelihood, mean, self.easiness, pooled=True, curvature=likelihood.curvature)

    def _solution(self, engine: LocalEngine, mode: Mode) -> Solution:
        n_classes, settings = engine.n_classes, {"ability": self.ability, "easiness": self.easiness}
        if self.confusion:
            tables = mode.theta.reshape(-1, n_classes, n_classes)
            counts = expected_counts(engine, tables, mode.log_scale, mode.posterior)
            mean = partial(table_accuracy, tables)
            return scaled_solution(engine.labels, mode, tables, counts, mean, settings, method="glad-confusion")
        ability, tables = mode.theta[:, 0], mode.theta[:, :, None] * np.eye(n_classes)
        counts = ability_counts(engine.labels, ability, mode.log_scale, mode.posterior)
        lead = float(np.log(n_classes - 1))  # wrong answers share what is left

        def right(log_scale: float) -> FloatArray:
            return np.full(n_classes, scipy.special.expit(ability * np.exp(log_scale)).mean())

        return scaled_solution(engine.labels, mode, tables, counts, right, settings, lead=lead)

    def _mean(self, labels: Labels) -> FloatArray:
        if self.confusion:
            return self.ability * (np.eye(labels.n_classes) - 1.0).ravel()
        return np.array([float(self.ability)])

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        known = fitted.sigma.reshape(len(fitted.sigma), -1) if self.confusion else fitted.sigma[:, :1, 0]
        theta = match_rows(fitted.labels, labels, known, population(known, self._mean(labels), pooled=self.confusion))
        engine = LocalEngine(labels, threads=self.threads)
        prior = fitted.log_prior
        likelihood = TableLikelihood(engine, prior) if self.confusion else partial(engine.scaled, log_prior=prior)
        return predict_scaled(likelihood, theta, self.easiness, labels.n_items)


class TableLikelihood:
    """One pass with a table for each worker, flat in theta (n_workers, n_classes ** 2), zero on the diagonal."""

    def __init__(self, engine: LocalEngine, log_prior: FloatArray | None = None) -> None:
        self.engine, self.log_prior = engine, log_prior

    def __call__(self, theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
        n_classes = self.engine.n_classes
        tables = theta.reshape(-1, n_classes, n_classes)
        sums = self.engine.scaled(tables, log_scale, weights, log_prior=self.log_prior)
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


def ability_counts(labels: Labels, ability: FloatArray, log_scale: FloatArray, posterior: FloatArray) -> FloatArray:
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


@dataclass(kw_only=True, eq=False, repr=False)
class LatentTraitAnalysis(ScaledEstimator):
    r"""Give each worker thresholds of their own on an ordered scale: a polytomous Rasch model (Mineiro 2011).

    .. math::  P(x_{ij} = k \mid y_j = c) \propto \exp \sum_{s=1}^{k} a_j d_i (c - \tau_{is}), \qquad k = 0, \dots, K - 1

    Class c lies at c on the scale; between the answers k - 1 and k worker i is undecided at :math:`\tau_{ik}`. The item is
    clear or not by :math:`a_j`, the worker careful or not by :math:`d_i`. Priors
    :math:`\tau_{is} \sim N(s - \frac12, 1)`, :math:`\log d_i \sim N(0, 1)`, :math:`\log a_j \sim N(e, 1)`; the mode of the
    posterior, classes summed out.

    Parameters
    ----------
    discrimination : bool
        Without, all :math:`d_i` are 1.
    easiness : float
        e: prior mean of :math:`\log a_j`.
    max_iter : int
        Passes over the labels, all starts together.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    P. Mineiro. Ordered values and Mechanical Turk. 2011.
    J. S. Uebersax, W. M. Grove. A latent trait finite mixture model for the analysis of rating agreement. 1993.

    Examples
    --------
    >>> data = (list("aaabbbccc"), list("xyzxyzxyz"), [1, 1, 2, 2, 2, 2, 3, 3, 2])
    >>> LatentTraitAnalysis().fit(data).labels_["label"].to_pylist()
    [1, 2, 3]
    """

    method: ClassVar[str] = "latent-trait"

    discrimination: bool = True
    easiness: float = 0.0
    max_iter: int = 1000
    tol: float = 1e-9
    threads: int | None = None

    def needs_order(self) -> bool:
        """It does: thresholds lie on a scale."""
        return True

    def _problem(self, engine: LocalEngine, log_prior: FloatArray) -> ScaledProblem:
        likelihood = ThresholdLikelihood(engine, log_prior, discrimination=self.discrimination)
        return ScaledProblem(engine.labels, likelihood, prior_mean(engine.n_classes), self.easiness)

    def _solution(self, engine: LocalEngine, mode: Mode) -> Solution:
        tables = threshold_tables(mode.theta, engine.class_counts == 0)
        counts = expected_counts(engine, tables, mode.log_scale, mode.posterior)
        settings = {"discrimination": self.discrimination, "easiness": self.easiness}
        return scaled_solution(engine.labels, mode, tables, counts, partial(table_accuracy, tables), settings)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        stranger = threshold_tables(prior_mean(labels.n_classes)[None], fitted.log_prior <= NEVER).ravel()
        tables = match_rows(fitted.labels, labels, fitted.sigma.reshape(len(fitted.sigma), -1), stranger)
        likelihood = TableLikelihood(LocalEngine(labels, threads=self.threads), fitted.log_prior)
        return predict_scaled(likelihood, tables, self.easiness, labels.n_items)


class ThresholdLikelihood:
    """One pass with log discrimination and thresholds, theta (n_workers, n_classes)."""

    def __init__(self, engine: LocalEngine, log_prior: FloatArray | None = None, *, discrimination: bool) -> None:
        self.engine, self.log_prior, self.discrimination = engine, log_prior, discrimination
        self.absent = engine.class_counts == 0  # without a label or a known item nobody knows how often workers answer so

    def __call__(self, theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
        tables = threshold_tables(theta, self.absent)
        sums = self.engine.scaled(tables, log_scale, weights, log_prior=self.log_prior)
        gradient = np.zeros_like(theta)
        if self.discrimination:
            gradient[:, 0] = np.sum(sums.gradient * tables, axis=(1, 2))
        above = sums.gradient.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]  # sum over answers k >= s
        gradient[:, 1:] = -np.exp(theta[:, :1]) * above[:, 1:]
        return ScaledSums(sums.objective, gradient, sums.slope, sums.posterior)


def prior_mean(n_classes: int) -> FloatArray:
    """Return log discrimination 0 and thresholds midway between the classes, shape (n_classes,).

    >>> prior_mean(4).tolist()
    [0.0, 0.5, 1.5, 2.5]
    """
    return np.concatenate([[0.0], np.arange(1, n_classes) - 0.5])


def threshold_tables(theta: FloatArray, absent: BoolArray | None = None) -> FloatArray:
    r"""Return the tables :math:`d_i (c k - \sum_{s \le k} \tau_{is})`, (n_workers, n_classes, n_classes).

    ``theta`` (n_workers, n_classes) holds log discrimination, then the thresholds. Answers that are ``absent`` (n_classes,)
    are never given, so that a class at the end of the scale that nobody chose leaves the others as they would be without it.
    """
    n_workers, n_classes = theta.shape
    codes = np.arange(n_classes)
    cumulative = np.concatenate([np.zeros((n_workers, 1)), theta[:, 1:].cumsum(axis=1)], axis=1)
    tables = np.exp(np.minimum(theta[:, :1, None], 30.0)) * (np.outer(codes, codes) - cumulative[:, None, :])
    return tables if absent is None else np.where(absent, NEVER, tables)


def scaled_solution(
    labels: Labels,
    mode: Mode,
    tables: FloatArray,
    expected: FloatArray,
    right: Callable[[float], FloatArray],
    settings: Mapping[str, object],
    *,
    method: str = "",
    lead: float = 0.0,
) -> Solution:
    """Return the solution at a mode, from the workers' tables and expected answers (n_workers, n_classes, n_classes).

    ``right`` takes a log scale and returns the mean share of right answers by true class (n_classes,); ``lead`` is added to the
    diagonal of a scaled table before the softmax. An item's difficulty is the probability that a worker drawn at random gets it
    wrong: all workers for all items, so that items seen by different workers can be compared. The share of right answers is
    smooth, and interpolated between some points.
    """
    grid = np.linspace(mode.log_scale.min(), mode.log_scale.max(), CURVE_POINTS)
    curves = np.array([right(float(point)) for point in grid])
    shares = np.stack([np.interp(mode.log_scale, grid, curve) for curve in curves.T], axis=1)
    predict = found(
        labels,
        mode.posterior,
        expected,
        phi=mode.log_scale[:, None],
        difficulty=np.asarray(1.0 - np.einsum("jc,jc->j", mode.posterior, shares)),
        pairs=partial(pair_log_p, tables, mode.log_scale, lead),
    )
    return Solution(
        predict, tables, objective=mode.objective, history=mode.history, n_iter=mode.n_iter, converged=mode.converged,
        settings=settings, method=method,
    )  # fmt: skip


def expected_counts(engine: LocalEngine, tables: FloatArray, log_scale: FloatArray, posterior: FloatArray) -> FloatArray:
    """Return each worker's expected answers by true class, (n_workers, n_classes, n_classes)."""
    log_prior = without_absent(np.zeros(engine.n_classes), engine)
    residual = engine.scaled(tables, log_scale, log_prior=log_prior, plain=True).gradient
    return np.maximum(observed_counts(engine.labels, posterior) - residual, 0.0)


def table_accuracy(tables: FloatArray, log_scale: float) -> FloatArray:
    """Return the workers' mean probability of a right answer by true class, shape (n_classes,)."""
    p = np.exp(log_softmax(np.exp(log_scale) * tables))
    return np.asarray(np.einsum("icc->c", p) / len(p))


def pair_log_p(tables: FloatArray, log_scale: FloatArray, lead: float, item: IntArray, worker: IntArray) -> FloatArray:
    """Return log P(k | c) for pairs of item and worker, shape (n, n_classes, n_classes)."""
    return log_softmax(np.exp(log_scale[item])[:, None, None] * tables[worker] + lead * np.eye(tables.shape[1]))
