"""The fast solver of the minimax family: fit to the vote shares, then maximise the profiled objective freely.

The objective is a function of the worker coordinates with the items profiled out; L-BFGS maximises it on sums from an engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, Engine, ItemEngine, Weights
from crowdassay.engines.confusion import average_worker
from crowdassay.errors import ParameterError
from crowdassay.models.family import Model
from crowdassay.solvers.em import at_vote_shares, without_absent
from crowdassay.solvers.lbfgs import maximise, memory_for
from crowdassay.solvers.solution import ByFamily, Progress, Solution
from crowdassay.solvers.stopping import ITEM_SHARE, item_stages
from crowdassay.statistics import log_softmax

VOTES_TOLERANCE = 1e-6  # the fit to the vote shares is only a start
COUNTS_TOLERANCE = 1e-4  # so is the fit to the vote counts, on large data
WITHOUT_ITEMS_TOLERANCE = 1e-7  # relative rise at which the fit without items stops, on large data; its passes are cheap
LABEL_CURVATURE = 0.05  # curvature that a label adds to a coordinate of its worker, on average and roughly


class WorkerProblem:
    """The profiled objective as a function of the worker coordinates, a flat vector. It counts its sweeps.

    With a population the vector begins with a block that is added to every worker's: what they share moves in one step.
    """

    def __init__(self, engine: Engine, model: Model, log_prior: FloatArray, max_iter: int, item_tol: float = 0.0) -> None:
        self.item_tol = item_tol  # of every item, while the workers still move
        self.engine, self.model, self.log_prior, self.max_iter = engine, model, log_prior, max_iter
        self.n_iter = 0
        self.curvature: FloatArray | None = None

    def place(self, array: FloatArray | IntArray) -> FloatArray:
        """Return an array where the vectors of this problem are: where the labels are."""
        return self.engine.xp.asarray(array)

    def origin(self) -> FloatArray:
        """Return the point at which every table is zero."""
        return self.point(np.zeros((self.engine.n_workers, self.model.worker.size)))

    def point(self, coordinates: FloatArray) -> FloatArray:
        """Return the flat vector of worker coordinates (n_workers, size)."""
        shared = np.zeros(self.model.worker.size if self.model.population else 0)
        return np.append(self.place(shared), self.place(coordinates))

    def workers(self, point: FloatArray) -> FloatArray:
        """Return the worker coordinates (n_workers, size) of a flat vector."""
        blocks = point.reshape(-1, self.model.worker.size)
        return blocks[1:] + blocks[:1] if self.model.population else blocks

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand a flat vector into worker tables."""
        return self.model.worker.tables(self.workers(coordinates))

    def transpose(self, tables: FloatArray) -> FloatArray:
        """Carry gradients on worker tables back to worker coordinates."""
        return self.model.worker.transpose(tables)

    def evaluate(self, coordinates: FloatArray, weights: Weights) -> tuple[float, FloatArray]:
        """Sweep once; return the objective and its gradient, worker penalty included."""
        self.n_iter += 1
        sums = self.engine.sweep(self.model, self.tables(coordinates), self.log_prior, weights, self.item_tol)
        penalty, slope = self.penalise(coordinates)
        return sums.objective - penalty, self.flat(self.transpose(sums.gradient)) - slope

    def penalise(self, coordinates: FloatArray) -> tuple[float, FloatArray]:
        """Return the worker penalty of a flat vector, and its gradient."""
        penalty, slope = self.model.penalise(self.workers(coordinates))
        return penalty, self.flat(slope)

    def flat(self, gradient: FloatArray) -> FloatArray:
        """Carry a gradient by the worker coordinates back to the flat vector: the shared block's is the sum of all."""
        return np.append(gradient.sum(axis=0), gradient) if self.model.population else gradient.ravel()

    def maximise(
        self,
        start: FloatArray,
        weights: Weights,
        tol: float,
        step: Callable[[float], None] | None = None,
    ) -> tuple[FloatArray, float, bool]:
        """Maximise from ``start``; return the point, the objective and whether it converged.

        ``tol`` is the relative change of the objective at which to stop; ``step`` is called with every accepted objective.
        """
        exact, scales, pairs = self.item_tol, self.scales(), memory_for(start)
        told = None if step is None else lambda _, objective: step(objective)
        point, value, converged = start, -np.inf, False
        staged = self.model.item is not None and weights == Weights.FREE
        for self.item_tol, goal in item_stages(exact, tol, staged=staged):
            point, value, _, _, converged = maximise(
                lambda coordinates: self.evaluate(coordinates, weights),
                point,
                scales,
                max_iter=self.max_iter - self.n_iter,
                tol=goal,
                step=told,
                pairs=pairs,
            )
        return point, value, converged

    def scales(self) -> FloatArray:
        """Return a step length for every coordinate: what the labels know of a worker grows with their number.

        The curvature is alpha from the penalty and what was learnt or, before, a small share of each label that spreads over
        the coordinates. In these scales L-BFGS needs a half of the sweeps or fewer.
        """
        if self.curvature is not None:
            return 1 / np.sqrt(self.model.alpha + self.curvature.ravel())
        scales = 1 / np.sqrt(self.model.alpha + LABEL_CURVATURE * self.place(self.engine.worker_counts))
        if self.model.population:
            scales = np.append(1 / np.sqrt(self.model.alpha + LABEL_CURVATURE * self.engine.n_labels), scales)
        return np.repeat(scales, self.model.worker.size)

    def learn_scales(self, counts: FloatArray, p: FloatArray) -> None:
        r"""Take the curvature at expected counts and probabilities, both (n_workers, n_classes, n_classes).

        A row's matrix :math:`n_c (\operatorname{diag} p_c - p_c p_c^T)` is replaced by the multiple of the identity that has
        the same trace.
        """
        basis = self.model.worker
        mean = counts.sum(axis=2) * (1.0 - (p * p).sum(axis=2)) / (self.engine.n_classes - 1)
        squares = np.zeros((basis.n_classes, basis.size))
        for c, part, columns in basis.blocks():
            squares[c, part] = (columns**2).sum(axis=0)
        self.curvature = mean @ self.place(squares)
        if self.model.population:
            self.curvature = np.append(self.curvature.sum(axis=0)[None], self.curvature, axis=0)


