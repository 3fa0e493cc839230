"""Expectation-maximisation for models without an item block: one frame, and the M-steps of its models.

An M-step takes the expected counts of the workers' answers and returns their log tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Counts, Engine, Weights
from crowdassay.solvers.solution import ByTables, Progress, Solution
from crowdassay.solvers.stopping import em_settled

NEVER = -700.0  # a log probability that is as good as none, and whose exponential is still a number
EPSILON = float(np.finfo(float).eps)  # added to every count, so that an answer never seen has a finite log probability

MStep = Callable[[FloatArray], tuple[FloatArray, float]]
"""Expected counts (n_workers, n_classes, n_classes) in, log tables of that shape and their log prior density out."""


def fit_em(
    engine: Engine,
    *,
    estimate_prior: bool,
    max_iter: int,
    tol: float,
    progress: Progress | None = None,
    update: MStep | None = None,
    start: FloatArray | None = None,
    votes: Counts | None = None,
    prior_items: float = 0.0,
) -> Solution:
    """Alternate expected counts and an update of the worker tables, from Q = vote shares.

    Parameters
    ----------
    engine : Engine
    estimate_prior : bool
        Whether the class prior is estimated; otherwise it is uniform.
    max_iter : int
    tol : float
        Relative change of the objective at which to stop.
    progress : callable, optional
    update : callable, optional
        The M-step, such as `coin_update`; by default that of Dawid and Skene's model without smoothing.
    start : ndarray of shape (n_workers, n_classes, n_classes), optional
        Log tables to begin with instead of the vote shares.
    votes : Counts, optional
        The engine's counts at the vote shares, where they are known already.
    prior_items : float
        Items that are added to each class where the prior is estimated: without any, a few items alike rule out all others.
    """
    n_classes = engine.n_classes
    update = update or free_tables(0.0)
    xp = engine.xp  # tables stay where the labels are
    log_p = xp.full((engine.n_workers, n_classes, n_classes), -np.log(n_classes)) if start is None else xp.asarray(start)
    log_prior = without_absent(np.full(n_classes, -np.log(n_classes)), engine)
    sums = (votes or at_vote_shares(engine)) if start is None else engine.count(log_p, log_prior)
    history: list[float] = []
    converged = False
    while not converged and len(history) < max_iter:
        log_p, log_density = update(sums.counts)
        if estimate_prior:
            totals = engine.to_host(sums.totals) + (prior_items + EPSILON)
            log_prior = without_absent(np.log(totals / totals.sum()), engine)
        sums = engine.count(log_p, log_prior)
        history.append(sums.objective + log_density)
        if progress is not None:
            progress(len(history), history[-1])
        converged = em_settled(history, tol)
    log_p, log_prior = engine.to_host(log_p), engine.to_host(log_prior)
    objective = history[-1] if history else None
    return Solution(ByTables(log_p, log_prior), log_p, log_prior, objective, tuple(history), len(history), converged)


@dataclass(frozen=True, eq=False)
class Trial:
    """One of several runs of EM.

    Attributes
    ----------
    update : callable
        The M-step.
    settings : mapping
        What was asked for, for a summary.
    start : ndarray of shape (n_workers, n_classes, n_classes) or None
        Log tables to begin with instead of the vote shares.
    notes : tuple of str
    """

    update: MStep
    settings: Mapping[str, Any] = field(default_factory=dict)
    start: FloatArray | None = None
    notes: tuple[str, ...] = ()


def at_vote_shares(engine: Engine) -> Counts:
    """Count labels by worker and class, every item weighed by its vote shares: where most fits begin."""
    flat = np.full(engine.n_classes, -np.log(engine.n_classes))
    tables = engine.xp.full((engine.n_workers, engine.n_classes, engine.n_classes), flat[0])
    return engine.count(tables, flat, Weights.VOTES)


def without_absent(log_prior: FloatArray, engine: Engine) -> FloatArray:
    """Return a class prior (n_classes,) under which classes without a label or a known item have no chance.

    Nothing is known of how workers label them, and a class about which nothing is known would explain any labels.
    """
    return np.where(engine.class_counts > 0, log_prior, NEVER)


def free_tables(smoothing: float) -> MStep:
    r"""Return the M-step of Dawid and Skene's model: smoothed relative frequencies.

    .. math::  p_i(c, k) = \frac{n_i(c, k) + s}{\sum_{k'} n_i(c, k') + K s}, \qquad
               n_i(c, k) = \sum_j Q_{jc} 1[x_{ij} = k]

    With smoothing s this is the posterior mode under a Dirichlet(1 + s) prior, whose log density is part of the objective.
    """

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        smoothed = counts + (smoothing + EPSILON)
        log_p = np.log(smoothed / smoothed.sum(axis=2, keepdims=True))
        return log_p, smoothing * float(log_p.sum())

    return update


def coin_tables(log_right: FloatArray, log_wrong: FloatArray, n_classes: int) -> FloatArray:
    """Expand log probabilities of a right and of a wrong answer into log tables (n_workers, n_classes, n_classes).

    Parameters
    ----------
    log_right, log_wrong : ndarray of shape (n_workers, 1) or (n_workers, n_classes)
        For all classes alike, or by true class. The wrong classes share the second equally.
    n_classes : int

    >>> np.exp(coin_tables(np.log([[0.8]]), np.log([[0.2]]), 3)[0]).round(2).tolist()
    [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    """
    if n_classes == 1:  # there is no wrong answer
        return np.zeros((len(log_right), 1, 1))
    shared = np.broadcast_to(log_wrong - np.log(n_classes - 1), (len(log_wrong), n_classes))
    tables = np.repeat(shared[:, :, None], n_classes, axis=2)
    tables[:, range(n_classes), range(n_classes)] = log_right
    return tables


def count_right(counts: FloatArray, *, per_class: bool) -> tuple[FloatArray, FloatArray]:
    """Sum counts (n_workers, n_classes, n_classes) into right and wrong answers, (n_workers, 1) or (n_workers, n_classes)."""
    right = np.einsum("icc->ic", counts)
    wrong = np.maximum(counts.sum(axis=2) - right, 0.0)
    return (right, wrong) if per_class else (right.sum(axis=1, keepdims=True), wrong.sum(axis=1, keepdims=True))


def coin_update(successes: float, failures: float, *, per_class: bool, projection: float = 0.0) -> MStep:
    r"""Return the M-step of the one-coin model, or with ``per_class`` of the two-coin model.

    .. math::  p = \frac{n_{\text{right}} + s}{n_{\text{right}} + n_{\text{wrong}} + s + f}

    the posterior mode under a Beta(1 + s, 1 + f) prior, moved to the nearest point of [projection, 1 - projection]. What is
    maximised is concave in p, so that the nearest point is the best one there and the objective rises all the same.
    """

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        n_classes = counts.shape[1]
        right, wrong = count_right(counts, per_class=per_class)
        cells = 1 if per_class else n_classes
        right = right + (successes + cells * EPSILON)
        wrong = wrong + (failures + cells * (n_classes - 1) * EPSILON)
        p, q = right / (right + wrong), wrong / (right + wrong)  # 1 - p would round a small q away
        if projection > 0:
            p, q = np.clip(p, projection, 1 - projection), np.clip(q, projection, 1 - projection)
        q = np.maximum(q, EPSILON)  # a lone class leaves none
        log_p, log_q = np.log(p), np.log(q)
        return coin_tables(log_p, log_q, n_classes), float(successes * log_p.sum() + failures * log_q.sum())

    return update


def mean_field_update(a: float, b: float) -> MStep:
    r"""Return the variational update of the one-coin model with a Beta(a, b) prior.

    .. math::  q(p_i) = \text{Beta}(a + n_{\text{right}},\ b + n_{\text{wrong}}), \qquad
               E \log p_i = \psi(a_i) - \psi(a_i + b_i)

    In place of a log prior density it returns minus the divergence from the prior, which makes the objective of
    `fit_em` the mean-field lower bound.
    """
    from scipy.special import betaln, digamma  # noqa: PLC0415  slow to load, seldom needed

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        right, wrong = count_right(counts, per_class=False)
        log_p = digamma(a + right) - digamma(a + b + right + wrong)
        log_q = digamma(b + wrong) - digamma(a + b + right + wrong)
        divergence = betaln(a, b) - betaln(a + right, b + wrong) + right * log_p + wrong * log_q
        return coin_tables(log_p, log_q, counts.shape[1]), -float(divergence.sum())

    return update


def dirichlet_prior(n_classes: int, diagonal: float, off_diagonal: float) -> FloatArray:
    """Return the rows' Dirichlet parameters, shape (n_classes, n_classes)."""
    return off_diagonal + (diagonal - off_diagonal) * np.eye(n_classes)


def dirichlet_update(diagonal: float, off_diagonal: float) -> MStep:
    r"""Return the variational update of the workers' tables.

    .. math::  E \log p_i(c, k) = \psi(\alpha_c(k) + n_i(c, k)) - \psi\Big(\sum_{k'} \alpha_c(k') + n_i(c, k')\Big)

    In place of a log prior density it returns minus the divergence from the prior, which makes the objective of
    `fit_em` the mean-field bound.
    """
    from scipy.special import digamma, gammaln  # noqa: PLC0415  slow to load, seldom needed

    def log_beta(rows: FloatArray) -> FloatArray:
        return np.asarray(gammaln(rows).sum(axis=-1) - gammaln(rows.sum(axis=-1)))

    def update(counts: FloatArray) -> tuple[FloatArray, float]:
        prior = dirichlet_prior(counts.shape[1], diagonal, off_diagonal)
        parameters = prior + counts
        log_p = digamma(parameters) - digamma(parameters.sum(axis=2, keepdims=True))
        divergence = np.sum(counts * log_p) - np.sum(log_beta(parameters)) + len(counts) * np.sum(log_beta(prior))
        return log_p, -float(divergence)

    return update


class KnowingUpdate:
    r"""Update competence and habit of each worker from expected counts.

    A label k on an item of class k was known with probability
    :math:`r_i(k) = \theta_i / (\theta_i + (1 - \theta_i) \xi_i(k))` at the parameters of the E-step, so that

    .. math::  \text{known}_i = \sum_k n_i(k, k)\, r_i(k), \qquad
               \text{guessed}_i(k) = \sum_c n_i(c, k) - n_i(k, k)\, r_i(k)

    The object keeps the parameters between steps, as the next step needs them.

    Parameters
    ----------
    alpha, beta : float
        Of the Beta prior on competence theta; for a posterior mode the counts added to knowing and guessing.
    strategy : float
        Of the symmetric Dirichlet prior on the habit xi; for a mode the count added to every class.
    variational : bool
        Average over the parameters instead of taking the mode.
    right, wrong, habit : ndarray of shape (n_workers,), (n_workers,) and (n_workers, n_classes)
        Where to start: theta, 1 - theta and xi.
    """

    def __init__(
        self, alpha: float, beta: float, strategy: float, *, variational: bool,
        right: FloatArray, wrong: FloatArray, habit: FloatArray,
    ) -> None:  # fmt: skip
        self.alpha, self.beta, self.strategy, self.variational = alpha, beta, strategy, variational
        self.right, self.wrong, self.habit = right, wrong, habit
        self.known, self.guessed = np.zeros_like(right), np.zeros_like(habit)

    def tables(self) -> FloatArray:
        """Return the log tables (n_workers, n_classes, n_classes) of the current parameters."""
        n_classes = self.habit.shape[1]
        guess = self.wrong[:, None] * self.habit
        p = np.repeat(guess[:, None, :], n_classes, axis=1)
        p[:, range(n_classes), range(n_classes)] += self.right[:, None]
        return np.asarray(np.log(np.maximum(p, 1e-300)))

    def __call__(self, counts: FloatArray) -> tuple[FloatArray, float]:
        """Take expected counts (n_workers, n_classes, n_classes); return log tables and the log density of the prior.

        In the variational case minus the divergence from the prior, which makes the objective of `fit_em` the bound.
        """
        guess = self.wrong[:, None] * self.habit
        known = np.einsum("icc->ic", counts) * self.right[:, None] / np.maximum(self.right[:, None] + guess, 1e-300)
        self.guessed = np.maximum(counts.sum(axis=1) - known, 0.0)
        self.known = known.sum(axis=1)
        return self._average() if self.variational else self._mode()

    def _mode(self) -> tuple[FloatArray, float]:
        a = self.known + self.alpha + EPSILON
        b = self.guessed.sum(axis=1) + self.beta + EPSILON
        c = self.guessed + self.strategy + EPSILON
        self.right, self.wrong, self.habit = a / (a + b), b / (a + b), c / c.sum(axis=1, keepdims=True)
        density = self.alpha * np.log(self.right).sum() + self.beta * np.log(self.wrong).sum()
        return self.tables(), float(density + self.strategy * np.log(self.habit).sum())

    def _average(self) -> tuple[FloatArray, float]:
        from scipy.special import betaln, digamma, gammaln  # noqa: PLC0415  slow to load, seldom needed

        spam = self.guessed.sum(axis=1)
        a, b, c = self.known + self.alpha, spam + self.beta, self.guessed + self.strategy
        log_right, log_wrong = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
        log_habit = digamma(c) - digamma(c.sum(axis=1, keepdims=True))
        self.right, self.wrong, self.habit = np.exp(log_right), np.exp(log_wrong), np.exp(log_habit)
        coin = self.known * log_right + spam * log_wrong - betaln(a, b) + betaln(self.alpha, self.beta)
        n_classes = c.shape[1]
        prior = n_classes * gammaln(self.strategy) - gammaln(n_classes * self.strategy)
        average = gammaln(c).sum(axis=1) - gammaln(c.sum(axis=1))
        habit = (self.guessed * log_habit).sum(axis=1) - average + prior
        return self.tables(), -float(coin.sum() + habit.sum())

    def means(self) -> tuple[FloatArray, FloatArray]:
        """Return each worker's competence (n_workers,) and habit (n_workers, n_classes), as probabilities."""
        if not self.variational:
            return self.right, self.habit
        a, b = self.known + self.alpha, self.guessed.sum(axis=1) + self.beta
        c = self.guessed + self.strategy
        return a / (a + b), c / c.sum(axis=1, keepdims=True)
