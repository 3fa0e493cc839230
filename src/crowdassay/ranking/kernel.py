"""The likelihood of comparisons, compiled: of one, of all by one worker, and one pass over all workers.

A worker's own reliability and bias for a side are profiled out.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from crowdassay.labels.sides import LEFT, RIGHT, TIED

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")

MOST_EFFECT_STEPS = 25
LEAST_PART = 0.1  # of the expected curvature that the observed one must have to be used
LARGEST_STEP_ON_THE_WAY = 0.5  # steps of the effects up to which one is taken on the way
FIXED = 1e12  # precision of an effect that is fixed at zero


@_jit
def log_chance(outcome, eta, kappa, nu, rao_kupper, out):  # type: ignore[no-untyped-def]
    """Fill ``out``: log-probability, slopes by eta and kappa, then curvature by eta, both, and kappa (negative is concave).

    Davidson: left, right, tie in the ratio exp(eta / 2), exp(-eta / 2), exp(kappa). Rao and Kupper: left with probability
    1 / (1 + exp(c - eta)) and right with 1 / (1 + exp(c + eta)), where c = exp(kappa), which is passed as ``nu``.
    """
    if not rao_kupper:
        half = math.exp(-0.5 * abs(eta))  # everything is divided by the larger of the two sides: one exponential will do
        small, t = half * half, nu * half
        total = 1.0 + small + t
        a = (1.0 if eta > 0 else small) / total
        b = (small if eta > 0 else 1.0) / total
        t /= total
        mean = 0.5 * (a - b)  # of the statistic +1/2, -1/2, 0
        x = 0.5 if outcome == LEFT else (-0.5 if outcome == RIGHT else 0.0)
        y = 1.0 if outcome == TIED else 0.0
        out[0] = x * eta + y * kappa - 0.5 * abs(eta) - math.log(total)
        out[1], out[2] = x - mean, y - t
        out[3] = -(0.25 * (a + b) - mean * mean)
        out[4] = mean * t
        out[5] = -t * (1.0 - t)
        return
    c = nu
    if outcome != TIED:
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
    first, last, left, right, outcome, weight, style, point, n_items, rho, bias, rao_kupper, out
):  # fmt: skip
    """Return the log-likelihood of a worker's comparisons, its slopes and its (positive) curvatures by rho and bias."""
    a, value, nu = math.exp(rho), 0.0, math.exp(point[n_items + 1])
    slope_r, slope_b, curve_r, curve_rb, curve_b = 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(first, last):
        d = point[left[n]] - point[right[n]]
        for m in range(style.shape[1]):
            d += point[n_items + 2 + m] * style[n, m]
        log_chance(outcome[n], a * d + point[n_items] + bias, point[n_items + 1], nu, rao_kupper, out)
        w = weight[n]
        value += w * out[0]
        slope_r += w * out[1] * a * d
        slope_b += w * out[1]
        curve_r -= w * out[3] * a * a * d * d
        curve_rb -= w * out[3] * a * d
        curve_b -= w * out[3]
    return value, slope_r, slope_b, curve_r, curve_rb, curve_b


@_jit
def slopes(starts, left, right, outcome, style, point, n_items, effects, rao_kupper, gap, table):  # type: ignore[no-untyped-def]
    """Fill what `log_chance` finds for every comparison, (n_rows, 6), and the differences of scores with style, (n_rows,)."""
    nu = math.exp(point[n_items + 1])
    for w in range(len(starts) - 1):
        a, bias = math.exp(effects[w, 0]), effects[w, 1]
        for n in range(starts[w], starts[w + 1]):
            d = point[left[n]] - point[right[n]]
            for m in range(style.shape[1]):
                d += point[n_items + 2 + m] * style[n, m]
            gap[n] = d
            log_chance(outcome[n], a * d + point[n_items] + bias, point[n_items + 1], nu, rao_kupper, table[n])


