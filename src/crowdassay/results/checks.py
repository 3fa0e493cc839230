"""Whether a fit stands: one check after every fit, wherever the labels are."""

from __future__ import annotations

import math
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.findings.passes import MajorityCheck
from crowdassay.labels.facts import Facts
from crowdassay.labels.values import counted, listed

SAYS_NOTHING = 0.01  # mean probability of the labels above that of a guess, below which a fit tells no class apart
LEAST_CLEAR = 10  # items with a majority from which a fit can be compared with them
CONTRADICTS = 0.7  # share of strong majorities kept below which a fit is not believed
DEPARTS = 0.8  # share of all majorities kept below which the user is told


def find_trouble(plain: MajorityCheck, facts: Facts) -> str | None:
    """Say what is wrong with a fit: it says nothing, or it contradicts most clear majorities. None where it stands."""
    if not math.isfinite(plain.probability):
        raise ParameterError(
            "The fit overflowed: a parameter is too large or too small for these labels; take one nearer to 1."
        )
    if facts.n_classes == 1:
        return None
    if plain.probability / plain.items - 1 / facts.n_classes < SAYS_NOTHING:
        return "tells no class apart: all probabilities are nearly equal"
    # Known items may show that the majority is wrong.
    if facts.n_gold == 0 and plain.strong >= LEAST_CLEAR and plain.strong_kept < CONTRADICTS * plain.strong:
        return f"contradicts {1 - plain.strong_kept / plain.strong:.0%} of the majorities of two thirds or more"
    return None


def notes_on(plain: MajorityCheck, result: Any, facts: Facts) -> list[str]:
    """Return what the user should know about how a fit stands."""
    absent = [name for name, count in zip(facts.class_names, facts.class_counts, strict=True) if not count]
    notes = [f"Nobody chose {listed(absent, 5)}: no item gets that label."] if absent else []
    trouble = find_trouble(plain, facts)
    if trouble is not None:
        notes.append(f"This fit {trouble}. Do not use its labels: take another method, or a smaller penalty.")
    elif facts.n_gold == 0 and plain.clear >= LEAST_CLEAR and plain.kept < DEPARTS * plain.clear:
        notes.append(
            f"The labels differ from the majority on {1 - plain.kept / plain.clear:.0%} of the "
            f"{counted(int(plain.clear), 'item')} that have one. Compare with --method majority before you use them."
        )
    return notes
