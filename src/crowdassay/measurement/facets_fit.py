r"""Fit many-facet models: Newton's method on the other facets and thresholds, each object's measure profiled or integrated.

Objects are independent given everything else, so that one evaluation is a map over objects and a sum. What is left is a
problem with as many parameters as the other facets have elements, and its exact second derivatives are one more sum:

.. math::  I = \sum_i \Big( I_i - \frac{h_i h_i^\top}{d_i} \Big) \quad \text{(joint)}, \qquad
           I = \sum_i \big( E_i[I_i(\theta)] - \operatorname{Var}_i[s_i(\theta)] \big) \quad \text{(marginal)}
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize

from crowdassay.arrays import FloatArray
from crowdassay.measurement.design import Design, null_space, some_objects
from crowdassay.threads import available_cores, one_blas_thread

DENSE = 3000  # parameters up to which all second derivatives are kept
N_NODES = (21, 9)  # of the quadrature, for few and for many ratings
MANY_RATINGS = 200_000
SPLIT = 20_000  # ratings from which the pass is made in two parts, always the same two
MOST_SHORTENED = 30
NEAR = 1e-2  # largest change, in logits, at which a fit of some objects stops, which is only to begin with


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates of a many-facet model.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Elements of the other facets, then thresholds; without the spread.
    covariance : ndarray of shape (n_parameters, n_parameters), or (n_parameters,) where only the diagonal was kept
    theta : ndarray of shape (n_objects,)
        Where each object's ratings are most likely (with its population, if there is one).
    moments : ndarray of shape (n_objects, 2)
        Mean and variance of each object's measure given the ratings.
    centre, spread : float
        Of the population of objects; 0 and 0 in a joint fit.
    directions : ndarray of shape (n_beta, n_directions)
        In which parameters can move without a change.
    """

    parameters: FloatArray
    covariance: FloatArray
    theta: FloatArray
    moments: FloatArray
    centre: float
    spread: float
    log_likelihood: float
    n_iter: int
    converged: bool
    directions: FloatArray


