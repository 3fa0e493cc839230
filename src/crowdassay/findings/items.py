"""What can be said of items: how they stand, how hard they are, what would settle them, and which of them are named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray, IntArray, largest, row_sum
from crowdassay.findings.connection import ConnectedGroups
from crowdassay.findings.intervals import difficulty_interval
from crowdassay.findings.sums import BlockSums, add_by
from crowdassay.findings.tables import ITEMS, append_columns
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.record import Record, confusion_columns
from crowdassay.labels.values import as_text
from crowdassay.planning.gain import LABELS_AHEAD, expert_gain, labels_needed, sure_after
from crowdassay.planning.state import State
from crowdassay.planning.stop import count_doubts

DIFFICULTY_NAMES = ("ordinary", "hard", "easy", "too few labels")
LABELS_TO_JUDGE = 5  # labels from which on something is said of how hard an item is
UNSETTLED_LOOKED_AT = 200  # unsettled items, the least sure, and as many of the surest
ITEMS_NAMED = 20  # items kept as the hardest, and as the most disputed
PROBABILITY_BINS = 20
WIDEST_ITEM_TABLE = 100  # item tables with more cells than this stay out of the items table


class ItemStanding(IntEnum):
    """How an item stands: sure enough for the method or not yet, tied, out of reach, or known from the beginning."""

    OPEN = 0
    SETTLED = 1
    TIED = 2
    UNIDENTIFIABLE = 3
    KNOWN = 4


STANDINGS = tuple(standing.name.lower() for standing in ItemStanding)


@dataclass(frozen=True, eq=False)
class ItemInsight:
    """What can be said of the items of a record, which may be some of all.

    Attributes
    ----------
    record : Record
    connection : ConnectedGroups
        How all labels hang together.
    mean_difficulty : float
        The expected share of all labels that are wrong.
    """

    record: Record
    connection: ConnectedGroups
    mean_difficulty: float

    @cached_property
    def standing(self) -> NDArray[np.int8]:
        """For each item the number, among `STANDINGS`, of how it stands, shape (n_items,)."""
        record, labels = self.record, self.record.labels
        filled = np.diff(labels.starts) > 0
        group = np.full(labels.n_items, -1)  # that of the item's first worker
        group[filled] = self.connection.worker[labels.worker[labels.starts[:-1][filled]]]
        unidentifiable = (group < 0) | ~self.connection.identified[group]
        return standing_of(
            record.probability, record.settled, tied=record.tied, unidentifiable=unidentifiable, known=labels.gold >= 0
        )

    @property
    def is_settled(self) -> BoolArray:
        """Whether each item is settled or known, shape (n_items,)."""
        return np.isin(self.standing, (ItemStanding.SETTLED, ItemStanding.KNOWN))

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
        levels[np.diff(labels.starts) < LABELS_TO_JUDGE] = 3
        return low, high, _named(levels, DIFFICULTY_NAMES)

    def items_table(self) -> pa.Table:
        """Tabulate item, n_labels, probability, standing, entropy, vote_share, difficulty and, with an item block, tau.

        ``difficulty_low`` to ``difficulty_high`` is a 95 % interval for the share of workers who get the item wrong.
        """
        record, labels = self.record, self.record.labels
        n_labels = np.diff(labels.starts)
        votes = labels.votes()[np.arange(labels.n_items), record.code]
        low, high, verdict = self.difficulty
        table = ITEMS.fill(
            item=labels.items,
            n_labels=n_labels,
            probability=record.probability,
            standing=_named(self.standing, STANDINGS),
            entropy=record.entropy,
            vote_share=votes / np.maximum(n_labels, 1),
            **({} if record.difficulty is None else {"difficulty": record.difficulty}),
            difficulty_low=low,
            difficulty_high=high,
            difficulty_verdict=verdict,
        )
        wide = labels.n_classes**2 > WIDEST_ITEM_TABLE
        tau = None if record.phi is None or wide else record.tau
        return table if tau is None else append_columns(table, confusion_columns(labels, "tau", tau))


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
    standing[probability >= settled] = ItemStanding.SETTLED
    standing[tied] = ItemStanding.TIED
    standing[unidentifiable] = ItemStanding.UNIDENTIFIABLE
    if known is not None:
        standing[known] = ItemStanding.KNOWN
    return standing


@dataclass(frozen=True, eq=False)
class Totals(BlockSums):
    """Counts over items.

    Attributes
    ----------
    items, labels, tied, known : int
        Items, labels, items whose probabilities are tied, and items whose class was given.
    settled : int
        Items whose label is settled, or known.
    unsettled : int
        Items whose label is less sure, and not known.
    probability : float
        The sum of the probabilities of the labels.
    wrong : float
        The sum of one less the probability of the labels, of the items that are not known.
    doubts : ndarray of int, shape (n_levels,)
        These items by that doubt, see `crowdassay.planning.stop.estimate_error`.
    bins : ndarray of int, shape (2, 20)
        Items by the probability of their label: those not settled, and those settled or known.
    mass : ndarray of shape (n_classes,)
        Expected number of items of each class.
    given : ndarray of int, shape (n_classes,)
        Labels of each class.
    """

    items: int
    labels: int
    tied: int
    known: int
    settled: int
    unsettled: int
    probability: float
    wrong: float
    doubts: IntArray
    bins: IntArray
    mass: FloatArray
    given: IntArray

    @property
    def classes_given(self) -> int:
        """How many classes somebody chose."""
        return int(np.count_nonzero(self.given))

    @classmethod
    def of(cls, insight: ItemInsight) -> Totals:
        """Count some items."""
        record, labels = insight.record, insight.record.labels
        settled = insight.is_settled
        doubt = (1 - record.probability)[labels.gold < 0]
        place = np.clip(np.ceil(record.probability * PROBABILITY_BINS - 1e-9).astype(np.int64) - 1, 0, PROBABILITY_BINS - 1)
        return cls(
            items=labels.n_items,
            labels=labels.n_labels,
            tied=int(record.tied.sum()),
            known=int((labels.gold >= 0).sum()),
            settled=int(settled.sum()),
            unsettled=int(((record.probability < record.settled) & (labels.gold < 0)).sum()),
            probability=float(record.probability.sum()),
            wrong=float(doubt.sum()),
            doubts=count_doubts(doubt),
            bins=np.stack([np.bincount(place[which], minlength=PROBABILITY_BINS) for which in (~settled, settled)]),
            mass=record.posterior.sum(axis=0),
            given=np.bincount(labels.label, minlength=labels.n_classes),
        )


@dataclass(frozen=True, eq=False)
class OpenItems(BlockSums):
    """The items that are not settled, and what would settle them.

    Attributes
    ----------
    items : ndarray of int, shape (27,)
        By how many further labels each needs; the last are those that need more than are looked ahead.
    by_labels : ndarray of shape (27,)
        Expected errors that these labels remove.
    by_expert : ndarray of shape (27,)
        Expected errors that knowing the classes removes.
    one_each : ndarray of shape (2,)
        Expected errors that one more label on each removes, and the items that it settles.
    alone : int
        Items of which nothing can be said, as nobody who labelled them can be compared; they are in none of the others.
    """

    items: IntArray
    by_labels: FloatArray
    by_expert: FloatArray
    one_each: FloatArray
    alone: int

    @classmethod
    def of(cls, insight: ItemInsight, crowd: FloatArray) -> OpenItems:
        """Look at some items; ``crowd`` (n_classes, n_classes) is what a typical worker answers."""
        standing, size = insight.standing, LABELS_AHEAD + 2
        rows = np.flatnonzero((standing == ItemStanding.OPEN) | (standing == ItemStanding.TIED))
        alone = int((standing == ItemStanding.UNIDENTIFIABLE).sum())
        if not len(rows):
            return cls(np.zeros(size, np.int64), np.zeros(size), np.zeros(size), np.zeros(2), alone)
        state = State.typical(insight.record, crowd)
        needed = labels_needed(state, rows)
        now = sure_after(state, rows, 0)
        gain = sure_after(state, rows, np.minimum(needed, LABELS_AHEAD)) - now
        by_labels, by_expert = add_by(needed, np.stack([gain, expert_gain(state, rows)]), size)
        by_labels[-1] = 0.0  # nobody asks for labels that settle nothing
        one_each = np.array([(sure_after(state, rows, 1) - now).sum(), (needed == 1).sum()])
        return cls(np.bincount(needed, minlength=size), by_labels, by_expert, one_each, alone)

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.items.sum()) + self.alone


def _named(numbers: NDArray[np.int8], names: tuple[str, ...]) -> pa.Array:
    """Return the names that numbers stand for: no Python text for every item."""
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names)).dictionary_decode()


def hardness(record: Record) -> FloatArray:
    """Return how hard each item is: its difficulty or, where the model has none, its entropy; shape (n_items,)."""
    return np.round(record.entropy if record.difficulty is None else record.difficulty, 9)  # rounding errors make no order


def is_disputed(record: Record) -> BoolArray:
    """Return on which items workers disagree, shape (n_items,), but for those whose class is known."""
    return np.asarray(((record.labels.votes() > 0).sum(axis=1) > 1) & (record.labels.gold < 0))


def disputed(record: Record, size: int) -> list[int]:
    """Return the disputed items whose votes are spread most evenly, by entropy of the votes."""
    votes = record.labels.votes()
    total = np.maximum(row_sum(votes), 1)
    share = votes / total[:, None]
    entropy = np.round(-row_sum(share * np.log(np.maximum(share, 1e-300))), 9)
    entropy[~is_disputed(record)] = 0.0
    rows = largest(entropy, size)
    order = rows[np.lexsort((-total[rows], -entropy[rows]))]
    return [int(j) for j in order[:size] if entropy[j] > 0]


def hardest(record: Record, size: int) -> IntArray:
    """Return the hardest items, the hardest first, equals in order; where entropy tells, none that is certain."""
    hard = hardness(record)
    rows = largest(hard, size)
    rows = rows[np.argsort(-hard[rows], kind="stable")][:size]
    return np.asarray(rows if record.difficulty is not None else rows[hard[rows] > 0])


def open_items(record: Record) -> IntArray:
    """Return the unsettled items that are looked at: the least sure, then the surest, which few labels may settle."""
    first, last = least_sure(record), least_sure(record, surest=True)
    return np.concatenate([first, last[~np.isin(last, first)]])


def least_sure(record: Record, *, surest: bool = False) -> IntArray:
    """Return the unsettled items, the least sure first, as many as are looked at; or the surest first."""
    unsure = 1 - record.probability
    unsure[record.labels.gold >= 0] = 0.0
    unsure = np.round(unsure, 9)  # rounding errors are no reason to come first
    rows = np.flatnonzero(unsure > 1 - record.settled)
    size = min(UNSETTLED_LOOKED_AT, len(rows))
    if not size:
        return np.zeros(0, np.int64)
    key = -unsure[rows] if surest else unsure[rows]
    chosen = largest(key, size)
    # Equals go by their names, so that the same items come first wherever the labels are.
    names = as_text(record.labels.items.take(pa.array(rows[chosen])))
    order = pc.sort_indices(pa.table({"key": -key[chosen], "name": names}), [("key", "ascending"), ("name", "ascending")])
    return np.asarray(rows[chosen[order.to_numpy()[:size]]])


def named_items(record: Record) -> Record:
    """Return the least sure, the hardest and the most disputed items of a record, in order, as a record of their own."""
    rows = np.unique(
        np.concatenate([open_items(record), hardest(record, ITEMS_NAMED), np.array(disputed(record, ITEMS_NAMED), np.int64)])
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


def join_named(one: Record, other: Record) -> Record:
    """Return the items to be named among those of two blocks."""
    both = (one, other)
    difficulty = [part.difficulty for part in both if part.difficulty is not None]
    whole = replace(
        one,
        labels=join_items([part.labels for part in both]),
        posterior=np.concatenate([part.posterior for part in both]),
        winners=np.concatenate([part.winners for part in both]),
        difficulty=np.concatenate(difficulty) if difficulty else None,
    )
    return named_items(whole)
