"""Where groups of items are between sweeps: on the GPU, or in the machine's memory, from which they pass over the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from crowdassay.engines.gpu.device import Array, array_module, free_memory, pinned_memory, simulated, to_host
from crowdassay.engines.gpu.layout import LAYOUT_LABELS, group_bytes, item_bytes
from crowdassay.errors import DataError

SLOTS = 3  # groups on the GPU at a time: one arrives, one is computed, one leaves
ALIGNED = 512  # bytes
VECTORS = 40  # of the size of the workers' coordinates that an optimiser keeps

Visit = Iterator[tuple[int, dict[str, Array], Any]]


class OnGpu:
    """Groups that stay on the GPU."""

    def __init__(self) -> None:
        self.xp = array_module()

    def keep(self, array: Array) -> Array:
        """Keep an array that is on the GPU."""
        return array

    def bring(self, array: Array) -> Array:
        """Bring an array of the size of the items to where groups are."""
        return self.xp.asarray(array)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an array of single precision where groups are."""
        return self.xp.empty(shape, np.float32)

    def visit(self, groups: Sequence[dict[str, Array]], written: tuple[str, ...]) -> Visit:
        """Yield the number of every group, its arrays on the GPU and the stream to compute in."""
        del written
        for number, arrays in enumerate(groups):
            yield number, arrays, None


class InMemory:
    """Groups that stay in the machine's memory; three at a time pass over the GPU.

    Each of three streams takes a group in, computes and takes back what was written, so that copies both ways and sums run at
    the same time. The sums wait for each other: their order is the same as with everything on the GPU.
    """

    xp = np

    def __init__(self) -> None:
        self.gpu = array_module()
        # Of the kind that waits for the default stream and that the default stream waits for.
        self.streams: list[Any] = [None if simulated() else self.gpu.cuda.Stream() for _ in range(SLOTS)]

    def keep(self, array: Array) -> Array:
        """Bring an array from the GPU."""
        kept = pinned_memory(array.shape, array.dtype)
        kept[...] = to_host(array)
        return kept

    def bring(self, array: Array) -> Array:
        """Bring an array of the size of the items to where groups are."""
        return to_host(array)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """Return an array of single precision where groups are."""
        return pinned_memory(shape, np.float32)

    def visit(self, groups: Sequence[dict[str, Array]], written: tuple[str, ...]) -> Visit:
        """Yield the number of every group, its arrays on the GPU and the stream to compute in."""
        room = max(sum(_room(array) for array in arrays.values()) for arrays in groups)
        slots = [self.gpu.empty(room, np.uint8) for _ in range(min(SLOTS, len(groups)))]
        computed = None
        for number, arrays in enumerate(groups):
            slot, stream = slots[number % SLOTS], self.streams[number % SLOTS]
            here, at = {}, 0
            for name, array in arrays.items():
                here[name] = slot[at : at + array.nbytes].view(array.dtype).reshape(array.shape)
                at += _room(array)
                if name != "found":
                    _fill(here[name], array, stream)
            if computed is not None:
                stream.wait_event(computed)
            yield number, here, stream
            if stream is not None:
                computed = stream.record()
            for name in written:
                _fetch(here[name], arrays[name], stream)
        for stream in self.streams:
            if stream is not None:
                stream.synchronize()


def choose_store(
    n_labels: int, n_items: int, n_workers: int, n_classes: int, announce: Callable[[str], None] | None = None
) -> OnGpu | InMemory:
    """Keep groups on the GPU if they fit, else in memory; refuse worker tables that do not fit, with the estimate."""
    free = free_memory()
    if memory_needed(n_labels, n_items, n_workers, n_classes) <= free:
        return OnGpu()
    needed = memory_streamed(n_workers, n_classes)
    if needed > free:
        raise DataError(
            f"These workers need about {needed / 1e9:.1f} GB on the graphics card and {free / 1e9:.1f} GB are free; "
            "take engine='local'."
        )
    if announce is not None:
        announce("The labels do not fit on the graphics card: they stay in memory and pass over it in every sweep.")
    return InMemory()


def memory_needed(n_labels: int, n_items: int, n_workers: int, n_classes: int) -> int:
    """Return about how many bytes of the GPU a fit takes with all labels on it.

    Labels as they are laid out; which item stands where, its coordinates and probabilities; what workers need.

    >>> round(memory_needed(10**9, 2 * 10**8, 10**6, 2) / 1e9)
    14
    """
    items = n_items * (8 + item_bytes(n_classes) + 8 * n_classes)  # probabilities come out in double precision
    return 4 * n_labels + items + _workers(n_workers, n_classes) + 64 * LAYOUT_LABELS


def memory_streamed(n_workers: int, n_classes: int) -> int:
    """Return about how many bytes of the GPU a fit takes at the least: what workers need, and the groups that pass.

    >>> round(memory_streamed(10**6, 2) / 1e9, 1)
    1.7
    """
    return _workers(n_workers, n_classes) + SLOTS * group_bytes(n_classes)


def _workers(n_workers: int, n_classes: int) -> int:
    """Tables, and the vectors of their size that the optimiser keeps."""
    return n_workers * (8 * VECTORS * n_classes * (n_classes - 1) + 64 * n_classes**2)


def _room(array: Array) -> int:
    return -(-int(array.nbytes) // ALIGNED) * ALIGNED


def _fill(there: Array, host: Array, stream: Any) -> None:
    if stream is None:
        there[...] = host
    elif host.size:
        there.set(host, stream=stream)


def _fetch(there: Array, host: Array, stream: Any) -> None:
    if stream is None:
        host[...] = there
    elif host.size:
        there.get(stream=stream, out=host, blocking=False)
