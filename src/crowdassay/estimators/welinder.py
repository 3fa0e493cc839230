"""Welinder's multidimensional model of items and workers, for two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.estimators.base import Estimator, match_rows
from crowdassay.estimators.two_classes import label_signs, two_columns
from crowdassay.labels.labels import Labels
from crowdassay.labels.signatures import Signatures, ranks
from crowdassay.results.parameters import check_least, check_run, check_whole
from crowdassay.solvers.lbfgs import Minimum, minimise, negated
from crowdassay.solvers.solution import Progress, Solution, found

NARROWEST_SPREAD = 1e-6  # standard deviation
JITTER = 0.5  # spread of the workers' random starting directions


@dataclass(kw_only=True, eq=False, repr=False)
class Welinder(Estimator):
    r"""Place items in a space in which each worker cuts the two classes apart by a plane of their own.

    .. math::  P(x_{ij} = 1) = \Phi(w_i \cdot v_j - t_i), \qquad
               v_j \sim \tfrac12 N(-e_1, I) + \tfrac12 N(e_1, I), \quad w_i \sim N(e_1, s^2 I), \quad t_i \sim N(0, s^2)

    The class of an item is the component of the mixture that its position v_j came from, with log odds 2 v_j1. All
    positions, directions w_i and thresholds t_i are set to their joint mode.

    Parameters
    ----------
    dimension : int
        Dimension of the space; more than one lets workers attend to different sides of an item.
    spread : float
        s: how far workers' directions and thresholds lie from the typical worker's.
    starts : int or None
        Starting points, the best kept; None takes one in one dimension, where the votes are start enough, else five.
    max_iter : int
        Steps of L-BFGS from each start.
    tol : float
        Relative change of the objective at which to stop.
    seed : int
        Of the random starts.

    Attributes
    ----------
    positions_ : ndarray of shape (n_items, dimension)
    directions_ : ndarray of shape (n_workers, dimension)
    thresholds_ : ndarray of shape (n_workers,)

    References
    ----------
    P. Welinder, S. Branson, S. Belongie, P. Perona. The multidimensional wisdom of crowds. 2010.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> Welinder().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "welinder"

    dimension: int = 1
    spread: float = 1.0
    starts: int | None = None
    max_iter: int = 2000
    tol: float = 1e-9
    seed: int = 0

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the joint mode from several starts."""
        check_run(self.max_iter, self.tol)
        check_whole(dimension=self.dimension, starts=self.starts)
        check_least(NARROWEST_SPREAD, spread=self.spread)
        labels = self._local(engine).labels
        problem = PlanesProblem(labels, self.dimension, self.spread)
        generator = np.random.default_rng(self.seed)
        best: tuple[float, Any, list[float]] = (-np.inf, None, [])
        starts = (1 if self.dimension == 1 else 5) if self.starts is None else self.starts
        for number in range(starts):
            history: list[float] = []
            start = problem.start(generator, JITTER if number or self.dimension > 1 else 0.0)
            optimum = problem.maximise(start, self.max_iter, self.tol, history)
            if progress is not None:
                progress(number + 1, max(history[-1], best[0]))
            if history[-1] > best[0] + 1e-9 * abs(history[-1]):
                best = (history[-1], optimum, history)
        objective, optimum, history = best
        self.positions_, self.directions_, self.thresholds_ = problem.split(optimum.point)
        posterior = two_columns(labels, 2.0 * self.positions_[:, 0])
        # The probability that the average worker gets each item wrong.
        one = scipy.special.ndtr(self.positions_ @ self.directions_.mean(axis=0) - self.thresholds_.mean())
        difficulty = posterior[:, 0] * one + posterior[:, 1] * (1.0 - one)
        return Solution(
            found(labels, posterior, self._expected(problem, posterior), phi=self.positions_, difficulty=difficulty),
            log_prior=np.log([0.5, 0.5]),
            objective=objective,
            history=tuple(history),
            n_iter=len(history),
            converged=optimum.converged,
            settings={"dimension": self.dimension, "spread": self.spread, "starts": starts, "seed": self.seed},
        )

    def _expected(self, problem: PlanesProblem, posterior: FloatArray) -> FloatArray:
        """Sum what each worker would say over the items that worker labelled, shape (n_workers, 2, 2)."""
        item, worker = problem.labels.label_item, problem.labels.worker
        margin = np.einsum("nd,nd->n", self.directions_[worker], self.positions_[item]) - self.thresholds_[worker]
        says = np.column_stack([scipy.special.ndtr(-margin), scipy.special.ndtr(margin)])
        cells = (posterior[item][:, :, None] * says[:, None, :]).reshape(-1, 4)
        return np.asarray((problem.by_worker @ cells).reshape(-1, 2, 2))

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted().labels
        directions = match_rows(fitted, labels, self.directions_, np.eye(self.dimension)[0])
        thresholds = match_rows(fitted, labels, self.thresholds_, 0.0)
        problem = PlanesProblem(labels, self.dimension, self.spread, (directions, thresholds))
        optimum = problem.maximise(np.zeros(problem.n_free), self.max_iter, 1e-14, [])  # concave and quick
        return two_columns(labels, 2.0 * problem.split(optimum.point)[0][:, 0])


class PlanesProblem:
    """The function L-BFGS sees: the log posterior of positions, directions and thresholds, and its gradient.

    With ``workers``, a pair (directions, thresholds), only the positions are free.
    """

    def __init__(
        self, labels: Labels, dimension: int, spread: float, workers: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        self.labels, self.dimension, self.spread, self.workers = labels, dimension, spread, workers
        self.sign = label_signs(labels, Welinder.method)
        order, ones, shape = np.arange(labels.n_labels), np.ones(labels.n_labels), (labels.n_items, labels.n_labels)
        self.by_item = scipy.sparse.csr_array((ones, order, labels.starts), shape=shape)
        self.by_worker = scipy.sparse.csr_array((ones, (labels.worker, order)), shape=(labels.n_workers, labels.n_labels))
        self.n_free = labels.n_items * dimension + (0 if workers else labels.n_workers * (dimension + 1))

    def split(self, flat: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions (n_items, d), directions (n_workers, d) and thresholds (n_workers,)."""
        d, edge = self.dimension, self.labels.n_items * self.dimension
        if self.workers:
            return flat.reshape(-1, d), *self.workers
        n_workers = self.labels.n_workers
        return flat[:edge].reshape(-1, d), flat[edge : edge + n_workers * d].reshape(-1, d), flat[edge + n_workers * d :]

    def start(self, generator: np.random.Generator, jitter: float) -> FloatArray:
        """Place items by their votes and turn workers at random about the typical direction."""
        votes = self.labels.votes()
        positions = np.zeros((self.labels.n_items, self.dimension))
        positions[:, 0] = (votes[:, 1] - votes[:, 0]) / (votes.sum(axis=1) + 1.0)
        # A worker's draw belongs to the labels that the worker gave, so that neither names nor rows matter.
        drawn = generator.normal(0.0, jitter, (self.labels.n_workers, self.dimension))
        directions = drawn[ranks(Signatures.of(self.labels).workers)]
        directions[:, 0] += 1.0
        return np.concatenate([positions.ravel(), directions.ravel(), np.zeros(self.labels.n_workers)])

    def evaluate(self, flat: FloatArray) -> tuple[float, FloatArray]:
        """Return the log posterior up to a constant and its gradient at ``flat`` (n_free,)."""
        positions, directions, thresholds = self.split(flat)
        item, worker = self.labels.label_item, self.labels.worker
        margin = np.einsum("nd,nd->n", directions[worker], positions[item]) - thresholds[worker]
        log_chance = scipy.special.log_ndtr(self.sign * margin)
        slope = self.sign * np.exp(-0.5 * margin**2 - log_chance) / np.sqrt(2.0 * np.pi)
        prior, slopes = log_mixture(positions, self.labels.gold)
        objective = float(log_chance.sum()) + prior
        gradient = slopes + self.by_item @ (slope[:, None] * directions[worker])
        if self.workers:
            return objective, gradient.ravel()
        off = directions - np.eye(self.dimension)[0]
        objective -= float(np.sum(off**2) + np.sum(thresholds**2)) / (2.0 * self.spread**2)
        turn = self.by_worker @ (slope[:, None] * positions[item]) - off / self.spread**2
        lift = -(self.by_worker @ slope) - thresholds / self.spread**2
        return objective, np.concatenate([gradient.ravel(), turn.ravel(), lift])

    def maximise(self, start: FloatArray, max_steps: int, tol: float, history: list[float]) -> Minimum:
        """Maximise from ``start``, adding every accepted objective to ``history``."""
        optimum = minimise(
            negated(self.evaluate),
            start,
            step=lambda value: history.append(-value),
            ftol=tol,
            gtol=1e-9,
            maxiter=max_steps,
            maxfun=10 * max_steps,
        )
        if not history:
            history.append(-optimum.value)
        return optimum


def log_mixture(positions: FloatArray, gold: np.ndarray) -> tuple[float, FloatArray]:
    r"""Return the log density of the positions, up to a constant, and its gradient (n_items, dimension).

    :math:`\log\cosh v_1 - |v|^2/2`, or :math:`\pm v_1 - |v|^2/2` where the class is known.
    """
    first = positions[:, 0]
    free, side = gold < 0, np.where(gold == 1, 1.0, -1.0)
    log_cosh = np.logaddexp(first, -first) - np.log(2.0)
    density = float(np.where(free, log_cosh, side * first).sum() - 0.5 * np.sum(positions**2))
    gradient = -positions
    gradient[:, 0] += np.where(free, np.tanh(first), side)
    return density, gradient
