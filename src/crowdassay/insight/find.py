"""Everything a result says about its workers and items, found once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.data.result import Result
from crowdassay.insight.connection import Connection, connect
from crowdassay.insight.copies import Pair, find_copies
from crowdassay.insight.intervals import accuracy_interval, confusion_interval, difficulty_interval
from crowdassay.insight.notes import write_notes
from crowdassay.insight.tables import crowd_table, first_judgements, worker_tables
from crowdassay.insight.verdicts import ENOUGH, Tally, beyond_chance, judge, tally
from crowdassay.insight.worth import SETTLED, Worth, most_worth, worth_table

CLEAR = 1.645  # standard deviations above chance from which labels, or a worker, have something to say


@dataclass(frozen=True, eq=False)
class Insight:
    """What can be said about workers and items, and what cannot.

    Attributes
    ----------
    connection : Connection
    tally : Tally
    beyond_chance : float
        How far all workers agree above chance, in standard deviations.
    estimable : ndarray of bool, shape (n_workers,)
    accuracy, effective, low, high : ndarray of shape (n_workers,)
        Accuracy, the effective number of labels behind it, and its 95 % interval; 0 to 1 where it is not estimable.
    verdicts : list of str
    crowd : ndarray of shape (n_classes, n_classes)
        Pooled confusion of the workers who agree better than chance.
    copies : list of Pair, int
        Pairs of workers that look like copies, and the number of pairs compared.
    """

    result: Result
    connection: Connection
    tally: Tally
    beyond_chance: float
    estimable: BoolArray
    accuracy: FloatArray
    effective: FloatArray
    low: FloatArray
    high: FloatArray
    verdicts: list[str]
    crowd: FloatArray
    copies: tuple[list[Pair], int]

    @cached_property
    def evidence(self) -> list[str]:
        """A sentence on each worker's verdict, empty where there is none."""
        t = self.tally
        rows = zip(t.compared.tolist(), t.agreed.tolist(), t.chance.tolist(), t.typical.tolist(), strict=True)
        return [
            f"agrees with the others on {agreed:.1f} of {n:.0f} items; {chance:.1f} by chance, {typical:.1f} if typical"
            if n >= ENOUGH
            else ""
            for n, agreed, chance, typical in rows
        ]

    @cached_property
    def looks_like(self) -> list[str]:
        """For each worker, the one they most look like a copy of, empty if none."""
        names = [""] * self.result.labels.n_workers
        workers = self.result.labels.workers
        for pair in reversed(self.copies[0]):
            names[pair.worker], names[pair.other] = str(workers[pair.other].as_py()), str(workers[pair.worker].as_py())
        return names

    @cached_property
    def standings(self) -> list[str]:
        """For each item: known, unidentifiable, tied, settled (probability at least 0.95) or open."""
        result, group = self.result, self.connection.item
        names = np.where(result.probability >= SETTLED, "settled", "open").astype(object)
        names[result.tied] = "tied"
        names[(group < 0) | ~self.connection.identified[group]] = "unidentifiable"
        names[result.labels.gold >= 0] = "known"
        return list(names)

    @cached_property
    def difficulty(self) -> tuple[FloatArray, FloatArray, list[str]]:
        """Limits of every item's difficulty, and whether it is hard, easy, ordinary, or has too few labels to tell."""
        result, labels = self.result, self.result.labels
        low, high = difficulty_interval(labels.votes(), result.posterior)
        mean = 1 - result.posterior[labels.label_item, labels.label].mean()
        names = np.where(low > mean, "hard", np.where(high < mean, "easy", "ordinary")).astype(object)
        names[np.diff(labels.starts) < ENOUGH] = "too few labels"
        return low, high, list(names)

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
        return write_notes(self.result.labels, self.connection, self.verdicts, self.copies[0], chance=self.chance)

    def confusion_table(self) -> pa.Table:
        """Tabulate worker, true class, observed class, share with a 95 % interval, and the expected number of labels."""
        labels = self.result.labels
        columns = ("share", "share_low", "share_high", "labels")
        values = zip(columns, (table.ravel() for table in confusion_interval(self.result)), strict=True)
        worker, true, observed = (pa.array(code.ravel()) for code in np.indices(self.result.confusion.shape))
        names = {
            "worker": labels.workers.take(worker),
            "true": labels.classes.take(true),
            "observed": labels.classes.take(observed),
        }
        return pa.table({**names, **dict(values)})

    @property
    def chance(self) -> bool:
        """Whether the labels agree no better than chance."""
        return bool(self.connection.shared.any()) and self.beyond_chance < CLEAR


def find(result: Result) -> Insight:
    """Judge the workers and items of a result.

    >>> from crowdassay import MajorityVote, simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=1000, skill=2, spammers=0.3)
    >>> sorted(set(find(MajorityVote().fit(labels).result_).verdicts))
    ['informative', 'spammer', 'unclear']
    """
    first = first_judgements(result.labels)
    with ThreadPoolExecutor(1) as pool:  # comparing pairs of workers takes as long as all the rest
        copies = pool.submit(find_copies, result, first)
        return _find(result, first, copies.result)


def _find(result: Result, first: BoolArray, copies: Callable[[], tuple[list[Pair], int]]) -> Insight:
    labels = result.labels
    connection = connect(labels)
    counted = first & connection.shared[labels.label_item]
    weights = result.posterior
    votes = tally(labels, counted, crowd_table(labels, weights))
    clear = votes.above_chance > CLEAR
    crowd = crowd_table(labels, weights, clear if clear.any() else None)
    tables = worker_tables(labels, weights)
    found = tally(labels, counted, crowd, tables, None if tables is None else weights.mean(axis=0) + 1e-9)
    estimable = (connection.worker >= 0) & connection.identified[connection.worker]
    total = beyond_chance(votes)
    if total < CLEAR:
        estimable = np.zeros_like(estimable)
    share, low, high, effective = accuracy_interval(result)
    # Models draw few labels towards the population; where that contradicts the worker's own labels, these are believed.
    accuracy = np.where((low <= result.accuracy) & (result.accuracy <= high), result.accuracy, share)
    low, high = np.where(estimable, low, 0.0), np.where(estimable, high, 1.0)
    verdicts = judge(found, estimable)
    return Insight(result, connection, found, total, estimable, accuracy, effective, low, high, verdicts, crowd, copies())
