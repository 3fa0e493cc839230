"""Which items are most worth another label, or an expert: the same code as `crowdassay plan`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.result import Result
from crowdassay.planning.curve import DRAWS, ROOM
from crowdassay.planning.items import Worth, worth_of
from crowdassay.planning.state import SETTLED, State

__all__ = ["LOOKED_AT", "SETTLED", "Worth", "least_sure", "most_worth", "worth_table"]

LOOKED_AT = 200  # unsettled items, the least sure first


def most_worth(result: Result, crowd: FloatArray, *, size: int = LOOKED_AT, seed: int = 0) -> list[Worth]:
    """Return the unsettled items by what a further label gains, the most first; ``crowd`` is a typical worker's table."""
    return worth_of(State.of(result, crowd=crowd), least_sure(result, size), seed=seed)


def least_sure(result: Result, size: int = LOOKED_AT) -> IntArray:
    """Return the unsettled items, the least sure first, as many as are looked at."""
    unsure = 1 - result.probability
    unsure[result.labels.gold >= 0] = 0.0
    order = np.argsort(-np.round(unsure, 9), kind="stable")  # rounding errors are no reason to come first
    size = min(size, max(1, ROOM // (DRAWS * result.labels.n_classes)))
    return np.asarray(order[: int(min(size, (unsure > 1 - SETTLED).sum()))])


def worth_table(result: Result, worth: list[Worth]) -> pa.Table:
    """Return the items as a table: label so far, its probability, labels needed and what they, or an expert, would gain."""
    chosen = pa.array([row.item for row in worth], pa.int64())
    return pa.table(
        {
            "item": result.labels.items.take(chosen),
            "label": result.labels.classes.take(pa.array(result.code)).take(chosen),
            "probability": pa.array(result.probability).take(chosen),
            "labels_needed": pa.array([row.labels for row in worth], pa.int64()),
            "gain_per_label": pa.array([row.rate for row in worth], pa.float64()),
            "gain_by_expert": pa.array([row.expert for row in worth], pa.float64()),
        }
    )
