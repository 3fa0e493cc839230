"""Everything that may be held against a worker, each with its test; false discoveries are controlled over all of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels.columns import (
    KNOWN,
    KNOWN_PAR,
    KNOWN_VARIANCE,
    KNOWN_WRONG,
    LABELS,
    PAR,
    PAR_TYPICAL,
    PAR_VARIANCE,
    SEEN,
    WRONG,
)  # fmt: skip
from crowdassay.findings.behaviour import Behaviour
from crowdassay.findings.clock import Clock
from crowdassay.findings.copies import Pair
from crowdassay.findings.drift import Drift, find_drift
from crowdassay.findings.tails import FALSE_DISCOVERIES, sign_tail, upper_tail
from crowdassay.findings.verdicts import ANSWERS_TO_JUDGE, Agreements
from crowdassay.special import ndtr
from crowdassay.statistics import discoveries


class Kind(StrEnum):
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


KINDS = tuple(Kind)
MOSTLY = 0.9  # of a worker's labels must be the same to be called one answer to everything
APART = 0.15  # and so much more than a typical worker would give it
READS, MORE = 0.25, 0.2  # share of a class read as another, and how much above a typical worker's
FALL = 0.1  # of accuracy that a change must cost
HURRY = 1 / 3  # of the usual time, below which a label is given too fast
FEW_WORKERS = 5  # whose times are known before anybody can be called fast
ALONE = 0.05  # chance below which somebody found out is said to guess, or to contradict
CHANCY = 1.645  # standard deviations above chance that show something


@dataclass(frozen=True, eq=False)
class Suspicions:
    """The tests of all kinds on all workers, and what the words are made of.

    Attributes
    ----------
    p : ndarray of shape (n_workers, n_kinds)
        Chance of as clear a sign from a worker against whom nothing is to be said; columns as in `KINDS`.
    held : ndarray of bool, shape (n_workers, n_kinds)
        Which of them hold: at most 10 in 100 of these are expected to be wrong.
    answer : ndarray of int, shape (n_workers,)
        The most frequent answer.
    cell : ndarray of int, shape (n_workers, 2)
        The class that is read as another most clearly, and as which.
    drift : Drift
    seconds : ndarray of shape (n_workers,)
        Median time for a label, NaN where unknown; ``usual`` is that of the workers.
    usual : float
    """

    p: FloatArray
    held: BoolArray
    answer: IntArray
    cell: IntArray
    drift: Drift
    seconds: FloatArray
    usual: float


def suspect(
    tally: Agreements,
    behaviour: Behaviour,
    clock: Clock,
    copies: tuple[list[Pair], int],
    *,
    judged: BoolArray,
    shares: FloatArray,
    crowd: FloatArray,
    high: FloatArray,
) -> Suspicions:
    """Test every worker for everything.

    Parameters
    ----------
    tally : Agreements
    behaviour : Behaviour
    clock : Clock
    copies : list of Pair, int
        Pairs that look like copies, and the number of pairs compared.
    judged : ndarray of bool, shape (n_workers,)
        Workers of whom anything can be said.
    shares : ndarray of shape (n_workers, n_classes, n_classes)
        Each worker's confusion table.
    crowd : ndarray of shape (n_classes, n_classes)
        A typical worker's.
    high : ndarray of shape (n_workers,)
        Upper limit of each worker's accuracy.
    """
    n_workers, n_classes = behaviour.answers.shape[:2]
    p, tested, grave = (np.full((n_workers, len(KINDS)), value) for value in (1.0, False, False))

    def put(kind: Kind, chance: FloatArray, possible: BoolArray, enough: BoolArray) -> None:
        column = KINDS.index(kind)
        p[:, column] = np.where(possible, chance, 1.0)
        tested[:, column], grave[:, column] = possible, enough

    sums, known = behaviour.sums, behaviour.sums[:, KNOWN]
    labels = np.maximum(sums[:, LABELS], 1)
    everyone = np.ones(n_workers, bool)
    room = judged & (tally.chance_variance > 1e-9)
    put(Kind.AGAINST, ndtr(tally.above_chance), room, everyone)
    put(Kind.GUESSES, ndtr(tally.above_halfway), judged & (tally.halfway_variance > 1e-9), tally.above_chance < CHANCY)

    answer = behaviour.answers[..., SEEN].argmax(axis=1)
    seen, expected, variance = behaviour.answers[np.arange(n_workers), answer].T
    mostly = (seen / labels >= MOSTLY) & ((seen - expected) / labels >= APART)
    put(Kind.ONE_ANSWER, np.minimum(n_classes * upper_tail(seen, expected, variance, expected / labels), 1.0), judged, mostly)

    put(Kind.COPY, _copied(copies, n_workers), judged & (copies[1] > 0), everyone)

    drift = find_drift(behaviour.paces)
    put(Kind.DRIFT, drift.p, judged & (drift.p < 1.0), drift.before - drift.after >= FALL)

    chance, cell, strong, possible = _confused(behaviour, shares, crowd)
    put(Kind.CONFUSES, chance, judged & possible, strong)

    rate = sums[:, KNOWN_PAR] / np.maximum(known, 1)
    chance = upper_tail(sums[:, KNOWN_WRONG], sums[:, KNOWN_PAR], sums[:, KNOWN_VARIANCE], rate)
    put(Kind.GOLD, chance, known >= ANSWERS_TO_JUDGE, everyone)
    typical = sums[:, PAR_TYPICAL] / labels
    chance = upper_tail(sums[:, WRONG], sums[:, PAR], sums[:, PAR_VARIANCE], sums[:, PAR] / labels)
    put(Kind.PAR, chance, judged, high < typical)

    seconds = clock.usual()
    counted = clock.took.sum(axis=1) >= ANSWERS_TO_JUDGE if clock.took.size else np.zeros(n_workers, bool)
    usual = float(np.median(seconds[counted])) if counted.sum() >= FEW_WORKERS else np.nan
    put(Kind.FAST, sign_tail(*clock.under(HURRY * usual)), counted & np.isfinite(usual), everyone)
    return Suspicions(
        p, _name(discoveries(p, tested, FALSE_DISCOVERIES) & grave, p, grave), answer, cell, drift, seconds, usual
    )


def _name(suspected: BoolArray, p: FloatArray, grave: BoolArray) -> BoolArray:
    """Say of those who were found out, whatever by, whether they guess or contradict: now one test each is enough."""
    named = suspected.copy()
    bad = suspected[:, [KINDS.index(kind) for kind in (Kind.CONFUSES, Kind.GOLD, Kind.PAR)]].any(axis=1)
    for kind in (Kind.AGAINST, Kind.GUESSES):
        column = KINDS.index(kind)
        named[:, column] |= bad & grave[:, column] & (p[:, column] <= ALONE)
    return named


def _copied(copies: tuple[list[Pair], int], n_workers: int) -> FloatArray:
    """Return for each worker the chance of the pair that agrees most, corrected for all pairs."""
    pairs, n_pairs = copies
    chance = np.ones(n_workers)
    for pair in pairs:
        here = min(1.0, n_pairs * float(ndtr(-pair.excess)))
        for worker in (pair.worker, pair.other):
            chance[worker] = min(chance[worker], here)
    return chance


def _confused(behaviour: Behaviour, shares: FloatArray, crowd: FloatArray) -> tuple[FloatArray, IntArray, BoolArray, BoolArray]:
    """Return the clearest class read as another: its chance, corrected for all cells, where, if it is much, if tested."""
    n_workers, n_classes = shares.shape[:2]
    mass = behaviour.cells[..., SEEN].sum(axis=2)
    tested = (mass >= ANSWERS_TO_JUDGE)[:, :, None] & ~np.eye(n_classes, dtype=bool)
    seen, expected, variance = np.moveaxis(behaviour.cells, -1, 0)
    chance = np.where(tested, upper_tail(seen, expected, variance, expected / np.maximum(mass, 1e-9)[:, :, None]), 1.0)
    much = tested & (shares >= READS) & (shares - crowd >= MORE)
    flat = np.where(much, chance, 2.0).reshape(n_workers, -1)
    best = flat.argmin(axis=1)
    corrected = np.minimum(chance.reshape(n_workers, -1)[np.arange(n_workers), best] * tested.sum(axis=(1, 2)), 1.0)
    cell = np.column_stack(np.unravel_index(best, (n_classes, n_classes)))
    return corrected, cell, much.any(axis=(1, 2)), tested.any(axis=(1, 2))
