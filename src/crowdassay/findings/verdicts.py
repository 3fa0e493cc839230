"""Everything that may be held against a worker, each with its test, its words and what to do about it; and the verdicts.

`discover` says which of the tests hold, with false discoveries controlled over all of them; `decide` turns what was found into
keep, talk to, retrain or remove.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.drift import Clock, find_drift
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
from crowdassay.findings.workers import Behaviour, WorkerAgreement, WorkerInsight
from crowdassay.labels.values import counted
from crowdassay.special import ndtr
from crowdassay.statistics import discoveries, sign_tail, upper_tail

ANSWERS_TO_JUDGE = 5  # answers from which on something is said of a worker, or of a class that a worker reads as another
FALSE_DISCOVERIES = 0.1  # of false discoveries among everything that is said against workers
FALSE_VERDICTS = 0.05  # of false discoveries in each test, where workers are compared with chance alone
SHARE_OF_ONE_ANSWER = 0.9  # of a worker's labels must be the same to be called one answer to everything,
ABOVE_TYPICAL_ANSWER = 0.15  # and so much more than a typical worker would give it
SHARE_CONFUSED, ABOVE_TYPICAL_CONFUSED = 0.25, 0.2  # share of a class read as another, and how much above a typical worker's
LEAST_FALL = 0.1  # of accuracy that a change must cost
HURRY = 1 / 3  # of the usual time, below which a label is given too fast
FEWEST_TIMED = 5  # workers whose times are known before anybody can be called fast
ALONE_ENOUGH = 0.05  # p up to which somebody found out is said to guess, and one answer to be wrong too often
MAY_BE_CHANCE = 1.645  # standard deviations above chance below which agreement shows nothing
BELOW_CHANCE = 2.576, 0.1  # standard deviations below chance, and of the way from typical to chance, that contradiction takes
SECONDS, LONG = (9.4e8, 4.2e9), 3 * 86400  # times that are seconds since 1970, and a span that needs no hours
KEEP, TALK, RETRAIN, REMOVE, UNKNOWN = "keep", "talk to", "retrain", "remove", "cannot tell"
ACTION_ORDER = (REMOVE, TALK, RETRAIN, KEEP, UNKNOWN)  # the most urgent first
INFORMATIVE, UNCLEAR, TOO_FEW, NOT_ESTIMABLE = "informative", "unclear", "too few labels", "not estimable"


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
CHANCE_TESTS = (Fault.AGAINST, Fault.GUESSES, Fault.WEAK)  # those made where workers are compared with chance alone
NOTHING_LEFT = (Fault.AGAINST, Fault.ONE_ANSWER, Fault.GUESSES)  # explain these away:
EXPLAINED = (Fault.CONFUSES, Fault.GOLD, Fault.PAR, Fault.WEAK)


@dataclass(frozen=True, eq=False)
class MeasuredWorkers(WorkerInsight):
    """All that is measured of the workers, from sums over all labels.

    Attributes
    ----------
    behaviour : Behaviour or None
        None where workers are too many for a table of each.
    clock : Clock
    shares : ndarray of shape (n_workers, n_classes, n_classes)
        Each worker's confusion table.
    class_names, worker_names : sequence
    """

    behaviour: Behaviour | None
    clock: Clock
    shares: FloatArray
    class_names: Sequence[str]
    worker_names: Sequence[object]

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


@dataclass(frozen=True, eq=False)
class FaultTest:
    """The test of all workers for one fault; shape (n_workers,) each.

    Attributes
    ----------
    p : ndarray
        Chance of as clear a sign from a worker against whom nothing is to be said.
    made : ndarray of bool
        Whether the worker could be tested.
    says : callable
        Returns a predicate of a worker, given by number, who has the fault.
    grave : ndarray of bool or None
        Whether the fault is large enough to matter; None where any is.
    """

    p: FloatArray
    made: BoolArray
    says: Callable[[int], str]
    grave: BoolArray | None = None


def told_agreement(a: WorkerAgreement, i: int) -> str:
    """Return how far a worker agrees with the others, beside chance and a typical worker, in words."""
    return (
        f"agrees with the others on {a.agreed[i]:,.0f} of {counted(round(a.compared[i]), 'item')}; chance gives "
        f"{a.chance[i]:,.0f}, a typical worker {a.typical[i]:,.0f}"
    )


def _contradicts(m: MeasuredWorkers) -> FaultTest:
    """Clearly less agreement than by chance."""

    def says(i: int) -> str:
        return f"contradicts the others: {told_agreement(m.agreement, i)}. Perhaps two classes are mixed up"

    a, (deviations, share) = m.agreement, BELOW_CHANCE
    grave = (a.above_chance < -deviations) & (a.chance - a.agreed > share * np.abs(a.typical - a.chance))
    return FaultTest(ndtr(a.above_chance), m.judged & (a.chance_variance > 1e-9), says, grave)


def _guesses(m: MeasuredWorkers) -> FaultTest:
    """Less agreement than halfway between chance and typical, and not clearly more than by chance."""
    return replace(_weak(m), grave=m.agreement.above_chance < MAY_BE_CHANCE)


def _weak(m: MeasuredWorkers) -> FaultTest:
    """Less agreement than halfway between chance and typical."""

    def says(i: int) -> str:
        return f"answers as if by chance: {told_agreement(a, i)}"

    a = m.agreement
    above = (a.agreed - (a.chance + a.typical) / 2) / np.sqrt(np.maximum(a.halfway_variance, 1e-12))  # in deviations
    return FaultTest(ndtr(above), m.judged & (a.halfway_variance > 1e-9), says)


def _one_answer(m: MeasuredWorkers) -> FaultTest:
    """One answer to nearly everything, which a typical worker would give less often, with more errors than at par."""
    answer = m.does.answers[..., SEEN].argmax(axis=1)
    seen, expected, variance = m.does.answers[np.arange(len(answer)), answer].T
    share = seen / m.labels
    mostly = (share >= SHARE_OF_ONE_ANSWER) & ((seen - expected) / m.labels >= ABOVE_TYPICAL_ANSWER)
    p = len(m.class_names) * upper_tail(seen, expected, variance, expected / m.labels)

    def says(i: int) -> str:
        return f"says {m.class_names[answer[i]]} to {'everything' if share[i] > 0.999 else f'{share[i]:.0%} of the items'}"

    # Where nearly all items are of one class, or the crowd is split, those who say one thing may be as right as others.
    return FaultTest(np.minimum(p, 1.0), m.judged, says, mostly & (_below_par(m).p <= ALONE_ENOUGH))


def _copies(m: MeasuredWorkers) -> FaultTest:
    """The same answers as another worker where both leave the others, corrected for all the pairs a worker is in.

    Nothing is said against two who may just be right.
    """
    pairs, n_pairs = [pair for pair in m.copies[0] if not pair.may_be_right], m.copies[1]
    p = np.ones(len(m.judged))
    for pair in pairs:
        for worker in (pair.worker, pair.other):
            p[worker] = min(p[worker], pair.p * min(n_pairs, len(p) - 1))

    def says(i: int) -> str:
        pair = next(pair for pair in pairs if i in (pair.worker, pair.other))
        other, left, expected = pair.seen_from(i)
        return (
            f"left the others {counted(left, 'time')}; {m.worker_names[other]} gave the same answer {pair.agreed:,} of these "
            f"times, {counted(expected, 'was', 'were')} to be expected"
        )

    return FaultTest(p, m.judged & (n_pairs > 0), says)


def _drifts(m: MeasuredWorkers) -> FaultTest:
    """A change for the worse at some point in time."""
    drift, clock = find_drift(m.does.paces), m.clock

    def says(i: int) -> str:
        first, last = float(clock.first[i]), float(clock.last[i])
        when = shown_time(first + (last - first) * int(drift.split[i]) / clock.n_bins, last - first)
        return f"was right {drift.before[i]:.0%} of the time until {when}, then {drift.after[i]:.0%}"

    return FaultTest(drift.p, m.judged & (drift.p < 1.0), says, drift.before - drift.after >= LEAST_FALL)


def _confuses(m: MeasuredWorkers) -> FaultTest:
    """The clearest class that each worker reads as another, corrected for all cells."""
    shares, cells = m.shares, m.does.cells
    n_workers, n_classes = shares.shape[:2]
    mass = cells[..., SEEN].sum(axis=2)
    tested = (mass >= ANSWERS_TO_JUDGE)[:, :, None] & ~np.eye(n_classes, dtype=bool)
    seen, expected, variance = np.moveaxis(cells, -1, 0)
    p = np.where(tested, upper_tail(seen, expected, variance, expected / np.maximum(mass, 1e-9)[:, :, None]), 1.0)
    much = tested & (shares >= SHARE_CONFUSED) & (shares - m.crowd >= ABOVE_TYPICAL_CONFUSED)
    best = np.where(much, p, 2.0).reshape(n_workers, -1).argmin(axis=1)
    corrected = np.minimum(p.reshape(n_workers, -1)[np.arange(n_workers), best] * tested.sum(axis=(1, 2)), 1.0)

    def says(i: int) -> str:
        c, k = divmod(int(best[i]), n_classes)
        said = f"says {m.class_names[k]} to {shares[i, c, k]:.0%} of what is {m.class_names[c]}"
        return f"{said} (a typical worker: {m.crowd[c, k]:.0%})"

    return FaultTest(corrected, m.judged & tested.any(axis=(1, 2)), says, much.any(axis=(1, 2)))


def _fails_gold(m: MeasuredWorkers) -> FaultTest:
    """More errors on items of known class than at par, and no fewer on the others."""
    known, wrong, mean, variance = m.does.sums[:, [KNOWN_LABELS, KNOWN_WRONG, KNOWN_PAR, KNOWN_VARIANCE]].T
    elsewhere = m.does.sums[:, WRONG] - wrong - (m.does.sums[:, AT_PAR] - mean)
    p = upper_tail(wrong, mean, variance, mean / np.maximum(known, 1))

    def says(i: int) -> str:
        return f"is wrong on {wrong[i]:.0f} of {known[i]:.0f} items whose class is known"

    return FaultTest(p, known >= ANSWERS_TO_JUDGE, says, elsewhere > -1e-9)


def _below_par(m: MeasuredWorkers) -> FaultTest:
    """More errors than at par, and an accuracy that is surely below a typical worker's."""
    wrong, mean, variance, right = m.does.sums[:, [WRONG, AT_PAR, PAR_VARIANCE, PAR_TYPICAL]].T
    typical = right / m.labels

    def says(i: int) -> str:
        return (
            f"is right {m.accuracy[i]:.0%} of the time ({m.low[i]:.0%} to {m.high[i]:.0%}); a typical worker would be right "
            f"{typical[i]:.0%} of the time on the same items"
        )

    return FaultTest(upper_tail(wrong, mean, variance, mean / m.labels), m.judged, says, m.high < typical)


