"""How labels lie for a GPU: items of equal length together, label by label; long items one after the other.

Labels are taken in blocks of items and leave in groups of bounded size, so that neither their source nor the groups have to be
on the GPU: `crowdassay.engines.gpu.store`. The groups are the same in either case, and with them every sum. A listing says
which items each worker has labelled, so that a GPU can add up without a write for every label and class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
import pyarrow as pa

from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.gpu.device import Array, for_kernels, free_memory, launch, row_length, to_host
from crowdassay.labels.labels import Labels

Keep = Callable[[Array], Array]
Encode = Callable[[Array, Array, Array], Array]

LEAST_CAP = 512  # labels up to which a worker has one place
LAYOUT_LABELS = 1 << 24  # labels taken at a time
GROUP_BYTES = 1 << 28  # bytes of labels, coordinates and probabilities that a group has at most, if it can be
LEAST_GROUP_ITEMS = 1 << 20  # that a group may have even so: fewer would not keep a GPU busy
LONG_ITEM = 1024  # labels from which an item gets a large block of threads
TEAM_THREADS = (32, 256)  # threads of a block for an item of middle length, and for a long one
LEAST_LISTED_CLASSES = 3  # below that, adding label by label is as fast
THREAD_LABELS = 16  # labels of a code that a thread reads, about
MOST_LANES = 32
LISTING_BLOCKS, LISTING_THREADS = 8192, 128
MOST_LISTED_ITEMS = 1 << 32  # items are listed in 32 bits


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
    items : array of shape (n_items,), or slice
        Which items these are.
    n_items : int
    threads : int
        Threads that share an item; 1 for equal lengths.
    """

    codes: Array
    starts: Array
    length: int
    items: Array | slice
    n_items: int
    threads: int


@dataclass(frozen=True, eq=False)
class Layout:
    """Labels in groups, and what it takes to find workers again.

    Attributes
    ----------
    groups : tuple of Group
    first_place : array of shape (n_workers + 1,) or None
        Where each worker's places begin, and the end; None where worker and place are the same.
    n_places : int
    busiest : int
        The largest number of labels of one place.
    label_counts : array of shape (n_workers, n_classes)
    code_counts : array of shape (n_places * n_classes,)
        Labels of every code.
    """

    groups: tuple[Group, ...]
    first_place: Array | None
    n_places: int
    busiest: int
    label_counts: Array
    code_counts: Array

    def by_place(self, rows: Array, xp: ModuleType) -> Array:
        """Repeat the row (n_workers, ...) of each worker for its places."""
        if self.first_place is None:
            return rows
        return rows[xp.searchsorted(self.first_place, xp.arange(self.n_places), side="right") - 1]

    def by_worker(self, values: Array, xp: ModuleType) -> Array:
        """Add up integers (n_places, ...) of each worker's places, exactly."""
        return _by_worker(xp, values, self.first_place)


def group_bytes(n_classes: int) -> int:
    """Return the bytes at which a group is full."""
    return max(GROUP_BYTES, LEAST_GROUP_ITEMS * item_bytes(n_classes))


def item_bytes(n_classes: int) -> int:
    """Return the bytes of an item's coordinates and probabilities at most."""
    return 4 * n_classes * n_classes


