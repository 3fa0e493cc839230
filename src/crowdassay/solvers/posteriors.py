"""How solutions predict items: small objects that take an engine, return an `ItemPosterior`, and travel to where blocks are.

Each is called with an engine whose items are in memory. In memory that is the engine of the fit itself; elsewhere every block
has one of its own. The pool of the default method has its own, `crowdassay.solvers.assay.pool.ByPool`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray, row_max, row_sum
from crowdassay.engines.base import ItemCoordinates
from crowdassay.engines.confusion import observed_counts
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.labels.votes import gold_votes, shares
from crowdassay.models.family import Model
from crowdassay.models.structures import Basis
from crowdassay.solvers.solution import ItemPosterior
from crowdassay.statistics import log_softmax

ITEMS_AT_A_TIME = 65536  # items whose tables are expanded at a time


@dataclass(frozen=True, eq=False)
class AsFound:
    """Return the posterior that the fit itself has found; for methods that need all labels in memory."""

    found: ItemPosterior

    def __call__(self, engine: Any) -> ItemPosterior:
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

    def __call__(self, engine: Any) -> ItemPosterior:
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

    def __call__(self, engine: Any) -> ItemPosterior:
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

    def __call__(self, engine: Any) -> ItemPosterior:
        """Fit every item."""
        item = self.model.item
        sums, posterior = engine.posteriors(self.model, self.sigma, self.log_prior)
        expected = engine.tally(posterior) - sums.gradient
        if item is None:
            return ItemPosterior(posterior, find_winners(posterior), expected)
        phi = engine.coordinates(self.model)
        difficulty = average_difficulty(item, self.average, posterior, phi)
        return ItemPosterior(posterior, find_winners(posterior), expected, phi, difficulty)


def average_difficulty(item: Basis, average: FloatArray, posterior: FloatArray, phi: Any) -> FloatArray:
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
