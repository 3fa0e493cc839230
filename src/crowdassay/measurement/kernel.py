r"""One pass over the ratings of many-facet models, compiled: object by object, each with its measure profiled or integrated.

A rating n of object i has :math:`P(x = k) \propto \exp(k z - T_{sk})` with :math:`z = \theta_i + o_n`; the offset
:math:`o_n` is the sum of the other facets' parameters and s names the table of thresholds. Only one exponential is taken
for each rating and node, since :math:`\exp(kz)` is a power.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")

FARTHEST = 400.0  # exponent beyond which powers would overflow
N_STEPS = 60


@_jit
def chances(u, ease, p):  # type: ignore[no-untyped-def]
    """Fill ``p`` with the probabilities of the scores, ``u`` being exp(z); return their mean and variance."""
    total, power = 0.0, 1.0
    mean, square = 0.0, 0.0
    for k in range(len(p)):
        p[k] = power * ease[k]
        total += p[k]
        mean += k * p[k]
        square += k * k * p[k]
        power *= u
    scale = 1.0 / total
    for k in range(len(p)):
        p[k] *= scale
    mean *= scale
    return mean, max(square * scale - mean * mean, 0.0)


@_jit
def find_mode(pull, score, step, ease, theta, centre, precision, low, high, p):  # type: ignore[no-untyped-def]
    """Return the measure at which an object's ratings are most likely, and the information there; Newton's method.

    ``pull`` is exp(offset) of each rating; ``precision`` is that of a normal distribution around ``centre``, zero for none.
    """
    information = 1.0
    for _ in range(N_STEPS):
        slope = -precision * (theta - centre)
        information = precision
        strength = math.exp(theta)
        for n in range(len(score)):
            mean, variance = chances(min(max(pull[n] * strength, low), high), ease[step[n]], p)
            slope += score[n] - mean
            information += variance
        move = min(max(slope / max(information, 1e-10), -1.0), 1.0)
        theta += move
        if abs(move) < 1e-8:
            break
    return theta, information


@_jit
def node_shares(  # type: ignore[no-untyped-def]
    pull, offset, score, step, ease, log_ease, mode, width, centre, precision, node, weight, joint, low, high, share
):  # fmt: skip
    """Fill ``share`` with the weights of the nodes given an object's ratings; return the log-likelihood of these."""
    fixed, score_sum = 0.0, 0.0
    for n in range(len(score)):
        fixed += score[n] * offset[n] + log_ease[step[n], score[n]]
        score_sum += score[n]
    n_scores = ease.shape[1]
    for q in range(len(share)):
        t = mode if joint else mode + width * node[q]
        strength = math.exp(t)
        log_total, product = 0.0, 1.0
        for n in range(len(score)):
            u = min(max(pull[n] * strength, low), high)
            total = ease[step[n], n_scores - 1]
            for k in range(n_scores - 2, -1, -1):
                total = total * u + ease[step[n], k]
            product *= total
            if product > 1e100 or product < 1e-100:
                log_total += math.log(product)
                product = 1.0
        total = fixed + score_sum * t - log_total - math.log(product)
        if not joint:
            total += math.log(weight[q]) + 0.5 * node[q] ** 2 + math.log(width) + 0.5 * math.log(precision)
            total -= 0.5 * precision * (t - centre) ** 2 + 0.5 * math.log(2 * math.pi)
        share[q] = total
    top = share.max()
    total = 0.0
    for q in range(len(share)):
        share[q] = math.exp(share[q] - top)
        total += share[q]
    share /= total
    return top + math.log(total)


