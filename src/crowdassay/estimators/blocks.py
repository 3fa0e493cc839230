"""Judge the items of one block by a solution; what all blocks add up to describes the workers.

Engines whose items are not in memory (files, a cluster) end a fit with one such pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result, find_winners
from crowdassay.engines.base import Weights
from crowdassay.engines.light import ItemCoordinates
from crowdassay.engines.local import LocalEngine, log_softmax
from crowdassay.estimators.confusion import normalise, observed_counts
from crowdassay.estimators.majority import gold_votes, shares
from crowdassay.model.structures import Basis
from crowdassay.pool.judge import choose, judge
from crowdassay.solvers.outcome import Solution

CHUNK = 65536  # items whose tables are expanded at a time


@dataclass(frozen=True, eq=False)
class Judgement:
    """What a solution says about the items of a block.

    Attributes
    ----------
    labels : Labels
    posterior : ndarray of shape (n_items, n_classes)
    winners : ndarray of bool, shape (n_items, n_classes)
    expected : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class; added over blocks they describe the workers.
    phi : ndarray of shape (n_items, size) or None
    difficulty : ndarray of shape (n_items,) or None
    """

    labels: Labels
    posterior: FloatArray
    winners: BoolArray
    expected: FloatArray
    phi: FloatArray | None = None
    difficulty: FloatArray | None = None


def judge_block(engine: LocalEngine, solution: Solution, average: FloatArray) -> Judgement:
    """Judge the items that a local engine holds; ``average`` (n_classes, n_classes) is the average worker's table."""
    labels, model = engine.labels, solution.model
    if solution.weights is Weights.VOTES:
        votes = gold_votes(labels)
        winners = votes == votes.max(axis=1, keepdims=True)
        counts = observed_counts(labels, winners / winners.sum(axis=1, keepdims=True))
        return Judgement(labels, shares(votes), winners, counts)
    if solution.pool is not None:
        posterior = judge(labels, solution.pool)
        return Judgement(labels, posterior, choose(posterior, solution.pool), observed_counts(labels, posterior))
    if model is None or model.item is None:
        posterior = np.empty((labels.n_items, labels.n_classes))
        log_p = solution.sigma if model is None else log_softmax(solution.sigma)
        counts = engine.count(log_p, solution.log_prior, posterior=posterior).counts
        expected = counts.sum(axis=2, keepdims=True) * np.exp(log_softmax(log_p)) if solution.tables is None else counts
        return Judgement(labels, posterior, find_winners(posterior), expected)
    sums, posterior = engine.posteriors(model, solution.sigma, solution.log_prior)
    phi, expected = engine.coordinates(model), observed_counts(labels, posterior) - sums.gradient
    difficulty = average_difficulty(model.item, average, posterior, phi)
    return Judgement(labels, posterior, find_winners(posterior), expected, phi, difficulty)


def average_worker(solution: Solution, worker_counts: IntArray) -> FloatArray:
    """Return the mean of the workers' tables, each counting by its number of labels, shape (n_classes, n_classes)."""
    return np.tensordot(worker_counts / max(worker_counts.sum(), 1), solution.sigma, axes=1)


def describe_workers(solution: Solution, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return every worker's confusion (n_workers, n_classes, n_classes) and accuracy from the sums of all blocks."""
    found = normalise(np.maximum(expected, 0.0), np.exp(log_softmax(solution.sigma)))
    return found if solution.tables is None else (solution.tables, found[1])


def block_result(judged: Judgement, method: str, solution: Solution) -> Result:
    """Return a result for the tables of the block's items; it knows nothing of the workers."""
    nothing = np.empty((0, judged.labels.n_classes, judged.labels.n_classes))
    return Result(
        judged.labels, method, {}, judged.posterior, judged.winners, nothing, nothing[:, 0, 0], phi=judged.phi,
        expand=solution.model.item.tables if solution.model and solution.model.item else None, difficulty=judged.difficulty,
        settled=solution.settled, spread=solution.spread,
    )  # fmt: skip


def average_difficulty(item: Basis, average: FloatArray, posterior: FloatArray, phi: Any) -> FloatArray:
    """Return the probability that the average worker gets each item wrong, shape (n_items,).

    One worker for all items, so that items seen by different workers can be compared: the mean of the workers' tables,
    each counting by its number of labels.
    """
    if isinstance(phi, ItemCoordinates):
        return phi.difficulty(np.exp(log_softmax(average)))
    difficulty = np.empty(len(phi))
    for first in range(0, len(phi), CHUNK):
        part = slice(first, first + CHUNK)
        right = np.exp(log_softmax(item.tables(phi[part]) + average))
        difficulty[part] = 1.0 - np.einsum("jc,jcc->j", posterior[part], right)
    return difficulty
