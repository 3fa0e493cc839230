"""What is summed over labels to judge the workers, so that blocks of items can be looked at one after the other.

Three passes: which labels there are (`Seen`), what the fit makes of them (`Learned`), and how each worker compares with the
others (`Measure.comparison`). Labels in memory are one block.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.confusion import observed_counts
from crowdassay.findings.clock import Clock
from crowdassay.findings.connection import Connection, Links, shared_items
from crowdassay.findings.tables import crowd_table, first_judgements, worker_tables
from crowdassay.findings.verdicts import Agreements, Comparison, beyond_chance, count_answers
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record

CLEAR_DEVIATIONS = 1.645  # standard deviations above chance from which labels, or a worker, have something to say


def compared(labels: Labels) -> BoolArray:
    """Mark the labels by which workers are compared, shape (n_labels,): no repeats, of items that show something."""
    return np.asarray(first_judgements(labels) & shared_items(labels)[labels.label_item])


@dataclass(frozen=True, eq=False)
class Seen:
    """Which labels there are: how workers are linked, how often each gives which answer (n_workers, n_classes), and when."""

    links: Links
    answers: IntArray
    clock: Clock

    @classmethod
    def of(cls, labels: Labels) -> Seen:
        """Look at some labels."""
        clock = Clock.of(labels.worker, labels.n_workers, labels.time, labels.duration)
        return cls(Links.of(labels), count_answers(labels, compared(labels)), clock)

    def join(self, other: Seen) -> Seen:
        """Return what was seen in both."""
        return Seen(self.links.join(other.links), self.answers + other.answers, self.clock.join(other.clock))


@dataclass(frozen=True, eq=False)
class Learned:
    """What a fit makes of labels.

    Attributes
    ----------
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class.
    unsure : ndarray of shape (n_workers,)
        The sum of r (1 - r), r the probability that a label is right.
    votes : ndarray of shape (n_workers, 5 + 2 n_classes)
        How workers compare with the votes of the others, see `Comparison.add_up`.
    mass : ndarray of shape (n_classes,)
        Expected number of items of each class.
    """

    counts: FloatArray
    unsure: FloatArray
    votes: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, record: Record, answers: IntArray) -> Learned:
        """Learn from some items; ``answers`` (n_workers, n_classes) are those to all items."""
        labels = record.labels
        right = record.posterior[labels.label_item, labels.label]
        unsure = np.asarray(np.bincount(labels.worker, right * (1 - right), labels.n_workers), float)
        votes = Comparison(answers, np.eye(labels.n_classes)).add_up(labels, compared(labels))
        return cls(observed_counts(labels, record.posterior), unsure, votes, record.posterior.sum(axis=0))

    def join(self, other: Learned) -> Learned:
        """Return what was learned from both."""
        return Learned(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


@dataclass(frozen=True, eq=False)
class Measure:
    """What workers and items are measured by, once all labels have passed twice.

    Attributes
    ----------
    connection : Connection
    answers : ndarray of int, shape (n_workers, n_classes)
    clock : Clock
    learned : Learned
    """

    connection: Connection
    answers: IntArray
    clock: Clock
    learned: Learned

    @classmethod
    def of(cls, seen: Seen, learned: Learned) -> Measure:
        """Take what the first and the second pass have found."""
        return cls(seen.links.connection(), seen.answers, seen.clock, learned)

    @cached_property
    def votes(self) -> Agreements:
        """How workers compare with the votes of the others."""
        return Comparison(self.answers, np.eye(self.answers.shape[1])).tally(self.learned.votes)

    @cached_property
    def beyond_chance(self) -> float:
        """How far all workers agree above chance, in standard deviations."""
        return beyond_chance(self.votes)

    @cached_property
    def crowd(self) -> FloatArray:
        """Pooled confusion of the workers who agree better than chance, shape (n_classes, n_classes)."""
        clear = self.votes.above_chance > CLEAR_DEVIATIONS
        return crowd_table(self.learned.counts[clear] if clear.any() else self.learned.counts)

    @cached_property
    def tables(self) -> FloatArray | None:
        """Every worker's table, none of its cells 0; None where they are too many."""
        return worker_tables(self.learned.counts)

    @cached_property
    def comparison(self) -> Comparison:
        """What workers are compared with to judge them."""
        if self.tables is None:
            return Comparison(self.answers, self.crowd)
        mass = self.learned.mass
        return Comparison(self.answers, self.crowd, np.log(self.tables), np.log(mass / mass.sum() + 1e-9))

    @cached_property
    def mean_difficulty(self) -> float:
        """The expected share of all labels that are wrong."""
        counts = self.learned.counts
        return float(1 - np.einsum("icc->", counts) / counts.sum())

    def estimable(self) -> BoolArray:
        """Mark the workers whose quality can be estimated, shape (n_workers,)."""
        group = self.connection.worker
        return np.asarray((group >= 0) & self.connection.identified[group] & (self.beyond_chance >= CLEAR_DEVIATIONS))
