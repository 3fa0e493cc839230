"""The reasons for a verdict in words: one predicate of a worker for each fault."""

from __future__ import annotations

from datetime import UTC, datetime

from crowdassay.findings.others import KNOWN_LABELS, KNOWN_WRONG, PAR_TYPICAL, SEEN
from crowdassay.findings.worker_tests import Fault, MeasuredWorkers

SECONDS, LONG = (9.4e8, 4.2e9), 3 * 86400  # times that are seconds since 1970, and a span that needs no hours


def say(fault: Fault, m: MeasuredWorkers, i: int) -> str:
    """Return a predicate of worker i for one fault."""
    return PREDICATES[fault](m, i)


def _agreement(m: MeasuredWorkers, i: int) -> str:
    a = m.agreement
    return (
        f"agrees with the others on {a.agreed[i]:.0f} of {a.compared[i]:.0f} items; chance gives {a.chance[i]:.0f}, "
        f"a typical worker {a.typical[i]:.0f}"
    )


def _contradicts(m: MeasuredWorkers, i: int) -> str:
    return f"contradicts the others: {_agreement(m, i)}. Perhaps two classes are mixed up"


def _guesses(m: MeasuredWorkers, i: int) -> str:
    return f"answers as if by chance: {_agreement(m, i)}"


def _one_answer(m: MeasuredWorkers, i: int) -> str:
    answer = int(m.main_answer[i])
    share = m.does.answers[i, answer, SEEN] / m.labels[i]
    return f"says {m.classes[answer]} to {'everything' if share > 0.999 else f'{share:.0%} of the items'}"


def _copies(m: MeasuredWorkers, i: int) -> str:
    pair = next(pair for pair in m.copies[0] if i in (pair.worker, pair.other))
    other = m.workers[pair.other if pair.worker == i else pair.worker]
    return f"gives the same answer as {other} on {pair.agreed:,} of {pair.items:,} items; {pair.expected:,.0f} were expected"


def _drifts(m: MeasuredWorkers, i: int) -> str:
    drift, clock = m.drift, m.clock
    first, last = float(clock.first[i]), float(clock.last[i])
    when = first + (last - first) * int(drift.split[i]) / clock.n_bins
    return f"was right {drift.before[i]:.0%} of the time until {shown_time(when, last - first)}, then {drift.after[i]:.0%}"


def _confuses(m: MeasuredWorkers, i: int) -> str:
    c, k = m.confusion_test[1][i]
    return f"says {m.classes[k]} to {m.shares[i, c, k]:.0%} of what is {m.classes[c]} (a typical worker: {m.crowd[c, k]:.0%})"


def _fails_gold(m: MeasuredWorkers, i: int) -> str:
    known, wrong = m.does.sums[i, KNOWN_LABELS], m.does.sums[i, KNOWN_WRONG]
    return f"is wrong on {wrong:.0f} of {known:.0f} items whose class is known"


def _below_par(m: MeasuredWorkers, i: int) -> str:
    typical = m.does.sums[i, PAR_TYPICAL] / m.labels[i]
    return (
        f"is right {m.accuracy[i]:.0%} of the time ({m.low[i]:.0%} to {m.high[i]:.0%}); a typical worker would be right "
        f"{typical:.0%} of the time on the same items"
    )


def _too_fast(m: MeasuredWorkers, i: int) -> str:
    return f"takes {shown_seconds(m.seconds[i])} for a label where most take {shown_seconds(m.usual_seconds)}"


PREDICATES = {
    Fault.AGAINST: _contradicts,
    Fault.GUESSES: _guesses,
    Fault.ONE_ANSWER: _one_answer,
    Fault.COPY: _copies,
    Fault.DRIFT: _drifts,
    Fault.CONFUSES: _confuses,
    Fault.GOLD: _fails_gold,
    Fault.PAR: _below_par,
    Fault.FAST: _too_fast,
}


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
