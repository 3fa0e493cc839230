"""`Insight`: everything a fit says about its workers and items, found once, wherever the labels are; and its tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.base import Place
from crowdassay.engines.confusion import normalise
from crowdassay.findings.copies import Pair, find_copies
from crowdassay.findings.intervals import accuracy_interval, confusion_interval
from crowdassay.findings.items import ItemInsight, next_items
from crowdassay.findings.notes import write_notes
from crowdassay.findings.passes import CLEAR_DEVIATIONS, PredictBlock, TwoPasses, third_pass, two_passes
from crowdassay.findings.scores import Against
from crowdassay.findings.tables import CONFUSION, NEXT, WORKERS, append_columns
from crowdassay.findings.totals import Totals
from crowdassay.findings.verdicts import Advice, advise, attention
from crowdassay.findings.worker_tests import ANSWERS_TO_JUDGE, MeasuredWorkers
from crowdassay.findings.workers import WorkerAgreement
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record, confusion_columns, known_columns
from crowdassay.planning.gain import Worth

CLASSES_WITH_COLUMNS = 30  # with more, a table of workers would have too many columns for their cells
EXPECTED_LABELS = 0.05  # expected labels from which a cell is worth a row of the long table


@dataclass(frozen=True, eq=False)
class Insight(ItemInsight):
    """What can be said about workers and items, and what cannot.

    Attributes
    ----------
    n_labels : ndarray of int, shape (n_workers,)
    agreement : WorkerAgreement
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
    unsure : ndarray of shape (n_workers, n_classes, n_classes)
        What is missing about ``counts`` because classes are not known, see `confusion_interval`.
    totals : Totals
        What is counted over all items.
    against : Against
        All items beside the truth that the place knows.
    sample : Labels
        Labels to measure agreement by: all of them, or a sample where they are many.
    partial : bool
        Whether ``record`` holds only the items that a summary or a report names.
    seconds : ndarray of shape (n_workers,) or None
        Each worker's median time for a label, NaN where unknown; None where no label has any.
    """

    n_labels: IntArray
    agreement: WorkerAgreement
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
    unsure: FloatArray
    totals: Totals
    against: Against
    sample: Labels
    partial: bool
    seconds: FloatArray | None = None

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
        t = self.agreement
        rows = zip(t.compared.tolist(), t.agreed.tolist(), t.chance.tolist(), t.typical.tolist(), strict=True)
        agrees = [
            f"agrees with the others on {agreed:.1f} of {n:.0f} items; {chance:.1f} by chance, {typical:.1f} if typical"
            if n >= ANSWERS_TO_JUDGE
            else ""
            for n, agreed, chance, typical in rows
        ]
        given = ("; ".join(reason.words for reason in reasons) for reasons in self.advice.reasons)
        return [words or plain for words, plain in zip(given, agrees, strict=True)]

    @cached_property
    def looks_like(self) -> list[str]:
        """For each worker, the one they most look like a copy of, empty if none."""
        names = [""] * self.record.labels.n_workers
        workers = self.record.labels.workers
        for pair in reversed(self.copies[0]):
            names[pair.worker], names[pair.other] = str(workers[pair.other].as_py()), str(workers[pair.worker].as_py())
        return names

    @cached_property
    def next_items(self) -> list[Worth]:
        """Unsettled items by what another label gains, the most first."""
        return next_items(self.record, self.crowd)

    def next_table(self) -> pa.Table:
        """Return item, label, probability, labels_needed, gain_per_label and gain_by_expert of the items most worth a label."""
        record, chosen = self.record, pa.array([row.item for row in self.next_items], pa.int64())
        return NEXT.fill(
            item=record.labels.items.take(chosen),
            label=record.labels.classes.take(pa.array(record.code)).take(chosen),
            probability=pa.array(record.probability).take(chosen),
            labels_needed=pa.array([row.labels for row in self.next_items], pa.int64()),
            gain_per_label=pa.array([row.rate for row in self.next_items], pa.float64()),
            gain_by_expert=pa.array([row.expert for row in self.next_items], pa.float64()),
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a sentence or two each."""
        about = (self.n_labels, self.connection, self.advice, self.copies[0])
        gold_warning = (self.record.gold_warning,) if self.record.gold_warning else ()
        chance = self.chance and self.record.labels.n_classes > 1  # of one class there is nothing to say
        written = write_notes(*about, chance=chance, gold=self.totals.known > 0)
        return (*gold_warning, *written, *self._on_sample(), *self._on_cells())

    def confusion(self, workers: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return confusion tables of all workers or those chosen by code, their 95 % limits, and the expected counts."""
        counts = self.counts[workers]
        return *confusion_interval(counts, self.unsure[workers]), counts

    def workers_table(self, *, cells: bool = False) -> pa.Table:
        """Tabulate worker, n_labels, accuracy with a 95 % interval, verdict, action, evidence and looks_like.

        The interval runs from ``accuracy_low`` to ``accuracy_high``, and from 0 to 1 where the accuracy is not estimable.
        With ``cells``, as in the file, the parameters follow: what the worker answers to what, up to 30 classes.
        """
        record = self.record
        table = WORKERS.fill(
            worker=record.labels.workers,
            n_labels=self.n_labels,
            accuracy=self.accuracy,
            accuracy_low=self.low,
            accuracy_high=self.high,
            verdict=self.verdicts,
            action=self.actions,
            evidence=self.evidence,
            looks_like=self.looks_like,
            **({} if record.known is None else known_columns(record.known)),
        )
        if not cells or record.labels.n_classes > CLASSES_WITH_COLUMNS:
            return table
        sigma = {} if record.sigma is None else confusion_columns(record.labels, "sigma", record.sigma)
        return append_columns(table, confusion_columns(record.labels, "confusion", record.confusion) | sigma)

    def cell_table(self) -> pa.Table | None:
        """Tabulate worker, true, observed, confusion and sigma of the cells with labels; None where workers have columns.

        Cells with less than 0.05 of an expected label are left out.
        """
        record = self.record
        if record.labels.n_classes <= CLASSES_WITH_COLUMNS:
            return None
        cells = np.nonzero(self.counts >= EXPECTED_LABELS)
        sigma = {} if record.sigma is None else {"sigma": record.sigma[cells]}
        return CONFUSION.fill(**self._names(*cells), confusion=record.confusion[cells], **sigma)

    def confusion_table(self) -> pa.Table:
        """Tabulate worker, true and observed class, share with a 95 % interval, the expected labels, and the model's sigma."""
        share, low, high, labels = (table.ravel() for table in self.confusion())
        names = self._names(*(code.ravel() for code in np.indices(self.counts.shape)))
        sigma = {} if self.record.sigma is None else {"sigma": self.record.sigma.ravel()}
        return CONFUSION.fill(**names, share=share, share_low=low, share_high=high, labels=labels, **sigma)

    def _names(self, worker: IntArray, true: IntArray, observed: IntArray) -> dict[str, pa.Array]:
        """Return the names of workers, true and observed classes."""
        labels = self.record.labels
        return {
            "worker": labels.workers.take(pa.array(worker)),
            "true": labels.classes.take(pa.array(true)),
            "observed": labels.classes.take(pa.array(observed)),
        }

    @property
    def chance(self) -> bool:
        """Whether the labels agree no better than chance."""
        return bool(self.connection.identified.any()) and self.beyond_chance < CLEAR_DEVIATIONS

    def _on_sample(self) -> list[str]:
        if self.sample.n_labels == self.totals.labels:
            return []
        return [
            f"Copies were looked for among {self.sample.n_labels:,} labels of {self.sample.n_items:,} items drawn at random, "
            "as there are many: pairs with few common items may be missed."
        ]

    def _on_cells(self) -> list[str]:
        n_classes = self.record.labels.n_classes
        if n_classes <= CLASSES_WITH_COLUMNS:
            return []
        return [
            f"With {n_classes:,} classes, what workers answer to what is a table of its own, confusion, with a row for each "
            f"pair of classes that has labels; up to {CLASSES_WITH_COLUMNS} classes it is in the columns of the table of "
            "workers.",
        ]


def describe(place: Place, predict: PredictBlock, record: Record, found: TwoPasses | None = None) -> Insight:
    """Find all that a fit says of its workers and items: three passes over the labels, wherever they are.

    Parameters
    ----------
    place : Place
    predict : callable
        Returns what the fit says of a block.
    record : Record
        What the fit says of the workers; and of the items, where they are in memory.
    found : TwoPasses, optional
        What the first two passes have found, where they have been made.
    """
    found = found or two_passes(place, predict)
    first, second = found.first, found.second
    with ThreadPoolExecutor(1) as pool:  # comparing pairs of workers takes as long as all the rest
        copied = pool.submit(find_copies, second.sample.labels, second.sample.code, found.tables)
        third = third_pass(place, predict, found)
        copies = copied.result()
    if not place.in_memory:
        items = {name: getattr(third.named, name) for name in ("posterior", "winners", "difficulty", "phi", "expand")}
        facts = place.facts
        labels = replace(third.named.labels, workers=facts.workers, classes=facts.classes, report=facts.report)
        record = replace(record, labels=labels, **items)
    n_labels, estimable = first.links.counts[:, 0], found.estimable()
    right = np.einsum("icc->i", second.counts)
    share, low, high, effective = accuracy_interval(n_labels.astype(np.float64), right, second.right_unsure)
    # Models draw few labels towards the population; where that contradicts the worker's own labels, these are believed.
    accuracy = np.where((low <= record.accuracy) & (record.accuracy <= high), record.accuracy, share)
    low, high = np.where(estimable, low, 0.0), np.where(estimable, high, 1.0)
    measured = MeasuredWorkers(
        found.expectation.agreement(third.agreement), estimable, third.behaviour, first.clock, copies,
        normalise(second.counts)[0], found.crowd, accuracy, low, high,
        record.labels.class_names, record.labels.workers.to_pylist(),
    )  # fmt: skip
    return Insight(
        record=record,
        connection=found.connection,
        mean_difficulty=found.mean_difficulty,
        n_labels=n_labels,
        agreement=measured.agreement,
        beyond_chance=found.votes.beyond_chance,
        estimable=estimable,
        accuracy=accuracy,
        effective=effective,
        low=low,
        high=high,
        advice=advise(measured),
        crowd=found.crowd,
        counts=second.counts,
        copies=copies,
        unsure=second.unsure,
        totals=third.totals,
        against=third.against,
        sample=second.sample.labels,
        partial=not place.in_memory,
        seconds=first.clock.usual() if first.clock.took.size else None,
    )
