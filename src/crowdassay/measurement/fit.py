r"""Fit many-facet models: Newton's method on the other facets and thresholds, each object's measure profiled or integrated.

Objects are independent given everything else, so that one evaluation is a map over objects and a sum. What is left is a
problem with as many parameters as the other facets have elements, and its exact second derivatives are one more sum:

.. math::  I = \sum_i \Big( I_i - \frac{h_i h_i^\top}{d_i} \Big) \quad \text{(joint)}, \qquad
           I = \sum_i \big( E_i[I_i(\theta)] - \operatorname{Var}_i[s_i(\theta)] \big) \quad \text{(marginal)}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.measurement.design import Design, null_space, some_objects
from crowdassay.results.saved.study import check_shapes
from crowdassay.solvers.lbfgs import minimise, negated
from crowdassay.solvers.newton import Evaluation, evaluate_parts, halves, hold, maximise, solve_ridge
from crowdassay.threads import one_blas_thread

MOST_DENSE = 3000  # parameters up to which all second derivatives are kept
NODES = (21, 9)  # of the quadrature, for few and for many ratings
MANY_RATINGS = 200_000
SPLIT_RATINGS = 20_000  # ratings from which the pass is made in two parts, always the same two
LONGEST_FACET_STEP = 2.0  # in logits
NEAR = 1e-2  # largest change, in logits, at which a fit of some objects stops, which is only to begin with
NARROWEST_SPREAD, WIDEST_SPREAD = 0.01, 20.0  # bounds of the spread of a standard population


@dataclass(frozen=True, eq=False)
class FacetsFit:
    """Estimates of a many-facet model.

    Attributes
    ----------
    parameters : ndarray of shape (n_parameters,)
        Elements of the other facets, then thresholds; without centre and spread.
    covariance : ndarray of shape (n_parameters, n_parameters), or (n_parameters,) where only the diagonal was kept
    theta : ndarray of shape (n_objects,)
        Where each object's ratings are most likely (with its population, if there is one).
    moments : ndarray of shape (n_objects, 2)
        Mean and variance of each object's measure given the ratings.
    centre, spread : float
        Of the population of objects; 0 and 0 in a joint fit.
    log_likelihood : float
        Without the prior.
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

    def linear(self, rows: sparse.csr_array) -> tuple[FloatArray, FloatArray]:
        """Return linear functions of the parameters, (n_rows, n_parameters), and their standard errors; both (n_rows,)."""
        covariance = np.nan_to_num(self.covariance)
        if covariance.ndim == 1:
            variance = rows.power(2) @ covariance
        else:
            variance = np.asarray(rows.multiply(rows @ covariance).sum(axis=1)).ravel()
        return rows @ self.parameters, np.sqrt(np.maximum(variance, 0.0))

    def check(self, design: Design) -> None:
        """Raise ValueError where these are estimates of another design."""
        n, n_objects = design.n_parameters, design.n_objects
        check_shapes(self, parameters=(n,), covariance=(n,) * self.covariance.ndim, theta=(n_objects,), moments=(n_objects, 2))