class GpuProblem(WorkerProblem):
    """The profiled objective as a function of the worker coordinates, all on the GPU.

    Worker tables are the product of coordinates and one small matrix, since that is what a GPU does well.
    """

    def __init__(self, engine: Engine, model: Model, log_prior: FloatArray, max_iter: int, item_tol: float = 0.0) -> None:
        metric = None if model.metric is None else engine.xp.asarray(model.metric)
        super().__init__(engine, replace(model, metric=metric), log_prior, max_iter, item_tol)
        basis = model.worker
        self.expand = self.place(basis.tables(np.eye(basis.size)).reshape(basis.size, -1))

    def tables(self, coordinates: FloatArray) -> FloatArray:
        """Expand a flat vector into worker tables."""
        n_classes = self.engine.n_classes
        return (self.workers(coordinates) @ self.expand).reshape(-1, n_classes, n_classes)

    def transpose(self, tables: FloatArray) -> FloatArray:
        """Carry gradients on worker tables back to worker coordinates."""
        return tables.reshape(len(tables), -1) @ self.expand.T


@dataclass
class Start:
    """A starting point: worker coordinates, a lower bound of the objective there, and whether sweeps are left.

    ``weights`` are the class weights it was fitted to, ``history`` the objectives on the way.
    """

    point: FloatArray
    lower: float
    alive: bool
    weights: Weights = Weights.VOTES
    history: list[float] = field(default_factory=list)


def fit_profiled(
    engine: Engine,
    model: Model,
    log_prior: FloatArray,
    *,
    starts: int,
    max_iter: int,
    tol: float,
    start: FloatArray | None = None,
    progress: Progress | None = None,
) -> Solution:
    r"""Maximise :math:`G(\theta)`, the family's objective with every item at its own optimum.

    The first start fits the parameters to Q = vote shares, as Algorithm 1 does, and lets go, on large data at first without
    the item block: `initial_point`. Each further start takes one more step of Algorithm 1 first. The
    objective has many local optima, and on small data one of these starts often ends higher than another; the highest is kept.

    Parameters
    ----------
    engine : Engine
        In the end its items are where the solution has them.
    model : Model
    log_prior : ndarray of shape (n_classes,)
    starts : int
        More than one needs an engine that holds class weights (`Ability.WEIGHTS`).
    max_iter : int
        Passes over the labels allowed, all starts together.
    tol : float
        Relative change of the objective at which to stop.
    start : ndarray of shape (n_workers, size), optional
        Worker coordinates to go on from, instead of the fit to the vote shares.
    progress : callable, optional
    """
    log_prior = without_absent(log_prior, engine)
    # Vectors of the size of the workers stay where the labels are.
    kind = GpuProblem if Ability.GPU in engine.can else WorkerProblem
    problem = kind(engine, model, log_prior, max_iter, ITEM_SHARE * tol)
    engine.restart()
    keeper: ItemEngine | None = None
    if starts > 1:
        if Ability.WEIGHTS not in engine.can:
            raise ParameterError(f"Several starts need {Ability.WEIGHTS}; take starts=1.")
        keeper = cast(ItemEngine, engine)
        keeper.keep_items()  # a further step of Algorithm 1 needs them where the last left them
    here = _first_start(problem, start, large=starts == 1 and not engine.gathered)
    best, highest = None, -np.inf
    items: FloatArray | None = None  # where the best solution has them, if another start has moved them since
    for number in range(starts):
        if number > 0:
            if not here.alive or problem.n_iter + 2 >= max_iter:
                break
            assert keeper is not None
            here = _next_start(problem, keeper, here)
        history = list(here.history)

        def step(objective: float, history: list[float] = history) -> None:
            history.append(objective)
            if progress is not None:
                progress(problem.n_iter, objective)

        solved, value, converged = problem.maximise(here.point, Weights.FREE, tol, step)
        here.alive = here.alive and converged
        value = max(value, here.lower)  # with given weights the objective is a lower bound, and all there is out of sweeps
        if best is None or value > highest:
            highest = value
            sigma = engine.to_host(problem.tables(solved))
            predict = ByFamily(model, sigma, log_prior, average_worker(sigma, engine.worker_counts))
            best = Solution(predict, sigma, log_prior, value, tuple(history), 0, converged, model=model)
            items = None if keeper is None else keeper.coordinates(model)
    assert best is not None
    if keeper is not None:
        keeper.restart(items)
    return replace(best, n_iter=problem.n_iter)


