"""Three passes over labels, wherever they are, of which everything that is said of workers and items is made.

The first sees which labels there are, the second what the fit makes of them, the third how each worker compares with the
others. Each is a record of sums that blocks of items join to; labels in memory are one block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray, row_max, row_sum
from crowdassay.engines.base import Place
from crowdassay.engines.blocks import Block
from crowdassay.findings.connection import ConnectedGroups, Links
from crowdassay.findings.drift import Clock
from crowdassay.findings.items import ItemInsight, OpenItems, Totals, join_named, named_items
from crowdassay.findings.scores import Against
from crowdassay.findings.sums import BlockSums
from crowdassay.findings.workers import Behaviour, WorkerAgreement, WorkerExpectation, count_answers
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record
from crowdassay.planning.state import crowd_table, shrink_tables

BORROWED = 2.0  # labels' worth of the crowd's table in every worker's
MOST_TABLE_CELLS = 50_000_000  # of the tables of all workers; beyond, workers are compared with vote shares
LABELS_FOR_COPIES = 1_000_000  # labels, about, of the sample
CLEAR_DEVIATIONS = 1.645  # standard deviations above chance from which labels, or a worker, have something to say

PredictBlock = Callable[[Block], tuple[Record, FloatArray | None]]
"""Returns what a fit says of a block's items, and the workers' expected counts where these are not known yet."""


@dataclass(frozen=True, eq=False)
class FirstPass(BlockSums):
    """Which labels there are: how workers are linked, how often each gives which answer (n_workers, n_classes), and when."""

    links: Links
    answers: IntArray
    clock: Clock

    @classmethod
    def of(cls, block: Block) -> FirstPass:
        """Count the labels of a block, whatever the fit makes of them."""
        labels = block.labels
        clock = Clock.of(labels.worker, labels.n_workers, labels.time, labels.duration)
        return cls(Links.of(labels), count_answers(labels, labels.compared), clock)


@dataclass(frozen=True, eq=False)
class MajorityCheck(BlockSums):
    """The likeliest classes of a fit beside the majorities of its items, by which a fit that went wrong is noticed.

    Attributes
    ----------
    items : int
    probability : float
        Sum of the highest probabilities.
    clear, kept : float
        Items of which more than half of the labels agree, and those among them that keep the label of that majority; a tie
        counts in part.
    strong, strong_kept : float
        The same for items with three labels or more, two thirds of which agree.
    shared : float
        Items by which workers can be compared, with one another or with a known class.
    """

    items: int
    probability: float
    clear: float
    kept: float
    strong: float
    strong_kept: float
    shared: float

    @classmethod
    def of(cls, record: Record) -> MajorityCheck:
        """Compare some items."""
        record = record.by_likeliest()
        votes = record.labels.votes()
        total, most, first = row_sum(votes), row_max(votes), votes.argmax(axis=1)
        kept = record.winners[np.arange(len(first)), first] / row_sum(record.winners)
        clear = (2 * most > total) & (total > 1) & (record.labels.gold < 0)
        strong = clear & (3 * most >= 2 * total) & (total > 2)
        shared = record.labels.shared_items
        counts = (clear.sum(), kept[clear].sum(), strong.sum(), kept[strong].sum(), shared.sum())
        return cls(record.labels.n_items, float(record.probability.sum()), *map(float, counts))


@dataclass(frozen=True, eq=False)
class ExpectedErrors(BlockSums):
    """How many labels of a fit, and of the vote, a referee's probabilities call wrong, known items left out.

    Attributes
    ----------
    items : int
    fit, vote : float
        Expected wrong labels; a tie counts in part.
    squares : float
        The sum of squared differences between the two, item by item.
    """

    items: int
    fit: float
    vote: float
    squares: float

    @classmethod
    def of(cls, predict: PredictBlock, referee: PredictBlock, block: Block) -> ExpectedErrors:
        """Compare some items."""
        record, chances = predict(block)[0].by_likeliest(), referee(block)[0].posterior
        votes = record.labels.votes()
        unknown = record.labels.gold < 0

        def wrong(winners: BoolArray) -> FloatArray:
            return (1.0 - row_sum(winners * chances) / row_sum(winners))[unknown]

        fit, vote = wrong(record.winners), wrong(votes == row_max(votes)[:, None])
        return cls(len(fit), float(fit.sum()), float(vote.sum()), float(((fit - vote) ** 2).sum()))

    @property
    def deviations(self) -> float:
        """How many standard errors the fit's mean lies above the vote's; 0 where both are the same on every item."""
        mean = (self.fit - self.vote) / max(self.items, 1)
        spread = math.sqrt(max(self.squares / max(self.items, 1) - mean**2, 0.0) / max(self.items, 1))
        return mean / spread if spread > 0 else 0.0


def _join_samples(one: Labels, other: Labels) -> Labels:
    """Return the labels of both, the items without their names."""
    return join_items([replace(labels, items=pa.nulls(labels.n_items)) for labels in (one, other)])


@dataclass(frozen=True, eq=False)
class SecondPass(BlockSums):
    """What a fit makes of labels.

    Attributes
    ----------
    expected : ndarray of shape (n_workers, n_classes, n_classes) or None
        Expected labels as the model has them; None where the workers are described already.
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Sums of Q, the class probabilities, by worker, true and observed class.
    unsure : ndarray of shape (n_workers, n_classes, n_classes)
        The same of Q (1 - Q).
    right_unsure : ndarray of shape (n_workers,)
        The sum of r (1 - r), r the probability that a label is right.
    votes : ndarray of shape (5 + 2 n_classes, n_workers)
        How workers compare with the votes of the others, see `WorkerExpectation.compare`.
    mass : ndarray of shape (n_classes,)
        Expected number of items of each class.
    majorities : MajorityCheck
    sample : Labels
        Those of items drawn at random, or all where they are few.
    """

    expected: FloatArray | None
    counts: FloatArray
    unsure: FloatArray
    right_unsure: FloatArray
    votes: FloatArray
    mass: FloatArray
    majorities: MajorityCheck
    sample: Labels = field(metadata={"join": _join_samples})

    @classmethod
    def of(cls, predict: PredictBlock, answers: IntArray, share: float, block: Block) -> SecondPass:
        """Predict a block and add it up; ``answers`` (n_workers, n_classes) are those to all items.

        About a ``share`` of the items is drawn by the number of the block: the same at any time.
        """
        record, expected = predict(block)
        labels, weights = record.labels, record.posterior
        sample = labels
        if share < 1:
            rows = np.flatnonzero(np.random.default_rng(block.number).random(labels.n_items) < share)
            sample = take_items(labels, rows, named=False)
        right = weights[labels.label_item, labels.label]
        return cls(
            expected,
            block.tally(weights),
            block.tally(weights * (1 - weights)),
            np.asarray(np.bincount(labels.worker, right * (1 - right), labels.n_workers), float),
            WorkerExpectation(answers, np.eye(labels.n_classes)).compare(labels, labels.compared)[0],
            weights.sum(axis=0),
            MajorityCheck.of(record),
            sample,
        )


@dataclass(frozen=True, eq=False)
class TwoPasses:
    """What two passes over all labels have found, and what workers and items are measured by in the third."""

    first: FirstPass
    second: SecondPass

    @cached_property
    def votes(self) -> WorkerAgreement:
        """How workers compare with the votes of the others."""
        answers = self.first.answers
        return WorkerExpectation(answers, np.eye(answers.shape[1])).agreement(self.second.votes)

    @cached_property
    def expectation(self) -> WorkerExpectation:
        """What workers are compared with in the third pass; the typical ones are those who agree better than chance."""
        clear, counts = self.votes.above_chance > CLEAR_DEVIATIONS, self.second.counts
        crowd, prior = crowd_table(counts[clear] if clear.any() else counts), self.second.mass / self.second.mass.sum() + 1e-9
        if counts.size > MOST_TABLE_CELLS:
            return WorkerExpectation(self.first.answers, crowd)
        return WorkerExpectation(self.first.answers, crowd, shrink_tables(counts, crowd_table(counts), BORROWED), prior)


def two_passes(place: Place, predict: PredictBlock) -> TwoPasses:
    """Pass over all labels twice."""
    first = place.reduce(FirstPass.of)
    share = LABELS_FOR_COPIES / place.facts.n_labels
    return TwoPasses(first, place.reduce(partial(SecondPass.of, predict, first.answers, share)))


@dataclass(frozen=True, eq=False)
class ThirdPass(BlockSums):
    """How workers compare with the others, and how items stand.

    Attributes
    ----------
    totals : Totals
    against : Against
    left : OpenItems
        What would settle the items that are not settled.
    agreement : ndarray of shape (5 + 2 n_classes, n_workers)
        How workers compare with the others, see `WorkerExpectation.compare`.
    named : Record
        Of the items to be named.
    behaviour : Behaviour or None
        What workers do in these items.
    """

    totals: Totals
    against: Against
    left: OpenItems
    agreement: FloatArray
    named: Record = field(metadata={"join": join_named})
    behaviour: Behaviour | None

    @classmethod
    def of(
        cls,
        predict: PredictBlock,
        connection: ConnectedGroups,
        mean_difficulty: float,
        expectation: WorkerExpectation,
        clock: Clock,
        some_named: bool,
        block: Block,
    ) -> ThirdPass:
        """Count the items of a block and compare its workers; keep the items to be named, or all of them."""
        record, _ = predict(block)
        items = ItemInsight(record, connection, mean_difficulty)
        agreement, behaviour = expectation.compare(record.labels, record.labels.compared, record.posterior, clock)
        named = named_items(record) if some_named else record
        left = OpenItems.of(items, expectation.crowd)
        return cls(Totals.of(items), Against.of(record, block.truth), left, agreement, named, behaviour)
