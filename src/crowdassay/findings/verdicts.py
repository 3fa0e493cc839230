"""What to do about each worker: `decide` turns what was found into keep, talk to, retrain or remove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.findings.reasons import say
from crowdassay.findings.worker_tests import FAULTS, Fault, MeasuredWorkers, clearly_informative, discover

KEEP, TALK, RETRAIN, REMOVE, UNKNOWN = "keep", "talk to", "retrain", "remove", "cannot tell"
ACTIONS = {
    Fault.ONE_ANSWER: REMOVE,
    Fault.GUESSES: REMOVE,
    Fault.AGAINST: TALK,
    Fault.COPY: TALK,
    Fault.DRIFT: TALK,
    Fault.FAST: TALK,
    Fault.CONFUSES: RETRAIN,
    Fault.GOLD: RETRAIN,
    Fault.PAR: RETRAIN,
    Fault.WEAK: RETRAIN,
}
ACTION_ORDER = (REMOVE, TALK, RETRAIN, KEEP, UNKNOWN)  # the most urgent first
INFORMATIVE, UNCLEAR, TOO_FEW, NOT_ESTIMABLE = "informative", "unclear", "too few labels", "not estimable"
NOTHING_LEFT = (Fault.AGAINST, Fault.ONE_ANSWER, Fault.GUESSES)  # explain these away:
EXPLAINED = (Fault.CONFUSES, Fault.GOLD, Fault.PAR, Fault.WEAK)


@dataclass(frozen=True)
class Reason:
    """One thing held against a worker: the fault, the chance of it from a worker like others, and a predicate in words."""

    kind: Fault
    p: float
    words: str


@dataclass(frozen=True, eq=False)
class Advice:
    """For each worker a verdict, what to do, and why, the gravest reason first."""

    verdicts: list[str]
    actions: list[str]
    reasons: list[list[Reason]]


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
    return str(held[0]), min((ACTIONS[fault] for fault in held), key=ACTION_ORDER.index), held


def advise(m: MeasuredWorkers) -> Advice:
    """Test every worker for every fault, and decide what to do.

    Without faults a worker is informative, agreeing more than by chance, or else unclear; some cannot be judged at all. Where
    workers are too many for a table of each, only the agreement speaks, and no reasons are given.
    """
    p, found = discover(m)
    innocent = np.where(clearly_informative(m), INFORMATIVE, UNCLEAR).astype(object)
    innocent[~m.judged] = TOO_FEW
    innocent[~m.estimable] = NOT_ESTIMABLE
    verdicts, actions, reasons = [], [], []
    for i, otherwise in enumerate(innocent):
        faults = [fault for fault, one in zip(FAULTS, found[i], strict=True) if one]
        verdict, action, held = decide(faults, otherwise)
        verdicts.append(verdict)
        actions.append(action)
        words = [] if m.behaviour is None else held
        reasons.append([Reason(fault, float(p[i, FAULTS.index(fault)]), say(fault, m, i)) for fault in words])
    return Advice(verdicts, actions, reasons)


def attention(advice: Advice, n_labels: IntArray) -> list[int]:
    """Return the workers that need attention, the most urgent first and, among them, those with most labels."""
    rank = np.array([ACTION_ORDER.index(action) for action in advice.actions])
    flagged = np.flatnonzero(rank < ACTION_ORDER.index(KEEP))
    return [int(i) for i in flagged[np.lexsort((flagged, -n_labels[flagged], rank[flagged]))]]
