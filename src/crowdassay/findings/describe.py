"""Everything a fit says about its workers and items, found once, wherever the labels are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.place import Block, Place
from crowdassay.findings.behaviour import Behaviour
from crowdassay.findings.clock import Clock
from crowdassay.findings.connection import Connection
from crowdassay.findings.copies import Pair, find_copies
from crowdassay.findings.examine import behave, examine
from crowdassay.findings.insight import Insight
from crowdassay.findings.intervals import accuracy_interval
from crowdassay.findings.items import ItemInsight
from crowdassay.findings.learn import JudgeBlock, Learnt, Lesson, learn
from crowdassay.findings.passes import Measure, compared
from crowdassay.findings.picks import join_picks, pick
from crowdassay.findings.tables import first_judgements
from crowdassay.findings.totals import Against, Totals
from crowdassay.findings.verdicts import Comparison
from crowdassay.labels.record import Record


@dataclass(frozen=True, eq=False)
class Part:
    """What the last pass over some items gives of them.

    Attributes
    ----------
    totals : Totals
    against : Against
    sums : ndarray of shape (n_workers, 5 + 2 n_classes)
        How workers compare with the others, see `Comparison.add_up`.
    picked : Record
        Of the items to be named.
    behaviour : Behaviour or None
        What workers do in these items.
    """

    totals: Totals
    against: Against
    sums: FloatArray
    picked: Record
    behaviour: Behaviour | None

    def join(self, other: Part) -> Part:
        """Return what both give."""
        return Part(
            self.totals.join(other.totals),
            self.against.join(other.against),
            self.sums + other.sums,
            join_picks(self.picked, other.picked),
            None if self.behaviour is None or other.behaviour is None else self.behaviour.join(other.behaviour),
        )


@dataclass(frozen=True, eq=False)
class Describe:
    """The last pass as a task for every block."""

    judge: JudgeBlock
    connection: Connection
    mean_difficulty: float
    comparison: Comparison
    clock: Clock
    pick: bool

    def __call__(self, block: Block) -> Part:
        """Count the items of a block, compare its workers and pick the items to be named."""
        record, _ = self.judge(block)
        items = ItemInsight(record, self.connection, self.mean_difficulty)
        counted = compared(record.labels)
        sums = self.comparison.add_up(record.labels, counted)
        behaviour = behave(record, counted, self.comparison, self.clock)
        return Part(Totals.of(items), Against.of(record, block.truth), sums, pick(record) if self.pick else record, behaviour)


def describe(place: Place, judge: JudgeBlock, record: Record, learnt: Learnt | None = None) -> Insight:
    """Judge the workers and items of a fit: three passes over the labels, wherever they are.

    Parameters
    ----------
    place : Place
    judge : callable
        What the fit makes of a block.
    record : Record
        What the fit says of the workers; and of the items, where they are in memory.
    learnt : Learnt, optional
        What the first two passes have found, where they have been made.
    """
    learnt = learnt or learn(place, judge)
    lesson, links = learnt.lesson, learnt.seen.links
    measure = Measure.of(learnt.seen, lesson.learned)
    sample = lesson.sample
    with ThreadPoolExecutor(1) as pool:  # comparing pairs of workers takes as long as all the rest
        copies = pool.submit(find_copies, sample.labels, sample.code, first_judgements(sample.labels), measure.tables)
        measured = (measure.connection, measure.mean_difficulty, measure.comparison, measure.clock)
        task = Describe(judge, *measured, pick=not place.in_memory)
        part = place.reduce(task)
        pairs = copies.result()
    if not place.in_memory:
        items = {name: getattr(part.picked, name) for name in ("posterior", "winners", "difficulty", "phi", "expand")}
        facts = place.facts
        labels = replace(part.picked.labels, workers=facts.workers, classes=facts.classes, report=facts.report)
        record = replace(record, labels=labels, **items)
    return conclude(record, measure, part, lesson, links.counts[:, 0], pairs, partial=not place.in_memory)


def conclude(
    record: Record,
    measure: Measure,
    part: Part,
    lesson: Lesson,
    n_labels: IntArray,
    copies: tuple[list[Pair], int],
    *,
    partial: bool,
) -> Insight:
    """Draw the conclusions from what was summed over all labels."""
    counts, estimable = measure.learned.counts, measure.estimable()
    tally = measure.comparison.tally(part.sums)
    right = np.einsum("icc->i", counts)
    share, low, high, effective = accuracy_interval(n_labels.astype(np.float64), right, measure.learned.unsure)
    # Models draw few labels towards the population; where that contradicts the worker's own labels, these are believed.
    accuracy = np.where((low <= record.accuracy) & (record.accuracy <= high), record.accuracy, share)
    low, high = np.where(estimable, low, 0.0), np.where(estimable, high, 1.0)
    labels = record.labels
    advice = examine(
        tally, part.behaviour, measure.clock, copies, estimable=estimable, counts=counts, crowd=measure.crowd,
        limits=(accuracy, low, high), classes=labels.class_names, workers=labels.workers.to_pylist(),
    )  # fmt: skip
    return Insight(
        record=record,
        connection=measure.connection,
        mean_difficulty=measure.mean_difficulty,
        n_labels=n_labels,
        tally=tally,
        beyond_chance=measure.beyond_chance,
        estimable=estimable,
        accuracy=accuracy,
        effective=effective,
        low=low,
        high=high,
        advice=advice,
        crowd=measure.crowd,
        counts=counts,
        copies=copies,
        unsure=lesson.unsure,
        totals=part.totals,
        against=part.against,
        sample=lesson.sample.labels,
        partial=partial,
        seconds=measure.clock.usual() if measure.clock.took.size else None,
    )
