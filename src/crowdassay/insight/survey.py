"""Judge workers and items that are not in memory: three passes over blocks of items, whose sums are those of all labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.engines.base import Weights
from crowdassay.estimators.blocks import Judgement, describe_workers
from crowdassay.estimators.confusion import observed_counts
from crowdassay.insight.behaviour import Behaviour
from crowdassay.insight.clock import Clock
from crowdassay.insight.copies import find_copies
from crowdassay.insight.examine import behave
from crowdassay.insight.find import Whole, conclude
from crowdassay.insight.items import ItemInsight, attach, detach
from crowdassay.insight.passes import Learned, Measure, Seen, compared
from crowdassay.insight.picks import SAMPLE, Sample, join_picks, join_samples, pick
from crowdassay.insight.tables import first_judgements
from crowdassay.insight.totals import Against, Totals
from crowdassay.insight.verdicts import Comparison
from crowdassay.solvers.outcome import Solution

T = TypeVar("T")
Task = Callable[[int, Judgement, Result, np.ndarray], T]
Show = Callable[[Result, np.ndarray], None]


class Blocks(Protocol):
    """Blocks of items under a solution, wherever they are."""

    solution: Solution
    n_labels: int
    n_gold: int

    def look(self, task: Callable[[Labels], T]) -> Iterator[T]:
        """Call a task with the labels of every block, and yield what it returns in order."""

    def judge(self, task: Task[T]) -> Iterator[T]:
        """Call a task with the number of every block, what the solution says of its items, as a result, and their truth."""


@dataclass(frozen=True, eq=False)
class Part:
    """What the last pass over some items gives of them.

    Attributes
    ----------
    totals : Totals
    against : Against
    picked : Result
        Of the items to be named.
    samples : list of Sample
    behaviour : Behaviour or None
        What workers do in these items.
    """

    totals: Totals
    against: Against
    picked: Result
    samples: list[Sample]
    behaviour: Behaviour | None

    @classmethod
    def of(cls, result: Result, truth: np.ndarray, share: float, number: int, comparison: Comparison, clock: Clock) -> Part:
        """Look at a block, whose result has an insight, and draw a share of its items by the block's number."""
        sample = Sample.of(result, share, number)
        behaviour = behave(result, compared(result.labels), comparison, clock)
        return cls(Totals.of(result.insight), Against.of(result, truth), pick(result), [sample], behaviour)

    def join(self, other: Part) -> Part:
        """Return what both give."""
        return Part(
            self.totals.join(other.totals),
            self.against.join(other.against),
            join_picks(self.picked, other.picked),
            self.samples + other.samples,
            None if self.behaviour is None or other.behaviour is None else self.behaviour.join(other.behaviour),
        )


@dataclass(frozen=True, eq=False)
class Lesson:
    """What the second pass adds up: besides `Learned`, the model's own counts and those of Q (1 - Q), as in `Whole`."""

    expected: FloatArray
    unsure: FloatArray
    learned: Learned

    def join(self, other: Lesson) -> Lesson:
        """Return the sums over both."""
        return Lesson(self.expected + other.expected, self.unsure + other.unsure, self.learned.join(other.learned))


def missing_counts(result: Result) -> FloatArray:
    """Return what is missing about expected counts because classes are not known, as `Whole` holds it."""
    return observed_counts(result.labels, result.posterior * (1 - result.posterior))


def survey(blocks: Blocks, show: Show, *, tables: bool = True) -> tuple[Result, Against]:
    """Pass over all blocks three times and judge workers and items.

    Parameters
    ----------
    blocks : Blocks
    show : callable
        Is given the result and the truth of every block, in order, at the last pass.
    tables : bool
        Whether ``show`` is going to ask for the items' tables, whose intervals take time.

    Returns
    -------
    Result
        Of the few items to be named, but of all workers; its insight is of all items.
    Against
        All items beside the truth.
    """
    seen = reduce(Seen.join, blocks.look(Seen.of))

    def learn(_: int, judged: Judgement, result: Result, truth: np.ndarray) -> Lesson:
        return Lesson(judged.expected, missing_counts(result), Learned.of(result, seen.answers))

    lesson = reduce(Lesson.join, blocks.judge(learn))
    measure = Measure.of(seen, lesson.learned)
    comparison, share = measure.comparison, SAMPLE / blocks.n_labels

    def describe(number: int, _: Judgement, result: Result, truth: np.ndarray) -> tuple[Result, np.ndarray, FloatArray, Part]:
        attach(result, ItemInsight(result, measure.connection, measure.mean_difficulty))
        part = Part.of(result, truth, share, number, comparison, measure.clock)
        sums = comparison.add_up(result.labels, compared(result.labels))
        if tables:
            _ = result.insight.difficulty
        result.labels.__dict__.pop("label_item", None)  # larger than the labels, and not needed any more
        return result, truth, sums, part

    parts: list[tuple[FloatArray, Part]] = []
    for result, truth, sums, part in blocks.judge(describe):
        show(result, truth)
        detach(result)
        parts = [(parts[0][0] + sums, parts[0][1].join(part))] if parts else [(sums, part)]
    [(sums, part)] = parts
    return finish(blocks.solution, seen, measure, lesson, sums, part, gold=blocks.n_gold > 0), part.against


def finish(
    solution: Solution, seen: Seen, measure: Measure, lesson: Lesson, sums: FloatArray, found: Part, *, gold: bool
) -> Result:
    """Draw the conclusions: a result of the items picked that knows all workers and speaks for all items."""
    sample = join_samples(found.samples)
    confusion, accuracy = describe_workers(solution, lesson.expected)
    result = replace(
        found.picked,
        confusion=confusion,
        accuracy=accuracy,
        log_prior=solution.log_prior,
        sigma=None if solution.weights is Weights.VOTES else solution.sigma,
        objective=solution.objective,
        history=solution.history,
        n_iter=max(solution.n_iter, 1),  # counting votes is one
        converged=solution.converged,
    )
    copies = find_copies(sample.labels, sample.code, first_judgements(sample.labels), measure.tables)
    tally, n_labels = measure.comparison.tally(sums), seen.links.counts[:, 0]
    whole = Whole(found.totals, lesson.unsure, sample.labels)
    insight = conclude(result, measure, tally, found.behaviour, n_labels, copies, gold=gold, whole=whole)
    return attach(result, insight)


def complete(result: Result, **facts: Any) -> Result:
    """Return a survey's result with further facts, such as what it was fitted with, and the same insight."""
    whole = replace(result, **facts)
    return attach(whole, replace(result.insight, result=whole))
