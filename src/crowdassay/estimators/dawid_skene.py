"""Dawid and Skene's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.base import Engine
from crowdassay.engines.choose import make_engine
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.checks import check_choice, check_number, check_run
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.io.frames import as_labels
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.outcome import Progress, Solution


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
    max_iter : int
        Steps of EM. On some data EM crawls; the paper's figures are those of at most 100 steps.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.
    engine : {'local', 'gpu'}
        Where the labels are during the fit: in memory, or on a graphics card.

    References
    ----------
    A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm. 1979.
    """

    method: ClassVar[str] = "dawid-skene"

    prior: str = "uniform"
    smoothing: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None
    engine: str = "local"

    def solve(self, engine: Engine, progress: Progress | None = None, tables: FloatArray | None = None) -> Solution:
        """Run EM on any engine, from the vote shares or from worker tables of an earlier fit."""
        check_run(self.max_iter, self.tol)
        check_choice("prior", self.prior, ("uniform", "estimated"))
        check_number("smoothing", self.smoothing, 0)
        log_p, log_prior, history, n_iter, converged = fit_em(
            engine,
            estimate_prior=self.prior == "estimated",
            smoothing=self.smoothing,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            start=tables,
        )
        return Solution(log_p, log_prior, history[-1], history, n_iter, converged)

    def settings(self, solution: Solution) -> dict[str, Any]:
        """Return what was asked for."""
        return {"prior": self.prior, "smoothing": self.smoothing}

    def refit(self, data: Any, previous: Result | None) -> Self:
        """Fit, going on from the worker tables of an earlier result whose workers have the same codes."""
        labels = as_labels(data)
        if previous is None or previous.method != self.method or previous.labels.n_workers != labels.n_workers:
            return self.fit(labels)
        self.result_ = self._fit(labels, None, None, previous.sigma)
        return self

    def _fit(
        self, labels: Labels, progress: Progress | None, announce: Announce | None, tables: FloatArray | None = None
    ) -> Result:
        engine = make_engine(self.engine, labels, threads=self.threads, announce=announce)
        found = self.solve(engine, progress, tables)
        return table_result(
            engine, self.method, self.settings(found), found.sigma, found.log_prior,
            objective=found.objective, history=found.history, n_iter=found.n_iter, converged=found.converged,
        )  # fmt: skip

    def _judge(self, labels: Labels) -> FloatArray:
        return judge_by_tables(self._fitted(), labels, self.threads)