class Problem:
    """The likelihood of ratings as a function of parameters (and, in a marginal fit, of centre and log spread)."""

    def __init__(self, design: Design, *, joint: bool) -> None:
        self.design, self.joint = design, joint
        self.size = design.n_parameters + (0 if joint else 2)
        self.dense = self.size <= DENSE
        self.theta = np.zeros(design.n_objects)
        self.moments = np.zeros((design.n_objects, 2))
        self.node, self.weight = np.polynomial.hermite_e.hermegauss(N_NODES[len(design.rows) >= MANY_RATINGS])
        cuts = [0, design.n_objects]
        if len(design.rows) >= SPLIT:
            cuts.insert(1, int(np.searchsorted(design.starts, len(design.rows) // 2)))
        self.parts = list(pairwise(cuts))

    def evaluate(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log-likelihood, its gradient, and the information: a matrix, or its diagonal."""
        from crowdassay.measurement import facets_kernel as kernel  # noqa: PLC0415  numba loads on first use

        data = self.design
        n = data.n_parameters
        table = np.clip(data.tables(point[:n]), -300.0, np.inf)
        ease = np.exp(-table)
        centre, spread = (0.0, 0.0) if self.joint else (float(point[n]), float(np.exp(point[n + 1])))
        gradients = [np.zeros(self.size) for _ in self.parts]
        matrices = [np.zeros((self.size, self.size if self.dense else 1)) for _ in self.parts]

        def work(part: int) -> float:
            begin, end = self.parts[part]
            return float(
                kernel.pass_over(
                    begin, end, data.starts, data.code, data.sign, data.score, data.step, point, ease, -table, data.slot,
                    self.theta, centre, spread, self.node, self.weight, self.dense, gradients[part], matrices[part],
                    self.moments,
                )
            )  # fmt: skip

        if len(self.parts) == 1:
            value = work(0)
        else:
            with ThreadPoolExecutor(min(len(self.parts), available_cores())) as pool:
                value = sum(pool.map(work, range(len(self.parts))))
        matrix = np.sum(matrices, axis=0)
        return value, np.sum(gradients, axis=0), matrix if self.dense else matrix[:, 0]

    def opening(self) -> FloatArray:
        """Return parameters to begin with: all elements alike, thresholds by how often each score was given."""
        data = self.design
        counts = np.bincount(data.score, minlength=data.seen.shape[1]) + 0.5
        total = -np.log(counts / counts[0])
        total -= total[-1] * np.arange(len(total)) / (len(total) - 1)
        point = np.zeros(self.size)
        places = data.slot >= 0
        point[data.slot[places]] = np.clip(np.broadcast_to(total, data.slot.shape)[places], -5.0, 5.0)
        return point


def fit_facets(design: Design, *, joint: bool, max_iter: int, tol: float, errors: bool = True) -> Fit:
    """Maximise the likelihood.

    Parameters
    ----------
    design : Design
    joint : bool
        Profile the objects' measures instead of integrating them over a normal population.
    max_iter : int
    tol : float
        Largest change of any parameter, in logits, at which to stop.
    errors : bool
        Without, the covariance is left out, which saves most of the time of a small fit.
    """
    problem = Problem(design, joint=joint)
    if not problem.dense:
        return _fit_large(problem, max_iter, tol)
    some = some_objects(design) if len(design.rows) >= MANY_RATINGS else None
    directions = null_space(design, joint=joint)
    lock = np.zeros((problem.size, directions.shape[1]))
    lock[: design.n_beta] = directions
    along = _along(lock, design, directions, joint=joint)
    point, converged, n_iter = problem.opening(), False, 0
    if some is not None:  # most of the way on some of the objects, the last steps with all
        begun = fit_facets(some, joint=joint, max_iter=max_iter, tol=NEAR, errors=False)
        point[: design.n_parameters] = begun.parameters
        if not joint:
            point[design.n_parameters :] = begun.centre, np.log(begun.spread)
    with one_blas_thread():
        value, gradient, matrix = problem.evaluate(point)
        for n_iter in range(1, max_iter + 1):  # noqa: B007  it is reported
            step = _solve(matrix, lock, gradient)
            step -= along @ (lock.T @ step)
            step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))
            for _ in range(MOST_SHORTENED):
                ahead = problem.evaluate(point + step)
                if ahead[0] >= value - 1e-9 * (1 + abs(value)):
                    break
                step *= 0.5
            point, (value, gradient, matrix) = point + step, ahead
            if np.abs(step).max() < tol:
                converged = True
                break
        covariance = np.full(problem.size, np.nan)
        if errors:
            covariance = _covariance(matrix, lock, design, directions, joint=joint)
    return _finish(problem, point, covariance, value, n_iter, converged, directions)


def _solve(matrix: FloatArray, lock: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's step; directions that change nothing are locked, and parameters without ratings stay."""
    scale = max(float(np.diag(matrix).max()), 1e-12)
    locked = matrix + scale * (lock @ lock.T)
    idle = np.diag(matrix) <= 0
    locked[idle, idle] += scale
    ridge = 0.0
    for _ in range(40):
        try:
            return np.asarray(cho_solve(cho_factor(locked + ridge * np.eye(len(locked))), gradient))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-6 * scale)
    return gradient / scale


def _covariance(matrix: FloatArray, lock: FloatArray, design: Design, directions: FloatArray, *, joint: bool) -> FloatArray:
    """Invert the information among parameters that sum to zero within each facet."""
    scale = max(float(np.diag(matrix).max()), 1e-12)
    locked = matrix + scale * (lock @ lock.T)
    idle = np.diag(matrix) <= 0
    locked[idle, idle] += scale
    value, vector = np.linalg.eigh(locked)
    inverse = (vector / np.maximum(value, 1e-12 * value.max())) @ vector.T
    keep = np.eye(len(matrix)) - _along(lock, design, directions, joint=joint) @ lock.T
    inverse = keep @ inverse @ keep.T
    inverse[idle, idle] = np.nan
    return np.asarray(inverse)


def _along(lock: FloatArray, design: Design, directions: FloatArray, *, joint: bool) -> FloatArray:
    """Return how everything moves along directions that change nothing: in a marginal fit the centre goes with them."""
    move = lock.copy()
    if not joint:
        move[design.n_parameters] = -(directions[design.code[0]].T @ design.sign)
    return move


def _fit_large(problem: Problem, max_iter: int, tol: float) -> Fit:
    """Fit with more parameters than second derivatives can be kept of: L-BFGS, every parameter scaled by its own."""
    design = problem.design
    point = problem.opening()
    scale = np.sqrt(np.maximum(problem.evaluate(point)[2], 1e-3))

    def negative(scaled: FloatArray) -> tuple[float, FloatArray]:
        value, gradient, _ = problem.evaluate(scaled / scale)
        return -value, -gradient / scale

    options = {"maxiter": 20 * max_iter, "maxcor": 30, "ftol": 1e-14, "gtol": max(tol, 1e-6)}
    with one_blas_thread():
        solution: Any = minimize(negative, point * scale, jac=True, method="L-BFGS-B", options=options)
    point = solution.x / scale
    directions = np.zeros((design.n_beta, len(design.sign)))
    used = np.bincount(design.code.ravel(), minlength=design.n_beta) > 0
    for f in range(len(design.sign)):
        span = slice(design.first[f], design.first[f + 1])
        mean = point[span][used[span]].mean()
        point[span][used[span]] -= mean
        if not problem.joint:
            point[design.n_parameters] += design.sign[f] * mean
        directions[span, f] = used[span] / np.sqrt(max(used[span].sum(), 1))
    value, _, diagonal = problem.evaluate(point)
    with np.errstate(divide="ignore"):
        covariance = np.where(diagonal > 0, 1.0 / diagonal, np.nan)
    return _finish(problem, point, covariance, value, int(solution.nit), bool(solution.success), directions)


def _finish(
    problem: Problem, point: FloatArray, covariance: FloatArray, value: float, n_iter: int, converged: bool,
    directions: FloatArray,
) -> Fit:  # fmt: skip
    n = problem.design.n_parameters
    centre, spread = (0.0, 0.0) if problem.joint else (float(point[n]), float(np.exp(point[n + 1])))
    covariance = covariance[:n, :n] if covariance.ndim == 2 else covariance[:n]
    return Fit(
        point[:n], covariance, problem.theta, problem.moments, centre, spread, value, n_iter, converged, directions
    )  # fmt: skip
