r"""The pass over items whose own effects are integrated out, class by class.

.. math::  \log P(x_j \mid c) \approx \max_u \Big[ \sum_i \log \operatorname{softmax}_k(\log p_i(c, k) + u_k)[x_{ij}]
           - \tfrac\beta2 |u|^2 \Big] + \tfrac K2 \log \beta - \tfrac12 \log \det H

Laplace's approximation: ``u`` by Newton's method, ``H`` minus the second derivative there. Every class is judged by its own
effect at full weight, so that the class which is ahead does not get the better effect.
"""

from __future__ import annotations

import math

import numpy as np

from crowdassay.engines.kernels.compiled import _cholesky_solve, _jit, _weigh
from crowdassay.engines.kernels.small import FAINT, FREE_WEIGHTS, LONGEST_EFFECT_STEP, SMALL_RISE

SMALLEST_RUNNING = 1e-200  # a running product of probabilities below this is put into the logarithm


@_jit
def _tilt(row, effect, answer):
    """Write the probabilities of the answers with the item's effect into ``answer``."""
    total = 0.0
    for k in range(len(row)):
        answer[k] = row[k] * effect[k]
        total += answer[k]
    for k in range(len(row)):
        answer[k] /= total


@_jit
def _derivatives(first, last, workers, labels, p, c, u, precision, effect, answer, gradient, hessian):
    """Return the penalised log-likelihood at ``u``; write its gradient and minus its second derivative (lower triangle)."""
    n_classes, value, product = len(u), 0.0, 1.0
    for k in range(n_classes):
        effect[k] = math.exp(u[k])
        gradient[k] = -precision * u[k]
        value -= 0.5 * precision * u[k] * u[k]
        for m in range(k):
            hessian[k, m] = 0.0
        hessian[k, k] = precision
    for n in range(first, last):
        _tilt(p[workers[n], c], effect, answer)
        product *= max(answer[labels[n]], 1e-90)
        if product < SMALLEST_RUNNING:
            value += math.log(product)
            product = 1.0
        gradient[labels[n]] += 1.0
        for k in range(n_classes):
            gradient[k] -= answer[k]
            hessian[k, k] += answer[k]
            for m in range(k + 1):
                hessian[k, m] -= answer[k] * answer[m]
    return value + math.log(product)


@_jit
def log_evidence(first, last, workers, labels, p, c, u, precision, max_steps, effect, answer, gradient, hessian):
    """Move ``u`` to its best value and return the log evidence of an item's labels if its class is c.

    ``hessian`` ends as the Cholesky factor of minus the second derivative. Once close, the last step goes without a look
    back: its promise is added to the evidence, and the next pass over the labels begins where it ended.
    """
    n_classes, best, scale = len(u), -np.inf, 1.0
    kept, step, slope = u.copy(), np.zeros(n_classes), np.zeros(n_classes)
    for attempt in range(max_steps):
        value = _derivatives(first, last, workers, labels, p, c, u, precision, effect, answer, gradient, hessian)
        last_one = attempt == max_steps - 1
        if value < best - 1e-9 and not last_one:
            scale *= 0.25
            for k in range(n_classes):
                u[k] = kept[k] + scale * step[k]
            continue
        best, scale, promise, longest = value, 1.0, 0.0, 0.0
        kept[:] = u
        slope[:] = gradient
        _cholesky_solve(hessian, gradient, n_classes)
        for k in range(n_classes):
            promise += slope[k] * gradient[k]
            longest = max(longest, abs(gradient[k]))
        for k in range(n_classes):
            step[k] = gradient[k] * min(1.0, LONGEST_EFFECT_STEP / max(longest, LONGEST_EFFECT_STEP))
            u[k] += step[k]
        if promise < SMALL_RISE:
            best += 0.5 * promise
            break
    value = best + 0.5 * n_classes * math.log(precision)
    for k in range(n_classes):
        value -= math.log(hessian[k, k])
    return value


@_jit
def _inverse_trace(factor, column):
    """Return the trace of the inverse of a matrix whose Cholesky factor is given: the squares of the factor's inverse."""
    n_classes, trace = len(column), 0.0
    for m in range(n_classes):
        for k in range(m, n_classes):
            value = 1.0 if k == m else 0.0
            for r in range(m, k):
                value -= factor[k, r] * column[r]
            column[k] = value / factor[k, k]
            trace += column[k] * column[k]
    return trace


@_jit
def integrate_items(starts, workers, labels, gold, first, last, p, log_prior, anchor, precision, max_steps, effects,
                    sums, totals, spread, posterior):  # fmt: skip
    """Judge the items [first, last) and return their log-marginal likelihood.

    ``p`` (n_workers, n_classes, n_classes) are the workers' probabilities; ``effects`` (n_items, n_classes, n_classes) where
    Newton's method starts and what it finds. To ``sums`` (n_workers, n_classes, 2 n_classes + 1) each label adds, for every
    true class and weighted by (1 - anchor) posterior + anchor vote share: the answer, the answers expected, and their variance.
    To ``spread`` (2,) each item adds, weighted by its posterior, the squared length of its effects and the trace of their
    covariance.
    """
    n_classes = len(log_prior)
    log_joint, weights, shares = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    effect, answer, gradient = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    hessian, none, traces = np.empty((n_classes, n_classes)), np.empty(n_classes), np.empty(n_classes)
    objective = 0.0
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        for c in range(n_classes):
            log_joint[c] = log_prior[c] + log_evidence(
                begin, end, workers, labels, p, c, effects[j, c], precision, max_steps, effect, answer, gradient, hessian
            )
            traces[c] = _inverse_trace(hessian, answer)
        objective += _weigh(log_joint, gold[j], FREE_WEIGHTS, none, labels, begin, end, weights)
        posterior[j] = weights
        for c in range(n_classes):
            spread[1] += weights[c] * traces[c]
            for k in range(n_classes):
                spread[0] += weights[c] * effects[j, c, k] ** 2
        if gold[j] < 0 and end > begin:
            shares[:] = 0.0
            for n in range(begin, end):
                shares[labels[n]] += 1.0
            for c in range(n_classes):
                weights[c] += anchor * (shares[c] / (end - begin) - weights[c])
        for c in range(n_classes):
            totals[c] += weights[c]
            if weights[c] < FAINT:
                continue
            for k in range(n_classes):
                effect[k] = math.exp(effects[j, c, k])
            for n in range(begin, end):
                _tilt(p[workers[n], c], effect, answer)
                cells = sums[workers[n], c]
                cells[labels[n]] += weights[c]
                for k in range(n_classes):
                    cells[n_classes + k] += weights[c] * answer[k]
                    cells[2 * n_classes] += weights[c] * answer[k] * (1.0 - answer[k])
    return objective
