"""The recommended default: workers from a learned population, votes as an anchor, items where they pay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result, find_winners
from crowdassay.engines.local import log_softmax
from crowdassay.engines.random_items import RandomItemsEngine
from crowdassay.errors import ParameterError
from crowdassay.estimators.assay_trial import Trial, soften, try_items
from crowdassay.estimators.base import Announce, Estimator, match_workers
from crowdassay.estimators.checks import check_number, check_run
from crowdassay.estimators.confusion import normalise, observed_counts
from crowdassay.solvers.anchored import LEAST, fit_anchored
from crowdassay.solvers.outcome import Progress

PRECISION = 4.0  # items' effects have a standard deviation of half a logit
MOST_CHANGED = 1 / 3  # of the items: beyond, the effects have found another division of the items than the labels are about


@dataclass(kw_only=True, eq=False, repr=False)
class Assay(Estimator):
    r"""Learn what workers do on average and how they differ, keep an eye on the votes, and give items effects where it pays.

    .. math::  P(x_{ij} = k \mid y_j = c) = \operatorname{softmax}_k\big(\log p_i(c, k) + u_{jc}(k)\big), \qquad
               p_i(c, \cdot) \sim \text{Dirichlet}(s_c m_c), \qquad u_{jc} \sim N(0, I / \beta)

    The population (its mean rows m, its concentrations s) is learned, workers are averaged over, item effects are integrated
    out for each class by itself, and left out altogether unless held-out labels gain by them. An item's class weights, for
    learning as for reporting, are a mean of its posterior and its vote share.

    Parameters
    ----------
    items : bool or None
        Whether items have effects; None tries it on labels held out.
    anchor : float
        Weight of the votes in the class weights, from 0 to 1.
    max_sweeps : int
    tolerance : float
        Mean over items of the largest change of a probability at which to stop.
    seed : int
        Decides which labels are held out.
    threads : int or None
        None takes all cores.

    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> Assay().fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "assay"

    items: bool | None = None
    anchor: float = 0.3
    max_sweeps: int = 150
    tolerance: float = 1e-4
    seed: int = 0
    threads: int | None = None

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_sweeps, self.tolerance)
        check_number("anchor", self.anchor, 0)
        if self.anchor > 1:
            raise ParameterError(f"anchor must be a number from 0 to 1, not {self.anchor!r}.")
        if self.items not in (None, True, False):
            raise ParameterError(f"items must be True, False or None, not {self.items!r}.")
        engine = RandomItemsEngine(labels, threads=self.threads, announce=announce)
        run: dict[str, Any] = {"anchor": self.anchor, "max_sweeps": self.max_sweeps, "tolerance": self.tolerance}
        if self.items is None:
            trial = try_items(labels, precision=PRECISION, threads=self.threads, seed=self.seed, **run)
        else:
            trial = Trial(self.items, f"Workers {'and items' if self.items else 'only'}, as asked.")
        found = fit_anchored(engine, precision=PRECISION if trial.chosen else None, progress=progress, **run)
        if trial.chosen and self.items is None:
            plain = fit_anchored(engine, **run)
            changed = float((plain.posterior.argmax(axis=1) != found.posterior.argmax(axis=1)).mean())
            if changed > MOST_CHANGED:
                found = plain
                trial = replace(
                    trial, chosen=False, reason=f"Workers only: items would turn {100 * changed:.0f} % of labels round."
                )
        posterior = soften(found.posterior, labels, self.anchor)
        mean = found.population.prior + found.counts
        mean /= mean.sum(axis=2, keepdims=True)
        confusion, accuracy = normalise(observed_counts(labels, posterior).sum(axis=2, keepdims=True) * mean, mean)
        self.population_ = found.population
        return Result(
            labels,
            self.method,
            {
                "items": trial.chosen,
                "gain": trial.gain,
                "anchor": self.anchor,
                "decay": found.population.decay,
                "concentration": found.population.concentration.tolist(),
            },
            posterior,
            find_winners(posterior),
            confusion,
            accuracy,
            log_prior=found.log_prior,
            sigma=found.log_p,
            pairs=None if found.effects is None else partial(pair_tables, found.log_p, found.effects),
            sweeps=found.sweeps,
            converged=found.converged,
            notes=(trial.reason,),
        )

    def _judge(self, labels: Labels) -> FloatArray:
        fitted = self._fitted()
        assert fitted.sigma is not None and fitted.log_prior is not None  # noqa: PT018
        code = match_workers(fitted.labels, labels)
        stranger = self.population_.log_tables(np.zeros_like(fitted.sigma[0]))
        log_p = np.where((code >= 0)[:, None, None], fitted.sigma[code], stranger)
        engine = RandomItemsEngine(labels, threads=self.threads)
        posterior = np.empty((labels.n_items, labels.n_classes))
        if fitted.parameters["items"]:
            effects = np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
            p = np.maximum(np.exp(log_softmax(log_p)), LEAST)
            posterior = engine.integrate(p, fitted.log_prior, anchor=0.0, precision=PRECISION, effects=effects).posterior
        else:
            engine.count(log_p, fitted.log_prior, posterior=posterior)
        return soften(posterior, labels, self.anchor)


def pair_tables(log_p: FloatArray, effects: FloatArray, item: IntArray, worker: IntArray) -> FloatArray:
    """Return log P(k | c) of pairs of item and worker, shape (n, n_classes, n_classes)."""
    return log_softmax(log_p[worker] + effects[item])
