"""The graphics card itself: whether there is one, what fits on it, and arrays on it."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

from crowdassay.errors import DataError

Array = Any
"""An array on the card, or NumPy's in numba's simulator."""


def simulated() -> bool:
    """Return whether numba simulates the card, NUMBA_ENABLE_CUDASIM=1: slow, but the same kernels."""
    from numba import config  # noqa: PLC0415  numba loads on first use

    return bool(getattr(config, "ENABLE_CUDASIM", False))


def missing() -> str | None:
    """Say in a sentence why there is no card to compute on, or nothing if there is one."""
    if simulated():
        return None
    try:
        cupy = importlib.import_module("cupy")
        cuda = importlib.import_module("numba.cuda")
    except ImportError:
        return "The GPU engine needs numba-cuda and CuPy (pip install 'crowdassay[gpu]'), so the local engine takes over."
    try:
        cards = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        cards = 0
    if not cards or not cuda.is_available():
        return "There is no usable graphics card here, so the local engine takes over."
    return None


def array_module() -> Any:
    """Return CuPy, or NumPy where the card is simulated."""
    return np if simulated() else importlib.import_module("cupy")


def put(array: Any) -> Array:
    """Put an array on the card, if it is not there yet."""
    return np.array(array) if simulated() else array_module().asarray(array)


def launch(kernel: Any, blocks: int, threads: int, shared: int, *arguments: Any) -> None:
    """Run a kernel, with so many bytes of shared memory for a block."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Grid size")  # few labels need few blocks
        kernel[blocks, threads, 0, shared](*arguments)


def to_host(array: Array) -> Any:
    """Bring an array into the machine's memory."""
    return np.asarray(array) if isinstance(array, np.ndarray) else array.get()


def memory_needed(n_labels: int, n_items: int, n_workers: int, n_classes: int) -> int:
    """Return about how many bytes of the card a fit takes.

    Labels as they come and as they are laid out; an item's coordinates and probabilities; worker tables, and forty vectors
    of their size that the optimiser keeps.

    >>> round(memory_needed(10**9, 2 * 10**8, 10**6, 2) / 1e9)
    16
    """
    values = n_classes * (n_classes - 1)
    return 10 * n_labels + n_items * (8 + 4 * (values + n_classes)) + n_workers * (8 * 40 * values + 64 * n_classes**2)


def check_memory(n_labels: int, n_items: int, n_workers: int, n_classes: int) -> None:
    """Refuse labels that do not fit on the card, with the estimate."""
    if simulated():
        return
    cupy = array_module()
    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    needed = memory_needed(n_labels, n_items, n_workers, n_classes)
    if needed > free:
        raise DataError(
            f"These labels need about {needed / 1e9:.0f} GB on the graphics card and {free / 1e9:.0f} GB are free; "
            "take engine='local'."
        )
