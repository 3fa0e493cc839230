r"""The sweep on a GPU: an item is a thread, or a block of threads where it has many labels.

The same mathematics as `crowdassay.engines.kernels.compiled`, in single precision and in coordinates without redundancy: a row
of a table is K - 1 odds against its first entry. Three facts, measured on an H200, shape the rest. A gather costs the same for
4 and for 16 bytes, so a label reads its worker's row by vector loads. An atomic addition costs the same for 4 and for 8 bytes,
so two sums share one integer in fixed point; integers add up to the same in any order, and with them the answer is the same
from run to run. And many additions to one address are slow, so a worker with many labels has several *places*: rows of the
table that are alike, and sums that are added up at the end. A label's code is its worker's place times K, plus its class.

Kernels are made for a number of classes and an item structure, so that their loops have constant bounds. ``team`` kernels
give an item a block of threads; the others read items of equal length, label by label.

Those that add up over a block stay in one file because numba's simulator, by which the tests run them, puts its own `cuda` only
into a kernel's module.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import cuda, float32, float64

from crowdassay.engines.gpu.device import CLAMP, row_length
from crowdassay.engines.kernels.gpu_item import FINELY, HALF, LITTLE, ONE, ZERO, function, kernel, make_loader, make_weigh, pack

NO_SINGLE_WEIGHT = np.float32(1e-6)  # classes whose weight is below this add nothing to a sum of floats
MAX_THREADS = 256  # in a block
TOP = np.float32(CLAMP)
FALL = np.float32(2e-6)  # a smaller relative fall of an item's objective is rounding
TWENTIETH = np.float32(0.05)
SHORTEST_STEP = np.float32(1e-3)  # step, as a share of Newton's


@function
def block_sum(value, scratch):
    """Add up a value over the threads of a block, in a fixed order; every thread gets the sum."""
    thread, width = cuda.threadIdx.x, cuda.blockDim.x
    cuda.syncthreads()
    scratch[thread] = value
    cuda.syncthreads()
    while width > 1:
        upper = (width + 1) // 2
        if thread < width - upper:
            scratch[thread] += scratch[thread + upper]
        cuda.syncthreads()
        width = upper
    return scratch[0]


@function
def write_partial(objective, totals, scratch, partial):
    """Add the block's objective and totals to its own row of ``partial`` (n_blocks, 1 + n_classes)."""
    total = block_sum(objective, scratch)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x, 0] += total
    for c in range(len(totals)):
        total = block_sum(totals[c], scratch)
        if cuda.threadIdx.x == 0:
            partial[cuda.blockIdx.x, c + 1] += total