@dataclass(frozen=True, eq=False)
class NormalPrior:
    r"""A weak normal prior on linear functions t of the parameters.

    .. math::  -\tfrac{\lambda}{2} \, | t - s s^\top t |^2

    Attributes
    ----------
    terms : sparse array of shape (n_terms, n_parameters)
        Takes parameters to t.
    shared : ndarray of shape (n_terms,)
        s, of length one: the direction in which t moves when everything becomes harder. The prior is about the average
        element, not about zero, or else it would move the objects away from theirs where most ratings are high.
    precision : float
    """

    terms: sparse.csr_array
    shared: FloatArray
    precision: float

    def evaluate(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the log density, but for a constant, and its gradient."""
        t = self.terms @ parameters
        off = t - self.shared * float(self.shared @ t)
        return -0.5 * self.precision * float(off @ off), -self.precision * (self.terms.T @ off)

    def information(self, *, dense: bool) -> FloatArray:
        """Return what the prior adds to the information: a matrix, or its diagonal."""
        mean = self.terms.T @ self.shared
        if dense:
            return np.asarray(self.precision * ((self.terms.T @ self.terms).toarray() - np.outer(mean, mean)))
        return np.asarray(self.precision * (self.terms.power(2).sum(axis=0) - mean**2))


class FacetsLikelihood:
    """The likelihood of ratings as a function of parameters (and, in a marginal fit, of centre and log spread).

    Parameters
    ----------
    design : Design
    joint : bool
        Profile the objects' measures instead of integrating them over a normal population.
    prior : NormalPrior, optional
        Added to the likelihood.
    """

    def __init__(self, design: Design, *, joint: bool, prior: NormalPrior | None = None) -> None:
        self.design, self.joint, self.prior = design, joint, prior
        self.size = design.n_parameters + (0 if joint else 2)
        self.dense = self.size <= MOST_DENSE
        self.theta = np.zeros(design.n_objects)
        self.moments = np.zeros((design.n_objects, 2))
        self.node, self.weight = np.polynomial.hermite_e.hermegauss(NODES[len(design.rows) >= MANY_RATINGS])
        self.parts = halves(design.starts, SPLIT_RATINGS)

    def evaluate(self, point: FloatArray) -> Evaluation:
        """Return the log-likelihood with the prior, its gradient, and the information: a matrix, or its diagonal."""
        from crowdassay.measurement import kernel  # noqa: PLC0415  numba loads on first use

        data = self.design
        n = data.n_parameters
        table = np.clip(data.tables(point[:n]), -300.0, np.inf)
        ease = np.exp(-table)
        centre, spread = (0.0, 0.0) if self.joint else (float(point[n]), float(np.exp(point[n + 1])))

        def work(begin: int, end: int, gradient: FloatArray, matrix: FloatArray) -> Any:
            return kernel.pass_over(
                begin, end, data.starts, data.code, data.sign, data.score, data.step, point, ease, -table, data.slot,
                self.theta, centre, spread, self.node, self.weight, self.dense, gradient, matrix, self.moments,
            )  # fmt: skip

        value, gradient, matrix = evaluate_parts(work, self.parts, self.size, dense=self.dense)
        if self.prior is not None:
            added, slope = self.prior.evaluate(point[:n])
            value += added
            gradient[:n] += slope
            matrix[(slice(n),) * matrix.ndim] += self.prior.information(dense=self.dense)
        return value, gradient, matrix

    def initial_point(self) -> FloatArray:
        """Return parameters to begin with: all elements alike, thresholds by how often each score was given."""
        data = self.design
        counts = np.bincount(data.score, minlength=data.seen.shape[1]) + 0.5
        total = -np.log(counts / counts[0])
        total -= total[-1] * np.arange(len(total)) / (len(total) - 1)
        point = np.zeros(self.size)
        places = data.slot >= 0
        point[data.slot[places]] = np.clip(np.broadcast_to(total, data.slot.shape)[places], -5.0, 5.0)
        return point

    def finish(
        self, point: FloatArray, covariance: FloatArray, value: float, n_iter: int, *, converged: bool
    ) -> FacetsFit:  # fmt: skip
        """Return the estimates, the objects' measures being those of the last evaluation."""
        n = self.design.n_parameters
        centre, spread = (0.0, 0.0) if self.joint else (float(point[n]), float(np.exp(point[n + 1])))
        covariance = covariance[(slice(n),) * covariance.ndim]
        value -= 0.0 if self.prior is None else self.prior.evaluate(point[:n])[0]
        return FacetsFit(point[:n], covariance, self.theta, self.moments, centre, spread, value, n_iter, converged)


def fit_facets(
    design: Design,
    *,
    joint: bool,
    max_iter: int,
    tol: float,
    errors: bool = True,
    prior: NormalPrior | None = None,
    standard: bool = False,
    spread: float | None = None,
) -> FacetsFit:
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
    prior : NormalPrior, optional
    standard : bool
        The population of objects has the centre 0, and it is the elements whose mean is free.
    spread : float, optional
        Of a standard population; estimated when not given.
    """
    problem = FacetsLikelihood(design, joint=joint, prior=prior)
    low, high = np.full(problem.size, -np.inf), np.full(problem.size, np.inf)
    if standard:
        low[-2:] = 0.0, np.log(NARROWEST_SPREAD if spread is None else spread)
        high[-2:] = 0.0, np.log(WIDEST_SPREAD if spread is None else spread)
    if not problem.dense:
        return _fit_large(problem, max_iter, tol, low, high, standard=standard)
    some = some_objects(design) if len(design.rows) >= MANY_RATINGS else None
    directions = np.zeros((design.n_beta, 0)) if standard else null_space(design, joint=joint)
    lock = np.zeros((problem.size, directions.shape[1]))
    lock[: design.n_beta] = directions
    along = lock.copy()  # in a marginal fit the centre goes along with what changes nothing
    if not joint:
        along[design.n_parameters] = -(directions[design.code[0]].T @ design.sign)
    point = problem.initial_point()
    if some is not None:  # most of the way on some of the objects, the last steps with all
        begun = fit_facets(
            some, joint=joint, max_iter=max_iter, tol=NEAR, errors=False, prior=prior, standard=standard, spread=spread
        )
        point[: design.n_parameters] = begun.parameters
        if not joint:
            point[design.n_parameters :] = begun.centre, np.log(begun.spread)

    def solve(matrix: FloatArray, gradient: FloatArray, held: BoolArray) -> FloatArray:
        step = solve_ridge(_locked(matrix, lock, held), np.where(held, 0.0, gradient))
        return step - along @ (lock.T @ step)

    with one_blas_thread():
        top = maximise(
            problem.evaluate, point, solve, longest=LONGEST_FACET_STEP, max_iter=max_iter, tol=tol, low=low, high=high
        )
        covariance = np.full(problem.size, np.nan)
        if errors:  # the inverse of the information among parameters that sum to zero within each facet
            value, vector = np.linalg.eigh(_locked(top.information, lock, top.held))
            covariance = (vector / np.maximum(value, 1e-12 * value.max())) @ vector.T
            keep = np.eye(problem.size) - along @ lock.T
            covariance = np.asarray(keep @ covariance @ keep.T)
            idle = np.diag(top.information) <= 0
            covariance[idle, idle] = np.nan
    return problem.finish(top.point, covariance, top.value, top.n_iter, converged=top.converged)


def _locked(matrix: FloatArray, lock: FloatArray, held: BoolArray) -> FloatArray:
    """Return the information with directions that change nothing locked, and parameters held or without ratings too."""
    scale = max(float(np.diag(matrix).max()), 1e-12)
    return hold(matrix + scale * (lock @ lock.T), held | (np.diag(matrix) <= 0))


def _fit_large(
    problem: FacetsLikelihood, max_iter: int, tol: float, low: FloatArray, high: FloatArray, *, standard: bool
) -> FacetsFit:
    """Fit with more parameters than second derivatives can be kept of: L-BFGS, every parameter scaled by its own."""
    design = problem.design
    point = np.clip(problem.initial_point(), low, high)
    scales = 1.0 / np.sqrt(np.maximum(problem.evaluate(point)[2], 1e-3))
    with one_blas_thread():
        found = minimise(
            negated(lambda at: problem.evaluate(at)[:2]), point, scales, bounds=(low, high) if standard else None,
            maxiter=20 * max_iter, maxcor=30, ftol=1e-14, gtol=max(tol, 1e-6),
        )  # fmt: skip
    point = found.point
    used = design.used
    for f, span in enumerate([] if standard else design.spans):
        mean = point[span][used[span]].mean()
        point[span][used[span]] -= mean
        if not problem.joint:
            point[design.n_parameters] += design.sign[f] * mean
    value, _, diagonal = problem.evaluate(point)
    with np.errstate(divide="ignore"):
        covariance = np.where(diagonal > 0, 1.0 / diagonal, np.nan)
    return problem.finish(point, covariance, value, found.n_iter, converged=found.converged)
