"""How far labels are from the truth."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.io.truth import match_truth


def error_rate(winners: BoolArray, truth: np.ndarray) -> float:
    """Return the share of items with truth whose label is wrong, a tie among m classes counting 1 - 1/m if one is right.

    Parameters
    ----------
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that share the highest probability.
    truth : ndarray of int, shape (n_items,)
        Class codes, -1 where unknown.

    >>> error_rate(np.array([[True, True], [False, True]]), np.array([0, 1]))
    0.25
    """
    share, known = _shares(winners, truth)
    return float(1.0 - share[np.arange(len(known)), truth[known]].mean())


def distance_errors(winners: BoolArray, truth: np.ndarray) -> tuple[float, float]:
    """Return the root mean square and the mean absolute error in positions on the scale, ties averaged.

    What the paper's Table 3 prints is the root.
    """
    share, known = _shares(winners, truth)
    distance = np.abs(np.arange(winners.shape[1]) - truth[known][:, None])
    return float(np.sqrt((share * distance**2).sum(axis=1).mean())), float((share * distance).sum(axis=1).mean())


def score(result: Result, truth: Any, *, ordered: bool | None = None) -> dict[str, Any]:
    """Return how far the labels of a result are from the truth, items whose class the fit was told left out.

    Parameters
    ----------
    result : Result
    truth : str, Path, frame, mapping or ndarray of int of shape (n_items,)
        Known classes; codes are -1 where unknown.
    ordered : bool, optional
        Whether the classes are a scale, so that distances mean something; by default if they are numbers or came in order.

    Returns
    -------
    dict
        ``error_rate``, ``rmse`` and ``mae`` where ordered, ``truth_items`` scored, ``truth_items_gold`` left out, since a
        class that was given cannot be wrong, and ``truth_items_without_labels``. The measures are None where nothing is left.
    """
    codes, counts = _coded(result.labels, truth)
    rest = without_gold(result.labels, codes)
    n_items = int((rest >= 0).sum())
    found: dict[str, Any] = {"error_rate": error_rate(result.winners, rest) if n_items else None}
    if result.labels.report.order != "alphabetical" if ordered is None else ordered:
        found["rmse"], found["mae"] = distance_errors(result.winners, rest) if n_items else (None, None)
    return {**found, "truth_items": n_items, "truth_items_gold": int((codes >= 0).sum()) - n_items, **counts}


def without_gold(labels: Labels, truth: np.ndarray) -> np.ndarray:
    """Return class codes (n_items,) that are -1 also for items whose class is given: there is nothing to find out."""
    return np.where(labels.gold >= 0, -1, truth)


def _coded(labels: Labels, truth: Any) -> tuple[np.ndarray, dict[str, int]]:
    """Return class codes (n_items,), and how many items of the truth have no labels."""
    if isinstance(truth, np.ndarray) and truth.shape == (labels.n_items,) and truth.dtype.kind == "i":
        return truth, {"truth_items_without_labels": 0}
    codes, matched = match_truth(labels, truth)
    return codes, {"truth_items_without_labels": matched["unknown_items"]}


def _shares(winners: BoolArray, truth: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """Split each known item's label evenly among its winners."""
    known = np.flatnonzero(truth >= 0)
    chosen = winners[known]
    return chosen / chosen.sum(axis=1, keepdims=True), known
