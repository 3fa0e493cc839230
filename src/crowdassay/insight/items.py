"""What can be said of items: how they stand, and how hard they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.insight.connection import Connection
from crowdassay.insight.intervals import difficulty_interval
from crowdassay.insight.verdicts import ENOUGH
from crowdassay.insight.worth import SETTLED


@dataclass(frozen=True, eq=False)
class ItemInsight:
    """What can be said of the items of a result, which may be some of all.

    Attributes
    ----------
    result : Result
    connection : Connection
        How all labels hang together.
    mean_difficulty : float
        The expected share of all labels that are wrong.
    """

    result: Result
    connection: Connection
    mean_difficulty: float

    @cached_property
    def standings(self) -> list[str]:
        """For each item: known, unidentifiable, tied, settled (probability at least 0.95) or open."""
        result, group = self.result, self.connection.of_items(self.result.labels)
        names = np.empty(len(group), object)
        names[:] = "open"  # one text for all items that share it, which np.full would copy
        names[result.probability >= SETTLED] = "settled"
        names[result.tied] = "tied"
        names[(group < 0) | ~self.connection.identified[group]] = "unidentifiable"
        names[result.labels.gold >= 0] = "known"
        return list(names)

    @cached_property
    def difficulty(self) -> tuple[FloatArray, FloatArray, list[str]]:
        """Limits of every item's difficulty, and whether it is hard, easy, ordinary, or has too few labels to tell."""
        labels = self.result.labels
        low, high = difficulty_interval(labels.votes(), self.result.posterior)
        names = np.empty(labels.n_items, object)
        names[:] = "ordinary"
        names[low > self.mean_difficulty] = "hard"
        names[high < self.mean_difficulty] = "easy"
        names[np.diff(labels.starts) < ENOUGH] = "too few labels"
        return low, high, list(names)


def attach(result: Result, insight: ItemInsight) -> Result:
    """Let a result of some of all items know what was found from all, instead of asking these few; return it."""
    result.__dict__["insight"] = insight  # where a cached property keeps its value
    return result


def detach(result: Result) -> None:
    """Part a result from its insight, which refers to it: only then is its memory free as soon as it is not needed."""
    result.__dict__.pop("insight", None)


def hardness(result: Result) -> FloatArray:
    """Return how hard each item is: its difficulty or, where the model has none, its entropy; shape (n_items,)."""
    return np.round(result.entropy if result.difficulty is None else result.difficulty, 9)  # rounding errors make no order


def disputed(result: Result, size: int) -> list[int]:
    """Return the items whose votes are spread most evenly, by entropy of the votes; those with a single label come last."""
    votes = result.labels.votes()
    total = np.maximum(votes.sum(axis=1), 1)
    share = votes / total[:, None]
    entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)
    return [int(j) for j in np.lexsort((-total, -np.round(entropy, 9)))[:size] if entropy[j] > 0]


def take_items(labels: Labels, rows: IntArray, *, named: bool = True) -> Labels:
    """Return the labels of some items (n_rows,), in that order; without their names unless these are wanted."""
    sizes = np.diff(labels.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    chosen = np.arange(starts[-1]) + np.repeat(labels.starts[:-1][rows] - starts[:-1], sizes)
    items = labels.items.take(pa.array(rows)) if named else pa.nulls(len(rows))
    return replace(
        labels,
        starts=starts,
        worker=labels.worker[chosen],
        label=labels.label[chosen],
        gold=labels.gold[rows],
        items=items,
        time=None if labels.time is None else labels.time[chosen],
        duration=None if labels.duration is None else labels.duration[chosen],
    )


def join_items(parts: Sequence[Labels]) -> Labels:
    """Return the labels of several sets of items together, of the same workers and classes."""
    sizes = np.concatenate([np.diff(labels.starts) for labels in parts])
    return replace(
        parts[0],
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        worker=np.concatenate([labels.worker for labels in parts]),
        label=np.concatenate([labels.label for labels in parts]),
        gold=np.concatenate([labels.gold for labels in parts]),
        items=pa.concat_arrays([labels.items for labels in parts]),
        time=_joined([labels.time for labels in parts]),
        duration=_joined([labels.duration for labels in parts]),
    )


def _joined(arrays: Sequence[FloatArray | None]) -> FloatArray | None:
    """Return arrays one after the other; None if any is missing."""
    whole = [array for array in arrays if array is not None]
    return np.concatenate(whole) if len(whole) == len(arrays) else None
