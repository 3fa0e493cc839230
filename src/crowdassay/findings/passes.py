"""Three passes over labels, wherever they are, of which everything that is said of workers and items is made.

The first sees which labels there are, the second what the fit makes of them, the third how each worker compares with the
others. Each is a record of sums that blocks of items join to; labels in memory are one block.
"""

from __future__ import annotations

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
from crowdassay.findings.items import ItemInsight, join_named, named_items
from crowdassay.findings.scores import Against
from crowdassay.findings.sums import BlockSums, joined_by
from crowdassay.findings.totals import Totals
from crowdassay.findings.workers import (
    Behaviour,
    WorkerAgreement,
    WorkerExpectation,
    count_answers,
    crowd_table,
    worker_tables,
)
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record

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
    def of(cls, labels: Labels) -> FirstPass:
        """Count some labels."""
        clock = Clock.of(labels.worker, labels.n_workers, labels.time, labels.duration)
        return cls(Links.of(labels), count_answers(labels, labels.compared), clock)


def first_pass(block: Block) -> FirstPass:
    """Count the labels of a block, whatever the fit makes of them."""
    return FirstPass.of(block.labels)


@dataclass(frozen=True, eq=False)
class MajorityCheck(BlockSums):
    """A fit beside the majorities of its items, by which a fit that went wrong is noticed.

    Attributes
    ----------
    items : int
    probability : float
        Sum of the probabilities of the labels found.
    clear, kept : float
        Items of which more than half of the labels agree, and those among them that keep the label of that majority; a tie
        counts in part.
    strong, strong_kept : float
        The same for items with three labels or more, two thirds of which agree.
    """

    items: int
    probability: float
    clear: float
    kept: float
    strong: float
    strong_kept: float

    @classmethod
    def of(cls, record: Record) -> MajorityCheck:
        """Compare some items."""
        votes = record.labels.votes()
        total, most, first = row_sum(votes), row_max(votes), votes.argmax(axis=1)
        kept = record.winners[np.arange(len(first)), first] / row_sum(record.winners)
        clear = (2 * most > total) & (total > 1) & (record.labels.gold < 0)
        strong = clear & (3 * most >= 2 * total) & (total > 2)
        counts = (clear.sum(), kept[clear].sum(), strong.sum(), kept[strong].sum())
        return cls(record.labels.n_items, float(record.probability.sum()), *map(float, counts))


@dataclass(frozen=True, eq=False)
class SampledItems(BlockSums):
    """Labels of items drawn at random, the items without their names, and the class found for each item (n_items,)."""

    labels: Labels = field(metadata=joined_by(lambda one, other: join_items([_unnamed(one), _unnamed(other)])))
    code: IntArray = field(metadata=joined_by(lambda one, other: np.concatenate([one, other])))

    @classmethod
    def of(cls, record: Record, share: float, number: int) -> SampledItems:
        """Draw about a share of a block's items, by the number of the block: the same at any time."""
        if share >= 1:
            return cls(record.labels, record.code)
        rows = np.flatnonzero(np.random.default_rng(number).random(record.labels.n_items) < share)
        return cls(take_items(record.labels, rows, named=False), record.code[rows])