@_jit
def pass_over(  # type: ignore[no-untyped-def]  # noqa: PLR0915  one pass, compiled whole
    begin, end, starts, code, sign, score, step, beta, ease, log_ease, slot, theta, centre, spread, node, weight, dense,
    gradient, matrix, error,
):  # fmt: skip
    """Go over objects ``begin`` to ``end``; return their log-likelihood and add to the gradient and the information.

    Parameters
    ----------
    code : (n_ratings, n_others) places of the other facets' elements in ``beta``; ``sign`` (n_others,)
    ease : (n_tables, n_scores), exp(-T), zero for scores that are impossible; ``slot`` their places among the parameters, -1
    theta : (n_objects,), where to begin and, afterwards, the mode
    spread : standard deviation of the objects, zero to profile them; ``node``, ``weight`` the quadrature rule
    dense : whether ``matrix`` is (n_parameters, n_parameters) or (n_parameters, 1), the diagonal
    error : (n_objects, 2), mean and variance of each measure given the ratings
    """
    n_parameters, n_scores, n_others = len(gradient), ease.shape[1], code.shape[1]
    joint = spread == 0.0
    n_nodes = 1 if joint else len(node)
    precision = 0.0 if joint else 1.0 / (spread * spread)
    place = np.full(n_parameters, -1, np.int64)
    p, strength = np.empty(n_scores), np.empty(n_nodes)
    named, with_mean, both = np.empty(n_scores), np.empty(n_scores), np.empty((n_scores, n_scores))
    high = math.exp(FARTHEST / max(n_scores - 1, 1))
    low = 1.0 / high
    value = 0.0
    for i in range(begin, end):
        first, last = starts[i], starts[i + 1]
        count = 0  # parameters that this object's ratings touch
        for n in range(first, last):
            for f in range(n_others):
                if place[code[n, f]] < 0:
                    place[code[n, f]] = count
                    count += 1
            for k in range(n_scores):
                c = slot[step[n], k]
                if c >= 0 and place[c] < 0:
                    place[c] = count
                    count += 1
        if not joint:
            place[n_parameters - 2], place[n_parameters - 1] = count, count + 1
            count += 2
        mine = np.empty(count, np.int64)
        offset, pull = np.empty(last - first), np.empty(last - first)
        for n in range(first, last):
            total = 0.0
            for f in range(n_others):
                mine[place[code[n, f]]] = code[n, f]
                total += sign[f] * beta[code[n, f]]
            offset[n - first] = total
            pull[n - first] = math.exp(total)
            for k in range(n_scores):
                c = slot[step[n], k]
                if c >= 0:
                    mine[place[c]] = c
        if not joint:
            mine[count - 2], mine[count - 1] = n_parameters - 2, n_parameters - 1
        mode, information = find_mode(
            pull, score[first:last], step[first:last], ease, theta[i], centre, precision, low, high, p
        )
        theta[i] = mode
        width = 1.0 / math.sqrt(max(information, 1e-300))
        share = np.ones(n_nodes)
        value += node_shares(
            pull, offset, score[first:last], step[first:last], ease, log_ease, mode, width, centre, precision, node, weight,
            joint, low, high, share,
        )  # fmt: skip
        size = count if dense else 1
        slopes = np.zeros((count, n_nodes))  # by each parameter, at each node
        whole = np.zeros((count, size))
        link = np.zeros(count)  # information shared with the object's own measure, for profiling
        middle, square = 0.0, 0.0
        for q in range(n_nodes):
            t = mode if joint else mode + width * node[q]
            strength[q] = math.exp(t)
            middle += share[q] * t
            square += share[q] * t * t
        for n in range(last - first):
            s, x = step[first + n], score[first + n]
            spread_here = 0.0  # the variance, averaged over the nodes; likewise the chances, and their products
            named[:], with_mean[:], both[:] = 0.0, 0.0, 0.0
            for q in range(n_nodes):
                w = share[q]
                mean, variance = chances(min(max(pull[n] * strength[q], low), high), ease[s], p)
                spread_here += w * variance
                for f in range(n_others):
                    slopes[place[code[first + n, f]], q] += sign[f] * (x - mean)
                for k in range(n_scores):
                    if slot[s, k] < 0:
                        continue
                    slopes[place[slot[s, k]], q] += p[k] - (1.0 if x == k else 0.0)
                    wp = w * p[k]
                    named[k] += wp
                    with_mean[k] -= wp * (k - mean)
                    for m in range(k + 1):
                        both[k, m] += wp * p[m]
            for f in range(n_others):
                a = place[code[first + n, f]]
                link[a] += sign[f] * spread_here
                if not dense:
                    whole[a, 0] += spread_here
                    continue
                for g in range(n_others):
                    whole[a, place[code[first + n, g]]] += sign[f] * sign[g] * spread_here
            for k in range(n_scores):
                if slot[s, k] < 0:
                    continue
                a = place[slot[s, k]]
                link[a] += with_mean[k]
                if not dense:
                    whole[a, 0] += named[k] - both[k, k]
                    continue
                for f in range(n_others):
                    b = place[code[first + n, f]]
                    whole[a, b] += sign[f] * with_mean[k]
                    whole[b, a] += sign[f] * with_mean[k]
                whole[a, a] += named[k] - both[k, k]
                for m in range(k):
                    if slot[s, m] >= 0:
                        b = place[slot[s, m]]
                        whole[a, b] -= both[k, m]
                        whole[b, a] -= both[k, m]
        if not joint:
            a, b = count - 2, count - 1
            for q in range(n_nodes):
                off = mode + width * node[q] - centre
                away = off * precision
                slopes[a, q] += away
                slopes[b, q] += off * away - 1.0
                w = share[q]
                whole[a, a if dense else 0] += w * precision
                whole[b, b if dense else 0] += w * 2 * off * away
                if dense:
                    whole[a, b] += w * 2 * away
                    whole[b, a] += w * 2 * away
        if joint:
            error[i, 0], error[i, 1] = mode, 1.0 / max(information, 1e-300)
        else:
            error[i, 0], error[i, 1] = middle, square - middle * middle
        for a in range(count):
            centre_slope = 0.0
            for q in range(n_nodes):
                centre_slope += share[q] * slopes[a, q]
            gradient[mine[a]] += centre_slope
            for q in range(n_nodes):
                slopes[a, q] = math.sqrt(share[q]) * (slopes[a, q] - centre_slope)
        for a in range(count):
            for b in range(a + 1 if dense else 1):
                other = b if dense else a
                lost = 0.0  # what the object's own measure, being unknown, takes away
                if joint:
                    lost = link[a] * link[other] / information
                else:
                    for q in range(n_nodes):
                        lost += slopes[a, q] * slopes[other, q]
                if not dense:
                    matrix[mine[a], 0] += whole[a, 0] - lost
                    continue
                part = whole[a, b] - lost
                matrix[mine[a], mine[b]] += part
                if a != b:
                    matrix[mine[b], mine[a]] += part
        for a in range(count):
            place[mine[a]] = -1
    return value


