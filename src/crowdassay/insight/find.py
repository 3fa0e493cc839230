"""Everything a result says about its workers and items, found once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.estimators.confusion import observed_counts
from crowdassay.insight.advice import Advice, attention
from crowdassay.insight.behaviour import Behaviour
from crowdassay.insight.copies import Pair, find_copies
from crowdassay.insight.examine import behave, examine
from crowdassay.insight.intervals import accuracy_interval, confusion_interval
from crowdassay.insight.items import ItemInsight
from crowdassay.insight.notes import write_notes
from crowdassay.insight.passes import CLEAR, Learned, Measure, Seen, compared
from crowdassay.insight.tables import first_judgements
from crowdassay.insight.totals import Totals
from crowdassay.insight.verdicts import ENOUGH, Tally
from crowdassay.insight.worth import Worth, most_worth, worth_table


@dataclass(frozen=True, eq=False)
class Whole:
    """What is known of all items where a result holds a few of them.

    Attributes
    ----------
    totals : Totals
    unsure : ndarray of shape (n_workers, n_classes, n_classes)
        Expected counts of Q (1 - Q), by worker and answer; Q are the class probabilities.
    sample : Labels
        Labels of items drawn at random, or of all items where these are few.
    """

    totals: Totals
    unsure: FloatArray
    sample: Labels


@dataclass(frozen=True, eq=False)
class Insight(ItemInsight):
    """What can be said about workers and items, and what cannot.

    Attributes
    ----------
    n_labels : ndarray of int, shape (n_workers,)
    tally : Tally
    beyond_chance : float
        How far all workers agree above chance, in standard deviations.
    estimable : ndarray of bool, shape (n_workers,)
    accuracy, effective, low, high : ndarray of shape (n_workers,)
        Accuracy, the effective number of labels behind it, and its 95 % interval; 0 to 1 where it is not estimable.
    advice : Advice
        The verdict on each worker, what to do, and why.
    crowd : ndarray of shape (n_classes, n_classes)
        Pooled confusion of the workers who agree better than chance.
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class.
    copies : list of Pair, int
        Pairs of workers that look like copies, and the number of pairs compared.
    gold : bool
        Whether the class of any item is known.
    seconds : ndarray of shape (n_workers,) or None
        Each worker's median time for a label, NaN where unknown; None where no label has any.
    whole : Whole or None
        What is known of all items, where ``result`` holds a few of them.
    """

    n_labels: IntArray
    tally: Tally
    beyond_chance: float
    estimable: BoolArray
    accuracy: FloatArray
    effective: FloatArray
    low: FloatArray
    high: FloatArray
    advice: Advice
    crowd: FloatArray
    counts: FloatArray
    copies: tuple[list[Pair], int]
    gold: bool
    seconds: FloatArray | None = None
    whole: Whole | None = None

    @property
    def verdicts(self) -> list[str]:
        """The verdict on each worker."""
        return self.advice.verdicts

    @property
    def actions(self) -> list[str]:
        """What to do about each worker: keep, talk to, retrain, remove, or cannot tell."""
        return self.advice.actions

    @cached_property
    def attention(self) -> list[int]:
        """The workers that need attention, the most urgent first."""
        return attention(self.advice, self.n_labels)

    @cached_property
    def evidence(self) -> list[str]:
        """Why, for each worker: what is held against them, or else how far they agree with the others; empty if unknown."""
        t = self.tally
        rows = zip(t.compared.tolist(), t.agreed.tolist(), t.chance.tolist(), t.typical.tolist(), strict=True)
        agrees = [
            f"agrees with the others on {agreed:.1f} of {n:.0f} items; {chance:.1f} by chance, {typical:.1f} if typical"
            if n >= ENOUGH
            else ""
            for n, agreed, chance, typical in rows
        ]
        given = ("; ".join(reason.words for reason in reasons) for reasons in self.advice.reasons)
        return [words or plain for words, plain in zip(given, agrees, strict=True)]

    @cached_property
    def looks_like(self) -> list[str]:
        """For each worker, the one they most look like a copy of, empty if none."""
        names = [""] * self.result.labels.n_workers
        workers = self.result.labels.workers
        for pair in reversed(self.copies[0]):
            names[pair.worker], names[pair.other] = str(workers[pair.other].as_py()), str(workers[pair.worker].as_py())
        return names

    @cached_property
    def worth(self) -> list[Worth]:
        """Unsettled items by what another label gains."""
        return most_worth(self.result, self.crowd)

    def next_table(self) -> pa.Table:
        """Return item, label, probability, labels_needed, gain_per_label and gain_by_expert of the items most worth a label."""
        return worth_table(self.result, self.worth)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a sentence or two each."""
        found = (self.n_labels, self.connection, self.verdicts, self.copies[0])
        return (*write_notes(*found, chance=self.chance, gold=self.gold), *self._sampled())

    @cached_property
    def totals(self) -> Totals:
        """What is counted over all items."""
        return Totals.of(self) if self.whole is None else self.whole.totals

    @property
    def sample(self) -> Labels:
        """Labels to measure agreement by: all of them, or a sample where they are not in memory."""
        return self.result.labels if self.whole is None else self.whole.sample

    @cached_property
    def unsure(self) -> FloatArray:
        """What is missing about ``counts`` because classes are not known, see `confusion_interval`."""
        weights = self.result.posterior
        return observed_counts(self.result.labels, weights * (1 - weights)) if self.whole is None else self.whole.unsure

    def confusion(self, workers: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return confusion tables of all workers or those chosen by code, their 95 % limits, and the expected counts."""
        counts = self.counts[workers]
        return *confusion_interval(counts, self.unsure[workers]), counts

    def confusion_table(self) -> pa.Table:
        """Tabulate worker, true class, observed class, share with a 95 % interval, and the expected number of labels."""
        labels = self.result.labels
        columns = ("share", "share_low", "share_high", "labels")
        values = zip(columns, (table.ravel() for table in self.confusion()), strict=True)
        worker, true, observed = (pa.array(code.ravel()) for code in np.indices(self.counts.shape))
        names = {
            "worker": labels.workers.take(worker),
            "true": labels.classes.take(true),
            "observed": labels.classes.take(observed),
        }
        return pa.table({**names, **dict(values)})

    @property
    def chance(self) -> bool:
        """Whether the labels agree no better than chance."""
        return bool(self.connection.identified.any()) and self.beyond_chance < CLEAR

    def _sampled(self) -> list[str]:
        if self.whole is None or self.sample.n_labels == self.totals.labels:
            return []
        return [
            f"Copies were looked for among {self.sample.n_labels:,} labels of {self.sample.n_items:,} items drawn at random, "
            "as there are too many for memory: pairs with few common items may be missed."
        ]


def find(result: Result) -> Insight:
    """Judge the workers and items of a result.

    >>> from crowdassay import MajorityVote, simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=1000, skill=2, spammers=0.3)
    >>> sorted(set(find(MajorityVote().fit(labels).result_).verdicts))
    ['biased', 'informative', 'spammer', 'unclear']
    """
    labels = result.labels
    seen = Seen.of(labels)
    measure = Measure.of(seen, Learned.of(result, seen.answers))
    with ThreadPoolExecutor(1) as pool:  # comparing pairs of workers takes as long as all the rest
        copies = pool.submit(find_copies, labels, result.code, first_judgements(labels), measure.tables)
        counted = compared(labels)
        tally = measure.comparison.tally(measure.comparison.add_up(labels, counted))
        behaviour = behave(result, counted, measure.comparison, measure.clock)
        known = bool((labels.gold >= 0).any())
        return conclude(result, measure, tally, behaviour, seen.links.counts[:, 0], copies.result(), gold=known)


def conclude(
    result: Result,
    measure: Measure,
    tally: Tally,
    behaviour: Behaviour | None,
    n_labels: IntArray,
    copies: tuple[list[Pair], int],
    *,
    gold: bool,
    whole: Whole | None = None,
) -> Insight:
    """Draw the conclusions from what was summed over all labels; without ``whole`` the result holds all items."""
    counts, estimable = measure.learned.counts, measure.estimable()
    right = np.einsum("icc->i", counts)
    share, low, high, effective = accuracy_interval(n_labels.astype(np.float64), right, measure.learned.unsure)
    # Models draw few labels towards the population; where that contradicts the worker's own labels, these are believed.
    accuracy = np.where((low <= result.accuracy) & (result.accuracy <= high), result.accuracy, share)
    low, high = np.where(estimable, low, 0.0), np.where(estimable, high, 1.0)
    labels = result.labels
    advice = examine(
        tally, behaviour, measure.clock, copies, estimable=estimable, counts=counts, crowd=measure.crowd,
        limits=(accuracy, low, high), classes=labels.class_names, workers=labels.workers.to_pylist(),
    )  # fmt: skip
    return Insight(
        result=result,
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
        gold=gold,
        seconds=measure.clock.usual() if measure.clock.took.size else None,
        whole=whole,
    )
