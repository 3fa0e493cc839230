r"""Marginal maximum likelihood for the whole family of measurement models.

.. math::  P(x = k \mid \theta) \propto \exp(k\theta - \eta_{jk}), \quad \eta_{jk} = \sum_{l \le k} \delta_{jl}, \qquad
           L = \sum_i \log \int \prod_j P(x_{ij} \mid \theta) \, N(\theta; 0, s^2) \, d\theta

A model is a matrix: its parameters beta give the steps, delta = basis @ beta. Abilities are integrated out by Gauss-Hermite
quadrature centred on each worker (Naylor and Smith 1982), since a worker with a thousand responses is known far more sharply
than any fixed set of nodes could tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from crowdassay.arrays import FloatArray
from crowdassay.measurement.responses import Responses
from crowdassay.threads import one_blas_thread

N_NODES = 21
MAX_ROUNDS = 50
SMALL_CHANGE = 1e-6  # change of every parameter at which to stop
NARROWEST, WIDEST = 0.01, 20.0  # bounds of the ability spread
FLOOR = 1e-100  # the product of two floored factors stays above the smallest float


class Marginal:
    """The marginal likelihood of responses as a function of (beta, log s), at fixed quadrature nodes.

    Parameters
    ----------
    responses : Responses
    basis : sparse array of shape (n_items * n_steps, n_parameters)
    shift : ndarray of shape (n_parameters,)
        1 where a parameter moves when all items become harder by 1, else 0.
    precision : float
        Of a Gaussian prior on every parameter in beta; zero for none. Its centre is the average item, not zero, or else it
        would move abilities away from theirs where most answers are right.
    """

    def __init__(self, responses: Responses, basis: sparse.csr_array, shift: FloatArray, precision: float) -> None:
        self.responses, self.basis, self.precision = responses, basis, precision
        self.shift = shift / np.sqrt(shift.sum())
        self.n_items, self.n_workers = len(responses.items), len(responses.workers)
        shape = (self.n_workers, len(responses.score))
        self.by_worker = sparse.csr_array((np.ones(shape[1]), (responses.worker, np.arange(shape[1]))), shape=shape)
        self.scores = np.arange(responses.n_steps + 1)
        self.impossible = (self.scores < responses.low[:, None]) | (self.scores > responses.high[:, None])
        self.observed = responses.counts().astype(float)
        self.centre(np.zeros(basis.shape[1] + 1))

    def hurdles(self, beta: FloatArray) -> FloatArray:
        """Return eta, shape (n_items, n_steps + 1), infinite for scores that an item cannot give."""
        steps = (self.basis @ beta).reshape(self.n_items, -1)
        eta = np.concatenate([np.zeros((self.n_items, 1)), np.cumsum(steps, axis=1)], axis=1)
        eta[self.impossible] = np.inf
        return eta

    def chances(self, beta: FloatArray, theta: FloatArray) -> FloatArray:
        """Return the probability of every score for each response at abilities (n_responses, q)."""
        eta = self.hurdles(beta)[self.responses.item]
        return np.asarray(softmax(self.scores * theta[:, :, None] - eta[:, None, :], axis=2))

    def centre(self, parameters: FloatArray) -> None:
        """Put each worker's nodes around the mode of the worker's ability, by Newton's method."""
        beta, spread = parameters[:-1], np.exp(parameters[-1])
        mode = np.zeros(self.n_workers)
        for _ in range(100):
            chance = self.chances(beta, mode[self.responses.worker][:, None])[:, 0]
            mean = chance @ self.scores
            curvature = self.by_worker @ (chance @ self.scores**2 - mean**2) + spread**-2
            step = (self.by_worker @ (self.responses.score - mean) - mode / spread**2) / curvature
            mode += np.clip(step, -1.0, 1.0)
            if np.abs(step).max() < 1e-8:
                break
        node, weight = np.polynomial.hermite_e.hermegauss(N_NODES)
        self.theta = mode[:, None] + node / np.sqrt(curvature)[:, None]
        self.log_weight = np.log(weight) + 0.5 * node**2 - 0.5 * np.log(curvature)[:, None] - 0.5 * np.log(2 * np.pi)
        exponent = self.scores * self.theta[:, :, None]
        self.pull = np.maximum(np.exp(exponent - exponent.max(axis=2, keepdims=True)), FLOOR)

    def ease(self, beta: FloatArray) -> FloatArray:
        """Return exp(-eta), its largest one in every row, shape (n_items, n_steps + 1)."""
        eta = self.hurdles(beta)
        return np.where(self.impossible, 0.0, np.maximum(np.exp(eta.min(axis=1, keepdims=True) - eta), FLOOR))

    def expect(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the log-likelihood and the weights of each worker's nodes, shape (n_workers, N_NODES)."""
        from crowdassay.measurement import kernel  # noqa: PLC0415  numba loads on first use

        data, log_spread = self.responses, parameters[-1]
        log_joint = self.log_weight - 0.5 * self.theta**2 * np.exp(-2 * log_spread) - log_spread
        kernel.add_log_chances(data.worker, data.item, data.score, self.pull, self.ease(parameters[:-1]), log_joint)
        log_marginal = logsumexp(log_joint, axis=1, keepdims=True)
        return float(log_marginal.sum()), np.exp(log_joint - log_marginal)

    def evaluate(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the penalised log-likelihood and its gradient."""
        from crowdassay.measurement import kernel  # noqa: PLC0415

        beta, data = parameters[:-1], self.responses
        log_likelihood, weight = self.expect(parameters)
        surplus = -self.observed
        kernel.add_expected(data.worker, data.item, self.pull, self.ease(beta), weight, surplus)
        beyond = np.cumsum(surplus[:, ::-1], axis=1)[:, -2::-1]  # responses that took step l, expected less observed
        widen = float(np.sum(weight * self.theta**2)) * np.exp(-2 * parameters[-1]) - self.n_workers
        off = beta - self.shift * (self.shift @ beta)
        slope = self.basis.T @ beyond.ravel() - self.precision * off
        return log_likelihood - 0.5 * self.precision * float(off @ off), np.append(slope, widen)

    def maximise(self, spread: float | None) -> tuple[FloatArray, bool]:
        """Return the parameters and whether they settled; a given ``spread`` is kept."""
        bounds: list[tuple[float | None, float | None]] = [(None, None)] * self.basis.shape[1]
        bounds.append((np.log(NARROWEST), np.log(WIDEST)) if spread is None else (np.log(spread), np.log(spread)))
        parameters = np.append(np.zeros(self.basis.shape[1]), 0.0 if spread is None else np.log(spread))

        def negative(point: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = self.evaluate(point)
            return -value, -gradient

        options = {"maxcor": 20, "ftol": 1e-13, "gtol": 1e-7, "maxiter": 2000, "maxfun": 4000}
        for _ in range(MAX_ROUNDS):
            self.centre(parameters)
            with one_blas_thread():
                solution: Any = minimize(negative, parameters, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
            change = np.abs(solution.x - parameters).max()
            parameters = solution.x
            if change < SMALL_CHANGE:
                return parameters, True
        return parameters, False