def lay_out(
    xp: ModuleType,
    tally: Callable[[Array, Array], None],
    keep: Keep,
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
        Adds to counts how often each code occurs: codes, counts.
    keep : callable
        Takes an array of a group from the GPU to where it is to stay.
    worker, label : array of shape (n_labels,)
        Item by item; on the GPU or not.
    starts : array of shape (n_items + 1,), or int
        Where each item begins; or the number of labels that every item has.
    n_workers, n_classes : int
    longest : int
        Labels up to which an item is one thread's.
    """
    counts = xp.zeros(n_workers, np.int64)
    for at in range(0, len(worker), LAYOUT_LABELS):
        tally(xp.array(worker[at : at + LAYOUT_LABELS]), counts)  # a copy: the simulator will not read frozen arrays
    cap = max(LEAST_CAP, 2 * (len(worker) // n_workers))
    first_place: Array | None = None
    spread: Array = None
    if int(counts.max()) > cap:
        spread = xp.left_shift(1, xp.ceil(xp.log2(xp.maximum(counts / cap, 1.0))).astype(np.int64))
        first_place = xp.concatenate([xp.zeros(1, np.int64), xp.cumsum(spread)])
    n_places = n_workers if first_place is None else int(first_place[-1])
    by_code = xp.zeros(n_places * n_classes, np.int64)

    def encode(who: Array, what: Array, turn: Array) -> Array:
        place = who.astype(np.int64)
        if first_place is not None:
            place = first_place[place] + (turn & (spread[place] - 1))
        codes = (place * n_classes + what).astype(np.uint32)
        tally(codes.ravel(), by_code)
        return codes

    groups: list[Group] = []
    piles = [_Pile(xp, length, longest, isinstance(starts, int)) for length in range(longest + 3)]
    full, per_item = group_bytes(n_classes), item_bytes(n_classes)
    for first, last, begin, end in _blocks(starts, len(worker), full // per_item):
        who, what = xp.asarray(worker[begin:end]), xp.asarray(label[begin:end])
        for number, items, begins, lengths in _by_length(xp, starts, first, last, begin, longest):
            pile = piles[number]
            if pile.items and pile.size(per_item) + 4 * int(lengths.sum()) + per_item * len(items) > full:
                groups.append(pile.leave(keep))
            pile.add(who, what, items, begins, lengths, encode)
    groups += [pile.leave(keep) for pile in piles if pile.items]
    by_place = by_code.reshape(n_places, n_classes)
    busiest, by_worker = int(by_place.sum(axis=1).max()), _by_worker(xp, by_place, first_place)
    return Layout(tuple(groups), first_place, n_places, busiest, by_worker, by_code)


def _by_worker(xp: ModuleType, values: Array, first_place: Array | None) -> Array:
    if first_place is None:
        return values
    ends = xp.zeros((len(values) + 1, *values.shape[1:]), values.dtype)
    xp.cumsum(values, axis=0, out=ends[1:])
    return ends[first_place[1:]] - ends[first_place[:-1]]


def _blocks(starts: Array | int, n_labels: int, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut the items into blocks of ``most`` at most: the first item and the one after the last, and the same of labels."""
    first, begin = 0, 0
    n_items = n_labels // starts if isinstance(starts, int) else len(starts) - 1
    while first < n_items:
        if isinstance(starts, int):
            last = first + max(min(most, LAYOUT_LABELS // starts), 1)
        else:
            last = int(np.searchsorted(starts[: first + most + 1], begin + LAYOUT_LABELS, side="right")) - 1
        last = min(max(last, first + 1), n_items)
        end = last * starts if isinstance(starts, int) else int(starts[last])
        yield first, last, begin, end
        first, begin = last, end


def _by_length(
    xp: ModuleType, starts: Array | int, first: int, last: int, begin: int, longest: int
) -> Iterator[tuple[int, Array, Array, Array]]:
    """Sort the items of a block by length: for each pile, the items, where they begin in the block, and their lengths."""
    if isinstance(starts, int):
        items, number = xp.arange(first, last), min(starts, longest + 1) + (starts > max(LONG_ITEM, longest))
        yield number, items, (items - first) * starts, xp.full(last - first, starts, np.int64)
        return
    ends = xp.asarray(starts[first : last + 1])
    begins, lengths = ends[:-1] - begin, xp.diff(ends)
    pile = xp.minimum(lengths, longest + 1) + (lengths > max(LONG_ITEM, longest))
    order = xp.argsort(pile, kind="stable")
    counted = to_host(xp.bincount(pile, minlength=longest + 3))
    at = 0
    for number in map(int, np.flatnonzero(counted)):
        chosen = order[at : at + int(counted[number])]
        yield number, first + chosen, begins[chosen], lengths[chosen]
        at += len(chosen)


@dataclass(eq=False)
class _Pile:
    """Items of one length, or long ones, that wait until a group is full."""

    xp: ModuleType
    length: int
    longest: int
    in_order: bool
    codes: list[Array] = field(default_factory=list)
    items: list[Array] = field(default_factory=list)
    lengths: list[Array] = field(default_factory=list)
    taken: int = 0  # items, or labels of long ones, so far

    def size(self, per_item: int) -> int:
        return sum(4 * part.size for part in self.codes) + per_item * sum(map(len, self.items))

    def add(self, who: Array, what: Array, items: Array, begins: Array, lengths: Array, encode: Encode) -> None:
        """Take in items, by where they begin in a block and their lengths.

        Labels of a worker with several places go to them in turn: by items, or by labels where items are long.
        """
        xp = self.xp
        if self.length <= self.longest:
            position = begins + xp.arange(self.length)[:, None]
            turn = self.taken + xp.arange(len(items))
            self.taken += len(items)
        else:
            ends = xp.cumsum(lengths)
            owner = xp.zeros(int(ends[-1]), np.int64)
            owner[ends[:-1]] = 1
            owner = xp.cumsum(owner)
            position = xp.arange(len(owner)) + (begins - ends + lengths)[owner]
            turn = self.taken + xp.arange(len(owner))
            self.taken += len(owner)
        self.codes.append(encode(who[position], what[position], turn))
        self.items.append(items)
        self.lengths.append(lengths)

    def leave(self, keep: Keep) -> Group:
        """Make a group of what waits."""
        xp, team = self.xp, self.length > self.longest
        n_items = sum(map(len, self.items))
        starts = xp.zeros(1, np.int64)
        if team:
            starts = xp.concatenate([starts, xp.cumsum(xp.concatenate(self.lengths))])
        codes = xp.concatenate(self.codes, axis=-1).ravel()
        items: Array | slice
        if self.in_order:
            begin = int(self.items[0][0])
            items = slice(begin, begin + n_items)
        else:
            items = keep(xp.concatenate(self.items))
        threads = TEAM_THREADS[self.length - self.longest - 1] if team else 1
        group = Group(keep(codes), keep(starts), 0 if team else self.length, items, n_items, threads)
        self.codes, self.items, self.lengths = [], [], []
        return group


@dataclass(frozen=True, eq=False)
class Listing:
    """The items of every code (a worker's place and an answer), one part after the other.

    Attributes
    ----------
    bounds : array of int64, shape (n_codes + 1,)
        Where the part of each code begins, and the end.
    listed : array of uint32, shape (n_labels,)
        Items, numbered group after group.
    firsts : tuple of int
        The number of each group's first item.
    rows : array of float32
        Room for the class weights of the items, in rows that vector loads can read.
    lanes : int
        Threads that share a code.
    """

    bounds: Array
    listed: Array
    firsts: tuple[int, ...]
    rows: Array
    lanes: int

    def collect(self, n_classes: int, scale: float, sums: Array) -> None:
        """Add the class weights in ``rows`` to the sums of the codes, in fixed point; see `crowdassay.engines.kernels.gpu`."""
        from crowdassay.engines.kernels.gpu_item import make_collector  # noqa: PLC0415  numba loads on first use

        arrays = [for_kernels(array) for array in (self.bounds, self.listed, self.rows)]
        blocks = min(LISTING_BLOCKS, -(-(len(self.bounds) - 1) * self.lanes // LISTING_THREADS))
        arguments = *arrays, self.lanes, np.float32(scale), for_kernels(sums)
        launch(make_collector(n_classes), blocks, LISTING_THREADS, 0, None, *arguments)


def list_items(xp: ModuleType, layout: Layout, n_classes: int) -> Listing | None:
    """List the items of every code; None where it does not pay or does not fit."""
    from crowdassay.engines.kernels.gpu_item import list_items as fill  # noqa: PLC0415  numba loads on first use

    firsts = np.append(0, np.cumsum([group.n_items for group in layout.groups]))
    n_labels, n_items, length = sum(group.codes.size for group in layout.groups), int(firsts[-1]), row_length(n_classes)
    too_large = n_items >= MOST_LISTED_ITEMS or 4 * (n_labels + length * n_items) > free_memory() // 2
    if n_classes < LEAST_LISTED_CLASSES or too_large:
        return None
    bounds = xp.append(xp.cumsum(layout.code_counts), n_labels)
    listed = xp.empty(n_labels, np.uint32)
    for group, first in zip(layout.groups, firsts[:-1], strict=True):
        blocks = max(1, min(LISTING_BLOCKS, -(-group.codes.size // LISTING_THREADS)))
        where = group.length, group.n_items, int(first), for_kernels(bounds), for_kernels(listed)
        launch(fill, blocks, LISTING_THREADS, 0, None, for_kernels(group.codes), for_kernels(group.starts), *where)
    mean = n_labels / max(int((layout.code_counts > 0).sum()), 1)
    lanes = int(np.clip(2 ** np.round(np.log2(max(mean / THREAD_LABELS, 1.0))), 1, MOST_LANES))
    return Listing(bounds, listed, tuple(map(int, firsts[:-1])), xp.empty(length * n_items, np.float32), lanes)


def gather_items(layout: Layout, gold: list[Array] | None, selection: ItemSelection, n_classes: int, xp: ModuleType) -> Labels:
    """Return the selected items in their order, without names of items, workers and classes.

    Parameters
    ----------
    layout : Layout
    gold : list of array, optional
        Known classes of each group's items, -1 where unknown.
    selection : ItemSelection
    n_classes : int
    xp : module
        CuPy, or NumPy in the simulator.
    """
    marked = None if selection.workers is None else layout.by_place(xp.asarray(selection.workers), xp)
    numbers, lengths, codes, known = [], [], [], []
    for at, group in enumerate(layout.groups):
        in_order = isinstance(group.items, slice)
        items = xp.arange(group.items.start, group.items.stop) if in_order else xp.asarray(group.items)
        chosen = xp.zeros(group.n_items, bool)
        if selection.known and gold is not None:
            chosen |= xp.asarray(gold[at]).ravel() >= 0
        if selection.step:
            chosen |= items % selection.step == 0
        if marked is not None:
            chosen |= _labelled_by(group, marked, n_classes, xp)
        rows = to_host(xp.flatnonzero(chosen))
        begins, sizes, stride = _places(group, rows)
        at_label = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        place = np.repeat(begins, sizes) + stride * at_label
        codes.append(to_host(xp.asarray(group.codes)[xp.asarray(place)]).astype(np.int64))
        numbers.append(to_host(items[xp.asarray(rows)]))
        lengths.append(sizes)
        known.append(
            np.full(len(rows), -1, np.int32) if gold is None else to_host(xp.asarray(gold[at]).ravel()[xp.asarray(rows)])
        )
    size, code = np.concatenate(lengths), np.concatenate(codes)
    starts = np.concatenate([[0], np.cumsum(size)])
    order = np.argsort(np.concatenate(numbers), kind="stable")
    ends = np.concatenate([[0], np.cumsum(size[order])])
    code = code[np.arange(ends[-1]) + np.repeat(starts[:-1][order] - ends[:-1], size[order])]
    worker = code // n_classes
    if layout.first_place is not None:
        worker = np.searchsorted(to_host(layout.first_place), worker, side="right") - 1
    return Labels(
        ends, worker.astype(np.int32), (code % n_classes).astype(np.int16), pa.nulls(len(order)),
        pa.nulls(len(layout.label_counts)), pa.nulls(n_classes), np.concatenate(known)[order].astype(np.int32),
    )  # fmt: skip


def _places(group: Group, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return where the labels of some items begin, how many they are, and how far apart they lie."""
    if group.threads == 1:
        return rows, np.full(len(rows), group.length), group.n_items
    starts = to_host(group.starts)
    return starts[rows], starts[rows + 1] - starts[rows], 1


def _labelled_by(group: Group, marked: Array, n_classes: int, xp: ModuleType) -> Array:
    """Return which items of a group a marked place has labelled, (n_items,)."""
    by_marked = marked[xp.asarray(group.codes) // np.uint32(n_classes)]
    if group.threads == 1:
        return by_marked.reshape(group.length, group.n_items).any(axis=0)
    ends = xp.zeros(len(by_marked) + 1, np.int64)
    xp.cumsum(by_marked, out=ends[1:])
    starts = xp.asarray(group.starts)
    return ends[starts[1:]] > ends[starts[:-1]]
