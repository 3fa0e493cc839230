"""`Insight`: everything a fit says about its workers and items, found once, wherever the labels are; and its tables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Place
from crowdassay.engines.confusion import normalise
from crowdassay.findings.copies import find_copies
from crowdassay.findings.intervals import accuracy_interval, confusion_interval
from crowdassay.findings.items import ItemInsight, OpenItems, Totals, open_items
from crowdassay.findings.money import Ask, Money, count_money, in_order
from crowdassay.findings.notes import CLASSES_WITH_COLUMNS, write_notes
from crowdassay.findings.passes import CLEAR_DEVIATIONS, PredictBlock, ThirdPass, TwoPasses, two_passes
from crowdassay.findings.scores import Against
from crowdassay.findings.tables import CONFUSION, NEXT, WORKERS, append_columns
from crowdassay.findings.verdicts import ANSWERS_TO_JUDGE, MeasuredWorkers, Reason, advise, attention, told_agreement
from crowdassay.findings.workers import WorkerInsight
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record, confusion_columns, known_columns
from crowdassay.labels.values import counted
from crowdassay.models.assay.constants import default_constants
from crowdassay.planning.bands import Band, make_bands, told_bands
from crowdassay.planning.gain import Worth, worth_of
from crowdassay.planning.state import State
from crowdassay.planning.stop import FEWEST_LABELS_PER_ITEM, NEXT_ANSWERS, Limit, believe, estimate_error, foretell

EXPECTED_LABELS = 0.05  # expected labels from which a cell is worth a row of the long table


@dataclass(frozen=True, eq=False)
class Insight(ItemInsight, WorkerInsight):
    """What can be said about workers and items, and what cannot.

    Attributes
    ----------
    n_labels : ndarray of int, shape (n_workers,)
    beyond_chance : float
        How far all workers agree above chance, in standard deviations.
    effective : ndarray of shape (n_workers,)
        The effective number of labels behind the accuracy.
    verdicts, actions : list of str
        The verdict on each worker, and what to do: keep, talk to, retrain, remove, or cannot tell.
    reasons : list of list of Reason
        What is held against each worker, the gravest first.
    attention : list of int
        The workers that need attention, the most urgent first.
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels by worker, true and observed class.
    unsure : ndarray of shape (n_workers, n_classes, n_classes)
        What is missing about ``counts`` because classes are not known, see `confusion_interval`.
    totals : Totals
        What is counted over all items.
    against : Against
        All items beside the truth that the place knows.
    left : OpenItems
        What would settle the items that are not settled.
    sample : Labels
        Labels to measure agreement by: all of them, or a sample where they are many.
    partial : bool
        Whether ``record`` holds only the items that a summary or a report names.
    seconds : ndarray of shape (n_workers,) or None
        Each worker's median time for a label, NaN where unknown; None where no label has any.
    """

    n_labels: IntArray
    beyond_chance: float
    effective: FloatArray
    verdicts: list[str]
    actions: list[str]
    reasons: list[list[Reason]]
    attention: list[int]
    counts: FloatArray
    unsure: FloatArray
    totals: Totals
    against: Against
    left: OpenItems
    sample: Labels
    partial: bool
    seconds: FloatArray | None = None

    @cached_property
    def evidence(self) -> list[str]:
        """Why, for each worker: what is held against them, or else how far they agree with the others; empty if unknown."""
        compared = self.agreement.compared
        agrees = [told_agreement(self.agreement, i) if n >= ANSWERS_TO_JUDGE else "" for i, n in enumerate(compared.tolist())]
        given = ("; ".join(reason.words for reason in reasons) for reasons in self.reasons)
        return [words or plain for words, plain in zip(given, agrees, strict=True)]

    @cached_property
    def looks_like(self) -> list[str]:
        """For each worker, the one with the same answers where both leave the others, empty if none."""
        names = [""] * self.record.labels.n_workers
        workers = self.record.labels.workers
        for pair in reversed(self.copies[0]):
            names[pair.worker], names[pair.other] = str(workers[pair.other].as_py()), str(workers[pair.worker].as_py())
        return names

    @cached_property
    def next_items(self) -> list[Worth]:
        """Open items, the least sure and the surest, by what another label gains, as `crowdassay plan` finds them."""
        return worth_of(State.typical(self.record, self.crowd), open_items(self.record))

    def next_table(self, money: Money | None = None) -> pa.Table:
        """Tabulate open items in the order in which to begin: what to ask for on each, and what that gains and costs.

        See `crowdassay.findings.money.in_order`. There is a column ``cost`` where ``money`` has a price.
        """
        money = money or count_money(self)
        rows, record = in_order(self, money), self.record
        worth, chosen = [row[0] for row in rows], pa.array([row[0].item for row in rows], pa.int64())
        prices = {} if money.per_label is None and money.per_answer is None else {"cost": [cost for *_, cost in rows]}
        return NEXT.fill(
            item=record.labels.items.take(chosen),
            label=record.labels.classes.take(pa.array(record.code)).take(chosen),
            probability=pa.array(record.probability).take(chosen),
            ask=pa.array([ask for _, ask, _ in rows], pa.string()),
            labels_needed=pa.array([one.labels if ask != Ask.SECOND_WORKER else None for one, ask, _ in rows], pa.int64()),
            gain_per_label=pa.array([one.rate for one in worth], pa.float64()),
            gain_by_labels=pa.array([one.by_labels for one in worth], pa.float64()),
            gain_by_expert=pa.array([one.expert for one in worth], pa.float64()),
            **{name: pa.array(values, pa.float64()) for name, values in prices.items()},
        )

    @cached_property
    def error(self) -> Limit | None:
        """The expected share of wrong labels with its limits, the same wherever it is said; None where it is not estimated."""
        return None if self.why_no_error else estimate_error(**self._errors)

    @property
    def known_at_random(self) -> bool:
        """Whether the items of known class were drawn at random for an expert, all of them."""
        return 0 < self.record.labels.report.drawn == self.totals.known

    @property
    def _errors(self) -> dict[str, Any]:
        """What the error is estimated from."""
        totals = self.totals
        sums = {"n_items": totals.items, "wrong": totals.wrong, "doubts": totals.doubts, "checked": self.record.checked}
        return {**sums, "at_random": self.known_at_random}

    def error_after(self, answers: int = NEXT_ANSWERS) -> Limit | None:
        """Return what the error may be expected to be known to after so many further answers of an expert; None without one.

        They are taken to be to items drawn at random, as ``crowdassay aggregate --expert`` draws them.
        """
        return None if self.error is None else foretell(**self._errors, more=answers)

    @property
    def told_next(self) -> str:
        """What further answers of an expert would buy, in a sentence; empty where nothing is known yet, or nothing is left."""
        now, then = self.error, self.error_after()
        if now is None or then is None or not self.totals.known or not then.unknown or _between(now) == _between(then):
            return ""
        more = counted(min(NEXT_ANSWERS, self.totals.items - self.totals.known), "more answer")
        return (
            f"The error is now {_between(now)}; {more} of an expert to items drawn at random would narrow it to about "
            f"{_between(then)}."
        )

    @property
    def told_error(self) -> str:
        """The estimated error in a sentence, as the terminal and the report say it; or why there is none."""
        error, n = self.error, self.totals.items
        if error is None:
            return self.why_no_error
        if not error.unknown:
            return "Every class is known, so that no label is wrong."
        number, low, high = (f"{share * n:,.0f}" for share in (error.error, error.low, error.high))
        between = f"; nine times in ten the number is between {low} and {high}" if low != high else ""
        about = f"About {number}" if number != "0" else "Fewer than 1"
        return f"{about} of {_of_items(n, number in {'0', '1'})} expected to be wrong{between}."

    @cached_property
    def _shared_out(self) -> tuple[list[Band], int]:
        if self.error is None or not self.error.unknown:
            return [], 0
        return make_bands(self.error, self.totals.doubts, believe(**self._errors))

    @property
    def bands(self) -> list[Band]:
        """Items by how sure their labels are, the surest first, with the error expected of each band; none without an estimate.

        Together they are expected to have as many errors as `error` says.
        """
        return self._shared_out[0]

    @property
    def likely_right(self) -> int | None:
        """How many labels are known, or more likely right than wrong even at the upper limit of the error; None without one."""
        return None if self.error is None else self.totals.known + self._shared_out[1]

    @property
    def told_bands(self) -> str:
        """Which labels are surer than which, in a sentence; empty where nothing can be said of that."""
        return told_bands(self.bands)

    @property
    def told_known(self) -> str:
        """How many labels are settled, and how many can be told from the toss of a coin, in a sentence each."""
        totals, likely = self.totals, self.likely_right
        sure, every = f"at least {100 * self.record.settled:g}% sure, or known", counted(totals.items, "label")
        text = f"{totals.settled:,} of {_of_items(totals.items, totals.settled == 1)} settled: {sure}."
        if likely == 0:
            text = f"None of {every} can be told from the toss of a coin yet, and none is settled: {sure}."
        elif likely is not None and likely != totals.items:
            coin = "can be told from the toss of a coin: even at worst "
            coin += "it is more likely right than wrong" if likely == 1 else "they are more likely right than wrong"
            none = f"{likely:,} of {every} {coin}. None is settled yet: {sure}."
            text = none if not totals.settled else text if likely == totals.settled else f"{text} {likely:,} {coin}."
        return text + (
            f" {counted(totals.tied, 'item is', 'items are')} tied: several classes are equally likely." if totals.tied else ""
        )

    @cached_property
    def why_no_error(self) -> str:
        """Why the error is not estimated, in a sentence or two; empty where it is.

        The law of errors is that of the default method, and of labels that can be compared.
        """
        record, totals = self.record, self.totals
        checked = record.checked is not None and bool(record.checked.any())
        each = totals.labels / totals.items
        if totals.known == totals.items:
            return ""
        if totals.classes_given < 2 and not checked:
            why = "all labels name the same class, so that none can be seen to be wrong. "
            why += "If there are others, name all (--classes)" if record.labels.n_classes == 1 else "Known items would show it"
        elif record.spread is None:
            why = f"the probabilities of '{record.method}' have not been checked against real crowds; the default gives one"
        elif not self.connection.identified.any():
            why = "nothing in these labels shows who is right, as no two workers can be compared"
        elif self.chance:
            why = "nothing in these labels shows who is right, as they agree no better than chance"
        elif each < FEWEST_LABELS_PER_ITEM and not checked:
            why = f"items have {each:.1f} labels on average, and it takes {FEWEST_LABELS_PER_ITEM:g} or more, or known items"
        else:
            return ""
        return f"No estimate of the error: {why}."

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What the user should know, a sentence or two each."""
        return tuple(write_notes(self))

    def confusion(self, workers: IntArray | slice = slice(None)) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return confusion tables of all workers or those chosen by code, their 95 % limits, and the expected counts."""
        counts = self.counts[workers]
        return *confusion_interval(counts, self.unsure[workers], spread_of(self.record)), counts

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
        return append_columns(table, confusion_columns(record.labels, "confusion", self.confusion()[0]) | sigma)

    def cell_table(self) -> pa.Table | None:
        """Tabulate worker, true, observed, confusion and sigma of the cells with labels; None where workers have columns.

        Cells with less than 0.05 of an expected label are left out.
        """
        record = self.record
        if record.labels.n_classes <= CLASSES_WITH_COLUMNS:
            return None
        cells = np.nonzero(self.counts >= EXPECTED_LABELS)
        sigma = {} if record.sigma is None else {"sigma": record.sigma[cells]}
        return CONFUSION.fill(**self._names(*cells), confusion=normalise(self.counts)[0][cells], **sigma)

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
        """Whether the labels agree no better than chance; labels that all say the same agree, and show nothing."""
        telling = self.connection.identified.any() and self.totals.classes_given > 1
        return bool(telling) and self.beyond_chance < CLEAR_DEVIATIONS


def _of_items(n_items: int, one: bool) -> str:
    """Return how many labels there are and a verb, for ``one`` of them or for another number."""
    return f"{counted(n_items, 'label')} {'is' if one or n_items == 1 else 'are'}"


def _between(limit: Limit) -> str:
    """Return the limits of an error in words: one digit more where both would be the same."""
    low, high = 100 * limit.low, 100 * limit.high
    digits = 0 if round(high) - round(low) > 1 else 1
    return f"{low:.{digits}f} to {high:.{digits}f} %"


def spread_of(record: Record) -> float:
    """Return how far all probabilities of a dataset may be off together: what was measured of the default, where nothing is."""
    return default_constants().spread if record.spread is None else record.spread


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
    connection, expectation = first.links.connection(), found.expectation
    mean_difficulty = float(1 - np.einsum("icc->", second.counts) / second.counts.sum())
    with ThreadPoolExecutor(1) as pool:  # comparing pairs of workers takes as long as all the rest
        copied = pool.submit(
            find_copies, second.sample, second.counts, expectation.tables, expectation.crowd, expectation.prior
        )
        if not place.in_memory:
            copied.result()  # first, so that the memory of both is never held at once
        measures = (connection, mean_difficulty, expectation, first.clock)
        third = place.reduce(partial(ThirdPass.of, predict, *measures, not place.in_memory))
        copies = copied.result()
    if not place.in_memory:
        items = {name: getattr(third.named, name) for name in ("posterior", "winners", "difficulty", "phi", "expand")}
        facts = place.facts
        labels = replace(third.named.labels, workers=facts.workers, classes=facts.classes, report=facts.report)
        record = replace(record, labels=labels, **items)
    n_labels, group = first.links.counts[:, 0], connection.worker
    estimable = (group >= 0) & connection.identified[group] & (found.votes.beyond_chance >= CLEAR_DEVIATIONS)
    right = np.einsum("icc->i", second.counts)
    share, low, high, effective = accuracy_interval(n_labels.astype(np.float64), right, second.right_unsure, spread_of(record))
    # Models draw few labels towards the population; where that contradicts the worker's own labels, these are believed.
    accuracy = np.where((low <= record.accuracy) & (record.accuracy <= high), record.accuracy, share)
    low, high = np.where(estimable, low, 0.0), np.where(estimable, high, 1.0)
    agreement = expectation.agreement(third.agreement)
    workers = vars(WorkerInsight(agreement, estimable, copies, expectation.crowd, accuracy, low, high))
    measured = MeasuredWorkers(
        **workers,
        behaviour=third.behaviour,
        clock=first.clock,
        shares=normalise(second.counts)[0],
        class_names=record.labels.class_names,
        worker_names=record.labels.workers.to_pylist(),
    )
    verdicts, actions, reasons = advise(measured)
    return Insight(
        **workers,
        record=record,
        connection=connection,
        mean_difficulty=mean_difficulty,
        n_labels=n_labels,
        beyond_chance=found.votes.beyond_chance,
        effective=effective,
        verdicts=verdicts,
        actions=actions,
        reasons=reasons,
        attention=attention(actions, n_labels),
        counts=second.counts,
        unsure=second.unsure,
        totals=third.totals,
        against=third.against,
        left=third.left,
        sample=second.sample,
        partial=not place.in_memory,
        seconds=first.clock.usual() if first.clock.took.size else None,
    )
