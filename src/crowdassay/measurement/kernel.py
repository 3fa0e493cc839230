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

FARTHEST_EXPONENT = 400.0  # exponent beyond which powers would overflow
MOST_MODE_STEPS = 60  # of Newton's method, for one object


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
    for _ in range(MOST_MODE_STEPS):
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
def number_parameters(first, last, code, step, slot, n_extra, place):  # type: ignore[no-untyped-def]
    """Return the parameters that ratings ``first`` to ``last`` touch, and fill ``place`` with where each stands among them.

    ``place`` (n_parameters,) is -1 throughout before; the last ``n_extra`` parameters, those of the population, come last.
    """
    n_parameters, count = len(place), 0
    mine = np.empty((last - first) * (code.shape[1] + slot.shape[1]) + n_extra, np.int64)
    for n in range(first, last):
        for f in range(code.shape[1]):
            c = code[n, f]
            if place[c] < 0:
                place[c], mine[count] = count, c
                count += 1
        for k in range(slot.shape[1]):
            c = slot[step[n], k]
            if c >= 0 and place[c] < 0:
                place[c], mine[count] = count, c
                count += 1
    for c in range(n_parameters - n_extra, n_parameters):
        place[c], mine[count] = count, c
        count += 1
    return mine[:count]


@_jit
def add_rating(  # type: ignore[no-untyped-def]
    x, codes, sign, slots, ease, pull, strength, share, place, low, high, p, named, with_mean, both, slopes, link, whole, dense
):  # fmt: skip
    """Add a rating's slopes at every node, and its information averaged over the nodes.

    ``named``, ``with_mean`` and ``both`` are scratch: the chances of the scores, averaged; these times the distance from the
    mean; and the products of two chances.
    """
    n_scores, n_others = len(p), len(codes)
    spread = 0.0  # the variance, averaged over the nodes
    named[:], with_mean[:], both[:] = 0.0, 0.0, 0.0
    for q in range(len(share)):
        w = share[q]
        mean, variance = chances(min(max(pull * strength[q], low), high), ease, p)
        spread += w * variance
        for f in range(n_others):
            slopes[place[codes[f]], q] += sign[f] * (x - mean)
        for k in range(n_scores):
            if slots[k] < 0:
                continue
            slopes[place[slots[k]], q] += p[k] - (1.0 if x == k else 0.0)
            wp = w * p[k]
            named[k] += wp
            with_mean[k] -= wp * (k - mean)
            for m in range(k + 1):
                both[k, m] += wp * p[m]
    for f in range(n_others):
        a = place[codes[f]]
        link[a] += sign[f] * spread
        if not dense:
            whole[a, 0] += spread
            continue
        for g in range(n_others):
            whole[a, place[codes[g]]] += sign[f] * sign[g] * spread
    for k in range(n_scores):
        if slots[k] < 0:
            continue
        a = place[slots[k]]
        link[a] += with_mean[k]
        if not dense:
            whole[a, 0] += named[k] - both[k, k]
            continue
        for f in range(n_others):
            b = place[codes[f]]
            whole[a, b] += sign[f] * with_mean[k]
            whole[b, a] += sign[f] * with_mean[k]
        whole[a, a] += named[k] - both[k, k]
        for m in range(k):
            if slots[m] >= 0:
                b = place[slots[m]]
                whole[a, b] -= both[k, m]
                whole[b, a] -= both[k, m]


@_jit
def add_population(mode, width, node, centre, precision, share, slopes, whole, dense):  # type: ignore[no-untyped-def]
    """Add the slopes and the information by the population's centre and log spread, the last two parameters."""
    b = len(slopes) - 1
    a = b - 1
    for q in range(len(share)):
        off = mode + width * node[q] - centre
        away, w = off * precision, share[q]
        slopes[a, q] += away
        slopes[b, q] += off * away - 1.0
        whole[a, a if dense else 0] += w * precision
        whole[b, b if dense else 0] += w * 2 * off * away
        if dense:
            whole[a, b] += w * 2 * away
            whole[b, a] += w * 2 * away


