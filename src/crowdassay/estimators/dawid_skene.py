"""Dawid and Skene's model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.tables import judge_by_tables
from crowdassay.labels.frames import as_labels
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice, check_number, check_run
from crowdassay.results.posteriors import ByTables
from crowdassay.results.result import Result
from crowdassay.results.run import fit
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
    prior : {'estimated', 'uniform'}
        The class prior pi: estimated as its authors had it, or uniform as in the paper's comparison.
    smoothing : float
        Added to every expected count: the mode under a Dirichlet(1 + smoothing) prior.
    max_iter : int
        Steps of EM. On some data EM crawls; the paper's figures are those of at most 100 steps.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm. 1979.
    """

    method: ClassVar[str] = "dawid-skene"

    prior: str = "estimated"
    smoothing: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
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
            start=start,
        )
        predict = ByTables(log_p, log_prior)
        return Solution(log_p, log_prior, history[-1], history, n_iter, converged, predict)

    def settings(self, solution: Solution) -> dict[str, Any]:
        """Return what was asked for."""
        return {"prior": self.prior, "smoothing": self.smoothing}

    def refit(self, data: Any, previous: Result | None) -> Self:
        """Fit, going on from the worker tables of an earlier result whose workers have the same codes."""
        labels = as_labels(data)
        known = previous is not None and previous.method == self.method and previous.labels.n_workers == labels.n_workers
        start = previous.sigma if previous is not None and known else None
        self.result_ = fit(self, MemoryPlace(labels, threads=self.threads), start=start, fallbacks=False)
        return self

    def needs_memory(self) -> str | None:
        """It does not: the method is made of sums over workers."""
        return None

    def fallback(self) -> DawidSkene | None:
        """Learn how common the classes are, where they were taken to be equally common."""
        return None if self.prior == "estimated" else DawidSkene(**{**self.get_params(), "prior": "estimated"})

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return judge_by_tables(self._fitted(), labels, self.threads)
