"""Checks before and after every fit, wherever the labels are: whether it fits into memory, and whether it can be trusted."""

from __future__ import annotations

import math

from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.notes import nobody_compared
from crowdassay.findings.passes import ExpectedErrors, MajorityCheck
from crowdassay.labels.labels import Facts
from crowdassay.labels.values import counted, listed
from crowdassay.memory import available_memory

POSTERIORS = 5  # arrays of the size items x classes that a fit and its result hold at a time
DESCRIBED = 6  # arrays of the size workers x classes^2 that what is said of workers, and its table, take beside the fit
EASY = 1 << 24  # bytes that are there without looking
ONE_CLASS_NOTE = "There is only one class: every item gets it, and nothing is learned about items or workers."
SAYS_NOTHING = 0.01  # mean probability of the labels above that of a guess, below which a fit tells no class apart
LEAST_CLEAR = 10  # items with a majority from which a fit can be compared with them
CONTRADICTS = 0.7  # share of strong majorities kept below which a fit is not believed
WORSE = 1.05  # expected errors for each of the vote's, above which a fit is left
WORSE_DEVIATIONS = 6.0  # and standard errors above the vote's; many, since items share their workers
DEPARTS = 0.8  # share of all majorities kept below which the user is told


def check_memory(facts: Facts, tables: float, item_tables: float, *, posteriors: bool = True) -> None:
    """Refuse a fit that needs more memory than there is, before it is taken.

    Parameters
    ----------
    facts : Facts
    tables, item_tables : float
        How many arrays of the size workers x classes^2, and items x classes^2, the method holds at a time.
    posteriors : bool
        Whether the probabilities of all items are in memory too.
    """
    cells = facts.n_classes**2 * ((tables + DESCRIBED) * facts.n_workers + item_tables * facts.n_items)
    cells += POSTERIORS * facts.n_items * facts.n_classes * posteriors
    needed = 8 * cells
    free = available_memory() if needed > EASY else None
    if free is not None and needed > free:
        raise DataError(
            f"This fit needs about {needed / 1e9:,.1f} GB of memory for tables of {facts.n_classes:,} x {facts.n_classes:,} "
            f"classes ({counted(facts.n_workers, 'worker')}, {counted(facts.n_items, 'item')}), and {free / 1e9:,.1f} GB "
            "are free; merge rare "
            "classes, check that the labels are no free text, or take a method with fewer tables such as majority."
        )


def find_trouble(plain: MajorityCheck, facts: Facts) -> str | None:
    """Return what is wrong with a fit: it tells no class apart, or contradicts most clear majorities; None if nothing is."""
    if not math.isfinite(plain.probability):
        raise ParameterError(
            "The fit overflowed: a parameter is too large or too small for these labels; take one nearer to 1."
        )
    if facts.n_classes == 1:
        return None
    if tells_nothing(plain, facts):
        return "tells no class apart: all probabilities are nearly equal"
    # Known items may show that the majority is wrong.
    if facts.n_gold == 0 and plain.strong >= LEAST_CLEAR and plain.strong_kept < CONTRADICTS * plain.strong:
        return f"contradicts {1 - plain.strong_kept / plain.strong:.0%} of the majorities of two thirds or more"
    return None


def tells_nothing(plain: MajorityCheck, facts: Facts) -> bool:
    """Return whether all probabilities of a fit are nearly equal."""
    return plain.probability / plain.items - 1 / facts.n_classes < SAYS_NOTHING


def find_worse(expected: ExpectedErrors, *, margin: bool) -> str | None:
    """Return by how much the labels of a fit are worse than the vote's, as a referee sees both; None where they are not.

    Parameters
    ----------
    expected : ExpectedErrors
    margin : bool
        Whether the fit was asked for, and is left only where the difference is large and clear. Another that takes its place
        must not be worse at all.
    """
    worse = expected.fit > expected.vote
    if margin:
        worse = expected.fit > WORSE * expected.vote and expected.deviations > WORSE_DEVIATIONS
    if not worse:
        return None
    more = f"{expected.fit / expected.vote - 1:.0%} more errors" if expected.vote > 0 else "more errors"
    return f"seems to make {more} than the vote, by the probabilities of the default method"


def notes_on(plain: MajorityCheck, facts: Facts) -> list[str]:
    """Return what the user should know about how a fit stands."""
    absent = [name for name, count in zip(facts.class_names, facts.class_counts, strict=True) if not count]
    said = "No label that was kept says" if facts.report.dropped.get("repeated judgement") else "Nobody chose"
    notes = [f"{said} {listed(absent, 5)}: no item gets that label."] if absent else []
    if not plain.shared:
        notes.append(nobody_compared(facts.n_workers))
    trouble = find_trouble(plain, facts)
    if trouble is not None:
        tied = " Where most items are tied, only more labels or items of known class (--gold) help."
        notes.append(
            f"This fit {trouble}. Do not use its labels: take another method or, where one can be set, a smaller penalty."
            + (tied if tells_nothing(plain, facts) else "")
        )
    elif facts.n_gold == 0 and plain.clear >= LEAST_CLEAR and plain.kept < DEPARTS * plain.clear:
        notes.append(
            f"The labels differ from the majority on {1 - plain.kept / plain.clear:.0%} of the "
            f"{counted(int(plain.clear), 'item')} that have one. Compare with --method majority before you use them."
        )
    return notes
