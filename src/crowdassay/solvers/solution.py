"""What a solver hands back: `Solution`, the one contract between every estimator and a `Result`, and how it predicts items.

It predicts by a small object that is called with an engine whose items are in memory and that travels to where blocks are. In
memory the engine is that of the fit itself; elsewhere every block has one of its own. The pool of the default method has its
own such object, `crowdassay.solvers.assay.pool.ByPool`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max, row_sum
from crowdassay.engines.base import ItemCoordinates, ItemEngine
from crowdassay.engines.confusion import observed_counts
from crowdassay.labels.labels import Labels, gold_votes, shares
from crowdassay.labels.record import SETTLED, find_winners
from crowdassay.models.family import Model
from crowdassay.models.structures import Basis
from crowdassay.statistics import log_softmax

ITEMS_AT_A_TIME = 65536  # items whose tables are expanded at a time

Progress = Callable[[int, float], None]
"""Called after every step with the number of iterations so far and the objective."""


@dataclass(frozen=True, eq=False)
class ItemPosterior:
    """What a solution says about the items that an engine holds.

    Attributes
    ----------
    posterior : ndarray of shape (n_items, n_classes)
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that share the highest probability.
    expected : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class; added over blocks they describe the workers.
    phi : ndarray of shape (n_items, size) or None
        The items' coordinates.
    difficulty : ndarray of shape (n_items,) or None
    pairs : callable or None
        Log P(k | c) of pairs of item and worker, where it is not the softmax of the sum of their tables.
    """

    posterior: FloatArray
    winners: BoolArray
    expected: FloatArray
    phi: FloatArray | None = None
    difficulty: FloatArray | None = None
    pairs: Callable[[IntArray, IntArray], FloatArray] | None = None


Predict = Callable[[ItemEngine], ItemPosterior]
"""Called with an engine whose items are in memory: those of one block, or all."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What a fit has found of the workers, how, and how it predicts any item.

    Attributes
    ----------
    predict : callable
        Returns what this solution says of the items that an engine holds. Where a method needs no labels in memory it is a
        small object that can travel to wherever blocks are, and nothing in a solution has the size of the items.
    sigma : ndarray of shape (n_workers, n_classes, n_classes) or None
        Worker tables; without a model the logarithms that labels count by, used as they are.
    log_prior : ndarray of shape (n_classes,) or None
    objective : float or None
        None where nothing is maximised.
    history : tuple of float
        The objective after every step.
    n_iter : int
        Passes over the labels.
    converged : bool
    settings : mapping
        What was asked for and what it came to, for a summary.
    method : str
        The name of the method, where it is not the estimator's.
    model : Model or None
        The member of the family, where the solution is one.
    confusion : ndarray of shape (n_workers, n_classes, n_classes) or None
        The workers' confusion, where it is not that of ``sigma``.
    known : ndarray of shape (n_workers, 2) or None
        Labels that each worker has given on known items, and those that are right.
    checked : ndarray of int, shape (n_levels, 2), or None
        As `crowdassay.labels.record.Record` has it.
    gold_warning : str
        A sentence, where known items contradict the fit; empty otherwise.
    settled : float
        Probability from which a label is called settled.
    spread : float or None
        As `crowdassay.labels.record.Record` has it.
    notes : tuple of str
        What the user should know, a sentence each.
    selection : dict or None
        Where a parameter was chosen from the data: the criterion and every candidate's score.
    """

    predict: Predict
    sigma: FloatArray | None = None
    log_prior: FloatArray | None = None
    objective: float | None = None
    history: tuple[float, ...] = ()
    n_iter: int = 0
    converged: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: str = ""
    model: Model | None = None
    confusion: FloatArray | None = None
    known: FloatArray | None = None
    checked: IntArray | None = None
    gold_warning: str = ""
    settled: float = SETTLED
    spread: float | None = None
    notes: tuple[str, ...] = ()
    selection: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class AsFound:
    """Return the posterior that the fit itself has found; for methods that need all labels in memory."""

    found: ItemPosterior

    def __call__(self, engine: ItemEngine) -> ItemPosterior:
        """Return what was found."""
        return self.found


def found(labels: Labels, posterior: FloatArray, expected: FloatArray | None = None, **more: Any) -> AsFound:
    """Return a posterior (n_items, n_classes) that a fit has found; workers are compared with it unless ``expected`` is given.

    ``more`` is what else there is of the items: phi, difficulty, pairs.
    """
    expected = observed_counts(labels, posterior) if expected is None else expected
    return AsFound(ItemPosterior(posterior, find_winners(posterior), expected, **more))


@dataclass(frozen=True, eq=False)
class ByVotes:
    """Predict items by their votes and nothing else."""

    def __call__(self, engine: ItemEngine) -> ItemPosterior:
        """Count the votes; the workers are compared with the winners, a tie counting in part."""
        votes = gold_votes(engine.labels)
        winners = votes == row_max(votes)[:, None]
        counts = engine.tally(winners / row_sum(winners)[:, None])
        return ItemPosterior(shares(votes), winners, counts)


@dataclass(frozen=True, eq=False)
class ByTables:
    """Predict items by worker tables of log probabilities (n_workers, n_classes, n_classes) and a class prior."""

    log_p: FloatArray
    log_prior: FloatArray

    def __call__(self, engine: ItemEngine) -> ItemPosterior:
        """Run one E-step."""
        labels = engine.labels
        posterior = np.empty((labels.n_items, labels.n_classes))
        counts = engine.count(self.log_p, self.log_prior, posterior=posterior).counts
        expected = counts.sum(axis=2, keepdims=True) * np.exp(log_softmax(self.log_p))
        return ItemPosterior(posterior, find_winners(posterior), expected)


@dataclass(frozen=True, eq=False)
class ByFamily:
    """Predict items by a member of the family, each item at its own optimum.

    ``average`` (n_classes, n_classes) is the average worker's table, by which items are compared.
    """

    model: Model
    sigma: FloatArray
    log_prior: FloatArray
    average: FloatArray

    def __call__(self, engine: ItemEngine) -> ItemPosterior:
        """Fit every item."""
        item = self.model.item
        sums, posterior = engine.posteriors(self.model, self.sigma, self.log_prior)
        expected = engine.tally(posterior) - sums.gradient
        if item is None:
            return ItemPosterior(posterior, find_winners(posterior), expected)
        phi = engine.coordinates(self.model)
        difficulty = average_difficulty(item, self.average, posterior, phi)
        return ItemPosterior(posterior, find_winners(posterior), expected, phi, difficulty)


def average_difficulty(item: Basis, average: FloatArray, posterior: FloatArray, phi: FloatArray) -> FloatArray:
    """Return the probability that the average worker gets each item wrong, shape (n_items,).

    One worker for all items, so that items seen by different workers can be compared: the mean of the workers' tables,
    each counting by its number of labels.
    """
    if isinstance(phi, ItemCoordinates):
        return phi.difficulty(np.exp(log_softmax(average)))
    difficulty = np.empty(len(phi))
    for first in range(0, len(phi), ITEMS_AT_A_TIME):
        part = slice(first, first + ITEMS_AT_A_TIME)
        right = np.exp(log_softmax(item.tables(phi[part]) + average))
        difficulty[part] = 1.0 - np.einsum("jc,jcc->j", posterior[part], right)
    return difficulty