def _too_fast(m: MeasuredWorkers) -> FaultTest:
    """Most labels in less than a third of the usual time, the median of the workers' own."""
    seconds, timed = m.clock.usual(), m.clock.took.sum(axis=1) >= ANSWERS_TO_JUDGE
    usual = float(np.median(seconds[timed])) if timed.sum() >= FEWEST_TIMED else np.nan

    def says(i: int) -> str:
        return f"takes {shown_seconds(seconds[i])} for a label where most take {shown_seconds(usual)}"

    return FaultTest(sign_tail(*m.clock.under(HURRY * usual)), timed & np.isfinite(usual), says)


FAULT_TESTS: dict[Fault, tuple[Callable[[MeasuredWorkers], FaultTest], str]] = {  # and what to do about it
    Fault.AGAINST: (_contradicts, TALK),
    Fault.ONE_ANSWER: (_one_answer, REMOVE),
    Fault.GUESSES: (_guesses, REMOVE),
    Fault.COPY: (_copies, TALK),
    Fault.DRIFT: (_drifts, TALK),
    Fault.CONFUSES: (_confuses, RETRAIN),
    Fault.GOLD: (_fails_gold, RETRAIN),
    Fault.PAR: (_below_par, RETRAIN),
    Fault.FAST: (_too_fast, TALK),
    Fault.WEAK: (_weak, RETRAIN),
}


