"""The GPU itself: whether there is one, how much of it is free, arrays on it, kernels, and tables as kernels want them."""

from __future__ import annotations

import importlib
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from crowdassay.models.structures import Basis

Array = Any
"""An array on the GPU, or NumPy's in numba's simulator."""

CLAMP = 40.0  # the largest log odds: the product of two odds stays a float
FINER = 2.0**20  # units in which small weights are added up, see `crowdassay.engines.kernels.gpu`


def simulated() -> bool:
    """Return whether numba simulates the GPU, NUMBA_ENABLE_CUDASIM=1: slow, but the same kernels."""
    from numba import config  # noqa: PLC0415  numba loads on first use

    return bool(getattr(config, "ENABLE_CUDASIM", False))


def missing() -> str | None:
    """Return a sentence on why there is no GPU to compute on, or None if there is one."""
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


def array_module() -> ModuleType:
    """Return CuPy, or NumPy where the GPU is simulated."""
    return np if simulated() else importlib.import_module("cupy")


def for_kernels(array: Array) -> Array:
    """Wrap an array on the GPU for kernels, so that they do not wait for it: order is the streams' matter."""
    return array if simulated() else importlib.import_module("numba.cuda").as_cuda_array(array, sync=False)


def launch(kernel: Any, blocks: int, threads: int, shared: int, stream: Any, *arguments: Any) -> None:
    """Run a kernel, with so many bytes of shared memory for a block, after what went into the stream before."""
    queue = 0 if stream is None else importlib.import_module("numba.cuda").external_stream(stream.ptr)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*Grid size")  # few labels need few blocks
        kernel[blocks, threads, queue, shared](*arguments)


def to_host(array: Array) -> NDArray[Any]:
    """Bring an array into the machine's memory."""
    return np.asarray(array) if isinstance(array, np.ndarray) else array.get()


def free_memory() -> float:
    """Return the bytes of the GPU that may be taken; CUPY_GPU_MEMORY_LIMIT, CuPy's own variable, can set fewer."""
    if simulated():
        return np.inf
    cupy = array_module()
    pool = cupy.get_default_memory_pool()
    free = cupy.cuda.runtime.memGetInfo()[0] + pool.free_bytes()
    limit = pool.get_limit()
    return float(min(free, limit - pool.used_bytes()) if limit else free)


def pinned_memory(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array in the machine's memory that the GPU reads and writes on its own, if the system grants one."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if simulated() or size == 0:
        return np.empty(shape, dtype)
    cupy = array_module()
    try:
        memory = cupy.cuda.alloc_pinned_memory(size)
    except cupy.cuda.runtime.CUDARuntimeError:
        return np.empty(shape, dtype)
    return np.frombuffer(memory, np.uint8, size).view(dtype).reshape(shape)


def row_length(n_values: int) -> int:
    """Return the floats of a row that holds so many values: what vector loads can read.

    >>> row_length(1), row_length(2), row_length(6)
    (1, 2, 8)
    """
    return n_values if n_values <= 2 else 4 * ((n_values + 3) // 4)


def log_odds(tables: Array) -> Array:
    """Return log odds (n, n_classes, n_classes - 1) over the last axis of tables against the first entry."""
    return tables[:, :, 1:] - tables[:, :, :1]


def rows_of(xp: ModuleType, entries: Array, n_values: int) -> Array:
    """Write entries (n_workers, ...) in rows of so many values, each row as long as vector loads want: (n_workers, length)."""
    values = entries.reshape(-1, n_values)
    rows = xp.zeros((len(values), row_length(n_values)), np.float32)
    rows[:, :n_values] = values
    return rows.reshape(len(entries), -1)


def contrasts(basis: Basis) -> tuple[bool, np.ndarray]:
    """Return whether the structure is free, and the log odds (n_classes, n_classes - 1, size) of each coordinate.

    Free is the nominal structure: any table of log odds, at the cost of its length. Its kernels need no contrasts.
    """
    shape = np.zeros((basis.n_classes, basis.n_classes - 1, basis.size), np.float32)
    for c, part, columns in basis.blocks():
        shape[c, :, part] = columns[1:] - columns[:1]
    return basis.free, shape


def unpack(xp: ModuleType, sums: Array) -> Array:
    """Take packed sums (n,) apart into two integers each, (n, 2)."""
    low = sums.view(np.int32)[0::2].astype(np.int64)  # the lower half, with its sign
    return xp.stack([low, (sums - low) >> 32], axis=-1)
