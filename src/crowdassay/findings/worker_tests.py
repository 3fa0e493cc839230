"""Everything that may be held against a worker, each with its test: a p-value, and whether the fault is large enough to matter.

`discover` says which of the tests hold, with false discoveries controlled over all of them; `crowdassay.findings.verdicts`
decides what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.copies import Pair
from crowdassay.findings.drift import Clock, Drift, find_drift
from crowdassay.findings.others import (
    AT_PAR,
    KNOWN_LABELS,
    KNOWN_PAR,
    KNOWN_VARIANCE,
    KNOWN_WRONG,
    LABELS,
    PAR_TYPICAL,
    PAR_VARIANCE,
    SEEN,
    WRONG,
)
from crowdassay.findings.tails import FALSE_DISCOVERIES, sign_tail, upper_tail
from crowdassay.findings.workers import Behaviour, WorkerAgreement
from crowdassay.special import ndtr
from crowdassay.statistics import discoveries

ANSWERS_TO_JUDGE = 5  # answers from which on something is said of a worker, or of a class that a worker reads as another
FALSE_VERDICTS = 0.05  # of false discoveries in each test, where workers are compared with chance alone
SHARE_OF_ONE_ANSWER = 0.9  # of a worker's labels must be the same to be called one answer to everything,
ABOVE_TYPICAL_ANSWER = 0.15  # and so much more than a typical worker would give it
SHARE_CONFUSED, ABOVE_TYPICAL_CONFUSED = 0.25, 0.2  # share of a class read as another, and how much above a typical worker's
LEAST_FALL = 0.1  # of accuracy that a change must cost
HURRY = 1 / 3  # of the usual time, below which a label is given too fast
FEWEST_TIMED = 5  # workers whose times are known before anybody can be called fast
ALONE_ENOUGH = 0.05  # p below which somebody found out is said to guess, or to contradict
MAY_BE_CHANCE = 1.645  # standard deviations above chance below which agreement shows nothing


class Fault(StrEnum):
    """What can be said against a worker, the gravest first."""

    AGAINST = "adversary"
    ONE_ANSWER = "one answer"
    GUESSES = "spammer"
    COPY = "copy"
    DRIFT = "drifting"
    CONFUSES = "biased"
    GOLD = "fails gold"
    PAR = "below par"
    FAST = "too fast"
    WEAK = "weak"


FAULTS = tuple(Fault)
BAD_IN_GENERAL = (Fault.CONFUSES, Fault.GOLD, Fault.PAR)  # of whom it is asked whether they guess or contradict


@dataclass(frozen=True, eq=False)
class MeasuredWorkers:
    """All that is measured of the workers, from sums over all labels.

    Attributes
    ----------
    agreement : WorkerAgreement
    estimable : ndarray of bool, shape (n_workers,)
        Workers whose quality can be estimated.
    behaviour : Behaviour or None
        None where workers are too many for a table of each.
    clock : Clock
    copies : list of Pair, int
        Pairs that look like copies, and the number of pairs compared.
    shares : ndarray of shape (n_workers, n_classes, n_classes)
        Each worker's confusion table.
    crowd : ndarray of shape (n_classes, n_classes)
        A typical worker's.
    accuracy, low, high : ndarray of shape (n_workers,)
        Accuracy and its limits.
    classes, workers : sequence
        Their names.
    """

    agreement: WorkerAgreement
    estimable: BoolArray
    behaviour: Behaviour | None
    clock: Clock
    copies: tuple[list[Pair], int]
    shares: FloatArray
    crowd: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    classes: Sequence[str]
    workers: Sequence[object]

    @cached_property
    def judged(self) -> BoolArray:
        """Workers of whom anything can be said."""
        return self.estimable & (self.agreement.compared >= ANSWERS_TO_JUDGE)

    @property
    def does(self) -> Behaviour:
        """The behaviour, where it is known."""
        assert self.behaviour is not None
        return self.behaviour

    @cached_property
    def labels(self) -> FloatArray:
        """Labels of each worker that count, at least 1."""
        return np.asarray(np.maximum(self.does.sums[:, LABELS], 1))

    @cached_property
    def main_answer(self) -> IntArray:
        """The most frequent answer of each worker."""
        return np.asarray(self.does.answers[..., SEEN].argmax(axis=1))

    @cached_property
    def drift(self) -> Drift:
        """The likeliest change for the worse of each worker."""
        return find_drift(self.does.paces)

    @cached_property
    def seconds(self) -> FloatArray:
        """Median time of each worker for a label, NaN where unknown."""
        return self.clock.usual()

    @cached_property
    def timed(self) -> BoolArray:
        """Workers with enough labels whose duration is known."""
        took = self.clock.took
        return took.sum(axis=1) >= ANSWERS_TO_JUDGE if took.size else np.zeros(len(took), bool)

    @cached_property
    def usual_seconds(self) -> float:
        """The median of the workers' times, NaN where too few are known."""
        return float(np.median(self.seconds[self.timed])) if self.timed.sum() >= FEWEST_TIMED else np.nan

    @cached_property
    def confusion_test(self) -> tuple[FaultTest, IntArray]:
        """The clearest class that each worker reads as another, corrected for all cells, and which (n_workers, 2)."""
        shares, cells = self.shares, self.does.cells
        n_workers, n_classes = shares.shape[:2]
        mass = cells[..., SEEN].sum(axis=2)
        tested = (mass >= ANSWERS_TO_JUDGE)[:, :, None] & ~np.eye(n_classes, dtype=bool)
        seen, expected, variance = np.moveaxis(cells, -1, 0)
        p = np.where(tested, upper_tail(seen, expected, variance, expected / np.maximum(mass, 1e-9)[:, :, None]), 1.0)
        much = tested & (shares >= SHARE_CONFUSED) & (shares - self.crowd >= ABOVE_TYPICAL_CONFUSED)
        best = np.where(much, p, 2.0).reshape(n_workers, -1).argmin(axis=1)
        corrected = np.minimum(p.reshape(n_workers, -1)[np.arange(n_workers), best] * tested.sum(axis=(1, 2)), 1.0)
        cell = np.column_stack(np.unravel_index(best, (n_classes, n_classes)))
        return FaultTest(corrected, self.judged & tested.any(axis=(1, 2)), much.any(axis=(1, 2))), cell