def _unnamed(labels: Labels) -> Labels:
    return replace(labels, items=pa.nulls(labels.n_items))


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
        How workers compare with the votes of the others, see `WorkerExpectation.agreement_sums`.
    mass : ndarray of shape (n_classes,)
        Expected number of items of each class.
    majorities : MajorityCheck
    sample : SampledItems
        Items drawn at random, or all where they are few.
    """

    expected: FloatArray | None
    counts: FloatArray
    unsure: FloatArray
    right_unsure: FloatArray
    votes: FloatArray
    mass: FloatArray
    majorities: MajorityCheck
    sample: SampledItems

    @classmethod
    def of(cls, predict: PredictBlock, answers: IntArray, share: float, block: Block) -> SecondPass:
        """Predict a block and add it up; ``answers`` (n_workers, n_classes) are those to all items."""
        record, expected = predict(block)
        labels, weights = record.labels, record.posterior
        right = weights[labels.label_item, labels.label]
        return cls(
            expected,
            block.tally(weights),
            block.tally(weights * (1 - weights)),
            np.asarray(np.bincount(labels.worker, right * (1 - right), labels.n_workers), float),
            WorkerExpectation(answers, np.eye(labels.n_classes)).agreement_sums(labels, labels.compared),
            weights.sum(axis=0),
            MajorityCheck.of(record),
            SampledItems.of(record, share, block.number),
        )


@dataclass(frozen=True, eq=False)
class TwoPasses:
    """What two passes over all labels have found, and what workers and items are measured by in the third."""

    first: FirstPass
    second: SecondPass

    @cached_property
    def connection(self) -> ConnectedGroups:
        """Which labels hang together."""
        return self.first.links.connection()

    @cached_property
    def votes(self) -> WorkerAgreement:
        """How workers compare with the votes of the others."""
        answers = self.first.answers
        return WorkerExpectation(answers, np.eye(answers.shape[1])).agreement(self.second.votes)

    @cached_property
    def crowd(self) -> FloatArray:
        """Pooled confusion of the workers who agree better than chance, shape (n_classes, n_classes)."""
        clear, counts = self.votes.above_chance > CLEAR_DEVIATIONS, self.second.counts
        return crowd_table(counts[clear] if clear.any() else counts)

    @cached_property
    def tables(self) -> FloatArray | None:
        """Every worker's table, none of its cells 0; None where they are too many."""
        return worker_tables(self.second.counts)

    @cached_property
    def expectation(self) -> WorkerExpectation:
        """What workers are compared with in the third pass."""
        if self.tables is None:
            return WorkerExpectation(self.first.answers, self.crowd)
        share = self.second.mass / self.second.mass.sum()
        return WorkerExpectation(self.first.answers, self.crowd, np.log(self.tables), np.log(share + 1e-9))

    @cached_property
    def mean_difficulty(self) -> float:
        """The expected share of all labels that are wrong."""
        counts = self.second.counts
        return float(1 - np.einsum("icc->", counts) / counts.sum())

    def estimable(self) -> BoolArray:
        """Mark the workers whose quality can be estimated, shape (n_workers,)."""
        group = self.connection.worker
        clear = self.votes.beyond_chance >= CLEAR_DEVIATIONS
        return np.asarray((group >= 0) & self.connection.identified[group] & clear)


def two_passes(place: Place, predict: PredictBlock) -> TwoPasses:
    """Pass over all labels twice."""
    first = place.reduce(first_pass)
    share = LABELS_FOR_COPIES / place.facts.n_labels
    return TwoPasses(first, place.reduce(partial(SecondPass.of, predict, first.answers, share)))


@dataclass(frozen=True, eq=False)
class ThirdPass(BlockSums):
    """How workers compare with the others, and how items stand.

    Attributes
    ----------
    totals : Totals
    against : Against
    agreement : ndarray of shape (5 + 2 n_classes, n_workers)
        How workers compare with the others, see `WorkerExpectation.agreement_sums`.
    named : Record
        Of the items to be named.
    behaviour : Behaviour or None
        What workers do in these items.
    """

    totals: Totals
    against: Against
    agreement: FloatArray
    named: Record = field(metadata=joined_by(join_named))
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
        agreement, behaviour = expectation.compare(record, record.labels.compared, clock)
        named = named_items(record) if some_named else record
        return cls(Totals.of(items), Against.of(record, block.truth), agreement, named, behaviour)


def third_pass(place: Place, predict: PredictBlock, found: TwoPasses) -> ThirdPass:
    """Pass over all labels once more."""
    measured = (found.connection, found.mean_difficulty, found.expectation, found.first.clock)
    return place.reduce(partial(ThirdPass.of, predict, *measured, not place.in_memory))
