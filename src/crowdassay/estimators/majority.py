"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, row_max, row_sum
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.base import Engine, Weights
from crowdassay.estimators.base import Announce, Estimator
from crowdassay.estimators.confusion import confusion_tables
from crowdassay.solvers.outcome import Progress, Solution

Votes: TypeAlias = NDArray[np.integer[Any]]


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityVote(Estimator):
    r"""Take the class with the most labels; its share of the votes is the probability.

    .. math::  Q_{jc} = \frac1{n_j} \sum_i 1[x_{ij} = c]

    Votes are counted as integers. A tie goes to the first class in class order and is flagged. A worker's accuracy is the
    share of labels that agree with the majority, a tie counting in part.

    >>> vote = MajorityVote().fit((["a", "a", "b"], ["x", "y", "x"], ["no", "no", "yes"]))
    >>> vote.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "majority"

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        votes = gold_votes(labels)
        winners = votes == row_max(votes)[:, None]
        weights = winners / row_sum(winners)[:, None]
        confusion, accuracy = confusion_tables(labels, weights)
        return Result(labels, self.method, {}, shares(votes), winners, confusion, accuracy, n_iter=1)

    def solve(self, engine: Engine, progress: Progress | None = None) -> Solution:
        """There is nothing to solve: items are judged by their votes and nothing else."""
        flat = np.full((engine.n_workers, engine.n_classes, engine.n_classes), -np.log(engine.n_classes))
        return Solution(flat, flat[0, 0], None, (), 0, True, weights=Weights.VOTES)

    def _judge(self, labels: Labels) -> FloatArray:
        return shares(gold_votes(labels))


def gold_votes(labels: Labels) -> Votes:
    """Count votes, with one vote and no other for items whose class is known; shape (n_items, n_classes)."""
    votes = labels.votes()
    known = np.flatnonzero(labels.gold >= 0)
    votes[known] = 0
    votes[known, labels.gold[known]] = 1
    return votes


def shares(votes: Votes) -> FloatArray:
    """Divide votes by their sum; an item without votes gets a uniform distribution."""
    total = row_sum(votes)
    found = votes / np.maximum(total, 1)[:, None]
    found[total == 0] = 1.0 / votes.shape[1]
    return found
