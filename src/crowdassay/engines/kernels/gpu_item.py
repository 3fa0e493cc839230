"""What the kernels for a GPU share for one item, and kernels that list the items of each worker and add up their weights."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import config, cuda, float32, float64, int64

from crowdassay.engines.gpu.device import FINER, row_length
from crowdassay.engines.kernels.small import GIVEN_WEIGHTS, VOTE_WEIGHTS

ZERO, ONE, HALF = np.float32(0), np.float32(1), np.float32(0.5)
HIGH = np.int64(1 << 32)
LITTLE, FINELY = np.float32(1 / FINER), np.float32(FINER)  # weights below are added up in finer units

if not config.ENABLE_CUDASIM and not hasattr(np, "row_stack"):
    setattr(np, "row_stack", np.vstack)  # noqa: B010  NumPy 2.5 dropped the name, and numba-cuda 0.30 stops without it

function = cuda.jit(device=True) if config.ENABLE_CUDASIM else cuda.jit(device=True, fastmath=True)
kernel = cuda.jit if config.ENABLE_CUDASIM else cuda.jit(fastmath=True, cache=True)


if config.ENABLE_CUDASIM:

    def load2(array: Any, index: Any) -> Any:
        """Return two neighbouring floats."""
        return array[index], array[index + 1]

    def load4(array: Any, index: Any) -> Any:
        """Return four neighbouring floats."""
        return array[index], array[index + 1], array[index + 2], array[index + 3]

else:
    # Loads of several floats at once, which numba does not offer.
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def _loader(count: int) -> Any:
        def load(typingctx: Any, array: Any, index: Any) -> Any:
            """Return neighbouring floats, read at once; ``index`` must be a multiple of their number."""

            def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                struct = context.make_array(signature.args[0])(context, builder, arguments[0])
                vector = ir.VectorType(ir.FloatType(), count)
                pointer = builder.bitcast(builder.gep(struct.data, [arguments[1]]), vector.as_pointer())
                several = builder.load(pointer)
                several.align = 4 * count
                parts = [builder.extract_element(several, ir.Constant(ir.IntType(32), n)) for n in range(count)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(types.float32, count)(array, types.int64), codegen

        loader = intrinsic(load)
        # Its name in pickles, random otherwise, is part of the key under which compiled kernels are found again on disk.
        if hasattr(loader, "_set_uuid"):
            loader._set_uuid(f"crowdassay load {count}")
        return loader

    load2, load4 = _loader(2), _loader(4)


@function
def pack(first, second, scale):
    """Round two values to fixed point and put them into one integer."""
    return np.int64(math.floor(first * scale + HALF)) + np.int64(math.floor(second * scale + HALF)) * HIGH


@lru_cache(maxsize=64)
def make_loader(n_values: int) -> Any:
    """Return the function that copies a row of a table into ``out``, every ``stride``-th entry from ``first`` on."""
    length = row_length(n_values)

    @function
    def load_row(table, row, out, first, stride):
        if length == 1:
            out[first] = table[row]
        elif length == 2:
            pair = load2(table, row * 2)
            out[first] = pair[0]
            out[first + stride] = pair[1]
        else:
            for q in range(0, length, 4):
                four = load4(table, row * length + q)
                for r in range(4):
                    if q + r < n_values:
                        out[first + (q + r) * stride] = four[r]

    return load_row


@lru_cache(maxsize=64)
def make_weigh(n_classes: int, double: bool) -> Any:
    """Return two functions for one item: class weights that parameters do not move, and those that they do.

    With ``double``, log-likelihoods come in double precision and the log-marginal is right to the last digits, so that a fit
    stops after as many steps as in memory.
    """
    K, real = n_classes, float64 if double else float32
    shared_equally = np.float32(1 / n_classes)

    @function
    def fix(item, mode, gold, given, codes, base, stride, n, weights):
        """Set the weights of an item whose class is known or whose weights are held, and say whether it is one."""
        if len(gold) > 0 and gold[item] >= 0:
            for c in range(K):
                weights[c] = ONE if gold[item] == c else ZERO
            return True
        if mode == VOTE_WEIGHTS:
            for c in range(K):
                weights[c] = ZERO if n > 0 else shared_equally  # nobody may have labelled the item
            if n > 0:
                for at in range(n):
                    label = codes[base + at * stride] % np.uint32(K)
                    for c in range(K):
                        if label == c:
                            weights[c] += ONE
                for c in range(K):
                    weights[c] /= float32(n)
            return True
        if mode == GIVEN_WEIGHTS:
            for c in range(K):
                weights[c] = given[c, item]
            return True
        return False

    @function
    def weigh(log_joint, fixed, weights):
        """Set the weights and return the log-marginal; with weights held, return the expected log-likelihood."""
        if fixed:
            value = real(0.0)
            for c in range(K):
                if weights[c] > ZERO:
                    value += weights[c] * (log_joint[c] - math.log(weights[c]))
            return value
        top = log_joint[0]
        for c in range(1, K):
            top = max(top, log_joint[c])
        total = real(0.0)
        for c in range(K):
            weight = math.exp(real(log_joint[c] - top))
            weights[c] = weight
            total += weight
        scale = ONE / float32(total)
        for c in range(K):
            weights[c] *= scale
        return top + math.log(total)

    return fix, weigh


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
