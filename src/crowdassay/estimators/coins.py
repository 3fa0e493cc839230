"""Models in which a worker is right with one probability, or with one for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from crowdassay.arrays import FloatArray
from crowdassay.engines.memory.engine import LocalEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.tables import judge_by_tables, table_result
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_choice, check_number, check_run
from crowdassay.results.result import Result
from crowdassay.solvers.coins import coin_update
from crowdassay.solvers.em import fit_em
from crowdassay.solvers.outcome import Announce, Progress


@dataclass(kw_only=True, eq=False, repr=False)
class OneCoin(Estimator):
    r"""Give each worker one probability of being right, the wrong classes being equally likely, and fit by EM.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i 1[c = k] + \frac{1 - p_i}{K - 1} 1[c \ne k]

    The member of the family with the agreement structure for workers and no item block. With a beta prior it is the
    posterior mode, as Raykar and others have it, without their classifier.

    Parameters
    ----------
    prior : {'uniform', 'estimated'}
        The class prior.
    successes, failures : float
        Right and wrong answers that every worker is taken to have given beforehand: a Beta(1 + successes, 1 + failures)
        prior. Without any this is maximum likelihood.
    max_iter : int
        Steps of EM.
    tol : float
        Relative change of the objective at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    V. C. Raykar and others. Learning from crowds. Journal of Machine Learning Research 11, 2010.

    >>> coin = OneCoin(successes=4, failures=1).fit((["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"]))
    >>> coin.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "one-coin"
    per_class: ClassVar[bool] = False

    prior: str = "uniform"
    successes: float = 0.0
    failures: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _projection(self) -> float:
        return 0.0

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_iter, self.tol)
        check_choice("prior", self.prior, ("uniform", "estimated"))
        check_number("successes", self.successes, 0)
        check_number("failures", self.failures, 0)
        engine = LocalEngine(labels, threads=self.threads, announce=announce)
        projection = self._projection()
        log_p, log_prior, history, n_iter, converged = fit_em(
            engine,
            estimate_prior=self.prior == "estimated",
            max_iter=self.max_iter,
            tol=self.tol,
            progress=progress,
            update=coin_update(self.successes, self.failures, per_class=self.per_class, projection=projection),
        )
        parameters: dict[str, Any] = {"prior": self.prior, "successes": self.successes, "failures": self.failures}
        if projection > 0:
            parameters["projection"] = projection
        return table_result(
            engine, self.method, parameters, log_p, log_prior,
            objective=history[-1], history=history, n_iter=n_iter, converged=converged,
        )  # fmt: skip

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return judge_by_tables(self._fitted(), labels, self.threads)


@dataclass(kw_only=True, eq=False, repr=False)
class TwoCoin(OneCoin):
    r"""Give each worker a probability of being right for each true class: two coins where there are two classes.

    .. math::  P(x_{ij} = k \mid y_j = c) = p_i(c) 1[c = k] + \frac{1 - p_i(c)}{K - 1} 1[c \ne k]

    The member of the family with the class-accuracy structure for workers. For two classes it is Dawid and Skene's model.
    The parameters are those of `OneCoin`; each coin has the same beta prior.
    """

    method: ClassVar[str] = "two-coin"
    per_class: ClassVar[bool] = True


@dataclass(kw_only=True, eq=False, repr=False)
class ProjectedEM(OneCoin):
    r"""Fit the one-coin model by EM with every accuracy kept within :math:`[\lambda, 1 - \lambda]`.

    Parameters are those of `OneCoin` and

    projection : float
        :math:`\lambda`, between 0 and 1/2. A worker who agrees with the crowd on every item would otherwise come to have
        accuracy 1 and overrule all others for ever.

    References
    ----------
    C. Gao, D. Zhou. Minimax optimal convergence rates for estimating ground truth from crowdsourced labels. 2014.
    """

    method: ClassVar[str] = "projected-em"

    projection: float = 0.05

    def _projection(self) -> float:
        check_number("projection", self.projection, 0, strictly=True)
        if self.projection >= 0.5:
            raise ParameterError(f"projection must be below 1/2, not {self.projection!r}; the method 'one-coin' has none.")
        return self.projection
