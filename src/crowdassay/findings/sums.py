"""Sums over items: added up in blocks on all cores, and joined field by field, wherever the blocks are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from itertools import pairwise
from typing import Any, Self

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.labels.labels import Labels
from crowdassay.threads import available_cores

MOST_BLOCKS, LEAST_BLOCK = 16, 200_000  # blocks of items, and labels in each
MOST_SUMMED = 50_000_000  # numbers in the sums of all blocks
JOINED_BY = "joined by"


class BlockSums:
    """A dataclass of sums over some items; those of two blocks join to those of both.

    A field is added, unless it has a ``join`` of its own, or says how it is joined: ``field(metadata=joined_by(np.minimum))``.
    What is None in either is None.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Seen(BlockSums):
    ...     labels: int
    ...     first: float = field(metadata=joined_by(min))
    >>> Seen(3, 5.0).join(Seen(4, 2.0))
    Seen(labels=7, first=2.0)
    """

    def join(self, other: Self) -> Self:
        """Return the sums over both."""

        def both(field: Any) -> Any:
            one, more = getattr(self, field.name), getattr(other, field.name)
            if one is None or more is None:
                return None
            if JOINED_BY in field.metadata:
                return field.metadata[JOINED_BY](one, more)
            return one.join(more) if hasattr(one, "join") else one + more

        return type(self)(*(both(field) for field in fields(self)))  # type: ignore[arg-type]


def joined_by(how: Callable[[Any, Any], Any]) -> dict[str, Callable[[Any, Any], Any]]:
    """Return the metadata of a field that is joined in a way of its own, see `BlockSums`."""
    return {JOINED_BY: how}


def add_blocks(labels: Labels, add: Callable[..., None], shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Call ``add(first item, last item, *sums)`` for blocks of items on all cores; return the sums, of these shapes.

    Blocks are cut by the data alone, each has its own sums, and these are added in order, so that the number of threads changes
    nothing.
    """
    room = MOST_SUMMED // max(sum(int(np.prod(shape)) for shape in shapes), 1)

    def work(edge: tuple[int, int]) -> list[FloatArray]:
        sums = [np.zeros(shape) for shape in shapes]
        add(*edge, *sums)
        return sums

    edges = cut_items(labels, min(MOST_BLOCKS, room))
    if len(edges) == 1:  # few labels, or a block of labels on disk, which has a thread of its own
        return work(edges[0])
    with ThreadPoolExecutor(available_cores()) as pool:
        block_sums = pool.map(work, edges)
        total = next(block_sums)
        for block in block_sums:
            for mine, more in zip(total, block, strict=True):
                np.add(mine, more, out=mine)
    return total


def cut_items(labels: Labels, most: int) -> list[tuple[int, int]]:
    """Cut the items into at most so many ranges of about equal numbers of labels, by the data alone."""
    n_blocks = max(1, min(most, labels.n_labels // LEAST_BLOCK))
    edges = np.searchsorted(labels.starts, np.linspace(0, labels.n_labels, n_blocks + 1)[1:-1])
    return list(pairwise(np.unique(np.concatenate([[0], edges, [labels.n_items]])).tolist()))
