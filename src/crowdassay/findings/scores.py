"""How far labels are from the truth, and whether their probabilities are honest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.sums import BlockSums
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import Record, class_values
from crowdassay.labels.truth import match_truth

PAPER_EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # the bins of the paper's Table 4


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
    score = Score.of(winners, truth)
    return float(np.divide(score.wrong, score.items))


def distance_errors(winners: BoolArray, truth: np.ndarray) -> tuple[float, float]:
    """Return the root mean square and the mean absolute error in steps between classes, ties averaged.

    What the paper's Table 3 prints is the root.
    """
    score = Score.of(winners, truth)
    return float(np.sqrt(np.divide(score.squares, score.items))), float(np.divide(score.distance, score.items))


@dataclass(frozen=True)
class Score(BlockSums):
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
    def of(cls, winners: BoolArray, truth: np.ndarray, values: FloatArray | None = None, gold: int = 0) -> Score:
        """Compare classes with codes, each label split evenly among its winners.

        ``values`` (n_classes,) are those of the classes on the scale, otherwise their positions.
        """
        known = np.flatnonzero(truth >= 0)
        share = winners[known] / winners[known].sum(axis=1, keepdims=True)
        values = np.arange(winners.shape[1], dtype=float) if values is None else values
        gap = np.abs(values - values[truth[known]][:, None])
        right = share[np.arange(len(known)), truth[known]]
        sums = (len(known) - right.sum(), (share * gap**2).sum(), (share * gap).sum())
        return cls(len(known), gold, *map(float, sums))

    def measures(self, labels: Any, *, ordered: bool = False) -> dict[str, Any]:
        """Return the measures: ``error_rate`` and, of a scale, ``rmse``, ``mae`` and in which unit; None without items.

        The classes of ``labels`` (`Labels`, or the facts of labels held elsewhere) are a scale, so that distances mean
        something, where they are ``ordered``, the user has given their order, or they are numbers.
        """
        n_items = self.items
        measures: dict[str, Any] = {"error_rate": self.wrong / n_items if n_items else None}
        if ordered or labels.report.order == "given" or (labels.report.order == "natural" and labels.numeric):
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
        Whether the classes are a scale even if nobody said so; see `Score.measures`.

    Returns
    -------
    dict
        ``error_rate``; ``rmse`` and ``mae`` where the classes are a scale, and whether their ``distance`` is that of the
        numbers they are (``values``) or of their places (``steps``); ``truth_items`` scored, ``truth_items_gold`` left out,
        since a class that was given cannot be wrong, and ``truth_items_without_labels``. The measures are None where nothing
        is left.
    """
    codes, n_unknown = truth_codes(record.labels, truth)
    measures = Against.of(record, codes).score.measures(record.labels, ordered=ordered)
    return {**measures, "truth_items_without_labels": n_unknown}


def without_gold(labels: Labels, truth: np.ndarray) -> np.ndarray:
    """Return class codes (n_items,) that are -1 also for items whose class is given: there is nothing to find out."""
    return np.where(labels.gold >= 0, -1, truth)


def truth_codes(labels: Labels, truth: Any) -> tuple[np.ndarray, int]:
    """Return the truth, whatever it is given as, as class codes (n_items,), and how many of its items have no labels."""
    if isinstance(truth, np.ndarray) and truth.shape == (labels.n_items,) and truth.dtype.kind == "i":
        return truth.astype(np.int64, copy=False), 0  # codes of cells are products
    codes, matched = match_truth(labels, truth)
    return codes, matched["unknown_items"]


def calibration(record: Record, truth: np.ndarray) -> list[dict[str, Any]]:
    """Return one record for each bin of the label's probability: how many items, how sure, how often wrong, how far off.

    A bin holds probabilities above its lower edge and up to its upper one.

    Parameters
    ----------
    record : Record
    truth : ndarray of int, shape (n_items,)
        Class codes, -1 where unknown.
    """
    records = []
    for low, high in pairwise(PAPER_EDGES):
        inside = (truth >= 0) & (record.probability > low) & (record.probability <= high)
        row: dict[str, Any] = {"low": low, "high": high, "items": int(inside.sum())}
        if inside.any():
            score = Score.of(record.winners[inside], truth[inside], class_values(record.labels))
            row["mean_probability"] = float(record.probability[inside].mean())
            row["error_rate"], row["mean_square_error"] = score.wrong / score.items, score.squares / score.items
        records.append(row)
    return records


def calibration_error(records: Sequence[dict[str, Any]]) -> float:
    """Return the mean distance between how sure and how right, weighted by items (the expected calibration error)."""
    filled = [record for record in records if record["items"]]
    total = sum(record["items"] for record in filled)
    gaps = (record["items"] * abs(record["mean_probability"] - 1 + record["error_rate"]) for record in filled)
    return float(sum(gaps) / total)


def _pool_bins(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every bin's record over both sets of items."""
    pooled = []
    for row, more in zip(one, other, strict=True):
        if row["items"] and more["items"]:
            items = row["items"] + more["items"]
            names = ("mean_probability", "error_rate", "mean_square_error")
            means = {name: (row["items"] * row[name] + more["items"] * more[name]) / items for name in names}
            pooled.append({**row, "items": items, **means})
        else:
            pooled.append(row if row["items"] else more)
    return pooled


@dataclass(frozen=True, eq=False)
class Against(BlockSums):
    """A record beside the truth.

    Attributes
    ----------
    records : list of dict
        As `calibration` returns them.
    cells : ndarray of int, shape (n_classes, n_classes)
        Items by true class and label found.
    score : Score
        The sums of the errors, with the number of items left out, since the fit was told their class.
    """

    records: list[dict[str, Any]] = field(metadata={"join": _pool_bins})
    cells: IntArray
    score: Score

    @classmethod
    def of(cls, record: Record, truth: np.ndarray) -> Against:
        """Compare with class codes (n_items,), -1 where unknown; items whose class the fit was told are left out."""
        n_known, truth = int((truth >= 0).sum()), without_gold(record.labels, truth)
        size, known = record.labels.n_classes, truth >= 0
        cells = np.bincount(truth[known] * size + record.code[known], minlength=size * size)
        score = Score.of(record.winners, truth, class_values(record.labels), gold=n_known - int(known.sum()))
        return cls(calibration(record, truth), cells.reshape(size, size), score)

    @property
    def gold(self) -> int:
        """Number of items left out, since the fit was told their class."""
        return self.score.gold

    @property
    def known(self) -> int:
        """Number of items whose truth is known."""
        return int(self.cells.sum())

    def mean(self, name: str) -> float:
        """Return the mean of a column of the records over all items."""
        return float(sum(row["items"] * row[name] for row in self.records if row["items"]) / self.known)
