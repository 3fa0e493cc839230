"""Sums over items and pairs of workers: added up in blocks on all cores, and joined field by field, wherever blocks are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import pairwise
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.labels import Labels
from crowdassay.threads import available_cores

MOST_BLOCKS, LEAST_BLOCK = 16, 200_000  # blocks of items, and labels in each
MOST_SUMMED = 50_000_000  # numbers in the sums of all blocks
CELLS_IN_CACHE = 1 << 19  # labels times squared classes of a chunk
FEWEST_IN_CHUNK, MOST_IN_CHUNK = 1 << 12, 1 << 14  # labels
SHORT_KEYS = 1 << 16  # keys below are sorted by their digits, in a tenth of the time
MOST_MET, LEAST_MET = 1 << 17, 1 << 14  # pairs of labels that are looked at together
DENSE = 8  # cells of a table of pairs for each meeting, up to which such a table is made
CELLS_MET = 1 << 22  # the same, times classes

Codes = NDArray[np.integer[Any]]
T = TypeVar("T")


class BlockSums:
    """A dataclass of sums over some items; those of two blocks join to those of both.

    A field is added, unless it has a ``join`` of its own, or says how it is joined: ``field(metadata={"join": np.minimum})``.
    What is None in either is None.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Seen(BlockSums):
    ...     labels: int
    ...     first: float = field(metadata={"join": min})
    >>> Seen(3, 5.0).join(Seen(4, 2.0))
    Seen(labels=7, first=2.0)
    """

    def join(self, other: Self) -> Self:
        """Return the sums over both."""

        def both(field: Any) -> Any:
            one, more = getattr(self, field.name), getattr(other, field.name)
            if one is None or more is None:
                return None
            if "join" in field.metadata:
                return field.metadata["join"](one, more)
            return one.join(more) if hasattr(one, "join") else one + more

        return type(self)(*(both(field) for field in fields(self)))  # type: ignore[arg-type]


def add_blocks(labels: Labels, add: Callable[..., None], shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Call ``add(first item, last item, *sums)`` for blocks of items on all cores; return the sums, of these shapes.

    Blocks of about equal numbers of labels are cut by the data alone, each has its own sums, and these are added in order, so
    that the number of threads changes nothing.
    """
    room = MOST_SUMMED // max(sum(int(np.prod(shape)) for shape in shapes), 1)
    n_blocks = max(1, min(MOST_BLOCKS, room, labels.n_labels // LEAST_BLOCK))
    cuts = np.searchsorted(labels.starts, np.linspace(0, labels.n_labels, n_blocks + 1)[1:-1])
    edges = list(pairwise(np.unique(np.concatenate([[0], cuts, [labels.n_items]])).tolist()))

    def work(edge: tuple[int, int]) -> list[FloatArray]:
        sums = [np.zeros(shape) for shape in shapes]
        add(*edge, *sums)
        return sums

    if len(edges) == 1:  # few labels, or a block of labels on disk, which has a thread of its own
        return work(edges[0])
    with ThreadPoolExecutor(available_cores()) as pool:
        block_sums = pool.map(work, edges)
        total = next(block_sums)
        for block in block_sums:
            for mine, more in zip(total, block, strict=True):
                np.add(mine, more, out=mine)
    return total


def item_ranges(labels: Labels, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Cut items [first, last) into ranges whose labels, with a table of classes for each, fit into the cache."""
    size = min(max(CELLS_IN_CACHE // labels.n_classes**2, FEWEST_IN_CHUNK), MOST_IN_CHUNK)
    while first < last:
        stop = int(np.searchsorted(labels.starts, labels.starts[first] + size, "right")) - 1
        stop = min(max(stop, first + 1), last)
        yield first, stop
        first = stop


def add_by(group: IntArray, rows: FloatArray, size: int = 0) -> FloatArray:
    """Add up every row (n_rows, n) by group (n,): (n_rows, n_groups)."""
    return np.array([np.bincount(group, row, size) for row in rows], np.float64)


def order_of(keys: NDArray[np.integer[Any]], size: int) -> IntArray:
    """Return the order of keys below ``size``."""
    return np.argsort(keys.astype(np.uint16), kind="stable") if size <= SHORT_KEYS else np.argsort(keys, kind="stable")


def runs_of(keys: IntArray) -> IntArray:
    """Return where each run of equal keys begins.

    >>> runs_of(np.array([3, 3, 5, 5, 5])).tolist()
    [0, 2]
    """
    return np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))


def add_runs(sums: FloatArray, worker: IntArray, runs: IntArray, columns: Sequence[FloatArray] | FloatArray) -> None:
    """Add the sums of columns over every worker's run to rows of ``sums``."""
    if len(runs):
        here = worker[runs]
        for row, values in zip(sums, columns, strict=False):
            row[here] += np.add.reduceat(values, runs)


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
        short = np.int32 if len(worker) <= np.iinfo(np.int32).max else np.int64  # half the memory
        sizes: Codes = np.diff(starts).astype(short)
        self.worker, self.order = worker, order_of(worker, n_workers).astype(short)
        self.item: Codes = np.repeat(np.arange(len(sizes)).astype(short), sizes)
        item = self.item[self.order]
        self.begins, self.others = starts.astype(short)[item], sizes[item]
        most = min(max(CELLS_MET // n_classes, LEAST_MET), MOST_MET)
        # Workers in turn are taken together as long as their labels meet few others.
        last = np.cumsum(np.bincount(worker, minlength=n_workers))
        met = np.append(0, np.cumsum(self.others, dtype=np.int64))[last]
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
