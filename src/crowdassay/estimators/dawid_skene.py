"""Dawid and Skene's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result, find_winners
from crowdassay.engines.local import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Announce, Estimator, match_workers
from crowdassay.estimators.checks import check_run
from crowdassay.estimators.confusion import normalise, observed_counts
from crowdassay.model.family import Model
from crowdassay.model.structures import nominal
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.outcome import Progress


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkene(Estimator):
    r"""Give each worker a confusion table and maximise the marginal likelihood by EM.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i(c, k), \qquad
               L = \sum_j \log \sum_c \pi_c \prod_i p_i(c, x_{ij})

    The member of the family with the nominal structure for workers and no item block.

    Parameters
    ----------
    prior : {'uniform', 'estimated'}
        The class prior pi.
    smoothing : float
        Added to every expected count: the mode under a Dirichlet(1 + smoothing) prior.
    max_sweeps : int
        Steps of EM. On some data EM crawls; the paper's figures are those of at most 100 steps.
    tolerance : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm. 1979.
    """

    method: ClassVar[str] = "dawid-skene"

    prior: str = "uniform"
    smoothing: float = 0.0
    max_sweeps: int = 100
    tolerance: float = 1e-10
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_sweeps, self.tolerance)
        if self.prior not in ("uniform", "estimated"):
            raise ParameterError(f"prior must be 'uniform' or 'estimated', not {self.prior!r}.")
        if not 0 <= self.smoothing < np.inf:
            raise ParameterError(f"smoothing must be zero or a positive number, not {self.smoothing!r}.")
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        log_p, log_prior, history, sweeps, converged = fit_em(
            engine,
            estimate_prior=self.prior == "estimated",
            smoothing=self.smoothing,
            max_sweeps=self.max_sweeps,
            tolerance=self.tolerance,
            progress=progress,
        )
        _, posterior = engine.posteriors(_model(labels), log_p, log_prior)
        counts = observed_counts(labels, posterior).sum(axis=2, keepdims=True) * np.exp(log_p)
        confusion, accuracy = normalise(counts, np.exp(log_p))
        return Result(
            labels,
            self.method,
            {"prior": self.prior, "smoothing": self.smoothing},
            posterior,
            find_winners(posterior),
            confusion,
            accuracy,
            log_prior=log_prior,
            sigma=log_p,
            objective=history[-1],
            history=history,
            sweeps=sweeps,
            converged=converged,
        )

    def _judge(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        code = match_workers(fitted.labels, labels)
        uniform = np.full((labels.n_classes, labels.n_classes), -np.log(labels.n_classes))
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], uniform)
        return LocalEngine(labels, threads=self.threads).posteriors(_model(labels), log_p, fitted.log_prior)[1]


def _model(labels: Labels) -> Model:
    return Model(nominal(labels.n_classes).basis(), None, 0.0, 0.0)
