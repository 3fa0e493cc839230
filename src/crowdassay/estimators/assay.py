"""The recommended default: workers from a learned population, votes as an anchor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.record import find_winners
from crowdassay.data.votes import soften
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import normalise, observed_counts
from crowdassay.engines.local import log_softmax
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator, match_workers
from crowdassay.fit.judges import ByTables
from crowdassay.fit.parameters import check_choice, check_number, check_run
from crowdassay.fit.result import Result
from crowdassay.solvers.anchored import Anchored, fit_anchored
from crowdassay.solvers.outcome import Announce, Progress, Solution

VOTES = 0.3  # weight of the votes in the class weights


@dataclass(kw_only=True, eq=False, repr=False)
class Assay(Estimator):
    r"""Learn what workers do on average and how they differ, and keep an eye on the votes.

    .. math::  P(x_{ij} = k \mid y_j = c) = \operatorname{softmax}_k\big(\log p_i(c, k) + u_{jc}(k)\big), \qquad
               p_i(c, \cdot) \sim \text{Dirichlet}(s_c m_c), \qquad u_{jc} \sim N(0, I / \beta)

    The population (its mean rows m, its concentrations s) and the size of the effects are learned; effects are integrated out
    for each class by itself, and are left out unless they are asked for. An item's class weights, for learning as for
    reporting, are a mean of its posterior and its vote share.

    Parameters
    ----------
    items : bool
        Whether items have effects, so that each may mislead workers in its own way; this needs all labels in memory.
    anchor : float or None
        Weight of the votes in the class weights, from 0 to 1. None takes 0.3.
    population : bool
        Whether workers shrink towards what workers do on average; otherwise towards random answers.
    prior : {'learned', 'uniform'}
        The class prior.
    precision : float or None
        Of the items' effects; None learns it.
    average : bool
        Whether items are judged by the mean of a worker's log probabilities, so that a worker of whom little is known counts
        for less, instead of the log of their mean; with item effects always the latter.
    max_iter : int
    tol : float
        Change of the class weights, as far as the workers' counts notice it and per label, at which to stop.
    threads : int or None
        None takes all cores.

    Examples
    --------
    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> Assay().fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "assay"

    items: bool = False
    anchor: float | None = None
    population: bool = True
    prior: str = "learned"
    precision: float | None = None
    average: bool = True
    max_iter: int = 150
    tol: float = 1e-4
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        """Fit in memory with an effect of every item."""
        engine = RandomItemsEngine(labels, threads=self.threads, announce=announce)
        return self._result(labels, fit_anchored(engine, items=True, precision=self.precision, **self._run(progress)))

    def needs_memory(self) -> str | None:
        """Say why all labels must be in memory: only effects of the items need them there."""
        return "Effects of the items need all labels in memory; elsewhere take items=False" if self.items else None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Fit the workers on any engine."""
        found = fit_anchored(engine, average=self.average, **self._run(progress))
        self.population_ = found.population
        judge = ByTables(found.log_p, found.log_prior, self._votes)
        return Solution(
            found.log_p, found.log_prior, None, (), found.n_iter, found.converged, judge, confusion=_mean_tables(found)
        )

    def settings(self, solution: Solution) -> dict[str, Any]:
        """Return what was asked for and what it came to."""
        return self._parameters(self._votes, None)

    @property
    def _votes(self) -> float:
        """Weight of the votes in the class weights."""
        return VOTES if self.anchor is None else self.anchor

    def _parameters(self, anchor: float, precision: float | None) -> dict[str, Any]:
        return {
            "items": self.items,
            "anchor": anchor,
            "precision": precision,
            "decay": self.population_.decay,
            "concentration": self.population_.concentration.tolist(),
        }

    def _run(self, progress: Progress | None) -> dict[str, Any]:
        """Check the parameters and return those of the solver."""
        self._check()
        return {
            "anchor": self._votes,
            "shared": self.population,
            "learn_prior": self.prior == "learned",
            "max_iter": self.max_iter,
            "tol": self.tol,
            "progress": progress,
        }

    def _check(self) -> None:
        check_run(self.max_iter, self.tol)
        check_number("anchor", self._votes, 0)
        check_choice("prior", self.prior, ("learned", "uniform"))
        if self._votes > 1:
            raise ParameterError(f"anchor must be a number from 0 to 1, not {self.anchor!r}.")
        if self.precision is not None:
            check_number("precision", self.precision, 0, strictly=True)

    def _result(self, labels: Labels, found: Anchored) -> Result:
        posterior = soften(found.posterior, labels, self._votes, self.threads)
        # Tables are drawn towards the population, which suits judging; accuracies are the workers' own.
        accuracy = normalise(observed_counts(labels, posterior, self.threads))[1]
        self.population_ = found.population
        return Result(
            labels,
            self.method,
            self._parameters(found.anchor, found.precision),
            posterior,
            find_winners(posterior),
            _mean_tables(found),
            accuracy,
            log_prior=found.log_prior,
            sigma=found.log_p,
            pairs=None if found.effects is None else partial(pair_tables, found.log_p, found.effects),
            n_iter=found.n_iter,
            converged=found.converged,
        )

    def _judge(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        code = match_workers(fitted.labels, labels)
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], self._stranger())
        engine = RandomItemsEngine(labels, threads=self.threads)
        posterior = np.empty((labels.n_items, labels.n_classes))
        if fitted.parameters["items"]:
            effects = np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
            beta = fitted.parameters["precision"]
            posterior = engine.integrate(np.exp(log_p), fitted.log_prior, anchor=0.0, precision=beta, effects=effects).posterior
        else:
            engine.count(log_p, fitted.log_prior, posterior=posterior)
        return soften(posterior, labels, self._votes, self.threads)

    def _stranger(self) -> FloatArray:
        fitted = self._fitted()
        nothing = np.zeros((fitted.labels.n_classes,) * 2)
        if self.average and not fitted.parameters["items"]:
            return self.population_.log_tables(nothing)
        return np.log(self.population_.tables(nothing))


def _mean_tables(found: Anchored) -> FloatArray:
    """Return the workers' mean probabilities, shape (n_workers, n_classes, n_classes)."""
    mean = found.population.prior + found.counts
    return np.asarray(mean / mean.sum(axis=2, keepdims=True))


def pair_tables(log_p: FloatArray, effects: FloatArray, item: IntArray, worker: IntArray) -> FloatArray:
    """Return log P(k | c) of pairs of item and worker, shape (n, n_classes, n_classes)."""
    return log_softmax(log_p[worker] + effects[item])
