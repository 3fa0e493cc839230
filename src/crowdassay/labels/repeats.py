"""Find judgements that a worker gave more than once on the same item, and do with them what was asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, CodeArray, IntArray
from crowdassay.errors import DataError
from crowdassay.labels.values import counted, shown

PAIRS_NAMED = 3  # pairs in conflict that a note names
LONGEST_COMPARED = 64  # labels of an item up to which comparing all pairs is quicker than sorting


def any_repeats(starts: IntArray, worker: CodeArray) -> bool:
    """Return whether a worker judged an item twice, the labels of item j being ``starts[j]:starts[j + 1]``.

    >>> any_repeats(np.array([0, 2, 3]), np.array([0, 1, 1])), any_repeats(np.array([0, 2, 3]), np.array([0, 0, 1]))
    (False, True)
    """
    longest = int(np.diff(starts).max())
    if longest > LONGEST_COMPARED:
        item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pair = np.sort(item * (int(worker.max()) + 1) + worker)
        return bool(np.any(pair[1:] == pair[:-1]))
    for gap in range(1, longest):
        same = np.flatnonzero(worker[gap:] == worker[:-gap])
        if np.any(starts[np.searchsorted(starts, same, side="right")] > same + gap):  # where the item of `same` ends
            return True
    return False


@dataclass
class RepeatTotals:
    """Repeats found in one block of labels after the other.

    Attributes
    ----------
    policy : {'keep', 'first', 'last', 'error'}
    time_column : str, optional
        By which the first and the last are told; by row otherwise.
    count : int
        Judgements beyond the first of their pair.
    conflicts : int
        Pairs that hold different labels.
    left_out : int
        Rows to leave out to keep the first, or the last, judgement of every pair.
    earliest : tuple of int, optional
        Block, item and worker of the first pair that comes again.
    places : list of tuple of int
        The same of the first pairs in conflict.

    Examples
    --------
    >>> totals = RepeatTotals("last")
    >>> totals.add(0, np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1, 0, 1]), 1, None).tolist(), totals.conflicts
    ([False, True, True], 1)
    """

    policy: str
    time_column: str | None = None
    count: int = 0
    conflicts: int = 0
    left_out: int = 0
    earliest: tuple[int, int, int] | None = None
    places: list[tuple[int, int, int]] = field(default_factory=list)

    def add(
        self, block: int, item: CodeArray, worker: CodeArray, label: CodeArray, n_workers: int, time: NDArray[Any] | None
    ) -> BoolArray | None:
        """Add a block, codes of shape (n_labels,) each, and return which of its labels to keep; None for all.

        First and last go by ``time``, shape (n_labels,), where its column is known, else (and at the same time) by row.
        """
        pair = item.astype(np.int64) * n_workers + worker
        ordered = np.sort(pair)
        doubled = ordered[1:][ordered[1:] == ordered[:-1]]
        if not len(doubled):
            return None
        # Repeats are few as a rule: only the rows of the pairs concerned are sorted with their positions, which is slow.
        rows = np.flatnonzero(pc.is_in(pa.array(pair), value_set=pa.array(doubled)).to_numpy(zero_copy_only=False))
        if time is None or self.time_column is None:
            rows = rows[np.argsort(pair[rows], kind="stable")]
        else:
            rows = rows[np.lexsort((time[rows], pair[rows]))]
        begins = np.append(True, pair[rows[1:]] != pair[rows[:-1]])
        ends = np.append(begins[1:], True)
        starts = np.flatnonzero(begins)
        differ = np.minimum.reduceat(label[rows], starts) != np.maximum.reduceat(label[rows], starts)
        named = (rows[~begins].min(), *np.sort(rows[starts[differ]])[:PAIRS_NAMED])
        first, *others = [(block, int(item[row]), int(worker[row])) for row in named]
        self.earliest = self.earliest or first
        self.places = (self.places + others)[:PAIRS_NAMED]
        self.count += len(doubled)
        self.conflicts += int(differ.sum())
        if self.policy not in {"first", "last"}:
            return None
        self.left_out += len(doubled)
        keep = np.ones(len(item), bool)
        keep[rows[~(begins if self.policy == "first" else ends)]] = False
        return keep

    def notes(self, names: Callable[[int, int, int], tuple[object, object]]) -> list[str]:
        """Return what was done, or refuse repeats that are not allowed; ``names`` are the worker and the item of a place."""
        if self.earliest is None:
            return []
        first, *others = ["worker {} on item {}".format(*map(shown, names(*place))) for place in (self.earliest, *self.places)]
        if self.policy == "error":
            raise DataError(
                f"A worker may judge an item once, but {first} comes again ({counted(self.count, 'such row')} in all); "
                "remove the repeats or choose --repeats keep, first or last."
            )
        by = "in row order" if self.time_column is None else f"by the time column {shown(self.time_column)}"
        kept = [] if self.policy == "keep" else [f"Of repeated judgements the {self.policy} {by} was kept."]
        if not self.conflicts:
            return kept
        pairs = counted(self.conflicts, "pair")
        return [*kept, f"Different labels by one worker for one item: {pairs}, for example {', '.join(others)}."]
