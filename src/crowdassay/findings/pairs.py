"""Every two workers who meet on the same items: their labels side by side, some workers at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import IntArray
from crowdassay.findings.others import order_of
from crowdassay.threads import available_cores

MOST_MET, LEAST_MET = 1 << 18, 1 << 14  # pairs of labels that are looked at together
DENSE = 8  # cells of a table of pairs for each meeting, up to which such a table is made
CELLS_MET = 1 << 22  # the same, times classes

Codes = NDArray[np.integer[Any]]
T = TypeVar("T")


class Meetings:
    """Pairs of labels on the same item by different workers, in the order of the first worker.

    Parameters
    ----------
    starts : ndarray of int, shape (n_items + 1,)
    worker : ndarray of int, shape (n_labels,)
        In the order of items.
    n_workers, n_classes : int

    Examples
    --------
    >>> meet = Meetings(np.array([0, 2, 5]), np.array([1, 0, 0, 1, 2]), 3, 2)
    >>> [(one.tolist(), other.tolist()) for one, other in meet.each(lambda one, other: (one, other))]
    [([1, 2, 2, 3], [0, 3, 4, 4])]
    """

    def __init__(self, starts: IntArray, worker: Codes, n_workers: int, n_classes: int) -> None:
        sizes = np.diff(starts)
        self.worker, self.item = worker, np.repeat(np.arange(len(sizes)), sizes)
        self.order = order_of(worker, n_workers)
        item = self.item[self.order]
        self.begins, self.others = starts[item], sizes[item]
        most = min(max(CELLS_MET // n_classes, LEAST_MET), MOST_MET)
        # Workers in turn are taken together as long as their labels meet few others.
        last = np.cumsum(np.bincount(worker, minlength=n_workers))
        met = np.append(0, np.cumsum(self.others))[last]
        self.edges = np.unique(np.concatenate([[0], last[np.flatnonzero(np.diff(met // most))], last[-1:]]))

    def each(self, look: Callable[[IntArray, IntArray], T]) -> Iterable[T]:
        """Yield what ``look`` finds in the pairs of labels (n_pairs,) each of some workers, on all cores and in order."""
        with ThreadPoolExecutor(available_cores()) as pool:
            yield from pool.map(lambda edge: look(*self._pairs(*edge)), zip(self.edges[:-1], self.edges[1:], strict=True))

    def _pairs(self, first: int, last: int) -> tuple[IntArray, IntArray]:
        """Return the pairs whose first worker's labels are [first, last) in the order of workers."""
        labels, others = self.order[first:last], self.others[first:last]
        before = np.cumsum(others) - others
        other = np.arange(others.sum()) + np.repeat(self.begins[first:last] - before, others)
        later = np.flatnonzero(self.worker[other] > np.repeat(self.worker[labels], others))
        return np.repeat(labels, others)[later], other[later]


def number_pairs(one: Codes, other: Codes, n_workers: int) -> tuple[IntArray, IntArray]:
    """Return the different pairs of workers, ``one * n_workers + other``, in order, and the number of every pair (n,).

    >>> number_pairs(np.array([1, 1, 0]), np.array([2, 2, 1]), 3)
    (array([1, 5]), array([1, 1, 0]))
    """
    if not len(one):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    key, least = one.astype(np.int64) * n_workers + other, int(one.min()) * n_workers
    room = (int(one.max()) + 1) * n_workers - least
    if room > DENSE * len(key):
        return np.unique(key, return_inverse=True)
    number = np.zeros(room, np.int64)  # most workers meet: a table of all is quicker than sorting
    number[key - least] = 1
    codes = np.flatnonzero(number)
    number[codes] = np.arange(len(codes))
    return codes + least, number[key - least]
