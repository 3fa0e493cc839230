"""Blocks of items, over which tasks pass, and the choice of some items among all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.join import join_items, take_items
from crowdassay.labels.labels import Labels

if TYPE_CHECKING:
    from crowdassay.engines.memory.engine import LocalEngine

MOST_THREAD_BLOCKS = 16
LEAST_THREAD_LABELS = 32768  # labels below which handing a block to a thread costs more than it saves


class Joined(Protocol):
    """What a task finds in a block, and how it adds to what it finds in another."""

    def join(self, other: Self, /) -> Self:
        """Return both together."""
        ...


J = TypeVar("J", bound=Joined)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Block:
    """Some items, all their labels with them.

    Attributes
    ----------
    number : int
        Blocks are joined in the order of their numbers.
    labels : Labels
        With the codes of all workers, and the names of these items where a task asks for them.
    truth : ndarray of int, shape (n_items,)
        Known classes to score against, -1 where unknown.
    first : int
        The number of the first item among all, or 0 where items are counted within blocks.
    cells : ndarray of uint32, shape (n_labels,), optional
        See `code_cells`, where the place keeps them.
    """

    number: int
    labels: Labels
    truth: NDArray[np.integer[Any]]
    first: int = 0
    cells: NDArray[np.uint32] | None = None

    def tally(self, weights: FloatArray) -> FloatArray:
        """Count labels by worker, true and observed class, for class weights (n_items, n_classes) of the items."""
        return self._engine.tally(weights)

    @cached_property
    def _engine(self) -> LocalEngine:
        from crowdassay.engines.memory.engine import LocalEngine  # noqa: PLC0415  its file imports this one

        return LocalEngine(self.labels)


def code_cells(labels: Labels) -> NDArray[np.uint32]:
    """Return the worker and the class of every label in one number, shape (n_labels,)."""
    cells = labels.worker * np.int32(labels.n_classes)  # what overflows is right again without a sign
    cells += labels.label
    return cells.view(np.uint32)


@dataclass(frozen=True, eq=False)
class ItemSelection:
    """Which items to gather: those that any of these asks for.

    Attributes
    ----------
    known : bool
        Items whose class is known.
    step : int
        The first item of all and every ``step``-th after it; 0 for none.
    workers : ndarray of bool, shape (n_workers,), or None
        Items that any of these workers has labelled.
    """

    known: bool = False
    step: int = 0
    workers: np.ndarray | None = None

    def rows(self, labels: Labels, first: int = 0) -> IntArray:
        """Return the selected items of a block whose first item has the number ``first`` among all."""
        selected = np.zeros(labels.n_items, bool)
        if self.known:
            selected |= labels.gold >= 0
        if self.step:
            selected |= (first + np.arange(labels.n_items)) % self.step == 0
        if self.workers is not None:
            selected[labels.label_item[self.workers[labels.worker]]] = True
        return np.flatnonzero(selected)

    def take(self, labels: Labels, first: int = 0) -> Labels:
        """Return the labels of the selected items, without the items' names."""
        return take_items(labels, self.rows(labels, first), named=False)


@dataclass(frozen=True, eq=False)
class Gather:
    """A task: the labels of the selected items of a block, or of all its items."""

    selection: ItemSelection | None

    def __call__(self, block: Block) -> Gathered:
        """Return them as a smaller block."""
        if self.selection is None:
            return Gathered((block,))
        rows = self.selection.rows(block.labels, block.first)
        return Gathered((Block(block.number, take_items(block.labels, rows, named=False), block.truth[rows]),))


@dataclass(frozen=True, eq=False)
class Gathered:
    """Blocks that were brought to one place."""

    blocks: tuple[Block, ...]

    def join(self, other: Gathered) -> Gathered:
        """Return the blocks of both."""
        return Gathered(self.blocks + other.blocks)

    def whole(self) -> Block:
        """Return all as one block, in the order of their numbers."""
        parts = sorted(self.blocks, key=lambda block: block.number)
        if len(parts) == 1:
            return replace(parts[0], number=0)
        return Block(0, join_items([part.labels for part in parts]), np.concatenate([part.truth for part in parts]))


def block_edges(labels: Labels, least: int = LEAST_THREAD_LABELS) -> list[tuple[int, int]]:
    """Cut the items into ranges of about equal numbers of labels, by the data alone.

    Each block has a buffer of the size of the worker tables, so there are no more blocks than such buffers would fit into
    the labels themselves, up to `MOST_THREAD_BLOCKS`, but always enough for a few threads where the labels are many.
    """
    tables = labels.n_workers * labels.n_classes**2
    n_blocks = min(MOST_THREAD_BLOCKS, max(4, labels.n_labels // (4 * tables)), 1 + labels.n_labels // least, labels.n_items)
    targets = np.linspace(0, labels.n_labels, n_blocks + 1)
    edges = sorted(set(np.searchsorted(labels.starts, targets).tolist()))
    edges[0], edges[-1] = 0, labels.n_items
    return list(pairwise(edges))
