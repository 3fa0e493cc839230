"""Which items each worker has labelled, on a GPU: kernels that list them and add up their class weights, code by code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda, float32, int64

from crowdassay.engines.kernels.gpu_item import FINELY, HALF, LITTLE, kernel, make_loader


@kernel
def tally(codes, counts):
    """Count how often each code occurs."""
    for at in range(cuda.grid(1), len(codes), cuda.gridsize(1)):
        cuda.atomic.add(counts, codes[at], 1)


@kernel
def list_items(codes, starts, n, n_items, first, ends, listed):
    """Write every label's item into its code's part of ``listed``, from the end of the part down; items count from ``first``.

    The order within a part is chance, and does not matter: what is added up there are integers.
    """
    for at in range(cuda.grid(1), len(codes), cuda.gridsize(1)):
        item = at % n_items
        if n == 0:  # items of different lengths lie one after the other
            low, high = 0, n_items
            while high - low > 1:
                middle = (low + high) // 2
                if starts[middle] <= at:
                    low = middle
                else:
                    high = middle
            item = low
        listed[cuda.atomic.sub(ends, codes[at], 1) - 1] = first + item


@lru_cache(maxsize=64)
def make_collector(n_classes: int) -> Any:
    """Return the kernel that adds the class weights of the items that each code has labelled.

    The same sums as those of `crowdassay.engines.kernels.gpu.make_counter`, without an addition to memory for every label and
    class: ``lanes`` threads read the items of a code and add up on their own. It needs all labels on the GPU, and pays from
    three classes on.
    """
    K, load_row = n_classes, make_loader(n_classes)

    @kernel
    def collect(ends, listed, rows, lanes, scale, sums):
        row, coarse, fine = cuda.local.array(K, float32), cuda.local.array(K, int64), cuda.local.array(K, int64)
        lane, code, step = cuda.grid(1) % lanes, cuda.grid(1) // lanes, cuda.gridsize(1) // lanes
        while code < len(ends) - 1:
            for c in range(K):
                coarse[c] = 0
                fine[c] = 0
            for at in range(ends[code] + lane, ends[code + 1], lanes):
                load_row(rows, np.int64(listed[at]), row, 0, 1)
                for c in range(K):
                    if row[c] < LITTLE:
                        fine[c] += np.int64(row[c] * FINELY * scale + HALF)
                    else:
                        coarse[c] += np.int64(row[c] * scale + HALF)
            for c in range(K):
                if coarse[c] != 0:
                    cuda.atomic.add(sums, np.int64(code) * K + c, coarse[c])
                if fine[c] != 0:
                    cuda.atomic.add(sums, np.int64(len(sums) // 2 + code * K + c), fine[c])
            code += step

    return collect
