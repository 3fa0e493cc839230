"""What can be said of items: how they stand, and how hard they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray, IntArray, largest, row_sum
from crowdassay.findings.connection import Connection
from crowdassay.findings.intervals import difficulty_interval
from crowdassay.findings.verdicts import ANSWERS_TO_JUDGE
from crowdassay.labels.record import Record, confusion_columns

STANDINGS = ("open", "settled", "tied", "unidentifiable", "known")
SETTLED, TIED, UNIDENTIFIABLE, KNOWN = range(1, 5)
DIFFICULTIES = ("ordinary", "hard", "easy", "too few labels")
WIDEST_ITEM_TABLE = 100  # item tables with more cells than this stay out of the items table


@dataclass(frozen=True, eq=False)
class ItemInsight:
    """What can be said of the items of a record, which may be some of all.

    Attributes
    ----------
    record : Record
    connection : Connection
        How all labels hang together.
    mean_difficulty : float
        The expected share of all labels that are wrong.
    """

    record: Record
    connection: Connection
    mean_difficulty: float

    @cached_property
    def standing(self) -> NDArray[np.int8]:
        """For each item the number, among `STANDINGS`, of how it stands, shape (n_items,)."""
        record, group = self.record, self.connection.of_items(self.record.labels)
        unidentifiable = (group < 0) | ~self.connection.identified[group]
        return standing_of(
            record.probability, record.settled, tied=record.tied, unidentifiable=unidentifiable, known=record.labels.gold >= 0
        )

    @cached_property
    def standings(self) -> list[str]:
        """For each item: known, unidentifiable, tied, settled (sure enough for the method) or open."""
        return _named(self.standing, STANDINGS).to_pylist()

    @cached_property
    def difficulty(self) -> tuple[FloatArray, FloatArray, pa.Array]:
        """Limits of every item's difficulty, and whether it is hard, easy, ordinary, or has too few labels to tell."""
        labels = self.record.labels
        low, high = difficulty_interval(labels.votes(), self.record.posterior)
        levels = np.zeros(labels.n_items, np.int8)
        levels[low > self.mean_difficulty] = 1
        levels[high < self.mean_difficulty] = 2
        levels[np.diff(labels.starts) < ANSWERS_TO_JUDGE] = 3
        return low, high, _named(levels, DIFFICULTIES)

    def items_table(self) -> pa.Table:
        """Tabulate item, n_labels, probability, standing, entropy, vote_share, difficulty and, with an item block, tau.

        ``difficulty_low`` to ``difficulty_high`` is a 95 % interval for the share of workers who get the item wrong.
        """
        record, labels = self.record, self.record.labels
        n_labels = np.diff(labels.starts)
        votes = labels.votes()[np.arange(labels.n_items), record.code]
        columns: dict[str, Any] = {
            "item": labels.items,
            "n_labels": n_labels,
            "probability": record.probability,
            "standing": _named(self.standing, STANDINGS),
            "entropy": record.entropy,
            "vote_share": votes / np.maximum(n_labels, 1),
        }
        if record.difficulty is not None:
            columns["difficulty"] = record.difficulty
        columns["difficulty_low"], columns["difficulty_high"], columns["difficulty_verdict"] = self.difficulty
        if record.phi is not None and labels.n_classes**2 <= WIDEST_ITEM_TABLE and record.tau is not None:
            columns |= confusion_columns(labels, "tau", record.tau)
        return pa.table(columns)


def standing_of(
    probability: FloatArray, settled: float, *, tied: BoolArray, unidentifiable: BoolArray, known: BoolArray | None = None
) -> NDArray[np.int8]:
    """Return for each item the number, among `STANDINGS`, of how it stands, shape (n_items,).

    An item is settled from the probability ``settled`` on, unless it is tied, unidentifiable or known; the last that is true
    counts.

    >>> yes = np.array([False, True])
    >>> standing_of(np.array([0.99, 0.5]), 0.95, tied=yes, unidentifiable=~yes & yes).tolist()
    [1, 2]
    """
    standing = np.zeros(len(probability), np.int8)
    standing[probability >= settled] = SETTLED
    standing[tied] = TIED
    standing[unidentifiable] = UNIDENTIFIABLE
    if known is not None:
        standing[known] = KNOWN
    return standing


def _named(numbers: NDArray[np.int8], names: tuple[str, ...]) -> pa.Array:
    """Return the names that numbers stand for: no Python text for every item."""
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names)).dictionary_decode()


def hardness(record: Record) -> FloatArray:
    """Return how hard each item is: its difficulty or, where the model has none, its entropy; shape (n_items,)."""
    return np.round(record.entropy if record.difficulty is None else record.difficulty, 9)  # rounding errors make no order


def disputed(record: Record, size: int) -> list[int]:
    """Return the items whose votes are spread most evenly, by entropy of the votes; those with a single label come last."""
    votes = record.labels.votes()
    total = np.maximum(row_sum(votes), 1)
    share = votes / total[:, None]
    entropy = np.round(-row_sum(share * np.log(np.maximum(share, 1e-300))), 9)
    rows = largest(entropy, size)
    order = rows[np.lexsort((-total[rows], -entropy[rows]))]
    return [int(j) for j in order[:size] if entropy[j] > 0]


def hardest(record: Record, size: int) -> IntArray:
    """Return the hardest items, the hardest first, equals in order."""
    hard = hardness(record)
    rows = largest(hard, size)
    return np.asarray(rows[np.argsort(-hard[rows], kind="stable")][:size])
