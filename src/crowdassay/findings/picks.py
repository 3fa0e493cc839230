"""The few items that a report or a summary names, and a sample of the others, kept while blocks of items pass by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.findings.items import disputed, hardest
from crowdassay.findings.worth import least_sure
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record

ITEMS_NAMED = 20  # items kept as the hardest, and as the most disputed
LABELS_SAMPLED = 1_000_000  # labels, about, of the sample


def pick(record: Record) -> Record:
    """Return the least sure, the hardest and the most disputed items of a record, in order, as a record of their own."""
    rows = np.unique(
        np.concatenate([least_sure(record), hardest(record, ITEMS_NAMED), np.array(disputed(record, ITEMS_NAMED), np.int64)])
    )
    return replace(
        record,
        labels=take_items(record.labels, rows),
        posterior=record.posterior[rows],
        winners=record.winners[rows],
        difficulty=None if record.difficulty is None else record.difficulty[rows],
        phi=None,
        expand=None,
    )


def join_picks(one: Record, other: Record) -> Record:
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
    def of(cls, record: Record, share: float, number: int) -> Sample:
        """Draw about a share of a block's items, by the number of the block: the same at any time."""
        if share >= 1:
            return cls(record.labels, record.code)
        rows = np.flatnonzero(np.random.default_rng(number).random(record.labels.n_items) < share)
        return cls(take_items(record.labels, rows, named=False), record.code[rows])

    def join(self, other: Sample) -> Sample:
        """Return all that was drawn."""
        parts = [replace(one.labels, items=pa.nulls(one.labels.n_items)) for one in (self, other)]
        return Sample(join_items(parts), np.concatenate([self.code, other.code]))
