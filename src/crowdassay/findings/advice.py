"""What to do about each worker: keep, talk to, retrain or remove, and the reasons in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.kernels.columns import KNOWN, KNOWN_WRONG, LABELS, PAR_TYPICAL, SEEN
from crowdassay.findings.behaviour import Behaviour
from crowdassay.findings.clock import Clock
from crowdassay.findings.copies import Pair
from crowdassay.findings.suspicions import KINDS, Kind, Suspicions
from crowdassay.findings.verdicts import ADVERSARY, INFORMATIVE, SPAMMER, UNCLEAR, WEAK, Agreements

KEEP, TALK, RETRAIN, REMOVE, UNKNOWN = "keep", "talk to", "retrain", "remove", "cannot tell"
ACTIONS = {
    Kind.ONE_ANSWER: REMOVE,
    Kind.GUESSES: REMOVE,
    Kind.AGAINST: TALK,
    Kind.COPY: TALK,
    Kind.DRIFT: TALK,
    Kind.FAST: TALK,
    Kind.CONFUSES: RETRAIN,
    Kind.GOLD: RETRAIN,
    Kind.PAR: RETRAIN,
}
ORDER = (REMOVE, TALK, RETRAIN, KEEP, UNKNOWN)  # the most urgent first
NOTHING_LEFT = (Kind.AGAINST, Kind.ONE_ANSWER, Kind.GUESSES)  # explain these away:
EXPLAINED = (Kind.CONFUSES, Kind.GOLD, Kind.PAR)
SECONDS, LONG = (9.4e8, 4.2e9), 3 * 86400  # times that are seconds since 1970, and a span that needs no hours


@dataclass(frozen=True)
class Reason:
    """One thing held against a worker: its kind, the chance of it from a worker like others, and a predicate in words."""

    kind: Kind
    p: float
    words: str


@dataclass(frozen=True, eq=False)
class Advice:
    """For each worker a verdict, what to do, and why, the gravest reason first."""

    verdicts: list[str]
    actions: list[str]
    reasons: list[list[Reason]]


def plain_advice(verdicts: Sequence[str]) -> Advice:
    """Return advice where only the comparison with chance was made, as with too many workers for a table of each."""
    actions = {SPAMMER: REMOVE, ADVERSARY: TALK, WEAK: RETRAIN, INFORMATIVE: KEEP, UNCLEAR: KEEP}
    return Advice(list(verdicts), [actions.get(name, UNKNOWN) for name in verdicts], [[] for _ in verdicts])


def advise(
    suspicions: Suspicions,
    verdicts: Sequence[str],
    tally: Agreements,
    behaviour: Behaviour,
    clock: Clock,
    copies: Sequence[Pair],
    *,
    shares: FloatArray,
    crowd: FloatArray,
    limits: tuple[FloatArray, FloatArray, FloatArray],
    classes: Sequence[str],
    workers: Sequence[object],
) -> Advice:
    """Turn what was found into a verdict, a verb and sentences for every worker.

    ``verdicts`` are those against chance alone; where they accuse somebody and the tests of all kinds together do not, they
    become unclear. ``limits`` are accuracy and its interval, (n_workers,) each; the rest as in `suspicions.suspect`.
    """
    speak = _Speaker(suspicions, tally, behaviour, clock, copies, shares, crowd, limits, classes, workers)
    innocent = {SPAMMER: UNCLEAR, ADVERSARY: UNCLEAR, WEAK: UNCLEAR}
    names, actions, reasons = [], [], []
    for i, verdict in enumerate(verdicts):
        kinds = [kind for kind, held in zip(KINDS, suspicions.held[i], strict=True) if held]
        if any(kind in NOTHING_LEFT for kind in kinds):
            kinds = [kind for kind in kinds if kind not in EXPLAINED]
        if Kind.AGAINST in kinds:
            kinds = [kind for kind in kinds if kind is not Kind.GUESSES]  # less than by chance is not by chance
        given = [Reason(kind, float(suspicions.p[i, KINDS.index(kind)]), speak.say(kind, i)) for kind in kinds]
        plain = innocent.get(verdict, verdict)
        base = KEEP if plain in (INFORMATIVE, UNCLEAR) else UNKNOWN
        names.append(str(kinds[0]) if kinds else plain)
        actions.append(min((ACTIONS[kind] for kind in kinds), key=ORDER.index, default=base))
        reasons.append(given)
    return Advice(names, actions, reasons)


@dataclass(frozen=True, eq=False)
class _Speaker:
    """Says what was found, as predicates of a worker."""

    suspicions: Suspicions
    tally: Agreements
    behaviour: Behaviour
    clock: Clock
    copies: Sequence[Pair]
    shares: FloatArray
    crowd: FloatArray
    limits: tuple[FloatArray, FloatArray, FloatArray]
    classes: Sequence[str]
    workers: Sequence[object]

    def say(self, kind: Kind, i: int) -> str:
        """Return a predicate for one kind and worker."""
        ways = {
            Kind.AGAINST: self._contrary,
            Kind.GUESSES: self._guess,
            Kind.ONE_ANSWER: self._one_answer,
            Kind.COPY: self._copy,
            Kind.DRIFT: self._drift,
            Kind.CONFUSES: self._confuse,
            Kind.GOLD: self._gold,
            Kind.PAR: self._par,
            Kind.FAST: self._fast,
        }
        return ways[kind](i)

    def _contrary(self, i: int) -> str:
        return f"contradicts the others: {self._agreement(i)}. Perhaps two classes are mixed up"

    def _guess(self, i: int) -> str:
        return f"answers as if by chance: {self._agreement(i)}"

    def _one_answer(self, i: int) -> str:
        answer = int(self.suspicions.answer[i])
        share = self.behaviour.answers[i, answer, SEEN] / max(self.behaviour.sums[i, LABELS], 1)
        return f"says {self.classes[answer]} to {'everything' if share > 0.999 else f'{share:.0%} of the items'}"

    def _confuse(self, i: int) -> str:
        c, k = self.suspicions.cell[i]
        return (
            f"says {self.classes[k]} to {self.shares[i, c, k]:.0%} of what is {self.classes[c]} "
            f"(a typical worker: {self.crowd[c, k]:.0%})"
        )

    def _gold(self, i: int) -> str:
        known, wrong = self.behaviour.sums[i, KNOWN], self.behaviour.sums[i, KNOWN_WRONG]
        return f"is wrong on {wrong:.0f} of {known:.0f} items whose class is known"

    def _par(self, i: int) -> str:
        accuracy, low, high = (float(limit[i]) for limit in self.limits)
        typical = self.behaviour.sums[i, PAR_TYPICAL] / max(self.behaviour.sums[i, LABELS], 1)
        return (
            f"is right {accuracy:.0%} of the time ({low:.0%} to {high:.0%}); a typical worker would be right {typical:.0%} "
            "of the time on the same items"
        )

    def _fast(self, i: int) -> str:
        own, usual = self.suspicions.seconds[i], self.suspicions.usual
        return f"takes {shown_seconds(own)} for a label where most take {shown_seconds(usual)}"

    def _agreement(self, i: int) -> str:
        t = self.tally
        return (
            f"agrees with the others on {t.agreed[i]:.0f} of {t.compared[i]:.0f} items; chance gives {t.chance[i]:.0f}, "
            f"a typical worker {t.typical[i]:.0f}"
        )

    def _copy(self, i: int) -> str:
        pair = next(pair for pair in self.copies if i in (pair.worker, pair.other))
        other = self.workers[pair.other if pair.worker == i else pair.worker]
        return (
            f"gives the same answer as {other} on {pair.agreed:,} of {pair.items:,} items; {pair.expected:,.0f} were expected"
        )

    def _drift(self, i: int) -> str:
        drift, clock = self.suspicions.drift, self.clock
        first, last = float(clock.first[i]), float(clock.last[i])
        when = first + (last - first) * int(drift.split[i]) / clock.n_bins
        return f"was right {drift.before[i]:.0%} of the time until {shown_time(when, last - first)}, then {drift.after[i]:.0%}"


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


def attention(advice: Advice, n_labels: IntArray) -> list[int]:
    """Return the workers that need attention, the most urgent first and, among them, those with most labels."""
    rank = np.array([ORDER.index(action) for action in advice.actions])
    flagged = np.flatnonzero(rank < ORDER.index(KEEP))
    return [int(i) for i in flagged[np.lexsort((flagged, -n_labels[flagged], rank[flagged]))]]
