"""Which items are most worth another label, or an expert: the same code as `crowdassay plan`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray, largest
from crowdassay.labels.record import Record
from crowdassay.planning.gain import Worth, worth_of
from crowdassay.planning.state import State

__all__ = ["LOOKED_AT", "Worth", "least_sure", "most_worth", "worth_table"]

LOOKED_AT = 200  # unsettled items, the least sure first


def most_worth(record: Record, crowd: FloatArray, *, size: int = LOOKED_AT) -> list[Worth]:
    """Return the unsettled items by what a further label gains, the most first; ``crowd`` is a typical worker's table."""
    return worth_of(State.typical(record, crowd), least_sure(record, size))


def least_sure(record: Record, size: int = LOOKED_AT) -> IntArray:
    """Return the unsettled items, the least sure first, as many as are looked at."""
    unsure = 1 - record.probability
    unsure[record.labels.gold >= 0] = 0.0
    unsure = np.round(unsure, 9)  # rounding errors are no reason to come first
    size = int(min(size, (unsure > 1 - record.settled).sum()))
    if not size:
        return np.zeros(0, np.int64)
    chosen = largest(unsure, size)
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
