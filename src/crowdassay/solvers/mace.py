"""The M-steps of workers who either know the class or answer by a habit of their own."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.solvers.em import EPSILON


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
