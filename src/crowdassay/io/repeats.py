"""Find judgements that a worker gave more than once on the same item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import IntArray

POLICIES = ("keep", "first", "last", "error")
Codes = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Repeats:
    """Where workers judged an item again.

    Attributes
    ----------
    count : int
        Judgements beyond the first of their pair.
    conflicts : int
        Pairs that hold different labels.
    not_first, not_last : ndarray of int64, shape (count,)
        Rows to leave out to keep the first, or the last, judgement of every pair.
    earliest : int
        The first row that repeats a pair.
    conflict_rows : ndarray of int64
        A row of each of the first three pairs in conflict.
    """

    count: int
    conflicts: int
    not_first: IntArray
    not_last: IntArray
    earliest: int
    conflict_rows: IntArray


def find_repeats(item: Codes, worker: Codes, label: Codes, n_workers: int) -> Repeats | None:
    """Group judgements, codes of shape (n_labels,) each, by worker and item; None when no pair occurs twice.

    >>> find_repeats(np.array([0, 0, 1]), np.array([0, 0, 0]), np.array([1, 0, 1]), 1).conflicts
    1
    """
    pair = item.astype(np.int64) * n_workers + worker
    ordered = np.sort(pair)
    doubled = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(doubled):
        return None
    # Repeats are few as a rule: only the rows of the pairs concerned are sorted with their positions, which is slow.
    rows = np.flatnonzero(pc.is_in(pa.array(pair), value_set=pa.array(doubled)).to_numpy(zero_copy_only=False))
    rows = rows[np.argsort(pair[rows], kind="stable")]
    starts_here = np.append(True, pair[rows[1:]] != pair[rows[:-1]])
    ends_here = np.append(starts_here[1:], True)
    starts = np.flatnonzero(starts_here)
    differ = np.minimum.reduceat(label[rows], starts) != np.maximum.reduceat(label[rows], starts)
    return Repeats(
        count=len(doubled),
        conflicts=int(differ.sum()),
        not_first=rows[~starts_here],
        not_last=rows[~ends_here],
        earliest=int(rows[~starts_here].min()),
        conflict_rows=np.sort(rows[starts[differ]])[:3],
    )