@dataclass(frozen=True, eq=False)
class FaultTest:
    """The test of all workers for one fault; shape (n_workers,) each.

    Attributes
    ----------
    p : ndarray
        Chance of as clear a sign from a worker against whom nothing is to be said.
    made : ndarray of bool
        Whether the worker could be tested.
    grave : ndarray of bool or None
        Whether the fault is large enough to matter; None where any is.
    """

    p: FloatArray
    made: BoolArray
    grave: BoolArray | None = None


def _contradicts(m: MeasuredWorkers) -> FaultTest:
    """Less agreement than by chance."""
    return FaultTest(ndtr(m.agreement.above_chance), m.judged & (m.agreement.chance_variance > 1e-9))


def _guesses(m: MeasuredWorkers) -> FaultTest:
    """Less agreement than halfway between chance and typical, and not clearly more than by chance."""
    a = m.agreement
    return FaultTest(ndtr(a.above_halfway), m.judged & (a.halfway_variance > 1e-9), a.above_chance < MAY_BE_CHANCE)


def _weak(m: MeasuredWorkers) -> FaultTest:
    """Less agreement than halfway between chance and typical."""
    return FaultTest(ndtr(m.agreement.above_halfway), m.judged & (m.agreement.halfway_variance > 1e-9))


def _one_answer(m: MeasuredWorkers) -> FaultTest:
    """One answer to nearly everything, which a typical worker would give less often."""
    seen, expected, variance = m.does.answers[np.arange(len(m.labels)), m.main_answer].T
    mostly = (seen / m.labels >= SHARE_OF_ONE_ANSWER) & ((seen - expected) / m.labels >= ABOVE_TYPICAL_ANSWER)
    p = len(m.classes) * upper_tail(seen, expected, variance, expected / m.labels)
    return FaultTest(np.minimum(p, 1.0), m.judged, mostly)


def _copies(m: MeasuredWorkers) -> FaultTest:
    """More of the same answers as another worker than both tables explain, corrected for all pairs."""
    pairs, n_pairs = m.copies
    p = np.ones(len(m.judged))
    for pair in pairs:
        here = min(1.0, n_pairs * float(ndtr(-pair.excess)))
        for worker in (pair.worker, pair.other):
            p[worker] = min(p[worker], here)
    return FaultTest(p, m.judged & (n_pairs > 0))