def discover(m: MeasuredWorkers) -> tuple[dict[Fault, FaultTest], BoolArray]:
    """Return the tests that were made, and which faults are found, (n_workers, n_faults), columns as in `FAULTS`.

    At most 10 in 100 of what is found is expected to be wrong. Where workers are too many for a table of each, they are
    compared with chance alone, each test with a false discovery rate of 5 %.
    """
    alone = m.behaviour is None
    tests = {fault: FAULT_TESTS[fault][0](m) for fault in FAULTS if (fault in CHANCE_TESTS if alone else fault != Fault.WEAK)}
    shape = len(m.judged), len(FAULTS)
    p, made, grave = np.ones(shape), np.zeros(shape, bool), np.zeros(shape, bool)
    for fault, test in tests.items():
        column = FAULTS.index(fault)
        p[:, column], made[:, column] = np.where(test.made, test.p, 1.0), test.made
        grave[:, column] = True if test.grave is None else test.grave
    if alone:
        columns = [discoveries(*test, FALSE_VERDICTS) for test in zip(p.T, made.T, strict=True)]
        return tests, np.column_stack(columns) & grave
    found = discoveries(p, made, FALSE_DISCOVERIES) & grave
    # Of those who were found out, whatever by, one test is enough to say that they guess.
    bad = found[:, [FAULTS.index(fault) for fault in BAD_IN_GENERAL]].any(axis=1)
    guesses = FAULTS.index(Fault.GUESSES)
    found[:, guesses] |= bad & grave[:, guesses] & (p[:, guesses] <= ALONE_ENOUGH)
    return tests, found


