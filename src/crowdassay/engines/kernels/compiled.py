r"""The sweep, compiled: a map over items and a sum over workers.

`solve_items` is for models with an item block of any structure, where every item first fits its own table ``tau``. Models
without one need only expected counts: `crowdassay.engines.kernels.count`.

No exponential is taken per label: ``exp(sigma + tau) = exp(sigma) * exp(tau)``, both made once. Exponentials are floored at
`LEAST_FACTOR` so that a product of two, and a running product of probabilities, can never become zero.

Functions release the interpreter lock and touch only the item range and the buffers they are given.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdassay.engines.kernels.small import FAINT, FREE_WEIGHTS, VOTE_WEIGHTS

LEAST_FACTOR = 1e-100  # the product of two floored factors and of one running product stays above the smallest float
SLIGHT = 0.01  # curvature, in penalties, that a Newton step does not notice

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")
_inline = nb.njit(cache=True, nogil=True, error_model="numpy", inline="always")  # faster where many arrays are handed over


@_jit
def floored_exp(tables, out):
    """Write exp(table - its row maximum), floored, into ``out``; both (n, n_classes, n_classes)."""
    n, n_classes, _ = tables.shape
    for i in range(n):
        for c in range(n_classes):
            top = tables[i, c, 0]
            for k in range(1, n_classes):
                top = max(top, tables[i, c, k])
            for k in range(n_classes):
                out[i, c, k] = max(math.exp(tables[i, c, k] - top), LEAST_FACTOR)


@_jit
def _weigh(log_joint, gold, mode, given, labels, first, last, weights):
    """Set the class weights of one item and return its log-marginal (or, with weights held, its expected log-likelihood)."""
    n_classes = len(weights)
    if gold >= 0:
        weights[:] = 0.0
        weights[gold] = 1.0
        return log_joint[gold]
    if mode == FREE_WEIGHTS:
        top = log_joint[0]
        for c in range(1, n_classes):
            top = max(top, log_joint[c])
        total = 0.0
        for c in range(n_classes):
            weights[c] = math.exp(log_joint[c] - top)
            total += weights[c]
        for c in range(n_classes):
            weights[c] /= total
        return top + math.log(total)
    if mode == VOTE_WEIGHTS and first == last:
        weights[:] = 1.0 / n_classes  # nobody has labelled the item
    elif mode == VOTE_WEIGHTS:
        weights[:] = 0.0
        for n in range(first, last):
            weights[labels[n]] += 1.0
        for c in range(n_classes):
            weights[c] /= last - first
    else:
        weights[:] = given
    value = 0.0
    for c in range(n_classes):
        if weights[c] > 0.0:
            value += weights[c] * (log_joint[c] - math.log(weights[c]))
    return value


@_jit
def _expand(phi, columns, offsets, widths, tau, exp_tau):
    """Write the item's table and its floored exponential."""
    n_classes = len(offsets)
    for c in range(n_classes):
        for k in range(n_classes):
            value = 0.0
            for r in range(widths[c]):
                value += columns[c, k, r] * phi[offsets[c] + r]
            tau[c, k] = value
        top = tau[c, 0]
        for k in range(1, n_classes):
            top = max(top, tau[c, k])
        for k in range(n_classes):
            exp_tau[c, k] = max(math.exp(tau[c, k] - top), LEAST_FACTOR)


@_jit
def _moments(first, last, workers, labels, exp_sigma, exp_tau, log_joint, p, residual):
    """Pass over an item's labels once: log-likelihood and observed minus expected counts, per class."""
    n_classes = len(log_joint)
    residual[:] = 0.0
    for c in range(n_classes):
        product, log_sum = 1.0, 0.0
        for n in range(first, last):
            sigma_row = exp_sigma[workers[n], c]
            total = 0.0
            for k in range(n_classes):
                p[k] = sigma_row[k] * exp_tau[c, k]
                total += p[k]
            scale = 1.0 / total
            for k in range(n_classes):
                p[k] *= scale
            product *= p[labels[n]]
            if product < LEAST_FACTOR:
                log_sum += math.log(product)
                product = 1.0
            residual[c, labels[n]] += 1.0
            for k in range(n_classes):
                residual[c, k] -= p[k]
        log_joint[c] += log_sum + math.log(product)


@_jit
def _add_curvature(first, last, workers, exp_sigma, exp_tau, c, p, curvature):
    """Write the covariance of the answers to an item of class c, summed over its labels (lower triangle)."""
    n_classes = len(p)
    curvature[:] = 0.0
    for n in range(first, last):
        sigma_row = exp_sigma[workers[n], c]
        total = 0.0
        for k in range(n_classes):
            p[k] = sigma_row[k] * exp_tau[c, k]
            total += p[k]
        scale = 1.0 / total
        for k in range(n_classes):
            p[k] *= scale
            curvature[k, k] += p[k]
            for m in range(k + 1):
                curvature[k, m] -= p[k] * p[m]


@_jit
def _cholesky_solve(matrix, vector, size):
    """Solve matrix x = vector in place (lower triangle used); false when the matrix is not positive definite."""
    for a in range(size):
        for b in range(a + 1):
            value = matrix[a, b]
            for m in range(b):
                value -= matrix[a, m] * matrix[b, m]
            if a == b:
                if value <= 0.0:
                    return False
                matrix[a, a] = math.sqrt(value)
            else:
                matrix[a, b] = value / matrix[b, b]
    for a in range(size):
        value = vector[a]
        for m in range(a):
            value -= matrix[a, m] * vector[m]
        vector[a] = value / matrix[a, a]
    for a in range(size - 1, -1, -1):
        value = vector[a]
        for m in range(a + 1, size):
            value -= matrix[m, a] * vector[m]
        vector[a] = value / matrix[a, a]
    return True


