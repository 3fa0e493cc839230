"""How labels lie on a graphics card: items of equal length together, label by label; long items one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""An array on the card, or of NumPy in the simulator."""

LEAST_CAP = 512  # labels up to which a worker has one place
CHUNK = 1 << 24  # items laid out at a time
LONG = 1024  # labels from which an item gets a large block of threads
TEAMS = (32, 256)  # threads of a block for an item of middle length, and for a long one


@dataclass(frozen=True, eq=False)
class Group:
    """Items that one launch of a kernel passes over.

    Attributes
    ----------
    codes : array of uint32
        With equal lengths, the first label of every item, then the second, and so on; otherwise item after item.
    starts : array of int64
        Where the items of a team group begin, and the end; empty for equal lengths.
    length : int
        Labels of each item; 0 in a team group.
    first, n_items : int
        The items, in the order of the layout.
    threads : int
        Threads that share an item; 1 for equal lengths.
    """

    codes: Array
    starts: Array
    length: int
    first: int
    n_items: int
    threads: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Labels on the card, and what it takes to find workers and items again.

    Attributes
    ----------
    groups : tuple of Group
    order : array of shape (n_items,) or None
        Which item stands at each position; None where they stand as they came.
    first_place : array of shape (n_workers + 1,) or None
        Where each worker's places begin, and the end; None where worker and place are the same.
    n_places : int
    busiest : int
        The largest number of labels of one place.
    label_counts : array of shape (n_workers, n_classes)
    """

    groups: tuple[Group, ...]
    order: Array | None
    first_place: Array | None
    n_places: int
    busiest: int
    label_counts: Array

    def by_worker(self, values: Array, xp: Any) -> Array:
        """Add up integers (n_places, ...) of each worker's places, exactly."""
        if self.first_place is None:
            return values
        ends = xp.zeros((self.n_places + 1, *values.shape[1:]), values.dtype)
        xp.cumsum(values, axis=0, out=ends[1:])
        return ends[self.first_place[1:]] - ends[self.first_place[:-1]]

    def by_place(self, rows: Array, xp: Any) -> Array:
        """Repeat the row (n_workers, ...) of each worker for its places."""
        if self.first_place is None:
            return rows
        return rows[xp.searchsorted(self.first_place, xp.arange(self.n_places), side="right") - 1]


def lay_out(
    xp: Any,
    tally: Callable[[Array, int], Array],
    worker: Array,
    label: Array,
    starts: Array | int,
    n_workers: int,
    n_classes: int,
    longest: int,
) -> Layout:
    """Pack labels.

    Parameters
    ----------
    xp : module
        CuPy, or NumPy in the simulator.
    tally : callable
        Counts codes: array and number of different codes in, counts out.
    worker, label : array of shape (n_labels,)
        Item by item.
    starts : array of shape (n_items + 1,), or int
        Where each item begins; or the number of labels that every item has.
    n_workers, n_classes : int
    longest : int
        Labels up to which an item is one thread's.
    """
    counts = tally(worker, n_workers)
    cap = max(LEAST_CAP, 2 * (len(worker) // n_workers))
    first_place: Array | None = None
    spread: Array = None
    if int(counts.max()) > cap:
        spread = xp.left_shift(1, xp.ceil(xp.log2(xp.maximum(counts / cap, 1.0))).astype(np.int64))
        first_place = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(spread)])

    def encode(position: Array, turn: Array) -> Array:
        place = worker[position].astype(np.int64)
        if first_place is not None:
            place = first_place[place] + (turn & (spread[place] - 1))
        return (place * n_classes + label[position]).astype(np.uint32)

    if isinstance(starts, int):
        n_items = len(worker) // starts
        pieces: list[tuple[int, int, int]] = [(starts, 0, n_items)]
        order = None
        begins = None
    else:
        n_items = len(starts) - 1
        lengths = xp.diff(starts)
        order = xp.argsort(lengths, kind="stable")
        sizes, counted = (np.atleast_1d(_host(part)) for part in xp.unique(lengths, return_counts=True))
        ends = np.cumsum(counted)
        pieces = [(int(n), int(end - m), int(m)) for n, m, end in zip(sizes, counted, ends, strict=True)]
        if len(pieces) == 1:
            order = None
        begins = starts[:-1] if order is None else starts[:-1][order]
    groups = []
    rest = n_items
    for length, first, m in pieces:
        if length > longest:
            rest = first
            break
        codes = xp.empty((length, m), np.uint32)
        for chunk in range(0, m, CHUNK):
            item = xp.arange(first + chunk, first + min(chunk + CHUNK, m))
            begin = item * length if begins is None else begins[item]
            for at in range(length):
                codes[at, chunk : chunk + len(item)] = encode(begin + at, item)
        groups.append(Group(codes.ravel(), xp.zeros(1, np.int64), length, first, m, 1))
    if rest < n_items:
        groups.extend(_teams(xp, encode, begins, lengths if order is None else lengths[order], rest, n_items))
    n_places = n_workers if first_place is None else int(first_place[-1])
    by_code = sum(tally(group.codes, n_places * n_classes) for group in groups)
    by_code = by_code.reshape(n_places, n_classes)
    layout = Layout(tuple(groups), order, first_place, n_places, int(by_code.sum(axis=1).max()), by_code)
    return Layout(layout.groups, order, first_place, n_places, layout.busiest, layout.by_worker(by_code, xp))


def _teams(xp: Any, encode: Any, begins: Array, lengths: Array, first: int, n_items: int) -> list[Group]:
    """Lay out long items, from ``first`` on, one after the other; a worker's labels of one item go to different places."""
    middle = int(xp.searchsorted(lengths, LONG, side="right"))
    groups = []
    for a, b, threads in ((max(middle, first), n_items, TEAMS[1]), (first, max(middle, first), TEAMS[0])):
        if a == b:
            continue
        starts = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(lengths[a:b])])
        owner = xp.zeros(int(starts[-1]), np.int64)
        owner[starts[1:-1]] = 1
        owner = xp.cumsum(owner)
        position = xp.arange(len(owner)) + (begins[a:b] - starts[:-1])[owner]
        groups.append(Group(encode(position, xp.arange(len(owner))), starts, 0, a, b - a, threads))
    return groups


def _host(array: Array) -> np.ndarray:
    return array.get() if hasattr(array, "get") else np.asarray(array)
