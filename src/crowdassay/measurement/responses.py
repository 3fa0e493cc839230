"""Scored responses: who answered what, and how well."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.errors import DataError
from crowdassay.labels.frames import take_labels
from crowdassay.labels.labels import Labels
from crowdassay.labels.report import MAX_CLASSES
from crowdassay.labels.values import shown
from crowdassay.read_options import ReadOptions
from crowdassay.results.saved.study import check_codes


@dataclass(frozen=True, eq=False)
class Responses:
    """Scores of workers on items.

    Attributes
    ----------
    item, worker, score : ndarray of int64, shape (n_responses,)
    low, high : ndarray of int64, shape (n_items,)
        The lowest and highest score that an item can give.
    items, workers : pyarrow.Array
    frame : str
        Kind of frame in which results are handed back.
    """

    item: IntArray
    worker: IntArray
    score: IntArray
    low: IntArray
    high: IntArray
    items: pa.Array
    workers: pa.Array
    frame: str = "pyarrow"

    @property
    def n_steps(self) -> int:
        """The highest score: the number of steps from score to score."""
        return int(self.high.max())

    def counts(self) -> IntArray:
        """Count responses by item and score, shape (n_items, n_steps + 1)."""
        width = self.n_steps + 1
        return np.bincount(self.item * width + self.score, minlength=len(self.items) * width).reshape(-1, width)

    def check(self) -> None:
        """Raise ValueError where codes name nothing, as in a file that another hand has made."""
        length, n_items = len(self.score), len(self.items)
        check_codes(self.item, n_items, length)
        check_codes(self.worker, len(self.workers), length)
        check_codes(self.high, MAX_CLASSES + 1, n_items)
        check_codes(self.low, MAX_CLASSES + 1, n_items)
        check_codes(self.score, self.n_steps + 1, length)
        if ((self.score < self.low[self.item]) | (self.score > self.high[self.item])).any():
            raise ValueError("scores that their items cannot give")

    def possible_scores(self) -> BoolArray:
        """Mark the scores that an item can give, shape (n_items, n_steps + 1)."""
        scores = np.arange(self.n_steps + 1)
        return np.asarray((scores >= self.low[:, None]) & (scores <= self.high[:, None]))

    def possible_steps(self) -> BoolArray:
        """Mark the steps 1, 2 ... that an item has, shape (n_items, n_steps)."""
        step = np.arange(1, self.n_steps + 1)
        return np.asarray((step > self.low[:, None]) & (step <= self.high[:, None]))

    def on_one_scale(self) -> Responses:
        """Return the same responses with every item able to give scores up to the highest there is."""
        return replace(self, high=np.full_like(self.high, self.n_steps))


def read_responses(
    data: Any, item_column: str | None = None, worker_column: str | None = None, score_column: str | None = None
) -> Responses:
    """Take scores 0, 1, 2 ... from a frame, a file or a triple (items, workers, scores).

    An item can give the scores from 0 to the highest seen on it.

    >>> read_responses((["a", "b", "a"], ["ann", "ann", "bob"], [0, 2, 1])).counts()
    array([[1, 1, 0], [0, 0, 1]])
    """
    if not isinstance(data, Labels):
        import narwhals as nw  # noqa: PLC0415 - slow to load, and files do without

        frame: Any = nw.from_native(data, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else ()
        worker_column = "person" if worker_column is None and "person" in names else worker_column
        score_column = "score" if score_column is None and "score" in names else score_column
        columns = {"item_column": item_column, "worker_column": worker_column, "label_column": score_column}
        data = take_labels(data, ReadOptions.of(columns))  # whoever answers an item again is measured by both
    values = np.array([_whole(name) for name in data.class_names])
    score = values[data.label]
    low, high = np.zeros(data.n_items, np.int64), np.ones(data.n_items, np.int64)
    np.maximum.at(high, data.label_item, score)
    return Responses(data.label_item, data.worker.astype(np.int64), score, low, high, data.items, data.workers, data.frame)


def mark_responses(labels: Labels, truth: np.ndarray) -> Responses:
    """Mark labels right (1) or wrong (0) by class codes (n_items,); items without truth, -1, are left out."""
    right = (labels.label == truth[labels.label_item]).astype(np.int64)
    return _kept(labels, truth, right, np.zeros(labels.n_items, np.int64), np.ones(labels.n_items, np.int64))


def grade_responses(labels: Labels, truth: np.ndarray) -> Responses:
    r"""Score labels of ordered classes by closeness, :math:`K - 1 - |x_{ij} - y_j|`; items without truth are left out.

    An item whose truth lies inside the scale cannot be missed by K - 1, so it cannot give the lowest scores.
    """
    top = labels.n_classes - 1
    score = top - np.abs(labels.label - truth[labels.label_item])
    reach = np.maximum(truth, top - truth)
    return _kept(labels, truth, score, top - reach, np.full(labels.n_items, top))


def _kept(labels: Labels, truth: np.ndarray, score: np.ndarray, low: np.ndarray, high: np.ndarray) -> Responses:
    known = truth >= 0
    if not known.any():
        raise DataError("No item has a known class, so no label can be marked; give the truth of some items.")
    rows = known[labels.label_item]
    code = np.cumsum(known) - 1
    base = low[known].min()
    return Responses(
        code[labels.label_item[rows]],
        labels.worker[rows].astype(np.int64),
        score[rows].astype(np.int64) - base,
        (low[known] - base).astype(np.int64),
        (high[known] - base).astype(np.int64),
        labels.items.filter(pa.array(known)),
        labels.workers,
        labels.frame,
    )


def _whole(name: str) -> int:
    try:
        value = float(name)
    except ValueError:
        value = -1.0
    if not (0 <= value <= MAX_CLASSES and value.is_integer()):
        raise DataError(
            f"Scores must be whole numbers from 0 up, at most {MAX_CLASSES}, not {shown(name)}; to mark labels use from_fit."
        )
    return int(value)
