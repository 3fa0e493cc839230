"""Latent trait analysis of ordered classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ScaledSums, Weights
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.scaled import ScaledEstimator, WorkersFound, expected_counts, match_tables, table_accuracy
from crowdassay.labels.facts import Facts
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_order, gap_note
from crowdassay.solvers.scaled import Mode, ScaledProblem, predict_scaled


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

    def check(self, facts: Facts) -> None:
        """Refuse texts whose order nobody gave."""
        check_order(facts)

    def notes_on(self, facts: Facts) -> tuple[str, ...]:
        """Return a sentence on levels that nobody chose."""
        return gap_note(facts)

    def _problem(self, engine: LocalEngine) -> ScaledProblem:
        likelihood = ThresholdLikelihood(engine, discrimination=self.discrimination)
        return ScaledProblem(engine.labels, likelihood, prior_mean(engine.n_classes), self.easiness)

    def _workers(self, engine: LocalEngine, mode: Mode) -> WorkersFound:
        tables = threshold_tables(mode.theta)
        counts = expected_counts(engine, tables, mode.log_scale, mode.posterior)
        settings = {"discrimination": self.discrimination, "easiness": self.easiness}
        return WorkersFound(tables, counts, partial(table_accuracy, tables), settings)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None
        n_classes = labels.n_classes
        stranger = threshold_tables(prior_mean(n_classes)[None]).ravel()
        tables = match_tables(fitted.labels, labels, fitted.sigma.reshape(len(fitted.sigma), -1), stranger)
        engine = LocalEngine(labels, threads=self.threads)

        def likelihood(theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
            return engine.scaled(theta.reshape(-1, n_classes, n_classes), log_scale, weights)

        return predict_scaled(likelihood, tables, self.easiness, labels.n_items)


class ThresholdLikelihood:
    """One pass with log discrimination and thresholds, theta (n_workers, n_classes)."""

    def __init__(self, engine: LocalEngine, *, discrimination: bool) -> None:
        self.engine, self.discrimination = engine, discrimination

    def __call__(self, theta: FloatArray, log_scale: FloatArray, weights: Weights) -> ScaledSums:
        tables = threshold_tables(theta)
        sums = self.engine.scaled(tables, log_scale, weights)
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


def threshold_tables(theta: FloatArray) -> FloatArray:
    r"""Return the tables :math:`d_i (c k - \sum_{s \le k} \tau_{is})`, (n_workers, n_classes, n_classes).

    Parameters
    ----------
    theta : ndarray of shape (n_workers, n_classes)
        Log discrimination, then the thresholds.
    """
    n_workers, n_classes = theta.shape
    codes = np.arange(n_classes)
    cumulative = np.concatenate([np.zeros((n_workers, 1)), theta[:, 1:].cumsum(axis=1)], axis=1)
    return np.exp(np.minimum(theta[:, :1, None], 30.0)) * (np.outer(codes, codes) - cumulative[:, None, :])
