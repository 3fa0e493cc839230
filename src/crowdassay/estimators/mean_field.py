"""Mean field for the one-coin model with a beta prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from crowdassay.arrays import FloatArray
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_number, check_run
from crowdassay.results.result import Result
from crowdassay.solvers.coins import mean_field_update
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.outcome import Announce, Progress


@dataclass(kw_only=True, eq=False, repr=False)
class MeanField(Estimator):
    r"""Average over the workers' accuracies instead of choosing one: variational Bayes for the one-coin model.

    .. math::  p_i \sim \text{Beta}(a, b), \qquad q(y, p) = \prod_j Q_j(y_j) \prod_i \text{Beta}(p_i; a_i, b_i)

    .. math::  Q_j(c) \propto \exp \sum_i \big( 1[x_{ij} = c]\, E \log p_i
               + 1[x_{ij} \ne c]\, E \log \tfrac{1 - p_i}{K - 1} \big)

    EM with the mean of the logarithm, by digamma functions, in place of the logarithm of the mode. The objective is the
    mean-field lower bound on the marginal likelihood.

    Parameters
    ----------
    a, b : float
        The prior on every worker's accuracy, Beta(a, b), with mean a / (a + b).
    max_iter : int
        Steps of the alternation.
    tol : float
        Relative change of the bound at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.
    """

    method: ClassVar[str] = "mean-field"

    a: float = 2.0
    b: float = 1.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_iter, self.tol)
        check_number("a", self.a, 0, strictly=True)
        check_number("b", self.b, 0, strictly=True)
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        log_p, log_prior, history, n_iter, converged = fit_em(
            engine,
            estimate_prior=False,
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            update=mean_field_update(self.a, self.b),
        )
        return table_result(
            engine, self.method, {"a": self.a, "b": self.b}, log_p, log_prior,
            objective=history[-1], history=history, n_iter=n_iter, converged=converged,
        )  # fmt: skip

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return judge_by_tables(self._fitted(), labels, self.threads)