def _first_start(problem: WorkerProblem, coordinates: FloatArray | None, *, large: bool) -> Start:
    """Return given worker coordinates, or those that fit the vote shares."""
    if coordinates is not None:
        return Start(problem.point(coordinates), -np.inf, True)
    history: list[float] = []
    if large:
        return Start(*initial_point(problem, history.append), history=history)
    found = problem.maximise(problem.origin(), Weights.VOTES, VOTES_TOLERANCE, history.append)
    return Start(*found, history=history)


def _next_start(problem: WorkerProblem, engine: ItemEngine, last: Start) -> Start:
    """Take one more step of Algorithm 1: the weights that an E-step finds where the last start was, and the fit to these."""
    sigma, history = problem.tables(last.point), list[float]()
    engine.restart()
    engine.sweep(problem.model, sigma, problem.log_prior, last.weights)
    engine.set_weights(engine.e_step(problem.model, sigma, problem.log_prior)[1])
    problem.n_iter += 2
    found = problem.maximise(last.point, Weights.GIVEN, VOTES_TOLERANCE, history.append)
    return Start(*found, weights=Weights.GIVEN, history=history)


def initial_point(problem: WorkerProblem, step: Callable[[float], None]) -> tuple[FloatArray, float, bool]:
    """Fit the workers to the vote shares, one pass in all, then freely but without the item block.

    Return the point, its objective, which is a lower bound of the objective with items, and whether sweeps are left. The
    problem learns its natural scales from the counts expected there.
    """
    engine, model = problem.engine, problem.model
    votes = at_vote_shares(engine).counts
    problem.n_iter += 1
    smoothed = votes + 1.0 / engine.n_classes
    problem.learn_scales(votes, smoothed / smoothed.sum(axis=2, keepdims=True))
    point = fit_counts(problem, votes)
    plain = type(problem)(engine, replace(model, item=None), problem.log_prior, problem.max_iter - 1)
    plain.n_iter, plain.curvature = problem.n_iter, problem.curvature
    point, value, alive = plain.maximise(point, Weights.FREE, WITHOUT_ITEMS_TOLERANCE, step)
    problem.n_iter = plain.n_iter
    if alive and problem.n_iter < problem.max_iter - 1:
        log_p = log_softmax(plain.tables(point))
        problem.learn_scales(engine.count(log_p, problem.log_prior).counts, np.exp(log_p))
        problem.n_iter += 1
    return point, value, alive


def fit_counts(problem: WorkerProblem, counts: FloatArray) -> FloatArray:
    r"""Maximise :math:`\sum_{ick} n_{ick} \log p_i(k \mid c)` less the penalty over the worker coordinates, a flat vector."""
    mass = counts.sum(axis=2, keepdims=True)

    def evaluate(flat: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(problem.tables(flat))
        penalty, slope = problem.penalise(flat)
        gradient = problem.flat(problem.transpose(counts - mass * np.exp(log_p))) - slope
        return float((counts * log_p).sum()) - penalty, gradient

    return maximise(evaluate, problem.origin(), problem.scales(), max_iter=100, tol=COUNTS_TOLERANCE)[0]
