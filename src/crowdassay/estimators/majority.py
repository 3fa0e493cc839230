"""Majority vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.estimators.base import Estimator
from crowdassay.labels.labels import Labels
from crowdassay.labels.votes import gold_votes, shares
from crowdassay.results.posteriors import ByVotes
from crowdassay.solvers.outcome import Progress, Solution


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

    def needs_memory(self) -> str | None:
        """It does not: items are judged by their votes and nothing else."""
        return None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """There is nothing to solve: items are judged by their votes and nothing else."""
        return Solution(None, np.full(engine.n_classes, -np.log(engine.n_classes)), None, (), 1, True, ByVotes())

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return shares(gold_votes(labels))