@lru_cache(maxsize=64)
def make_counter(n_classes: int, team: bool, pooled: bool = False) -> Any:
    """Return the kernel that adds expected counts by worker, observed class and true class.

    A table has a row for every place and observed class: K - 1 log odds of the true class against the first. The objective
    leaves out the likelihood under the first class, which is a sum over workers. Without a penalty even the smallest counts
    matter, since what nobody ever answered has no chance: weights below `LITTLE` are summed apart, in finer units.

    With ``pooled`` items are judged by the default's pool, `crowdassay.solvers.assay.pool`: a row ends with what the worker's
    label counts for, and in place of the prior come o and b of all classes, the weight of the vote, the correlation, and of the
    growth of the logits its first label and its power.
    """
    K, M = n_classes, n_classes - 1
    ROW, EVEN = row_length(K), np.float32(1 / n_classes)
    (fix, weigh), load_row = make_weigh(K, True), make_loader(K if pooled else M)

    @kernel
    def count(codes, starts, n, n_items, table, log_prior, mode, gold, given, scale, sums, partial,
              posterior, rows, first):  # fmt: skip
        thread, width = cuda.threadIdx.x, cuda.blockDim.x
        scratch = cuda.shared.array(MAX_THREADS, float64)
        log_joint, weights, row = cuda.local.array(K, float64), cuda.local.array(K, float32), cuda.local.array(K, float32)
        votes = cuda.local.array(K, float64)
        objective, totals = 0.0, cuda.local.array(K, float64)
        for c in range(K):
            totals[c] = 0.0
        lane, lanes = (thread, width) if team else (0, 1)
        item, step = np.int64(cuda.blockIdx.x), np.int64(cuda.gridDim.x)
        if not team:
            item, step = item * width + thread, step * width
        while item < n_items:
            base, stride, length = item, np.int64(n_items), n
            if team:
                base, stride, length = starts[item], np.int64(1), starts[item + 1] - starts[item]
            for c in range(K):
                log_joint[c] = ZERO
                votes[c] = ZERO
            for at in range(lane, length, lanes):
                load_row(table, np.int64(codes[base + at * stride]), row, 0, 1)
                for c in range(M):
                    log_joint[c + 1] += row[c]
                if pooled:
                    label = codes[base + at * stride] % np.uint32(K)
                    for c in range(K):
                        if label == c:
                            votes[c] += row[M]
            heard = float64(0.0)
            for c in range(K):
                if team:
                    log_joint[c] = block_sum(log_joint[c], scratch)
                    if pooled:
                        votes[c] = block_sum(votes[c], scratch)
                log_joint[c] += log_prior[c]
                heard += votes[c]
            if pooled:
                factor = max(heard / log_prior[2 * K + 2], 1.0) ** log_prior[2 * K + 3]
                share = factor / (ONE + log_prior[2 * K + 1] * (max(heard, 1.0) - ONE))
                for c in range(K):
                    vote = math.log((votes[c] + EVEN) / (heard + ONE))
                    log_joint[c] = share * log_joint[c] + factor * log_prior[2 * K] * vote + log_prior[K + c]
            fixed = fix(item, mode, gold, given, codes, base, stride, length, weights)
            value = weigh(log_joint, fixed, weights)
            if len(sums) > 0:
                for c in range(K):
                    weight, cell = weights[c], c
                    if weight < LITTLE:  # where the smaller half of the sums is in finer units
                        weight, cell = weight * FINELY, len(sums) // 2 + c
                    share = np.int64(weight * scale + HALF)
                    if share != 0:
                        for at in range(lane, length, lanes):
                            cuda.atomic.add(sums, np.int64(codes[base + at * stride]) * K + cell, share)
            if lane == 0:
                objective += value
                for c in range(K):
                    totals[c] += weights[c]
                if len(posterior) > 0:
                    for c in range(K):
                        posterior[c, item] = weights[c]
                if len(rows) > 0:
                    for c in range(K):
                        rows[(first + item) * ROW + c] = weights[c]
            item += step
        write_partial(objective, totals, scratch, partial)

    return count


