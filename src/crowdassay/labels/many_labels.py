"""Sort and count many labels: compiled, on all cores, each thread working where its cache suffices."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit
from numpy.typing import NDArray

from crowdassay.arrays import CodeArray, IntArray
from crowdassay.threads import available_cores, on_all_cores, work_on_each

ROWS_A_THREAD = 1 << 17  # labels handed to a thread at a time
PART_BITS, PARTS_AT_ONCE = 8, 16  # leading bits of an item's code that tell its part; parts handed to a thread at a time

_jit = njit(nogil=True, cache=True)


def sort_by_item(
    item: CodeArray, n_items: int, worker: NDArray[np.int32], label: NDArray[np.int16]
) -> tuple[IntArray, NDArray[np.int32], NDArray[np.int16]]:
    """Sort labels item-major, keeping the order within each item; return where items start, and the sorted codes.

    Labels are first dealt into parts by ranges of items, then every part is sorted by counting.

    >>> sort_by_item(np.array([1, 0, 1]), 2, np.array([5, 6, 7], np.int32), np.array([0, 1, 2], np.int16))
    (array([0, 1, 3]), array([6, 5, 7], dtype=int32), array([1, 0, 2], dtype=int16))
    """
    shift = max(n_items - 1, 1).bit_length() - PART_BITS if n_items > 1 << PART_BITS else 0  # 2 ** shift items are a part
    n_parts = ((n_items - 1) >> shift) + 1
    spans = [slice(first, first + ROWS_A_THREAD) for first in range(0, len(item), ROWS_A_THREAD)]
    counts = np.zeros((len(spans), n_parts), np.int64)
    dealt = np.empty(len(item), np.int32), np.empty(len(item), np.int32), np.empty(len(item), np.int16)
    starts, who, what = np.zeros(n_items + 1, np.int64), np.empty_like(worker), np.empty_like(label)
    with ThreadPoolExecutor(available_cores()) as pool:
        work_on_each(pool, lambda k: _count_parts(item[spans[k]], shift, counts[k]), range(len(spans)))
        ends = np.cumsum(counts.T).reshape(n_parts, -1).T  # the parts one after the other, in each the spans in order
        edges, places = np.append(0, ends[-1]), ends - counts
        work_on_each(
            pool,
            lambda k: _deal(item[spans[k]], worker[spans[k]], label[spans[k]], shift, places[k], *dealt),
            range(len(spans)),
        )
        work_on_each(
            pool, lambda first: _sort_parts(*dealt, edges, first, shift, starts, who, what), range(0, n_parts, PARTS_AT_ONCE)
        )
    return starts, who, what


def count_votes(starts: IntArray, label: NDArray[np.int16], n_classes: int) -> NDArray[np.int32]:
    """Count the labels of every item and class, shape (n_items, n_classes).

    >>> count_votes(np.array([0, 1, 3]), np.array([0, 1, 1], np.int16), 2).tolist()
    [[1, 0], [0, 2]]
    """
    votes = np.zeros((len(starts) - 1, n_classes), np.int32)
    on_all_cores(
        lambda first: _count_votes(starts, label, first, votes[first : first + ROWS_A_THREAD]),
        range(0, len(votes), ROWS_A_THREAD),
    )
    return votes


@_jit
def _count_parts(item: CodeArray, shift: int, counts: IntArray) -> None:
    for code in item:
        counts[code >> shift] += 1


@_jit
def _deal(item: CodeArray, worker: CodeArray, label: CodeArray, shift: int, places: IntArray, items: CodeArray,
          workers: CodeArray, labels: CodeArray) -> None:  # fmt: skip
    for row in range(len(item)):
        part = item[row] >> shift
        place = places[part]
        items[place], workers[place], labels[place] = item[row], worker[row], label[row]
        places[part] = place + 1


@_jit
def _sort_parts(items: CodeArray, workers: CodeArray, labels: CodeArray, edges: IntArray, part: int, shift: int,
                starts: IntArray, who: CodeArray, what: CodeArray) -> None:  # fmt: skip
    """Sort the labels of a few parts from ``part`` on, and write where their items end."""
    place = np.empty((1 << shift) + 1, np.int64)
    for k in range(part, min(part + PARTS_AT_ONCE, len(edges) - 1)):
        first, begin, end = k << shift, edges[k], edges[k + 1]
        place[0], place[1:] = begin, 0
        for row in range(begin, end):
            place[items[row] - first + 1] += 1
        for j in range(min(1 << shift, len(starts) - 1 - first)):
            place[j + 1] += place[j]
            starts[first + j + 1] = place[j + 1]
        for row in range(begin, end):
            j = items[row] - first
            who[place[j]], what[place[j]] = workers[row], labels[row]
            place[j] += 1


@_jit
def _count_votes(starts: IntArray, label: CodeArray, first: int, votes: CodeArray) -> None:
    for j in range(len(votes)):
        for n in range(starts[first + j], starts[first + j + 1]):
            votes[j, label[n]] += 1
