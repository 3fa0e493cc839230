"""Whether probabilities are honest: items binned by the probability of their label, with the errors in each bin."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from crowdassay.findings.scores import class_values, distance_errors, error_rate
from crowdassay.labels.record import Record

PAPER_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # the bins of the paper's Table 4


def calibration(record: Record, truth: np.ndarray, edges: Sequence[float] = PAPER_EDGES) -> list[dict[str, Any]]:
    """Return one record for each bin of the label's probability: how many items, how sure, how often wrong, how far off.

    Parameters
    ----------
    record : Record
    truth : ndarray of int, shape (n_items,)
        Class codes, -1 where unknown.
    edges : sequence of float
        A bin holds probabilities above its lower edge and up to its upper one.
    """
    records = []
    for low, high in pairwise(edges):
        inside = (truth >= 0) & (record.probability > low) & (record.probability <= high)
        row: dict[str, Any] = {"low": low, "high": high, "items": int(inside.sum())}
        if inside.any():
            winners, known = record.winners[inside], truth[inside]
            row["mean_probability"] = float(record.probability[inside].mean())
            row["error_rate"] = error_rate(winners, known)
            row["mean_square_error"] = distance_errors(winners, known, class_values(record.labels))[0] ** 2
        records.append(row)
    return records


def calibration_error(records: Sequence[dict[str, Any]]) -> float:
    """Return the mean distance between how sure and how right, weighted by items (the expected calibration error)."""
    filled = [record for record in records if record["items"]]
    total = sum(record["items"] for record in filled)
    gaps = (record["items"] * abs(record["mean_probability"] - 1 + record["error_rate"]) for record in filled)
    return float(sum(gaps) / total)
