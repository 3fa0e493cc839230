"""From sums over all labels to what should be done about each worker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.engines.confusion import normalise
from crowdassay.findings.advice import Advice, advise, plain_advice
from crowdassay.findings.behaviour import Behaviour
from crowdassay.findings.clock import Clock
from crowdassay.findings.copies import Pair
from crowdassay.findings.suspicions import suspect
from crowdassay.findings.verdicts import ANSWERS_TO_JUDGE, Agreements, Comparison, give_verdicts
from crowdassay.labels.record import Record


def behave(record: Record, counted: BoolArray, comparison: Comparison, clock: Clock) -> Behaviour | None:
    """Add up what workers do in some items beside a typical worker; None where there are too many tables to hold.

    Parameters
    ----------
    record : Record
        Of some items, or of all.
    counted : ndarray of bool, shape (n_labels,)
        Labels that take part.
    comparison : Comparison
        What workers are compared with, from all labels.
    clock : Clock
        Of all labels.
    """
    if comparison.log_p is None or comparison.log_prior is None:
        return None
    labels, answers = record.labels, comparison.answers
    habit = answers / np.maximum(answers.sum(axis=1, keepdims=True), 1)
    bins = clock.bins(labels.worker, labels.time)
    return Behaviour.of(
        labels, counted, record.posterior, comparison.log_p, comparison.log_prior, habit, comparison.crowd, bins, clock.n_bins
    )


def examine(
    tally: Agreements,
    behaviour: Behaviour | None,
    clock: Clock,
    copies: tuple[list[Pair], int],
    *,
    estimable: BoolArray,
    counts: FloatArray,
    crowd: FloatArray,
    limits: tuple[FloatArray, FloatArray, FloatArray],
    classes: Sequence[str],
    workers: Sequence[object],
) -> Advice:
    """Return the verdict, the advice and the reasons for every worker.

    ``counts`` (n_workers, n_classes, n_classes) are expected labels by true class and answer, ``limits`` accuracy and its
    interval, (n_workers,) each.
    """
    against_chance = give_verdicts(tally, estimable)
    if behaviour is None:
        return plain_advice(against_chance)
    shares, judged = normalise(counts)[0], estimable & (tally.compared >= ANSWERS_TO_JUDGE)
    suspicions = suspect(tally, behaviour, clock, copies, judged=judged, shares=shares, crowd=crowd, high=limits[2])
    return advise(
        suspicions, against_chance, tally, behaviour, clock, copies[0],
        shares=shares, crowd=crowd, limits=limits, classes=classes, workers=workers,
    )  # fmt: skip
