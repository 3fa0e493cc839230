"""The first two passes over held labels: which labels there are, and what a fit makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_max, row_sum
from crowdassay.engines.confusion import observed_counts
from crowdassay.engines.place import Block, Place
from crowdassay.findings.passes import Learned, Seen
from crowdassay.findings.picks import LABELS_SAMPLED, Sample
from crowdassay.labels.record import Record

JudgeBlock = Callable[[Block], tuple[Record, FloatArray | None]]
"""Says what a fit makes of a block: a record of its items, and the workers' expected counts where these are not known yet."""


@dataclass(frozen=True, eq=False)
class Plain:
    """Plain facts about the items of a fit, by which a fit that went wrong is noticed.

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
    def of(cls, record: Record) -> Plain:
        """Look at some items."""
        votes = record.labels.votes()
        total, most, first = row_sum(votes), row_max(votes), votes.argmax(axis=1)
        kept = record.winners[np.arange(len(first)), first] / row_sum(record.winners)
        clear = (2 * most > total) & (total > 1) & (record.labels.gold < 0)
        strong = clear & (3 * most >= 2 * total) & (total > 2)
        counts = (clear.sum(), kept[clear].sum(), strong.sum(), kept[strong].sum())
        return cls(record.labels.n_items, float(record.probability.sum()), *map(float, counts))

    def join(self, other: Plain) -> Plain:
        """Return the facts of both."""
        return Plain(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Lesson:
    """What the second pass adds up.

    Attributes
    ----------
    expected : ndarray of shape (n_workers, n_classes, n_classes) or None
        Expected labels as the model has them; None where the workers are described already.
    unsure : ndarray of shape (n_workers, n_classes, n_classes)
        Expected counts of Q (1 - Q), by worker and answer; Q are the class probabilities.
    learned : Learned
    plain : Plain
    sample : Sample
        Items drawn at random, or all where they are few.
    """

    expected: FloatArray | None
    unsure: FloatArray
    learned: Learned
    plain: Plain
    sample: Sample

    def join(self, other: Lesson) -> Lesson:
        """Return the sums over both."""
        expected = None if self.expected is None or other.expected is None else self.expected + other.expected
        return Lesson(
            expected,
            self.unsure + other.unsure,
            self.learned.join(other.learned),
            self.plain.join(other.plain),
            self.sample.join(other.sample),
        )


@dataclass(frozen=True, eq=False)
class Learn:
    """The second pass as a task for every block."""

    judge: JudgeBlock
    answers: IntArray
    share: float

    def __call__(self, block: Block) -> Lesson:
        """Look at a block."""
        record, expected = self.judge(block)
        weights = record.posterior
        return Lesson(
            expected,
            observed_counts(record.labels, weights * (1 - weights)),
            Learned.of(record, self.answers),
            Plain.of(record),
            Sample.of(record, self.share, block.number),
        )


@dataclass(frozen=True, eq=False)
class Learnt:
    """What two passes over all labels have found."""

    seen: Seen
    lesson: Lesson


def look(block: Block) -> Seen:
    """Look at the labels of a block, whatever the fit makes of them: the first pass."""
    return Seen.of(block.labels)


def learn(place: Place, judge: JudgeBlock) -> Learnt:
    """Pass over all labels twice."""
    seen = place.reduce(look)
    return Learnt(seen, place.reduce(Learn(judge, seen.answers, LABELS_SAMPLED / place.facts.n_labels)))