@_jit
def find_effects(  # type: ignore[no-untyped-def]
    first, last, left, right, outcome, weight, style, point, n_items, rho, bias, precision, rao_kupper, near, out
):  # fmt: skip
    """Return the likeliest log reliability and bias of a worker by damped Newton steps; ``near`` says that one will do."""
    centre = precision[2]
    now = rows_of_worker(first, last, left, right, outcome, weight, style, point, n_items, rho, bias, rao_kupper, out)
    for _ in range(MOST_EFFECT_STEPS):
        fit = now[0] - 0.5 * (precision[0] * (rho - centre) ** 2 + precision[1] * bias * bias)
        g0, g1 = now[1] - precision[0] * (rho - centre), now[2] - precision[1] * bias
        h00, h01, h11 = now[3] + precision[0], now[4], now[5] + precision[1]
        if (h00 - now[1]) * h11 - h01 * h01 > LEAST_PART * h00 * h11:  # else the expected curvature will do
            h00 -= now[1]
        det = h00 * h11 - h01 * h01
        s0, s1 = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        s0, s1 = min(max(s0, -1.0), 1.0), min(max(s1, -2.0), 2.0)
        moved = max(abs(s0), abs(s1))
        if moved < 1e-7:
            break
        if near and moved < LARGEST_STEP_ON_THE_WAY:
            return rho + s0, bias + s1
        for _ in range(20):
            now = rows_of_worker(
                first, last, left, right, outcome, weight, style, point, n_items, rho + s0, bias + s1, rao_kupper, out
            )
            ahead = now[0] - 0.5 * (precision[0] * (rho + s0 - centre) ** 2 + precision[1] * (bias + s1) ** 2)
            if ahead >= fit - 1e-10 * (1 + abs(fit)):
                break
            s0 *= 0.5
            s1 *= 0.5
        rho, bias = rho + s0, bias + s1
        if max(abs(s0), abs(s1)) < 1e-3:  # the next step will be of its square
            break
    return rho, bias


@_jit
def number_items(first, last, left, right, n_items, n_parameters, place):  # type: ignore[no-untyped-def]
    """Return the parameters that a worker's comparisons touch, and fill ``place`` with where each item stands among them.

    ``place`` (n_parameters,) is -1 throughout before; position bias, ties and styles come after the items.
    """
    most, count = min(2 * (last - first), n_items), 0
    mine = np.empty(most + n_parameters - n_items, np.int64)
    if last - first >= n_items:  # who has compared so much has met nearly all
        for item in range(n_items):
            place[item], mine[item] = item, item
        count = n_items
    else:
        for n in range(first, last):
            for item in (left[n], right[n]):
                if place[item] < 0:
                    place[item], mine[count] = count, item
                    count += 1
    for c in range(n_items, n_parameters):
        mine[count] = c
        count += 1
    return mine[:count]


@_jit
def profile_out(  # type: ignore[no-untyped-def]
    mine, link, r00, r01, r11, left_over0, left_over1, dense, gradient, matrix
):  # fmt: skip
    """Take off what a worker's own effects, being unknown, take away: from the gradient and from the information."""
    det = r00 * r11 - r01 * r01
    for j in range(len(mine)):
        u0 = (r11 * link[j, 0] - r01 * link[j, 1]) / det
        u1 = (r00 * link[j, 1] - r01 * link[j, 0]) / det
        gradient[mine[j]] -= u0 * left_over0 + u1 * left_over1
        if dense:
            for i in range(len(mine)):
                matrix[mine[j], mine[i]] -= u0 * link[i, 0] + u1 * link[i, 1]
        else:
            matrix[mine[j], 0] -= u0 * link[j, 0] + u1 * link[j, 1]


