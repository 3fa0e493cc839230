"""A job as a whole: where it stands, how wrong it is, and what more labels would bring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, row_max
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record
from crowdassay.planning.assign import Plan
from crowdassay.planning.curve import Curve, error_curve
from crowdassay.planning.gain import label_gain
from crowdassay.planning.offer import EXPERT
from crowdassay.planning.population import population
from crowdassay.planning.state import State
from crowdassay.planning.stop import CONFIDENCE, FEWEST_LABELS, Limit, limit_from_items, shipped_law

LEARNED_FOR = "assay"  # the method whose probabilities the limits were learned with


@dataclass(frozen=True, eq=False)
class Standing:
    """How wrong a job is now, and what more labels would bring.

    Attributes
    ----------
    limit : Limit
        Of the error among the items whose class is not known.
    curve : Curve
    factor : float
        By how much the error is expected to exceed what the probabilities say.
    notes : list of str
    """

    limit: Limit
    curve: Curve
    factor: float
    notes: list[str]


def assess(state: State, *, method: str, fit: Callable[[Labels], Record] | None = None, seed: int = 0) -> Standing:
    """Estimate the error of a job, with an upper limit, and draw its curve.

    Parameters
    ----------
    state : State
    method : str
        What the probabilities come from.
    fit : callable, optional
        Fits labels: where some classes are known it is called without half of them, twice, to see how many it gets wrong.
    seed : int
    """
    unknown = ~state.known
    now = 1 - row_max(state.posterior[unknown])
    checked, wrong, others = np.empty(0), np.empty(0, np.bool_), now
    notes = []
    if fit is not None:
        checked, wrong, others = check_known(state, fit, np.random.default_rng(seed))
    if method != LEARNED_FOR:
        notes.append(
            f"The upper limit was learned for the probabilities of '{LEARNED_FOR}'; with '{method}' it is no promise, unless "
            "there are many known items."
        )
    if len(checked) and unknown.any() and np.median(checked) > np.quantile(others, 0.75):
        held = population()["limit"]["coverage"]["held_of_replays"]["hardest"]
        notes.append(
            f"Most known items are harder than the others. Where only hard ones were known, the limit held in {held:.0%} of "
            f"replays, not {CONFIDENCE:.0%}; know some items taken at random."
        )
    if state.posterior.shape[1] < 2:
        notes.append("All labels name the same class, so that none can be seen to be wrong; if there are others, name all.")
    if state.n_labels.mean() < FEWEST_LABELS:
        notes.append(
            f"Items have {state.n_labels.mean():.1f} labels on average; the upper limit was learned where they have "
            f"{FEWEST_LABELS} or more, so that workers can be compared."
        )
    limit = (
        limit_from_items(now, shipped_law(), checked, wrong)
        if unknown.any()
        else Limit(0.0, 0.0, 0.0, len(wrong), int(wrong.sum()))
    )
    factor = limit.error / max(float(now.mean()), 1e-9) if unknown.any() else 1.0
    return Standing(limit, error_curve(state, factor=factor), factor, notes)


def check_known(
    state: State, fit: Callable[[Labels], Record], generator: np.random.Generator
) -> tuple[FloatArray, BoolArray, FloatArray]:
    """Return how unsure fits that were told half of the known classes are of each of the other half, and whether they err.

    Shape (n_known,) each. So known items are judged as unknown ones are: by a fit that knows some classes, but not theirs.
    The last array is how unsure the same fits are of unknown items.
    """
    known = generator.permutation(np.flatnonzero(state.known & (state.n_labels > 0)))
    doubt, wrong, others = [np.empty(0)], [np.empty(0, np.bool_)], [np.empty(0)]
    for half in (known[::2], known[1::2]):
        if len(half):
            gold = state.labels.gold.copy()
            gold[half] = -1
            fitted = fit(state.labels.with_gold(gold))
            doubt.append(1 - row_max(fitted.posterior[half]))
            wrong.append(fitted.code[half] != state.labels.gold[half])
            others.append(1 - row_max(fitted.posterior[~state.known]))
    return np.concatenate(doubt), np.concatenate(wrong), np.concatenate(others)


def curve_records(standing: Standing, *, cost: float = 1.0) -> list[dict[str, Any]]:
    """Return the curve for a chart: labels, spend, error and its upper limit, which keeps its distance in proportion."""
    curve, limit = standing.curve, standing.limit
    above = limit.high / max(limit.error, 1e-9)
    return [
        {
            "labels": round(float(n), 1),
            "spend": round(float(n) * cost, 2),
            "error": round(float(error), 5),
            "high": round(min(float(error) * above, 1.0), 5),
        }
        for n, error in zip(curve.labels, curve.error, strict=True)
    ]


def items_table(state: State, plan: Plan, *, max_per_item: int | None = None) -> pa.Table:
    """Tabulate item, label, probability, n_labels, gain and what to do: stop, label, expert, or wait."""
    codes = np.where(state.known, state.labels.gold, state.posterior.argmax(axis=1))
    what = np.where(state.known | (state.probability >= state.settled), "stop", "wait").astype(object)
    if max_per_item is not None:
        what[state.n_labels >= max_per_item] = "stop"
    real = ~plan.trial
    what[plan.item[real & (plan.worker != EXPERT)]] = "label"
    what[plan.item[real & (plan.worker == EXPERT)]] = "expert"
    gain = label_gain(state, np.arange(state.labels.n_items))
    return pa.table(
        {
            "item": state.labels.items,
            "label": state.labels.classes.take(pa.array(codes)),
            "probability": state.probability,
            "n_labels": state.n_labels,
            "gain": np.where(state.known, 0.0, gain),
            "decision": pa.array(what.tolist(), pa.string()),
        }
    )