@dataclass(frozen=True)
class Reason:
    """One thing held against a worker: the fault, the chance of it from a worker like others, and a predicate in words."""

    kind: Fault
    p: float
    words: str


def decide(faults: Sequence[Fault], innocent: str) -> tuple[str, str, list[Fault]]:
    """Return the verdict on a worker, what to do, and the faults that are held against the worker.

    Parameters
    ----------
    faults : sequence of Fault
        All that were found, the gravest first.
    innocent : str
        The verdict if there are none: informative, unclear, too few labels or not estimable.

    Examples
    --------
    >>> decide([Fault.GUESSES, Fault.PAR], "unclear")
    ('spammer', 'remove', [<Fault.GUESSES: 'spammer'>])
    >>> decide([], "informative"), decide([], "not estimable")
    (('informative', 'keep', []), ('not estimable', 'cannot tell', []))
    """
    held = list(faults)
    if any(fault in NOTHING_LEFT for fault in held):
        held = [fault for fault in held if fault not in EXPLAINED]
    if Fault.AGAINST in held:
        held = [fault for fault in held if fault is not Fault.GUESSES]  # less than by chance is not by chance
    if not held:
        return innocent, KEEP if innocent in (INFORMATIVE, UNCLEAR) else UNKNOWN, []
    return str(held[0]), min((FAULT_TESTS[fault][1] for fault in held), key=ACTION_ORDER.index), held


def advise(m: MeasuredWorkers) -> tuple[list[str], list[str], list[list[Reason]]]:
    """Test every worker for every fault; return verdicts, what to do, and why, the gravest reason first.

    Without faults a worker is informative, agreeing more than by chance, or else unclear; some cannot be judged at all. Where
    workers are too many for a table of each, only the agreement speaks, and no reasons are given.
    """
    tests, found = discover(m)
    room, weak = m.judged & (m.agreement.chance_variance > 1e-9), tests[Fault.GUESSES]
    better = discoveries(ndtr(-m.agreement.above_chance), room, FALSE_VERDICTS)
    informative = better & ~discoveries(weak.p, weak.made, FALSE_VERDICTS)
    innocent = np.where(informative, INFORMATIVE, UNCLEAR).astype(object)
    innocent[~m.judged] = TOO_FEW
    innocent[~m.estimable] = NOT_ESTIMABLE
    verdicts, actions, reasons = [], [], []
    for i, otherwise in enumerate(innocent):
        faults = [fault for fault, one in zip(FAULTS, found[i], strict=True) if one]
        verdict, action, held = decide(faults, otherwise)
        verdicts.append(verdict)
        actions.append(action)
        words = [] if m.behaviour is None else held
        reasons.append([Reason(fault, float(tests[fault].p[i]), tests[fault].says(i)) for fault in words])
    return verdicts, actions, reasons


def attention(actions: Sequence[str], n_labels: IntArray) -> list[int]:
    """Return the workers that need attention, the most urgent first and, among them, those with most labels."""
    rank = np.array([ACTION_ORDER.index(action) for action in actions])
    flagged = np.flatnonzero(rank < ACTION_ORDER.index(KEEP))
    return [int(i) for i in flagged[np.lexsort((flagged, -n_labels[flagged], rank[flagged]))]]


def shown_seconds(seconds: float) -> str:
    """Return a duration for people.

    >>> [shown_seconds(value) for value in (0.8, 4.76, 40.0, 200.0, 8000.0)]
    ['0.8 s', '5 s', '40 s', '3 min', '2.2 h']
    """
    if seconds < 3:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def shown_time(value: float, span: float) -> str:
    """Return a time as a date where it is one, in seconds, milliseconds, microseconds or nanoseconds since 1970.

    >>> shown_time(1714730400.0, 30 * 86400.0), shown_time(1714730400e6, 3600e6), shown_time(37.0, 100.0)
    ('3 May 2024', '3 May 2024, 10:00', '37')
    """
    for scale in (1.0, 1e3, 1e6, 1e9):
        if SECONDS[0] <= value / scale <= SECONDS[1]:
            when = datetime.fromtimestamp(value / scale, UTC)
            date = f"{when.day} {when:%B %Y}"
            return date if span / scale > LONG else f"{date}, {when:%H:%M}"
    return f"{value:g}"
