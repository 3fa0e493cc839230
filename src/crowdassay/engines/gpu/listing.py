"""Which items each worker has labelled, and how: so that a GPU can add up without a write for every label and class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.engines.gpu.device import Array, for_kernels, free_memory, launch
from crowdassay.engines.gpu.layout import Layout
from crowdassay.engines.kernels.gpu_tables import row_length

FEWEST_CLASSES = 3  # below that, adding label by label is as fast
EACH = 16  # labels of a code that a thread reads, about
MOST_LANES = 32
BLOCKS, THREADS = 8192, 128
MOST_ITEMS = 1 << 32  # items are listed in 32 bits


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
        from crowdassay.engines.kernels.gpu import make_collector  # noqa: PLC0415  numba loads on first use

        arrays = [for_kernels(array) for array in (self.bounds, self.listed, self.rows)]
        blocks = min(BLOCKS, -(-(len(self.bounds) - 1) * self.lanes // THREADS))
        launch(make_collector(n_classes), blocks, THREADS, 0, None, *arrays, self.lanes, np.float32(scale), for_kernels(sums))


def list_items(xp: Any, layout: Layout, by_code: Array, n_classes: int) -> Listing | None:
    """List the items of every code, whose labels were counted (n_codes,); None where it does not pay or does not fit."""
    from crowdassay.engines.kernels.gpu import list_items as fill  # noqa: PLC0415  numba loads on first use

    firsts = np.append(0, np.cumsum([group.n_items for group in layout.groups]))
    n_labels, n_items, length = sum(group.codes.size for group in layout.groups), int(firsts[-1]), row_length(n_classes)
    if n_classes < FEWEST_CLASSES or n_items >= MOST_ITEMS or 4 * (n_labels + length * n_items) > free_memory() // 2:
        return None
    bounds = xp.append(xp.cumsum(by_code), n_labels)
    listed = xp.empty(n_labels, np.uint32)
    for group, first in zip(layout.groups, firsts[:-1], strict=True):
        blocks = max(1, min(BLOCKS, -(-group.codes.size // THREADS)))
        arrays = for_kernels(group.codes), for_kernels(group.starts)
        launch(
            fill,
            blocks,
            THREADS,
            0,
            None,
            *arrays,
            group.length,
            group.n_items,
            int(first),
            for_kernels(bounds),
            for_kernels(listed),
        )
    mean = n_labels / max(int((by_code > 0).sum()), 1)
    lanes = int(np.clip(2 ** np.round(np.log2(max(mean / EACH, 1.0))), 1, MOST_LANES))
    return Listing(bounds, listed, tuple(map(int, firsts[:-1])), xp.empty(length * n_items, np.float32), lanes)
