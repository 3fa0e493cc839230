r"""The pass of `crowdassay.engines.kernels.weak_items` for two classes, in scalars.

A table is one number: with :math:`\tau(c, \cdot) = (-t_c, t_c)` the second answer has probability
:math:`u e^{2 t} / (1 - u + u e^{2 t})`, where u is the worker's own. Both classes are always active.
"""

from __future__ import annotations

import math

import numpy as np

from crowdassay.engines.kernels.compiled import _jit
from crowdassay.engines.kernels.count import SMALLEST_PRODUCT, weigh_by_logs
from crowdassay.engines.kernels.small import FREE_WEIGHTS


@_jit
def solve_weak_pairs(  # noqa: PLR0915  one function, since two dozen numbers would have to be handed to another
                      starts, workers, labels, gold, first, last, log_p, second, log_prior, beta, given, max_steps, tolerance,
                      average, state, difficulty, sums, totals, posterior):  # fmt: skip
    """Fit every item of [first, last) on its own, add its worker sums and return the objective.

    ``second`` (n_workers, true) is the workers' probability of the second answer. Added to ``sums`` (n_workers, true) are
    observed minus expected second answers. ``average``, ``state`` and ``difficulty`` are as in `solve_weak_items`, but the
    state is t.
    """
    longest = 0
    for j in range(first, last):
        longest = max(longest, starts[j + 1] - starts[j])
    q, log_joint, weights = np.empty((longest, 2)), np.empty(2), np.empty(2)
    prior0, prior1 = math.exp(log_prior[0]), math.exp(log_prior[1])
    objective, product = 0.0, 1.0
    for j in range(first, last):
        begin, size = starts[j], starts[j + 1] - starts[j]
        start0, start1 = (prior0 if gold[j] != 1 else 0.0), (prior1 if gold[j] != 0 else 0.0)
        residual0, residual1, spread0, spread1, ones = 0.0, 0.0, 0.0, 0.0, 0.0
        for n in range(size):
            i, x = workers[begin + n], labels[begin + n]
            u0, u1 = second[i, 0], second[i, 1]
            q[n, 0], q[n, 1] = u0, u1
            spread0 += u0 * (1.0 - u0)
            spread1 += u1 * (1.0 - u1)
            residual0 -= u0
            residual1 -= u1
            ones += x
            start0 *= u0 if x == 1 else 1.0 - u0
            start1 *= u1 if x == 1 else 1.0 - u1
        total = start0 + start1
        if total < SMALLEST_PRODUCT:
            objective += weigh_by_logs(
                j, starts, workers, labels, gold, log_p, log_prior, FREE_WEIGHTS, given, log_joint, weights
            )
            start0, start1, total = weights[0], weights[1], 1.0
        product *= total
        if product < SMALLEST_PRODUCT:
            objective += math.log(product)
            product = 1.0
        start0 /= total
        start1 /= total
        residual0 += ones
        residual1 += ones
        weight0, weight1, t0, t1, penalty, rise, e0, e1 = start0, start1, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0
        for attempt in range(max_steps):
            slope0, slope1 = weight0 * residual0 - beta * t0, weight1 * residual1 - beta * t1
            step0, step1 = slope0 / (beta + 2.0 * weight0 * spread0), slope1 / (beta + 2.0 * weight1 * spread1)
            if 2.0 * (slope0 * step0 + slope1 * step1) < tolerance or attempt == max_steps - 1:
                break
            t0 += step0
            t1 += step1
            e0, e1 = math.exp(2.0 * t0), math.exp(2.0 * t1)
            factor0, factor1, residual0, residual1 = 1.0, 1.0, ones, ones
            for n in range(size):
                i = workers[begin + n]
                u0, u1 = second[i, 0], second[i, 1]
                a0, a1 = u0 * e0, u1 * e1
                b0, b1 = 1.0 / (1.0 - u0 + a0), 1.0 / (1.0 - u1 + a1)
                q0, q1 = a0 * b0, a1 * b1
                factor0 *= b0
                factor1 *= b1
                residual0 -= q0
                residual1 -= q1
                q[n, 0], q[n, 1] = q0, q1
            weight0 = start0 * factor0 * math.exp(2.0 * t0 * ones)
            weight1 = start1 * factor1 * math.exp(2.0 * t1 * ones)
            rise = weight0 + weight1
            weight0 /= rise
            weight1 /= rise
            penalty = beta * (t0 * t0 + t1 * t1)
        objective += math.log(rise) - penalty
        totals[0] += weight0
        totals[1] += weight1
        for n in range(size):
            i, x = workers[begin + n], labels[begin + n]
            sums[i, 0] += weight0 * (x - q[n, 0])
            sums[i, 1] += weight1 * (x - q[n, 1])
        if len(posterior) > 0:
            posterior[j, 0], posterior[j, 1] = weight0, weight1
        if len(difficulty) > 0:
            right0 = average[0, 0] / (average[0, 0] + average[0, 1] * e0)
            right1 = average[1, 1] * e1 / (average[1, 0] + average[1, 1] * e1)
            difficulty[j] = 1.0 - weight0 * right0 - weight1 * right1
        if len(state) > 0:
            state[j, 0], state[j, 1] = t0, t1
    return objective + math.log(product)