def _drifts(m: MeasuredWorkers) -> FaultTest:
    """A change for the worse."""
    return FaultTest(m.drift.p, m.judged & (m.drift.p < 1.0), m.drift.before - m.drift.after >= LEAST_FALL)


def _confuses(m: MeasuredWorkers) -> FaultTest:
    """A class read as another."""
    return m.confusion_test[0]


def _fails_gold(m: MeasuredWorkers) -> FaultTest:
    """More errors on items of known class than at par."""
    known, wrong, mean, variance = (m.does.sums[:, column] for column in (KNOWN_LABELS, KNOWN_WRONG, KNOWN_PAR, KNOWN_VARIANCE))
    return FaultTest(upper_tail(wrong, mean, variance, mean / np.maximum(known, 1)), known >= ANSWERS_TO_JUDGE)


def _below_par(m: MeasuredWorkers) -> FaultTest:
    """More errors than at par, and an accuracy that is surely below a typical worker's."""
    wrong, mean, variance, typical = (m.does.sums[:, column] for column in (WRONG, AT_PAR, PAR_VARIANCE, PAR_TYPICAL))
    return FaultTest(upper_tail(wrong, mean, variance, mean / m.labels), m.judged, m.high < typical / m.labels)


def _too_fast(m: MeasuredWorkers) -> FaultTest:
    """Most labels in less than a third of the usual time."""
    return FaultTest(sign_tail(*m.clock.under(HURRY * m.usual_seconds)), m.timed & np.isfinite(m.usual_seconds))


FAULT_TESTS: dict[Fault, Callable[[MeasuredWorkers], FaultTest]] = {
    Fault.AGAINST: _contradicts,
    Fault.ONE_ANSWER: _one_answer,
    Fault.GUESSES: _guesses,
    Fault.COPY: _copies,
    Fault.DRIFT: _drifts,
    Fault.CONFUSES: _confuses,
    Fault.GOLD: _fails_gold,
    Fault.PAR: _below_par,
    Fault.FAST: _too_fast,
}


def discover(m: MeasuredWorkers) -> tuple[FloatArray, BoolArray]:
    """Return the p-values and which faults are found, (n_workers, n_faults) each, columns as in `FAULTS`.

    At most 10 in 100 of what is found is expected to be wrong. Where workers are too many for a table of each, they are
    compared with chance alone, each test with a false discovery rate of 5 %.
    """
    if m.behaviour is None:
        chance = {Fault.AGAINST: _contradicts, Fault.GUESSES: _guesses, Fault.WEAK: _weak}
        p, made, grave = _run_tests(m, chance)
        columns = [discoveries(*test, FALSE_VERDICTS) for test in zip(p.T, made.T, strict=True)]
        return p, np.column_stack(columns) & grave
    p, made, grave = _run_tests(m, FAULT_TESTS)
    found = discoveries(p, made, FALSE_DISCOVERIES) & grave
    # Of those who were found out, whatever by, one test is enough to say that they guess or contradict.
    bad = found[:, [FAULTS.index(fault) for fault in BAD_IN_GENERAL]].any(axis=1)
    for fault in (Fault.AGAINST, Fault.GUESSES):
        column = FAULTS.index(fault)
        found[:, column] |= bad & grave[:, column] & (p[:, column] <= ALONE_ENOUGH)
    return p, found


def _run_tests(
    m: MeasuredWorkers, tests: Mapping[Fault, Callable[[MeasuredWorkers], FaultTest]]
) -> tuple[FloatArray, BoolArray, BoolArray]:
    """Return p, whether a test was made, and whether the fault is grave, (n_workers, n_faults) each."""
    shape = len(m.judged), len(FAULTS)
    p, made, grave = np.ones(shape), np.zeros(shape, bool), np.zeros(shape, bool)
    for fault, run in tests.items():
        test, column = run(m), FAULTS.index(fault)
        p[:, column], made[:, column] = np.where(test.made, test.p, 1.0), test.made
        grave[:, column] = True if test.grave is None else test.grave
    return p, made, grave


def clearly_informative(m: MeasuredWorkers) -> BoolArray:
    """Mark the workers who agree more than by chance, and not less than halfway; false discovery rates of 5 %, (n_workers,)."""
    room, weak = m.judged & (m.agreement.chance_variance > 1e-9), _weak(m)
    better = discoveries(ndtr(-m.agreement.above_chance), room, FALSE_VERDICTS)
    return better & ~discoveries(weak.p, weak.made, FALSE_VERDICTS)
