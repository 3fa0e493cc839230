"""The chances of comparisons, compiled: of one, of all by one worker, of those to come."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")

DAVIDSON, RAO_KUPPER = 0, 1
LEFT, RIGHT, TIE = 0, 1, 2


@_jit
def log_chance(outcome, eta, kappa, nu, ties, out):  # type: ignore[no-untyped-def]
    """Fill ``out``: log-probability, slopes by eta and kappa, then curvature by eta, both, and kappa (negative is concave).

    Davidson: left, right, tie in the ratio exp(eta / 2), exp(-eta / 2), exp(kappa). Rao and Kupper: left with probability
    1 / (1 + exp(c - eta)) and right with 1 / (1 + exp(c + eta)), where c = exp(kappa), which is passed as ``nu``.
    """
    if ties == DAVIDSON:
        half = math.exp(-0.5 * abs(eta))  # everything is divided by the larger of the two sides: one exponential will do
        small, t = half * half, nu * half
        total = 1.0 + small + t
        a = (1.0 if eta > 0 else small) / total
        b = (small if eta > 0 else 1.0) / total
        t /= total
        mean = 0.5 * (a - b)  # of the statistic +1/2, -1/2, 0
        x = 0.5 if outcome == LEFT else (-0.5 if outcome == RIGHT else 0.0)
        y = 1.0 if outcome == TIE else 0.0
        out[0] = x * eta + y * kappa - 0.5 * abs(eta) - math.log(total)
        out[1], out[2] = x - mean, y - t
        out[3] = -(0.25 * (a + b) - mean * mean)
        out[4] = mean * t
        out[5] = -t * (1.0 - t)
        return
    c = nu
    if outcome != TIE:
        side = 1.0 if outcome == LEFT else -1.0
        z = side * eta - c
        p = 1.0 / (1.0 + math.exp(-z)) if z > -500 else 0.0
        out[0] = -math.log1p(math.exp(-z)) if z > -30 else z
        out[1], out[2] = side * (1.0 - p), -c * (1.0 - p)
        bend = -p * (1.0 - p)
        out[3], out[4] = bend, -side * c * bend
        out[5] = c * c * bend - c * (1.0 - p)
        return
    # P(tie) = (exp(2c) - 1) / ((1 + exp(c - eta)) (1 + exp(c + eta)))
    p, q = 1.0 / (1.0 + math.exp(-(c - eta))), 1.0 / (1.0 + math.exp(-(c + eta)))
    grow = math.exp(2 * c) - 1.0 if c < 300 else 1e300
    out[0] = math.log(max(grow, 1e-300)) - math.log1p(math.exp(c - eta)) - math.log1p(math.exp(c + eta))
    out[1] = p - q
    ratio = 2.0 / (1.0 - math.exp(-2 * c))  # of the slope of log(exp(2c) - 1)
    by_c = ratio - p - q
    out[2] = c * by_c
    out[3] = -p * (1 - p) - q * (1 - q)
    out[4] = c * (p * (1 - p) - q * (1 - q))
    second = -ratio * (ratio - 2.0) - p * (1 - p) - q * (1 - q)
    out[5] = c * c * second + c * by_c


@_jit
def rows_of_worker(  # type: ignore[no-untyped-def]
    first, last, left, right, outcome, weight, style, point, n_items, n_styles, rho, bias, ties, out
):  # fmt: skip
    """Return the log-likelihood of a worker's comparisons, its slopes and its (positive) curvatures by rho and bias."""
    a, value, nu = math.exp(rho), 0.0, math.exp(point[n_items + 1])
    slope_r, slope_b, curve_r, curve_rb, curve_b = 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(first, last):
        d = point[left[n]] - point[right[n]]
        for m in range(n_styles):
            d += point[n_items + 2 + m] * style[n, m]
        log_chance(outcome[n], a * d + point[n_items] + bias, point[n_items + 1], nu, ties, out)
        w = weight[n]
        value += w * out[0]
        slope_r += w * out[1] * a * d
        slope_b += w * out[1]
        curve_r -= w * out[3] * a * a * d * d
        curve_rb -= w * out[3] * a * d
        curve_b -= w * out[3]
    return value, slope_r, slope_b, curve_r, curve_rb, curve_b


@_jit
def probabilities(left, right, worker, style, point, n_items, effects, ties, table):  # type: ignore[no-untyped-def]
    """Fill the probability that the left one wins, the right one wins, and of a tie; (n_pairs, 3)."""
    out, nu = np.empty(6), math.exp(point[n_items + 1])
    for n in range(len(left)):
        rho, bias = 0.0, 0.0
        if worker[n] >= 0:
            rho, bias = effects[worker[n], 0], effects[worker[n], 1]
        d = point[left[n]] - point[right[n]]
        for m in range(style.shape[1]):
            d += point[n_items + 2 + m] * style[n, m]
        for outcome in range(3):
            log_chance(outcome, math.exp(rho) * d + point[n_items] + bias, point[n_items + 1], nu, ties, out)
            table[n, outcome] = math.exp(out[0])
