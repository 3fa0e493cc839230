r"""The populations of scores, reliabilities and biases: their spreads by EM, and the scale that they leave open.

.. math::  s_i \sim N(0, \tau^2), \qquad \rho_w \sim N(0, \sigma_\rho^2), \qquad g_w \sim N(0, \sigma_g^2)
"""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.ranking.likelihood import LEAST_VARIANCE, PairsLikelihood, used_workers, worker_precision
from crowdassay.solvers.newton import hold

LENGTHENED_STEPS = 40  # steps of EM that are lengthened
LARGEST_VARIANCE = {"scores": 36.0, "reliability": 1.0, "bias": 9.0}
WIDE_PRIOR = 5.0  # standard deviation, in logits, of the advantage of a side and of the propensity of ties
PRIOR_VARIANCE = {"scores": 1.0, "reliability": 0.1, "bias": 0.1}  # what two more members of each population would have


def lock_matrix(matrix: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    """Return the matrix with locked parameters out of the way and, with ``shared``, the mean of the scores held."""
    held = hold(matrix, locked)
    if shared:
        free = (~locked[:n_items]).astype(float)
        held[:n_items, :n_items] += max(float(np.diag(matrix).max()), 1e-12) * np.outer(free, free) / max(free.sum(), 1.0)
    return held


def scores_precision(problem: PairsLikelihood, variances: dict[str, float]) -> FloatArray:
    """Return what is known beforehand adds to the information, shape (n_parameters,).

    Scores come from their population. The advantage of a side and the propensity of ties lie within a few times `WIDE_PRIOR` of
    zero, so that they stay finite where one side won all, or all are ties.
    """
    added, n_items = np.zeros(problem.size), problem.rows.n_items
    if variances["scores"]:
        added[:n_items] = 1.0 / variances["scores"]
    added[n_items : n_items + 2] = WIDE_PRIOR**-2.0
    added[n_items:][problem.locked[n_items:]] = 0.0
    return added


def squared_effects(problem: PairsLikelihood) -> FloatArray:
    """Return the squares of the workers' effects about their population's centre, shape (n_workers, 2)."""
    used = used_workers(problem.rows)
    return np.asarray(((problem.effects[: problem.rows.known] - [problem.centre, 0.0]) ** 2)[used])


def update_variances(
    problem: PairsLikelihood,
    point: FloatArray,
    matrix: FloatArray,
    variances: dict[str, float],
    *,
    scores: bool,
    fixed: bool,
    n_iter: int,
) -> float:
    """Move the variances to what scores and effects show: a step of EM, lengthened at first; return the largest change."""
    n_items, rows = problem.rows.n_items, problem.rows
    moves = [0.0]
    stretch = 1.5 if n_iter <= LENGTHENED_STEPS else 0.5  # what goes round in circles by then goes more slowly
    wanted: dict[str, float] = {}
    if rows.known:
        used = np.diff(rows.starts[: rows.known + 1]) > 0
        for n, name in enumerate(("reliability", "bias")):
            if fixed and name == "reliability":
                continue
            square = problem.effects[: rows.known][used][:, n] ** 2 + problem.spread[: rows.known][used][:, n]
            wanted[name] = (float(square.sum()) + 2 * PRIOR_VARIANCE[name]) / (used.sum() + 2)
    if scores:
        free = ~problem.locked[:n_items]
        held = lock_matrix(matrix, problem.locked, n_items, shared=False)
        variance = np.diag(np.linalg.inv(held))[:n_items][free]
        wanted["scores"] = (float((point[:n_items][free] ** 2 + variance).sum()) + 2 * PRIOR_VARIANCE["scores"]) / (
            free.sum() + 2
        )
    for name, value in wanted.items():
        change = np.log(np.clip(value, LEAST_VARIANCE, LARGEST_VARIANCE[name]) / variances[name])
        moves.append(abs(float(change)))
        variances[name] = float(np.clip(variances[name] * np.exp(stretch * change), LEAST_VARIANCE, LARGEST_VARIANCE[name]))
    return max(moves)


def recentre(
    problem: PairsLikelihood, point: FloatArray, gradient: FloatArray, matrix: FloatArray, variances: dict[str, float]
) -> tuple[float, float]:
    r"""Shift the workers' mean log reliability to zero, and scale the scores accordingly; all arrays change in place.

    Reliabilities twice as high and scores half as large predict the same, so that a scale must be chosen: the average worker
    has reliability 1. Left to the populations it would be found in hundreds of steps, and wrongly, since the likeliest scores
    are drawn towards zero and the reliabilities up. With :math:`\bar\rho = 0` as a constraint, its Lagrange multiplier moves
    the population's centre to :math:`-\sigma_\rho^2 \sum_i s_i^2 / (\tau^2 W)`.

    Returns
    -------
    shift : float
        The mean that was taken off.
    lost : float
        What the effects' penalty has changed by.
    """
    rows, n_items = problem.rows, problem.rows.n_items
    used = np.flatnonzero(used_workers(rows))
    if not len(used):
        return 0.0, 0.0
    before = float(squared_effects(problem)[:, 0].sum())
    shift = float(problem.effects[used, 0].mean())
    problem.effects[used, 0] -= shift
    scaled = np.ones(problem.size)
    scaled[:n_items] = scaled[n_items + 2 :] = np.exp(shift)
    point *= scaled
    gradient /= scaled
    matrix /= scaled[:, None] * scaled[None, :]
    variances["scores"] = float(np.clip(variances["scores"] * np.exp(2 * shift), LEAST_VARIANCE, LARGEST_VARIANCE["scores"]))
    pull = float((point[:n_items] ** 2).sum()) / variances["scores"]
    problem.centre = -variances["reliability"] * pull / len(used)
    return shift, 0.5 * worker_precision(variances)[0] * (float(squared_effects(problem)[:, 0].sum()) - before)


def log_evidence(
    problem: PairsLikelihood, value: float, point: FloatArray, matrix: FloatArray, variances: dict[str, float]
) -> float:  # fmt: skip
    """Return the log probability of the comparisons, scores and effects integrated out by Laplace's approximation."""
    rows = problem.rows
    added = scores_precision(problem, variances)
    used = used_workers(rows)
    populations = used.sum() * (np.log(variances["reliability"]) + np.log(variances["bias"]))
    populations += (~problem.locked[: rows.n_items]).sum() * np.log(variances["scores"]) if variances["scores"] else 0.0
    held = lock_matrix(matrix + np.diag(added), problem.locked, rows.n_items, shared=not variances["scores"])
    free = held[np.ix_(~problem.locked, ~problem.locked)]
    size = float(np.linalg.slogdet(free)[1]) + float(problem.spread[: rows.known, 2][used].sum())
    return value - 0.5 * float(added @ point**2) - 0.5 * float(populations) - 0.5 * size