@_jit
def _newton_step(first, last, workers, exp_sigma, exp_tau, phi, weights, residual, columns, offsets, widths, beta,
                 p, curvature, hessian, half, step):  # fmt: skip
    """Write the Newton step of the item's expected log-likelihood, block by block, and return gradient . step.

    The covariance of a class that hardly weighs is lost beside the penalty and left out; it is what takes the time, and of many
    classes an item can have only a few.
    """
    n_classes = len(weights)
    slope, least = 0.0, max(FAINT, SLIGHT * beta / max(last - first, 1))
    for head in range(n_classes):
        start, width = offsets[head], widths[head]
        if width == 0:
            continue
        earlier = False
        for c in range(head):
            earlier = earlier or (offsets[c] == start and widths[c] > 0)
        if earlier:
            continue  # the block was solved when its first class came up
        for a in range(width):
            step[start + a] = -beta * phi[start + a]
            for b in range(a + 1):
                hessian[a, b] = 0.0
            hessian[a, a] = beta
        for c in range(head, n_classes):
            if offsets[c] != start or widths[c] == 0 or weights[c] < FAINT:
                continue
            basis = columns[c]
            for a in range(width):
                value = 0.0
                for k in range(n_classes):
                    value += basis[k, a] * residual[c, k]
                step[start + a] += weights[c] * value
            if weights[c] < least:
                continue
            _add_curvature(first, last, workers, exp_sigma, exp_tau, c, p, curvature)
            for a in range(width):
                for k in range(n_classes):
                    value = 0.0
                    for m in range(k + 1):
                        value += curvature[k, m] * basis[m, a]
                    for m in range(k + 1, n_classes):
                        value += curvature[m, k] * basis[m, a]
                    half[k] = weights[c] * value
                for b in range(a + 1):
                    value = 0.0
                    for k in range(n_classes):
                        value += half[k] * basis[k, b]
                    hessian[a, b] += value
        gradient = step[start : start + width].copy()
        if not _cholesky_solve(hessian, step[start : start + width], width):
            step[start : start + width] = 0.0
        for a in range(width):
            slope += gradient[a] * step[start + a]
    return slope


@_jit
def _add_gradient(first, last, workers, labels, exp_sigma, exp_tau, weights, p, gradient):
    """Add the item's observed minus expected counts to its workers' tables."""
    n_classes = len(weights)
    for n in range(first, last):
        worker, label = workers[n], labels[n]
        for c in range(n_classes):
            if weights[c] < FAINT:
                continue
            total = 0.0
            for k in range(n_classes):
                p[k] = exp_sigma[worker, c, k] * exp_tau[c, k]
                total += p[k]
            scale = weights[c] / total
            for k in range(n_classes):
                gradient[worker, c, k] -= scale * p[k]
            gradient[worker, c, label] += weights[c]


@_jit
def solve_items(starts, workers, labels, gold, first, last, exp_sigma, log_prior, columns, offsets, widths, beta,
                mode, given, max_steps, tolerance, state, gradient, totals, posterior):  # fmt: skip
    """Fit every item of [first, last) on its own, add its worker gradient and return the objective.

    Each step passes over the item's labels once: an E-step and one Newton step on the item's coordinates, halved while the
    item's objective falls. ``state`` (n_items, size) keeps the coordinates between sweeps, or has no rows, and then every
    item starts from zero.
    """
    n_classes, size = len(log_prior), 0
    for c in range(n_classes):
        size = max(size, offsets[c] + widths[c])
    widest = columns.shape[2]
    phi, step, best = np.zeros(size), np.zeros(size), np.zeros(size)
    tau, exp_tau = np.empty((n_classes, n_classes)), np.empty((n_classes, n_classes))
    residual, curvature = np.empty((n_classes, n_classes)), np.empty((n_classes, n_classes))
    hessian, half, p = np.empty((widest, widest)), np.empty(n_classes), np.empty(n_classes)
    log_joint, weights = np.empty(n_classes), np.empty(n_classes)
    objective = 0.0
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        if len(state) > 0:
            phi[:] = state[j]
        else:
            phi[:] = 0.0
        value, slope, scale = -np.inf, 0.0, 0.0
        for attempt in range(max_steps):
            _expand(phi, columns, offsets, widths, tau, exp_tau)
            log_joint[:] = log_prior
            _moments(begin, end, workers, labels, exp_sigma, exp_tau, log_joint, p, residual)
            trial = _weigh(log_joint, gold[j], mode, given[j % len(given)], labels, begin, end, weights)
            for r in range(size):
                trial -= 0.5 * beta * phi[r] * phi[r]
            if trial < value - 1e-12 * abs(value) and scale > 1e-3:
                scale *= 0.5
                for r in range(size):
                    phi[r] = best[r] + scale * step[r]
                continue
            value = trial
            best[:] = phi
            slope = _newton_step(
                begin, end, workers, exp_sigma, exp_tau, phi, weights, residual, columns, offsets, widths, beta,
                p, curvature, hessian, half, step,
            )  # fmt: skip
            if slope < tolerance or attempt == max_steps - 1:
                break
            scale = 1.0
            for r in range(size):
                phi[r] += step[r]
        objective += value
        if len(state) > 0:
            state[j] = phi
        for c in range(n_classes):
            totals[c] += weights[c]
        if len(gradient) > 0:
            _add_gradient(begin, end, workers, labels, exp_sigma, exp_tau, weights, p, gradient)
        if len(posterior) > 0:
            posterior[j] = weights
    return objective
