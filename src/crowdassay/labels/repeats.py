"""Find judgements that a worker gave more than once on the same item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError

Codes = NDArray[np.integer[Any]]
LONGEST_COMPARED = 64  # labels of an item up to which comparing all pairs is quicker than sorting


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


def any_repeats(starts: IntArray, worker: Codes) -> bool:
    """Tell whether a worker judged an item twice, the labels of item j being ``starts[j]:starts[j + 1]``.

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


def find_repeats(item: Codes, worker: Codes, label: Codes, n_workers: int, time: FloatArray | None = None) -> Repeats | None:
    """Group judgements, codes of shape (n_labels,) each, by worker and item; None when no pair occurs twice.

    First and last go by ``time``, shape (n_labels,), where it is given, else (and at the same time) by row.

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
    rows = rows[np.argsort(pair[rows], kind="stable") if time is None else np.lexsort((time[rows], pair[rows]))]
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


def repeat_notes(policy: str, by: str, count: int, earliest: str, conflicts: int, examples: list[str]) -> list[str]:
    """Say what became of ``count`` repeats and of the conflicts among them, or that they are not allowed.

    >>> repeat_notes("keep", "in row order", 2, "worker 'ann' on item 'a'", 1, ["worker 'ann' on item 'a'"])
    ["Different labels by one worker for one item: 1 pair, for example worker 'ann' on item 'a'."]
    """
    if policy == "error":
        raise DataError(
            f"A worker may judge an item once, but {earliest} comes again ({count} such rows in all); "
            "remove the repeats or choose --repeats keep, first or last."
        )
    kept = [] if policy == "keep" else [f"Of repeated judgements the {policy} {by} was kept."]
    if not conflicts:
        return kept
    pairs = f"{conflicts:,} {'pair' if conflicts == 1 else 'pairs'}"
    return [*kept, f"Different labels by one worker for one item: {pairs}, for example {', '.join(examples)}."]
