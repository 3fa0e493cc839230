"""EM in which an item's votes keep a share of its class weights: how the members of the default are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability, Counts, EffectEngine, Engine, ItemSums
from crowdassay.errors import ParameterError
from crowdassay.solvers.assay.population import BELIEF, USUAL_CONCENTRATION, Population
from crowdassay.solvers.em import at_vote_shares, without_absent
from crowdassay.solvers.solution import Progress
from crowdassay.special import digamma

LEAST_ANSWER_VARIANCE = 1e-9  # variance of an answer that is taken for none
FIRST_PRECISION = 4.0  # of the items' effects, half a logit: where learning begins
PRECISIONS = (0.1, 1000.0)  # effects of three logits, and next to none


@dataclass(frozen=True, eq=False)
class Anchored:
    """Workers, population and items, and how they were found.

    Attributes
    ----------
    log_p : array of shape (n_workers, n_classes, n_classes)
        Log probabilities of the workers' answers by true class; these and the counts are where the labels are.
    counts : array of shape (n_workers, n_classes, n_classes)
        What the workers' tables rest on: expected answers, with item effects those not explained by them.
    population : Population
    log_prior : ndarray of shape (n_classes,)
    evidence : float
        Log-likelihood of the labels in the last pass, classes and item effects summed out.
    precision : float
        That of the items' effects, where they have some.
    n_iter : int
    converged : bool
    """

    log_p: FloatArray
    counts: FloatArray
    population: Population
    log_prior: FloatArray
    evidence: float
    precision: float
    n_iter: int
    converged: bool


def fit_anchored(
    engine: Engine,
    *,
    anchor: float,
    items: bool = False,
    shared: bool = True,
    learn_prior: bool = True,
    average: bool = False,
    ordered: bool = False,
    belief: float = BELIEF,
    concentration: float = USUAL_CONCENTRATION,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
    votes: Counts | None = None,
) -> Anchored:
    r"""Alternate class weights, the population and the workers, from the vote shares V.

    .. math::  \hat Q_{jc} = (1 - a)\, Q_{jc} + a\, V_{jc}

    Without items and at a given population this raises (1 - a) times the log-likelihood of the labels plus a times that of
    labels and classes, the classes drawn from the votes: the votes serve as known classes that are not quite trusted.
    Between passes nothing is kept that grows with the items, but for their effects where they have some.

    Parameters
    ----------
    engine : Engine
        One that can `Ability.EFFECTS` where items have effects.
    anchor : float
        The weight a of the votes, from 0 to 1.
    items : bool
        Whether items have random effects, whose precision is learned.
    shared : bool
        Whether workers shrink towards a population; otherwise each has a flat prior of its own.
    learn_prior : bool
        Whether the class prior is learned, one item added to each class; otherwise it is uniform.
    average : bool
        Predict items by the mean of the workers' log probabilities instead of the log of their mean; not with items.
    ordered : bool
        Whether wrong answers may get rarer with their distance in class order.
    belief, concentration : float
        What is believed of the population beforehand; see `Population`.
    max_iter : int
    tol : float
        Change of the class weights, as far as the workers notice it, per label, at which to stop.
    progress : callable, optional
        Called with the iterations so far and the log-likelihood.
    votes : Counts, optional
        The engine's counts at the vote shares, where they are known already.
    """
    if items and Ability.EFFECTS not in engine.can:
        raise ParameterError(f"Effects of the items need {Ability.EFFECTS}; take items=False.")
    n_classes = engine.n_classes
    log_prior = without_absent(np.full(n_classes, -np.log(n_classes)), engine)
    votes = votes or at_vote_shares(engine)
    population = Population(n_classes, shared=shared, ordered=ordered, belief=belief, usual=concentration)
    counts, totals = votes.counts, votes.totals
    n_iter, converged, precision = 0, False, FIRST_PRECISION
    effects = np.zeros((engine.n_items, n_classes, n_classes)) if items else None
    while True:
        population.learn(counts, engine.to_host)
        if learn_prior:
            seen = engine.to_host(totals) + 1.0
            log_prior = without_absent(digamma(seen) - digamma(seen.sum()), engine)
        before, spread = counts, None
        if effects is None:  # votes have a share in the class weights; tables stay where the labels are
            log_p = population.log_tables(counts, engine.xp) if average else np.log(population.tables(counts, engine.xp))
            plain = engine.count(log_p, log_prior)
            evidence = plain.objective
            counts = (1 - anchor) * plain.counts + anchor * votes.counts
            totals = (1 - anchor) * plain.totals + anchor * votes.totals
        else:  # every item's effect is integrated out, going on from the best so far
            p = population.tables(counts)
            local = cast(EffectEngine, engine)
            sums = local.integrate(p, log_prior, anchor=anchor, precision=precision, effects=effects)
            log_p, evidence, totals, spread = np.log(p), sums.objective, sums.totals, sums.spread
            counts = unexplained_counts(p, population.prior, sums)
        n_iter += 1
        if progress is not None:
            progress(n_iter, evidence)
        converged = float(np.abs(counts - before).sum()) < tol * engine.n_labels
        if converged or n_iter >= max_iter:
            return Anchored(log_p, before, population, log_prior, evidence, precision, n_iter, converged)
        if spread is not None:
            precision = learn_precision(precision, spread, n_classes)


def learn_precision(precision: float, spread: FloatArray, n_classes: int) -> float:
    r"""Return the precision that explains the effects best, by MacKay's fixed point.

    .. math::  \beta \leftarrow \frac{K - \beta \overline{\operatorname{tr} H^{-1}}}{\overline{|u|^2}}

    with means over items, classes weighted by their posterior: what the labels have determined of the effects, by how
    large they are.

    Parameters
    ----------
    precision : float
    spread : ndarray of shape (2,)
        The means of :math:`|u|^2` and of :math:`\operatorname{tr} H^{-1}`.
    n_classes : int

    References
    ----------
    D. J. C. MacKay. Bayesian interpolation. 1992.
    """
    determined = n_classes - precision * float(spread[1])
    return float(np.clip(determined / max(float(spread[0]), LEAST_ANSWER_VARIANCE), *PRECISIONS))


def unexplained_counts(p: FloatArray, prior: FloatArray, sums: ItemSums) -> FloatArray:
    r"""Return the counts that a worker would have without item effects, from observed and expected answers.

    .. math::  p' \propto p\, \frac{o + \alpha}{e + |\alpha|\, p}, \qquad n = (N + |\alpha|)\, p' - \alpha, \qquad
               N = \frac{\sum \operatorname{Var}}{\sum_k p_k (1 - p_k)}

    One step of iterative scaling: where o = e nothing is left to explain, and without effects n is exactly o. An answer that
    the item's effect makes certain says nothing about the worker, so it adds nothing to N.

    Parameters
    ----------
    p : ndarray of shape (n_workers, n_classes, n_classes)
    prior : ndarray of shape (n_classes, n_classes)
    sums : ItemSums
    """
    strength = prior.sum(axis=1)[:, None]
    scaled = p * (sums.observed + prior) / (sums.expected + strength * p)
    scaled /= scaled.sum(axis=2, keepdims=True)
    size = np.minimum(sums.variance / np.maximum((p * (1 - p)).sum(axis=2), LEAST_ANSWER_VARIANCE), sums.observed.sum(axis=2))
    return np.maximum(scaled * (size[:, :, None] + strength) - prior, 0.0)