@_jit
def pass_over(  # type: ignore[no-untyped-def]  # noqa: PLR0915  one pass, compiled whole
    begin, end, starts, left, right, outcome, weight, style, point, n_items, effects, population, free, sided, rao_kupper,
    dense, gradient, matrix, spread, near,
):  # fmt: skip
    """Go over workers ``begin`` to ``end``; return their penalised log-likelihood, add to the gradient and the information.

    Parameters
    ----------
    starts : (n_workers + 1,), where each worker's comparisons begin
    point : scores, position bias, log tie propensity, styles
    effects : (n_workers, 2), log reliability and own bias of each; where to begin and, afterwards, the mode
    population : (3,), precision of the population of effects, and where its log reliability is centred
    free, sided : (n_workers,), whether a worker has effects at all, and a side of their own
    spread : (n_workers, 3), variances of the effects given the comparisons, and the log determinant of their information
    near : whether the effects are near their modes already, so that one step of Newton's method will do
    """
    n_parameters, n_styles = len(point), style.shape[1]
    out, place = np.empty(6), np.full(n_parameters, -1, np.int64)
    value, nu = 0.0, math.exp(point[n_items + 1])
    precision, centre = population.copy(), population[2]
    tied = nu > 1e-15 or rao_kupper
    couple = np.zeros((n_items, n_items) if dense else (1, 1))  # curvature by two items, each comparison written once
    for w in range(begin, end):
        first, last = starts[w], starts[w + 1]
        if first == last:
            continue
        rho, bias = effects[w, 0], effects[w, 1]
        precision[1] = population[1] if sided[w] else FIXED
        if free[w]:
            rho, bias = find_effects(
                first, last, left, right, outcome, weight, style, point, n_items, rho, bias, precision, rao_kupper, near, out
            )
            effects[w, 0], effects[w, 1] = rho, bias
            value -= 0.5 * (precision[0] * (rho - centre) ** 2 + precision[1] * bias * bias)
        a = math.exp(rho)
        mine = number_items(first, last, left, right, n_items, n_parameters, place)
        count = len(mine)
        position = count - (n_parameters - n_items)
        tie, styled = position + 1, position + 2
        score, own, knot = np.zeros(count), np.zeros(count), np.zeros(count)
        link = np.zeros((count, 2))
        r00, r01, r11 = 0.0, 0.0, 0.0
        slope0, slope1, slope_tie = 0.0, 0.0, 0.0
        tie0, tie1, tie_curve = 0.0, 0.0, 0.0
        for n in range(first, last):
            one, two = place[left[n]], place[right[n]]
            d = point[left[n]] - point[right[n]]
            for m in range(n_styles):
                d += point[n_items + 2 + m] * style[n, m]
            log_chance(outcome[n], a * d + point[n_items] + bias, point[n_items + 1], nu, rao_kupper, out)
            c, ad = weight[n], a * d
            g, h = c * out[1], -c * out[3]
            value += c * out[0]
            score[one] += g * a
            score[two] -= g * a
            ha = h * a
            link[one, 0] += ha * ad
            link[two, 0] -= ha * ad
            link[one, 1] += ha
            link[two, 1] -= ha
            curve = ha * a
            own[one] += curve
            own[two] += curve
            if dense:
                couple[left[n], right[n]] += curve
            r00 += h * ad * ad
            r01 += h * ad
            r11 += h
            slope0 += g * ad
            slope1 += g
            if tied:
                cross = -c * out[4]
                knot[one] += cross * a
                knot[two] -= cross * a
                tie0 += cross * ad
                tie1 += cross
                slope_tie += c * out[2]
                tie_curve -= c * out[5]
            for m in range(n_styles):
                by = a * style[n, m]
                score[styled + m] += g * by
                link[styled + m, 0] += h * by * ad
                link[styled + m, 1] += h * by
                own[styled + m] += h * by * by
                if tied:
                    knot[styled + m] -= c * out[4] * by
                if dense:
                    for i in range(m):
                        matrix[n_items + 2 + m, n_items + 2 + i] += h * by * a * style[n, i]
                        matrix[n_items + 2 + i, n_items + 2 + m] += h * by * a * style[n, i]
                    for item, side in ((left[n], a), (right[n], -a)):
                        matrix[item, n_items + 2 + m] += h * by * side
                        matrix[n_items + 2 + m, item] += h * by * side
        score[position], score[tie] = slope1, slope_tie
        link[position, 0], link[position, 1] = r01, r11
        link[tie, 0], link[tie, 1] = tie0, tie1
        own[position], own[tie], knot[position] = r11, tie_curve, tie1
        for j in range(count):
            at = mine[j]
            if not dense:
                matrix[at, 0] += own[j]
                continue
            matrix[at, at] += own[j]
            if j != position:
                cross = tie1 if j == tie else link[j, 1]
                matrix[at, n_items] += cross
                matrix[n_items, at] += cross
            if j not in (position, tie):
                matrix[at, n_items + 1] += knot[j]
                matrix[n_items + 1, at] += knot[j]
        r00 += precision[0]
        r11 += precision[1]
        if near and (r00 - slope0) * r11 - r01 * r01 > LEAST_PART * r00 * r11:  # as observed, not only as expected
            r00 -= slope0
            for j in range(count):
                if j not in (position, tie):
                    link[j, 0] -= score[j]
        left_over0 = slope0 - precision[0] * (rho - centre)  # slopes by the effects, zero at their mode
        left_over1 = slope1 - precision[1] * bias
        for j in range(count):
            gradient[mine[j]] += score[j]
        if free[w]:
            det = r00 * r11 - r01 * r01
            spread[w, 0], spread[w, 1], spread[w, 2] = r11 / det, r00 / det, math.log(det)
            s0, s1 = (r11 * left_over0 - r01 * left_over1) / det, (r00 * left_over1 - r01 * left_over0) / det
            if max(abs(s0), abs(s1)) < LARGEST_STEP_ON_THE_WAY:  # one more step: the next time has then nothing left to do
                effects[w, 0], effects[w, 1] = rho + s0, bias + s1
                value += 0.5 * (left_over0 * s0 + left_over1 * s1)
            profile_out(mine, link, r00, r01, r11, left_over0, left_over1, dense, gradient, matrix)
        place[mine] = -1
    if dense:
        for one in range(n_items):
            for two in range(n_items):
                matrix[one, two] -= couple[one, two] + couple[two, one]
    return value
