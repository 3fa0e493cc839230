"""The few items that a report or a summary names, and a sample of the others, kept while blocks of items pass by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.insight.items import disputed, hardness, join_items, take_items
from crowdassay.insight.worth import least_sure

NAMED = 20  # items kept as the hardest, and as the most disputed
SAMPLE = 1_000_000  # labels, about, of the sample


def pick(result: Result) -> Result:
    """Return the least sure, the hardest and the most disputed items of a result, in order, as a result of their own."""
    hardest = np.argsort(-hardness(result), kind="stable")[:NAMED]
    rows = np.unique(np.concatenate([least_sure(result), hardest, np.array(disputed(result, NAMED), np.int64)]))
    return replace(
        result,
        labels=take_items(result.labels, rows),
        posterior=result.posterior[rows],
        winners=result.winners[rows],
        difficulty=None if result.difficulty is None else result.difficulty[rows],
        phi=None,
        expand=None,
    )


def join_picks(one: Result, other: Result) -> Result:
    """Pick again from what was picked of two blocks."""
    both = (one, other)
    difficulty = [part.difficulty for part in both if part.difficulty is not None]
    whole = replace(
        one,
        labels=join_items([part.labels for part in both]),
        posterior=np.concatenate([part.posterior for part in both]),
        winners=np.concatenate([part.winners for part in both]),
        difficulty=np.concatenate(difficulty) if difficulty else None,
    )
    return pick(whole)


@dataclass(frozen=True, eq=False)
class Sample:
    """Labels of items drawn at random, the items without their names, and the class found for each item (n_items,)."""

    labels: Labels
    code: IntArray

    @classmethod
    def of(cls, result: Result, share: float, number: int) -> Sample:
        """Draw about a share of a block's items, by the number of the block: the same at any time."""
        chosen = np.random.default_rng(number).random(result.labels.n_items) < share  # all of them from a share of 1
        rows = np.flatnonzero(chosen)
        return cls(take_items(result.labels, rows, named=False), result.code[rows])


def join_samples(samples: Sequence[Sample]) -> Sample:
    """Return all that was drawn."""
    return Sample(join_items([one.labels for one in samples]), np.concatenate([one.code for one in samples]))
