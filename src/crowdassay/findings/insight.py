"""`Insight`: what can be said about the workers and items of a fit, and what cannot; and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.advice import Advice, attention
from crowdassay.findings.cells import cell_columns, cell_notes, cell_table
from crowdassay.findings.copies import Pair
from crowdassay.findings.intervals import confusion_interval
from crowdassay.findings.items import ItemInsight
from crowdassay.findings.notes import write_notes
from crowdassay.findings.passes import CLEAR_DEVIATIONS
from crowdassay.findings.totals import Against, Totals
from crowdassay.findings.verdicts import ANSWERS_TO_JUDGE, Agreements
from crowdassay.findings.worth import Worth, most_worth, worth_table
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import known_columns


@dataclass(frozen=True, eq=False)
class Insight(ItemInsight):
    """What can be said about workers and items, and what cannot.

    Attributes
    ----------
    n_labels : ndarray of int, shape (n_workers,)
    tally : Agreements
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
    tally: Agreements
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
        t = self.tally
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
    def worth(self) -> list[Worth]:
        """Unsettled items by what another label gains."""
        return most_worth(self.record, self.crowd)

    def next_table(self) -> pa.Table:
        """Return item, label, probability, labels_needed, gain_per_label and gain_by_expert of the items most worth a label."""
        return worth_table(self.record, self.worth)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a sentence or two each."""
        about = (self.n_labels, self.connection, self.advice, self.copies[0])
        gold_warning = (self.record.gold_warning,) if self.record.gold_warning else ()
        cells = cell_notes(self.record.labels.n_classes)
        chance = self.chance and self.record.labels.n_classes > 1  # of one class there is nothing to say
        return (*gold_warning, *write_notes(*about, chance=chance, gold=self.totals.known > 0), *self._sampled(), *cells)

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
        return pa.table(
            {
                "worker": record.labels.workers,
                "n_labels": self.n_labels,
                "accuracy": self.accuracy,
                "accuracy_low": self.low,
                "accuracy_high": self.high,
                "verdict": self.verdicts,
                "action": self.actions,
                "evidence": self.evidence,
                "looks_like": self.looks_like,
                **({} if record.known is None else known_columns(record.known)),
                **(cell_columns(record) if cells else {}),
            }
        )

    def cell_table(self) -> pa.Table | None:
        """Tabulate the cells of workers' tables in rows where classes are many: `crowdassay.findings.cells.cell_table`."""
        return cell_table(self.record, self.counts)

    def confusion_table(self) -> pa.Table:
        """Tabulate worker, true and observed class, share with a 95 % interval, the expected labels, and the model's sigma."""
        labels = self.record.labels
        columns = ("share", "share_low", "share_high", "labels")
        values = zip(columns, (table.ravel() for table in self.confusion()), strict=True)
        worker, true, observed = (pa.array(code.ravel()) for code in np.indices(self.counts.shape))
        names = {
            "worker": labels.workers.take(worker),
            "true": labels.classes.take(true),
            "observed": labels.classes.take(observed),
        }
        sigma = {} if self.record.sigma is None else {"sigma": self.record.sigma.ravel()}
        return pa.table({**names, **dict(values), **sigma})

    @property
    def chance(self) -> bool:
        """Whether the labels agree no better than chance."""
        return bool(self.connection.identified.any()) and self.beyond_chance < CLEAR_DEVIATIONS

    def _sampled(self) -> list[str]:
        if self.sample.n_labels == self.totals.labels:
            return []
        return [
            f"Copies were looked for among {self.sample.n_labels:,} labels of {self.sample.n_items:,} items drawn at random, "
            "as there are many: pairs with few common items may be missed."
        ]