@_jit
def describe(starts, offset, score, step, ease, theta, mean, variance, fourth, p_own):  # type: ignore[no-untyped-def]
    """Fill each rating's expected score, variance, fourth central moment and probability, all (n_ratings,)."""
    p = np.empty(ease.shape[1])
    edge = FARTHEST / max(len(p) - 1, 1)
    for i in range(len(starts) - 1):
        for n in range(starts[i], starts[i + 1]):
            m, v = chances(math.exp(min(max(theta[i] + offset[n], -edge), edge)), ease[step[n]], p)
            mean[n], variance[n], p_own[n] = m, v, p[score[n]]
            total = 0.0
            for k in range(len(p)):
                total += p[k] * (k - m) ** 4
            fourth[n] = total


@_jit
def likeliest(starts, offset, score, step, ease, theta, information):  # type: ignore[no-untyped-def]
    """Fill each object's most likely measure, no population supposed, and the information there; both (n_objects,)."""
    p = np.empty(ease.shape[1])
    high = math.exp(FARTHEST / max(len(p) - 1, 1))
    for i in range(len(starts) - 1):
        part = slice(starts[i], starts[i + 1])
        theta[i], information[i] = find_mode(
            np.exp(offset[part]), score[part], step[part], ease, theta[i], 0.0, 0.0, 1.0 / high, high, p
        )
