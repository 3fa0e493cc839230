"""Models fitted by EM: what they share, and Dawid and Skene's model, by its mode and averaged over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.memory.place import MemoryPlace
from crowdassay.estimators.base import Estimator
from crowdassay.labels.frames import as_labels
from crowdassay.results.parameters import check_choice, check_number, check_run
from crowdassay.results.result import Result
from crowdassay.results.run import fit
from crowdassay.solvers.em import Trial, fit_best_em
from crowdassay.solvers.m_steps import dirichlet_prior, dirichlet_update, free_tables
from crowdassay.solvers.posteriors import found
from crowdassay.solvers.solution import Progress, Solution

OFF_DIAGONAL = tuple(10.0 ** (step / 5) for step in range(-5, 6))  # section 8.2 of the paper
RATIOS = tuple(10.0 ** (step / 10) for step in range(11))


class EMEstimator(Estimator):
    """A model whose workers are tables that EM fits: a subclass is its parameters and its M-step.

    Parameters of the subclass are ``max_iter`` and ``tol``, and ``prior`` where the class prior can be estimated.
    """

    max_iter: int
    tol: float
    margin: ClassVar[float] = 0.0
    """Share of the objective by which a later run must be better to be kept."""

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        check_run(self.max_iter, self.tol)
        if hasattr(self, "prior"):
            check_choice("prior", self.prior, ("uniform", "estimated"))

    @abstractmethod
    def _trials(self, engine: Engine) -> Sequence[Trial]:
        """Return the runs of EM, for most models one: an M-step, and what was asked for."""

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Run EM from the vote shares, from the model's own start, or from worker tables of an earlier fit."""
        self._check()
        if self.needs_memory() is not None:
            self._local(engine)
        trials = self._trials(engine)
        solution, trial = fit_best_em(
            engine,
            trials if start is None else [replace(trial, start=start) for trial in trials],
            estimate_prior=getattr(self, "prior", "uniform") == "estimated",
            max_iter=self.max_iter,
            tol=self.tol,
            margin=self.margin,
            progress=progress,
        )
        return self._finish(solution, trial, engine)

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        """Return the solution with whatever else the best run has found."""
        return solution


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkene(EMEstimator):
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

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> fitted = DawidSkene(smoothing=0.1).fit(labels)
    >>> fitted.labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "dawid-skene"

    prior: str = "estimated"
    smoothing: float = 0.0
    max_iter: int = 100
    tol: float = 1e-10
    threads: int | None = None

    def _check(self) -> None:
        super()._check()
        check_number("smoothing", self.smoothing, 0)

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        return [Trial(free_tables(self.smoothing), {"prior": self.prior, "smoothing": self.smoothing})]

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


@dataclass(kw_only=True, eq=False, repr=False)
class DawidSkeneMeanField(EMEstimator):
    r"""Average over the workers' confusion tables instead of choosing one: variational Bayes.

    .. math::  p_i(c, \cdot) \sim \text{Dirichlet}(\alpha_c), \qquad \alpha_c(k) = c_1 1[c = k] + c_2 1[c \ne k]

    .. math::  q(y, p) = \prod_j Q_j(y_j) \prod_{ic} \text{Dirichlet}(p_i(c, \cdot);\ \alpha_c + n_i(c, \cdot)), \qquad
               n_i(c, k) = \sum_j Q_{jc} 1[x_{ij} = k]

    EM with the mean of the logarithm, by digamma functions, in place of the logarithm of the mode. The objective is the
    mean-field bound on the marginal likelihood, and the prior is the one of a grid that has the highest bound. The class
    prior is uniform.

    Parameters
    ----------
    diagonal, off_diagonal : float or None
        c1 and c2. None chooses from the paper's grid: c2 from 0.1 to 10 in eleven steps, c1 from c2 to 10 c2 in eleven.
    max_iter : int
        Steps of the alternation for each prior tried.
    tol : float
        Relative change of the bound at which to stop.
    threads : int or None
        None takes all cores.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.

    Examples
    --------
    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> DawidSkeneMeanField(diagonal=4, off_diagonal=1).fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "dawid-skene-mean-field"

    diagonal: float | None = None
    off_diagonal: float | None = None
    max_iter: int = 500
    tol: float = 1e-10
    threads: int | None = None

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        return [Trial(dirichlet_update(c1, c2), {"diagonal": c1, "off_diagonal": c2}) for c1, c2 in self._grid()]

    def _finish(self, solution: Solution, trial: Trial, engine: Engine) -> Solution:
        # The mean of each row is what the worker is expected to do; the tables hold the mean of its logarithm.
        labels, posterior = self._local(engine).labels, solution.predict(engine).posterior
        counts = observed_counts(labels, posterior)
        mean = dirichlet_prior(labels.n_classes, **trial.settings) + counts
        mean /= mean.sum(axis=2, keepdims=True)
        expected = counts.sum(axis=2, keepdims=True) * mean
        return replace(solution, predict=found(labels, posterior, expected), confusion=mean)

    def _grid(self) -> list[tuple[float, float]]:
        for name, value in (("diagonal", self.diagonal), ("off_diagonal", self.off_diagonal)):
            if value is not None:
                check_number(name, value, 0, strictly=True)
        return [
            (float(c1), float(c2))
            for c2 in (OFF_DIAGONAL if self.off_diagonal is None else (self.off_diagonal,))
            for c1 in ([c2 * ratio for ratio in RATIOS] if self.diagonal is None else (self.diagonal,))
        ]

    def _stranger(self) -> FloatArray:
        from scipy.special import digamma  # noqa: PLC0415  slow to load, seldom needed

        fitted = self._fitted()
        if fitted.labels.n_classes == 1:
            return super()._stranger()
        prior = dirichlet_prior(fitted.labels.n_classes, **fitted.parameters)
        return np.asarray(digamma(prior) - digamma(prior.sum(axis=1, keepdims=True)))
