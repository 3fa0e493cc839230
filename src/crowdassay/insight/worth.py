"""Which items are most worth another label, or an expert, and how many labels it would take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.record import Record

SETTLED = 0.95  # probability from which a label counts as settled
MOST_LABELS = 25  # more are not looked ahead: an expert is the better choice
LOOKED_AT = 200  # unsettled items, the least sure first
DRAWS = 300
ROOM = 1_500_000  # numbers held at a time


@dataclass(frozen=True)
class Worth:
    """An item, what an expert and what further labels would gain.

    Attributes
    ----------
    item : int
    expert : float
        Expected number of errors that knowing the class would remove: one less the probability of the label.
    rate : float
        Expected number of errors removed for each further label, at the best number of labels.
    labels : int or None
        Further labels by typical workers until the expected probability of the label is 0.95; None if more than 25.
    """

    item: int
    expert: float
    rate: float
    labels: int | None


def most_worth(record: Record, crowd: FloatArray, *, size: int = LOOKED_AT, seed: int = 0) -> list[Worth]:
    """Return the unsettled items by what each further label gains, the most first.

    Truths are drawn from an item's class probabilities and labels from the crowd's table (n_classes, n_classes); the mean
    over draws of the highest probability after m labels is the probability of being right by then. One label alone often
    gains nothing, as it cannot overturn the others, which is why the best number of labels decides.
    """
    unsure = 1 - record.probability
    chosen = least_sure(record, size)
    sure = look_ahead(record.posterior[chosen], crowd, np.random.default_rng(seed))
    gain = sure[:, 1:] - sure[:, :1]
    rate = (gain / np.arange(1, MOST_LABELS + 1)).max(axis=1)
    enough = sure[:, 1:] >= SETTLED
    found = [
        Worth(int(j), float(unsure[j]), max(float(rate[n]), 0.0), int(enough[n].argmax()) + 1 if enough[n].any() else None)
        for n, j in enumerate(chosen)
    ]
    return sorted(found, key=lambda worth: (-round(worth.rate, 9), -round(worth.expert, 9)))


def least_sure(record: Record, size: int = LOOKED_AT) -> IntArray:
    """Return the unsettled items, the least sure first, as many as are looked at."""
    unsure = 1 - record.probability
    unsure[record.labels.gold >= 0] = 0.0
    unsure = np.round(unsure, 9)  # rounding errors are no reason to come first
    size = min(size, max(1, ROOM // (DRAWS * record.labels.n_classes)))
    size = int(min(size, (unsure > 1 - SETTLED).sum()))
    if not size:
        return np.zeros(0, np.int64)
    least = np.partition(unsure, -size)[-size]
    chosen = np.flatnonzero(unsure >= least)
    # Equals go by their names, so that the same items come first wherever the labels are.
    names = [str(name) for name in record.labels.items.take(pa.array(chosen)).to_pylist()]
    order = sorted(range(len(chosen)), key=lambda n: (-unsure[chosen[n]], names[n]))
    return np.asarray(chosen[order[:size]])


def worth_table(record: Record, worth: list[Worth]) -> pa.Table:
    """Return the items as a table: label so far, its probability, labels needed and what they, or an expert, would gain."""
    chosen = pa.array([row.item for row in worth], pa.int64())
    return pa.table(
        {
            "item": record.labels.items.take(chosen),
            "label": record.labels.classes.take(pa.array(record.code)).take(chosen),
            "probability": pa.array(record.probability).take(chosen),
            "labels_needed": pa.array([row.labels for row in worth], pa.int64()),
            "gain_per_label": pa.array([row.rate for row in worth], pa.float64()),
            "gain_by_expert": pa.array([row.expert for row in worth], pa.float64()),
        }
    )


def look_ahead(posterior: FloatArray, crowd: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Return the expected probability of the label after 0 to 25 further labels, shape (n_items, 26)."""
    n_items, n_classes = posterior.shape
    log_p, steps = np.log(crowd), np.cumsum(crowd, axis=1)
    truth = (generator.random((n_items, DRAWS, 1)) > np.cumsum(posterior, axis=1)[:, None, :]).sum(axis=2)
    truth = np.minimum(truth, n_classes - 1)
    weight = np.repeat(np.log(np.maximum(posterior, 1e-300))[:, None, :], DRAWS, axis=1)
    sure = np.empty((n_items, MOST_LABELS + 1))
    sure[:, 0] = posterior.max(axis=1, initial=0.0)
    for m in range(1, MOST_LABELS + 1):
        label = (generator.random((n_items, DRAWS, 1)) > steps[truth]).sum(axis=2)
        weight += log_p.T[np.minimum(label, n_classes - 1)]
        weight -= weight.max(axis=2, keepdims=True)
        sure[:, m] = (1 / np.exp(weight).sum(axis=2)).mean(axis=1)
    return sure