@lru_cache(maxsize=64)
def make_solver(n_classes: int, size: int, free: bool, weak_items: bool, team: bool, kept_rows: bool) -> Any:
    r"""Return the kernel that fits every item on its own and adds its worker gradient.

    A table has a row for every place: for each true class K - 1 odds of the observed class against the first. An item has
    ``size`` coordinates, and ``contrasts`` (n_classes, K - 1, size) turns them into log odds. With ``free``, the nominal
    structure, the coordinates are the log odds u themselves, :math:`|\tau|^2 = \sum_c u_c'(I - 1/K)u_c`, and Newton's
    equations fall into K small systems; with ``weak_items`` these are not solved, and the step goes along the gradient of
    :math:`\tau` divided by the mean curvature, as in `crowdassay.engines.kernels.weak_items`. With ``kept_rows`` the rows of
    an item's workers are kept in shared memory.
    """
    K, M = n_classes, n_classes - 1
    V, PARTS, WIDTH = K * M, K if free else 1, M if free else size
    ROW, PAIRS = row_length(V), V // 2
    SHARE, LEAST = np.float32(1 / K), np.float32(0.5 / K)
    real = float64 if team else float32
    (fix, weigh), load_row = make_weigh(K, team), make_loader(V)

    @function
    def odds_at(v, at, place, table, kept):
        """Return one of the odds of a label's worker, given by its place."""
        if kept_rows:
            return kept[(at * V + v) * cuda.blockDim.x + cuda.threadIdx.x]
        return table[np.int64(place) * ROW + v]

    @function
    def evaluate(codes, base, stride, length, table, kept, scratch, contrasts, log_prior, beta, fixed, phi, odds, log_joint,
                 weights):  # fmt: skip
        """Set the item's odds, log-likelihoods and weights, and return its objective."""
        penalty = ZERO
        for part in range(PARTS):
            total = ZERO
            for r in range(part * WIDTH, (part + 1) * WIDTH):
                penalty += phi[r] * phi[r]
                total += phi[r]
            if free:
                penalty -= SHARE * total * total
        lane, lanes = (cuda.threadIdx.x, cuda.blockDim.x) if team else (0, 1)
        for c in range(K):
            for k in range(M):
                value = ZERO
                if free:
                    value = phi[c * M + k]
                else:
                    for r in range(size):
                        value += contrasts[c, k, r] * phi[r]
                odds[c * M + k] = math.exp(min(max(value, -TOP), TOP))
            log_p = real(0.0)
            for at in range(lane, length, lanes):
                code = codes[base + at * stride]
                place = code // np.uint32(K)
                label = code - place * np.uint32(K)
                total, own = ONE, ONE
                for k in range(M):
                    product = odds_at(c * M + k, at, place, table, kept) * odds[c * M + k]
                    total += product
                    if label == k + 1:
                        own = product
                log_p += math.log(own / total)
            if team:
                log_p = block_sum(log_p, scratch)
            log_joint[c] = log_prior[c] + log_p
        return weigh(log_joint, fixed, weights) - HALF * beta * penalty

    @function
    def vanish(start, shift, beta, slope, phi, step):
        """Write the step of a class without weight, of which only the penalty speaks: to zero. Return slope and its share."""
        for k in range(M):
            step[start + k] = -phi[start + k]
            slope += beta * (phi[start + k] - shift) * phi[start + k]
        return slope

    @function
    def newton(codes, base, stride, length, table, kept, scratch, contrasts, beta, least, phi, odds, weights, step):
        """Write the Newton step of the item's expected log-likelihood, part by part, and return gradient . step."""
        hessian, gradient = cuda.local.array((WIDTH, WIDTH), float32), cuda.local.array(WIDTH, float32)
        covariance = hessian if free else cuda.local.array((M, M), float32)  # in one place: many classes are short of memory
        residual, p = cuda.local.array(M, float32), cuda.local.array(M, float32)
        row = cuda.local.array(WIDTH, float32)
        lane, lanes = (cuda.threadIdx.x, cuda.blockDim.x) if team else (0, 1)
        slope = ZERO
        for part in range(PARTS):
            start, shift = part * WIDTH, ZERO
            if free:
                for a in range(WIDTH):
                    shift += SHARE * phi[start + a]
                if weights[part] < least:
                    slope = vanish(start, shift, beta, slope, phi, step)
                    continue
            else:
                for a in range(size):
                    gradient[a] = -beta * phi[a]
                    for b in range(a):
                        hessian[a, b] = ZERO
                    hessian[a, a] = beta
            for c in range(part if free else 0, part + 1 if free else K):
                if weights[c] < least:  # not where the structure is free, see above
                    continue
                for k in range(M):
                    residual[k] = ZERO
                    for m in range(k + 1):
                        covariance[k, m] = ZERO
                for at in range(lane, length, lanes):
                    code = codes[base + at * stride]
                    place = code // np.uint32(K)
                    label = code - place * np.uint32(K)
                    total = ONE
                    for k in range(M):
                        p[k] = odds_at(c * M + k, at, place, table, kept) * odds[c * M + k]
                        total += p[k]
                    scale = ONE / total
                    for k in range(M):
                        p[k] *= scale
                        residual[k] -= p[k]
                        if label == k + 1:
                            residual[k] += ONE
                        covariance[k, k] += p[k]
                        for m in range(k + 1):
                            covariance[k, m] -= p[k] * p[m]
                for k in range(M):
                    if team:
                        residual[k] = block_sum(residual[k], scratch)
                        for m in range(k + 1):
                            covariance[k, m] = block_sum(covariance[k, m], scratch)
                if free:
                    for k in range(M):
                        gradient[k] = weights[c] * residual[k] - beta * (phi[start + k] - shift)
                        for m in range(k + 1):
                            hessian[k, m] = weights[c] * covariance[k, m] - SHARE * beta
                        hessian[k, k] += beta
                else:
                    for k in range(M):
                        for a in range(size):
                            row[a] = ZERO
                            for m in range(M):
                                row[a] += (covariance[k, m] if m <= k else covariance[m, k]) * contrasts[c, m, a]
                        for a in range(size):
                            weighted = weights[c] * contrasts[c, k, a]
                            gradient[a] += weighted * residual[k]
                            for b in range(a + 1):
                                hessian[a, b] += weighted * row[b]
            for a in range(WIDTH):  # Cholesky's factor, and the forward substitution with it
                for b in range(a + 1):
                    value = hessian[a, b]
                    for m in range(b):
                        value -= hessian[a, m] * hessian[b, m]
                    if a == b:
                        hessian[a, a] = math.sqrt(max(value, beta * LEAST))
                    else:
                        hessian[a, b] = value / hessian[b, b]
                value = gradient[a]
                for m in range(a):
                    value -= hessian[a, m] * step[start + m]
                step[start + a] = value / hessian[a, a]
            for q in range(WIDTH):
                a = WIDTH - 1 - q
                value = step[start + a]
                for m in range(a + 1, WIDTH):
                    value -= hessian[m, a] * step[start + m]
                step[start + a] = value / hessian[a, a]
                slope += gradient[a] * step[start + a]
        return slope

    @function
    def climb(codes, base, stride, length, table, kept, scratch, contrasts, beta, least, phi, odds, weights, step):
        """Write the step along the gradient of the item's tables, class by class, and return gradient . step in their odds."""
        residual, p = cuda.local.array(M, float32), cuda.local.array(M, float32)
        lane, lanes = (cuda.threadIdx.x, cuda.blockDim.x) if team else (0, 1)
        slope = ZERO
        for c in range(K):
            start, shift = c * M, ZERO
            for k in range(M):
                shift += SHARE * phi[start + k]
            if weights[c] < least:
                slope = vanish(start, shift, beta, slope, phi, step)
                continue
            spread = ZERO
            for k in range(M):
                residual[k] = ZERO
            for at in range(lane, length, lanes):
                code = codes[base + at * stride]
                place = code // np.uint32(K)
                label = code - place * np.uint32(K)
                total, square = ONE, ONE
                for k in range(M):
                    p[k] = odds_at(start + k, at, place, table, kept) * odds[start + k]
                    total += p[k]
                    square += p[k] * p[k]
                scale = ONE / total
                spread += ONE - square * scale * scale
                for k in range(M):
                    residual[k] -= p[k] * scale
                    if label == k + 1:
                        residual[k] += ONE
            if team:
                spread = block_sum(spread, scratch)
                for k in range(M):
                    residual[k] = block_sum(residual[k], scratch)
            unit, first = ONE / (beta + weights[c] * spread / M), ZERO  # the gradient of the first entry, with its sign turned
            for k in range(M):
                residual[k] = weights[c] * residual[k] - beta * (phi[start + k] - shift)
                first += residual[k]
            for k in range(M):
                step[start + k] = (residual[k] + first) * unit
                slope += residual[k] * step[start + k]
        return slope

    @function
    def add_gradient(codes, base, stride, length, table, kept, odds, weights, scale, sums):
        """Add the item's observed minus expected counts to its workers' sums."""
        values = cuda.local.array(V, float32)
        lane, lanes = (cuda.threadIdx.x, cuda.blockDim.x) if team else (0, 1)
        for at in range(lane, length, lanes):
            code = codes[base + at * stride]
            place = code // np.uint32(K)
            label = code - place * np.uint32(K)
            for c in range(K):
                if weights[c] < NO_SINGLE_WEIGHT:
                    for k in range(M):
                        values[c * M + k] = ZERO
                    continue
                total = ONE
                for k in range(M):
                    product = odds_at(c * M + k, at, place, table, kept) * odds[c * M + k]
                    values[c * M + k] = product
                    total += product
                share = weights[c] / total
                for k in range(M):
                    values[c * M + k] = (weights[c] if label == k + 1 else ZERO) - share * values[c * M + k]
            target = np.int64(place) * PAIRS
            for q in range(PAIRS):
                packed = pack(values[2 * q], values[2 * q + 1], scale)
                if packed != 0:
                    cuda.atomic.add(sums, target + q, packed)

    advance = climb if weak_items else newton

    @kernel
    def solve(codes, starts, n, n_items, table, log_prior, mode, gold, given, scale, sums, partial, posterior,
              contrasts, beta, max_steps, tolerance, state):  # fmt: skip
        thread, width = cuda.threadIdx.x, cuda.blockDim.x
        kept = cuda.shared.array(0, float32)  # the rows of an item's workers
        scratch = cuda.shared.array(MAX_THREADS, float64)
        log_joint, weights = cuda.local.array(K, real), cuda.local.array(K, float32)
        phi, step, odds = cuda.local.array(size, float32), cuda.local.array(size, float32), cuda.local.array(V, float32)
        objective, totals = 0.0, cuda.local.array(K, float64)
        for c in range(K):
            totals[c] = 0.0
        item, stride_items = np.int64(cuda.blockIdx.x), np.int64(cuda.gridDim.x)
        if not team:
            item, stride_items = item * width + thread, stride_items * width
        while item < n_items:
            base, stride, length = item, np.int64(n_items), n
            if team:
                base, stride, length = starts[item], np.int64(1), starts[item + 1] - starts[item]
            if kept_rows:
                for at in range(length):
                    row = np.int64(codes[base + at * stride] // np.uint32(K))
                    load_row(table, row, kept, at * V * width + thread, width)
            for r in range(size):
                phi[r] = state[r, item] if len(state) > 0 else ZERO
            fixed = fix(item, mode, gold, given, codes, base, stride, length, weights)
            value, part, least = real(0.0), ZERO, NO_SINGLE_WEIGHT
            if weak_items:  # a class of less weight could raise the objective by a twentieth of the tolerance
                least = max(least, math.sqrt(TWENTIETH * tolerance * beta) / np.float32(max(length, 1)))
            for attempt in range(max_steps):
                trial = evaluate(codes, base, stride, length, table, kept, scratch, contrasts, log_prior, beta, fixed, phi,
                                 odds, log_joint, weights)  # fmt: skip
                if part > SHORTEST_STEP and trial < value - FALL * (ONE + abs(value)):
                    part *= HALF
                    for r in range(size):
                        phi[r] -= part * step[r]
                    continue
                value = trial
                if attempt == max_steps - 1:
                    break
                slope = advance(codes, base, stride, length, table, kept, scratch, contrasts, beta, least, phi, odds, weights,
                                step)  # fmt: skip
                if slope < tolerance:
                    break
                part = ONE
                for r in range(size):
                    phi[r] += step[r]
            if len(sums) > 0:
                add_gradient(codes, base, stride, length, table, kept, odds, weights, scale, sums)
            if thread == 0 or not team:
                objective += value
                for c in range(K):
                    totals[c] += weights[c]
                for r in range(len(state)):
                    state[r, item] = phi[r]
                if len(posterior) > 0:
                    for c in range(K):
                        posterior[c, item] = weights[c]
            item += stride_items
        write_partial(objective, totals, scratch, partial)

    return solve
