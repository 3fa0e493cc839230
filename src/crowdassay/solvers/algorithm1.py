"""Algorithm 1 of the paper, literally: the slow reference."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import ItemEngine, Weights
from crowdassay.engines.confusion import average_worker
from crowdassay.labels.labels import gold_votes, shares
from crowdassay.models.family import Model
from crowdassay.solvers.em import without_absent
from crowdassay.solvers.profiled import WorkerProblem
from crowdassay.solvers.solution import Progress, Solution, average_difficulty, found

EXACT_CHANGE = 1e-13  # relative change at which the joint M-step counts as solved
CERTAIN_LABELS_CHANGE = 1e-9  # the same where labels are certain: they jump from class to class, whatever the last digits


def fit_algorithm1(
    engine: ItemEngine,
    model: Model,
    log_prior: FloatArray,
    *,
    max_steps: int,
    tol: float,
    deterministic: bool = False,
    progress: Progress | None = None,
) -> Solution:
    r"""Alternate the joint M-step and the E-step from Q = vote shares.

    .. math::  \{\sigma, \tau\} = \arg\max \sum_{ijc} Q_{jc} \log P(x_{ij} \mid c)
               - \tfrac\alpha2 |\sigma|^2 - \tfrac\beta2 |\tau|^2, \qquad
               Q_{jc} \propto \pi_c \prod_i P(x_{ij} \mid c)

    The M-step is concave: L-BFGS moves the workers while each item is solved by Newton steps at its own weights.

    Parameters
    ----------
    engine : ItemEngine
    model : Model
    log_prior : ndarray of shape (n_classes,)
    max_steps : int
        Number of M-steps allowed; the authors' code allows 50.
    tol : float
        Stop when no Q changes by more; the authors' code stops at 5e-3.
    deterministic : bool
        Leave H(Q) out of the objective, as in section 2 of the paper: every item then takes its best class for certain.
    progress : callable, optional
    """
    log_prior = without_absent(log_prior, engine)
    problem = WorkerProblem(engine, model, log_prior, max_iter=10**9)
    point = problem.origin()
    weights, previous = Weights.VOTES, shares(gold_votes(engine.labels))
    history: list[float] = []
    converged = False
    engine.restart()
    engine.keep_items()  # an E-step needs the items where the M-step left them
    while not converged and len(history) < max_steps:
        point, _, _ = problem.maximise(point, weights, CERTAIN_LABELS_CHANGE if deterministic else EXACT_CHANGE)
        sigma = problem.tables(point)
        sums, posterior = engine.e_step(model, sigma, log_prior)
        value = sums.objective
        if deterministic:
            value += float(np.log(posterior.max(axis=1)).sum())
            posterior = np.eye(engine.n_classes)[posterior.argmax(axis=1)]
        history.append(value - problem.penalise(point)[0])
        converged = float(np.abs(posterior - previous).max()) < tol
        engine.set_weights(posterior)
        previous, weights = posterior, Weights.GIVEN
        if progress is not None:
            progress(problem.n_iter, history[-1])
    phi = engine.coordinates(model)
    sums, _ = engine.e_step(model, sigma, log_prior, Weights.GIVEN)
    expected, more = engine.tally(previous) - sums.gradient, {}
    if model.item is not None:
        average = average_worker(sigma, engine.worker_counts)
        more = {"phi": phi, "difficulty": average_difficulty(model.item, average, previous, phi)}
    predict = found(engine.labels, previous, expected, **more)
    return Solution(predict, sigma, log_prior, history[-1], tuple(history), problem.n_iter, converged, model=model)