@_jit
def add_object(mine, share, slopes, link, information, whole, joint, dense, gradient, matrix):  # type: ignore[no-untyped-def]
    """Add an object's mean slopes to the gradient and its information, less what its own unknown measure takes away."""
    n_nodes = len(share)
    for a in range(len(mine)):
        mean = 0.0
        for q in range(n_nodes):
            mean += share[q] * slopes[a, q]
        gradient[mine[a]] += mean
        for q in range(n_nodes):
            slopes[a, q] = math.sqrt(share[q]) * (slopes[a, q] - mean)
    for a in range(len(mine)):
        for b in range(a + 1 if dense else 1):
            other = b if dense else a
            lost = 0.0
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


@_jit
def pass_over(  # type: ignore[no-untyped-def]
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
    n_scores, n_others = ease.shape[1], code.shape[1]
    joint = spread == 0.0
    n_nodes = 1 if joint else len(node)
    precision = 0.0 if joint else 1.0 / (spread * spread)
    place = np.full(len(gradient), -1, np.int64)
    p, strength = np.empty(n_scores), np.empty(n_nodes)
    named, with_mean, both = np.empty(n_scores), np.empty(n_scores), np.empty((n_scores, n_scores))
    high = math.exp(FARTHEST_EXPONENT / max(n_scores - 1, 1))
    low = 1.0 / high
    value = 0.0
    for i in range(begin, end):
        first, last = starts[i], starts[i + 1]
        mine = number_parameters(first, last, code, step, slot, 0 if joint else 2, place)
        offset, pull = np.empty(last - first), np.empty(last - first)
        for n in range(first, last):
            total = 0.0
            for f in range(n_others):
                total += sign[f] * beta[code[n, f]]
            offset[n - first], pull[n - first] = total, math.exp(total)
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
        middle, square = 0.0, 0.0
        for q in range(n_nodes):
            t = mode if joint else mode + width * node[q]
            strength[q] = math.exp(t)
            middle += share[q] * t
            square += share[q] * t * t
        slopes = np.zeros((len(mine), n_nodes))  # by each parameter, at each node
        whole = np.zeros((len(mine), len(mine) if dense else 1))
        link = np.zeros(len(mine))  # information shared with the object's own measure, for profiling
        for n in range(first, last):
            add_rating(
                score[n], code[n], sign, slot[step[n]], ease[step[n]], pull[n - first], strength, share, place, low, high, p,
                named, with_mean, both, slopes, link, whole, dense,
            )  # fmt: skip
        if joint:
            error[i, 0], error[i, 1] = mode, 1.0 / max(information, 1e-300)
        else:
            add_population(mode, width, node, centre, precision, share, slopes, whole, dense)
            error[i, 0], error[i, 1] = middle, square - middle * middle
        add_object(mine, share, slopes, link, information, whole, joint, dense, gradient, matrix)
        place[mine] = -1
    return value


@_jit
def describe(starts, offset, step, ease, theta, mean, variance, fourth):  # type: ignore[no-untyped-def]
    """Fill each rating's expected score, variance and fourth central moment, all (n_ratings,)."""
    p = np.empty(ease.shape[1])
    edge = FARTHEST_EXPONENT / max(len(p) - 1, 1)
    for i in range(len(starts) - 1):
        for n in range(starts[i], starts[i + 1]):
            m, v = chances(math.exp(min(max(theta[i] + offset[n], -edge), edge)), ease[step[n]], p)
            mean[n], variance[n] = m, v
            total = 0.0
            for k in range(len(p)):
                total += p[k] * (k - m) ** 4
            fourth[n] = total


@_jit
def likeliest(starts, offset, score, step, ease, theta, information):  # type: ignore[no-untyped-def]
    """Fill each object's most likely measure, no population supposed, and the information there; both (n_objects,)."""
    p = np.empty(ease.shape[1])
    high = math.exp(FARTHEST_EXPONENT / max(len(p) - 1, 1))
    for i in range(len(starts) - 1):
        part = slice(starts[i], starts[i + 1])
        theta[i], information[i] = find_mode(
            np.exp(offset[part]), score[part], step[part], ease, theta[i], 0.0, 0.0, 1.0 / high, high, p
        )
