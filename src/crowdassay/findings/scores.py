"""How far labels are from the truth."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record
from crowdassay.labels.truth import match_truth


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


def distance_errors(winners: BoolArray, truth: np.ndarray, values: FloatArray | None = None) -> tuple[float, float]:
    """Return the root mean square and the mean absolute error on the scale, ties averaged.

    What the paper's Table 3 prints is the root. ``values`` (n_classes,) are those of the classes, otherwise their positions.
    """
    share, known = _shares(winners, truth)
    values = np.arange(winners.shape[1], dtype=float) if values is None else values
    distance = np.abs(values - values[truth[known]][:, None])
    return float(np.sqrt((share * distance**2).sum(axis=1).mean())), float((share * distance).sum(axis=1).mean())


def is_scale(labels: Any, *, ordered: bool = False) -> bool:
    """Tell whether the classes are a scale, so that distances mean something: the method, the user or numbers say so.

    ``labels`` are `Labels`, or the facts of labels held elsewhere.
    """
    return ordered or labels.report.order == "given" or (labels.report.order == "natural" and labels.numeric)


def class_values(labels: Any) -> FloatArray:
    """Return where the classes lie on their scale, (n_classes,): at their values if they are numbers, otherwise in steps."""
    if labels.numeric:
        return np.array([float(name) for name in labels.class_names])
    return np.arange(labels.n_classes, dtype=float)


@dataclass(frozen=True)
class Score:
    """How far labels are from the truth, as sums over items, so that blocks of items can be added.

    Attributes
    ----------
    items, gold : int
        Items scored, and items left out since the fit was told their class.
    wrong, squares, distance : float
        Wrong labels, squared and absolute distances on the scale; a tie counts in part.
    """

    items: int
    gold: int
    wrong: float
    squares: float
    distance: float

    @classmethod
    def of(cls, record: Record, truth: np.ndarray) -> Score:
        """Compare some items with class codes (n_items,), -1 where unknown."""
        rest = without_gold(record.labels, truth)
        share, known = _shares(record.winners, rest)
        values = class_values(record.labels)
        gap = np.abs(values - values[rest[known]][:, None])
        right = share[np.arange(len(known)), rest[known]]
        sums = (len(known) - right.sum(), (share * gap**2).sum(), (share * gap).sum())
        return cls(len(known), int((truth >= 0).sum()) - len(known), *map(float, sums))

    def join(self, other: Score) -> Score:
        """Return the sums over both."""
        return Score(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    def measures(self, labels: Any, *, ordered: bool = False) -> dict[str, Any]:
        """Return the measures: ``error_rate`` and, of a scale, ``rmse``, ``mae`` and in which unit; None without items."""
        n_items = self.items
        measures: dict[str, Any] = {"error_rate": self.wrong / n_items if n_items else None}
        if is_scale(labels, ordered=ordered):
            measures["rmse"] = float(np.sqrt(self.squares / n_items)) if n_items else None
            measures["mae"] = self.distance / n_items if n_items else None
            measures["distance"] = "values" if labels.numeric else "steps"
        return {**measures, "truth_items": n_items, "truth_items_gold": self.gold}


def score(record: Record, truth: Any, *, ordered: bool = False) -> dict[str, Any]:
    """Return how far the labels of a result are from the truth, items whose class the fit was told left out.

    Parameters
    ----------
    record : Record
    truth : str, Path, frame, mapping or ndarray of int of shape (n_items,)
        Known classes; codes are -1 where unknown.
    ordered : bool
        Whether the classes are a scale even if nobody said so; see `is_scale`.

    Returns
    -------
    dict
        ``error_rate``; ``rmse`` and ``mae`` where the classes are a scale, and whether their ``distance`` is that of the
        numbers they are (``values``) or of their places (``steps``); ``truth_items`` scored, ``truth_items_gold`` left out,
        since a class that was given cannot be wrong, and ``truth_items_without_labels``. The measures are None where nothing
        is left.
    """
    codes, counts = _coded(record.labels, truth)
    return {**Score.of(record, codes).measures(record.labels, ordered=ordered), **counts}


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
