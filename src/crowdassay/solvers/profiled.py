"""The fast solver: fit to the vote shares, then climb the profiled objective freely."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Ability, Engine, ItemEngine, Weights
from crowdassay.errors import ParameterError
from crowdassay.models.family import Model
from crowdassay.solvers.absent import without_absent
from crowdassay.solvers.ascent import OF_ITEM, WorkerProblem
from crowdassay.solvers.gpu import GpuProblem
from crowdassay.solvers.initial_point import initial_point
from crowdassay.solvers.outcome import Outcome, Progress, Solution

START_TOLERANCE = 1e-6  # the fit to the vote shares is only a start


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
    the item block: `crowdassay.solvers.initial_point`. Each further start takes one more step of Algorithm 1 first. The
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
    problem = kind(engine, model, log_prior, max_iter, OF_ITEM * tol)
    engine.restart()
    keeper: ItemEngine | None = None
    if starts > 1:
        if Ability.WEIGHTS not in engine.can:
            raise ParameterError(f"Several starts need {Ability.WEIGHTS}; take starts=1.")
        keeper = cast(ItemEngine, engine)
        keeper.keep_items()  # a further step of Algorithm 1 needs the items where the last left them
    opening: list[float] = []
    if start is None and starts == 1 and not engine.gathered:
        point, lower, alive = initial_point(problem, opening.append)
    elif start is None:
        point, lower, alive = problem.maximise(problem.origin(), Weights.VOTES, START_TOLERANCE, opening.append)
    else:
        point, lower, alive = problem.point(start), -np.inf, True
    held = Weights.VOTES
    best, highest = None, -np.inf
    items: FloatArray | None = None  # where the best solution has them, if another start has moved them since
    for number in range(starts):
        if number > 0:
            if not alive or problem.n_iter + 2 >= max_iter:
                break
            assert keeper is not None
            _one_step_more(problem, keeper, point, held)
            held, opening = Weights.GIVEN, []
            point, lower, alive = problem.maximise(point, held, START_TOLERANCE, opening.append)
        history = list(opening)

        def step(objective: float, history: list[float] = history) -> None:
            history.append(objective)
            if progress is not None:
                progress(problem.n_iter, objective)

        solved, value, converged = problem.maximise(point, Weights.FREE, tol, step)
        alive = alive and converged
        value = max(value, lower)  # with held weights the objective is a lower bound, and all there is when sweeps ran out
        if best is None or value > highest:
            highest = value
            best = Solution(problem.solved_tables(solved), log_prior, value, tuple(history), 0, converged, model=model)
            items = None if keeper is None else keeper.coordinates(model)
    assert best is not None
    if keeper is not None:
        keeper.restart(items)
    return replace(best, n_iter=problem.n_iter)


def complete(engine: ItemEngine, solution: Solution) -> Outcome:
    """Predict the items of a local engine by a solution of the family, one last pass."""
    assert solution.model is not None
    sums, posterior = engine.posteriors(solution.model, solution.sigma, solution.log_prior)
    return Outcome(solution, posterior, engine.coordinates(solution.model), sums.gradient)


def _one_step_more(problem: WorkerProblem, engine: ItemEngine, point: FloatArray, held: Weights) -> None:
    """Hold the weights that an E-step finds where the last held weights led."""
    sigma = problem.tables(point)
    engine.restart()
    engine.sweep(problem.model, sigma, problem.log_prior, held)
    engine.set_weights(engine.e_step(problem.model, sigma, problem.log_prior)[1])
    problem.n_iter += 2
