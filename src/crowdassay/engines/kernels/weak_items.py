r"""The pass of the nominal model where items are weak: few labels against a strong penalty, as on large data.

With :math:`\beta` well above the number of an item's labels, its tables :math:`\tau` are small and the item's problem is close
to a parabola of curvature :math:`\beta` in every direction. A step along the gradient divided by the mean curvature then
needs neither a Hessian nor a line search: all curvatures lie between :math:`\beta` and :math:`\beta + n / 2`, so that with
:math:`n \le \beta / 2` no step is twice too long and every one of them climbs. Items start from :math:`\tau = 0` and carry
nothing from sweep to sweep.

The first E-step, at :math:`\tau = 0`, is that of the model without items. A class whose weight :math:`w` is so small that its
table could raise the objective by no more than :math:`w^2 n^2 / \beta` < tolerance / 20 keeps :math:`\tau = 0`, and adds one
number per label to the sums instead of a row. Of the others each takes steps only while they promise something.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.kernels.compiled import _inline, _jit
from crowdassay.engines.kernels.count import SMALLEST_PRODUCT, weigh_by_logs, weigh_by_products
from crowdassay.engines.kernels.small import FAINT, FREE_WEIGHTS

SMALL = 0.03  # up to which exp(x) needs eight terms
COUPLED = 0.1  # share of a step's promise up to which what it does to the class weights is small, and counted in

# Small arrays on the stack of a compiled function. The compiler sees that nothing else writes to them, and keeps their numbers
# in registers where it can. In arrays of the heap every number is written and read again, as another array might be the same.


def row_of(classes: tuple[int, ...] | IntArray) -> FloatArray:
    """Return an array, not filled, of a number for each class.

    On the stack if ``classes`` is a tuple, whose length the compiler knows; see `crowdassay.engines.memory.engine`.

    >>> row_of((0, 1, 2)).shape
    (3,)
    """
    return np.empty(len(classes))


def table_of(classes: tuple[int, ...] | IntArray) -> FloatArray:
    """Return an array, not filled, of a number for each pair of classes.

    >>> table_of((0, 1, 2)).shape
    (3, 3)
    """
    return np.empty((len(classes), len(classes)))


@intrinsic
def _room(_, classes):
    """Take room for a table from the stack of the function that this is written into."""

    def generate(context, builder, _signature, _arguments):
        return cgutils.alloca_once(builder, context.get_value_type(types.float64), size=classes.count**2)

    return types.CPointer(types.float64)(classes), generate


# Both must be written into their caller, lest the room be given back when they return.


@overload(row_of, inline="always")
def _row_of(classes):
    if isinstance(classes, types.UniTuple):
        return lambda classes: nb.carray(_room(classes), (len(classes),))
    return lambda classes: np.empty(len(classes))


@overload(table_of, inline="always")
def _table_of(classes):
    if isinstance(classes, types.UniTuple):
        return lambda classes: nb.carray(_room(classes), (len(classes), len(classes)))
    return lambda classes: np.empty((len(classes), len(classes)))


@_inline
def _exp(classes, x, out):
    """Write exp(x), to the last digit but one by a few terms where all x are as small as weak items have them."""
    largest = 0.0
    for k in range(len(classes)):
        largest = max(largest, abs(x[k]))
    if largest > SMALL:
        for k in range(len(classes)):
            out[k] = math.exp(x[k])
        return
    for k in range(len(classes)):
        z, y = x[k], x[k] * x[k]
        out[k] = (
            1.0
            + z
            + y * (1 / 2 + z * (1 / 6) + y * (1 / 24 + z * (1 / 120) + y * (1 / 720 + z * (1 / 5040) + y * (1 / 40320))))
        )


@_inline
def _evaluate(classes, workers, labels, first, last, p, c, e, residual, inverse, further):
    """Pass over an item's labels with class c and exp(tau) = e; return the factor by which tau changes the likelihood.

    Written are each label's inverse normaliser into ``inverse`` and, if there are ``further`` steps to come, observed minus
    expected labels into ``residual``.
    """
    factor = 1.0
    for k in range(len(classes)):
        residual[k] = 0.0
    for n in range(first, last):
        row = p[workers[n], c]
        total = 0.0
        for k in range(len(classes)):
            total += row[k] * e[k]
        scale = 1.0 / total
        inverse[n - first] = scale
        factor *= e[labels[n]] * scale
        if further:
            for k in range(len(classes)):
                residual[k] -= scale * row[k]
    if further:
        for k in range(len(classes)):
            residual[k] *= e[k]
        for n in range(first, last):
            residual[labels[n]] += 1.0
    return factor


@_inline
def _reweigh(classes, prior, factor, active, n_active, free, weights):
    """Set the class weights from those at tau = 0 and the active classes' factors; return the rise of the objective."""
    if not free:
        rise = 0.0
        for a in range(n_active):
            rise += prior[active[a]] * math.log(factor[a])
        return rise
    total = 1.0
    for a in range(n_active):
        total += prior[active[a]] * (factor[a] - 1.0)
    scale = 1.0 / total
    for c in range(len(classes)):
        weights[c] = prior[c] * scale
    for a in range(n_active):
        weights[active[a]] *= factor[a]
    return math.log(total)


@_inline
def _evaluate_at_zero(classes, workers, labels, first, last, p, spreads, c, residual, inverse):
    """Do the same at tau = 0, where every normaliser is one; return the mean curvature, which serves for all steps."""
    spread = 0.0
    for k in range(len(classes)):
        residual[k] = 0.0
    for n in range(first, last):
        row = p[workers[n], c]
        inverse[n - first] = 1.0
        spread += spreads[workers[n], c]
        for k in range(len(classes)):
            residual[k] -= row[k]
    for n in range(first, last):
        residual[labels[n]] += 1.0
    return spread


@_inline
def _climb(classes, workers, labels, first, last, p, spreads, beta, free, start, active, max_steps, tolerance,
           weights, tau, e, residual, step, inverse, curvature, factor, promises, gains, moving):  # fmt: skip
    """Fit the tables of an item's active classes; return the rise of its objective over tau = 0."""
    n_active, n_classes = len(active), len(classes)
    for a in range(n_active):
        for k in range(n_classes):
            tau[a, k] = 0.0
            e[a, k] = 1.0
        curvature[a] = _evaluate_at_zero(classes, workers, labels, first, last, p, spreads, active[a], residual[a], inverse[a])
        factor[a], moving[a] = 1.0, True
    rise, enough = 0.0, 0.5 * tolerance / max(n_active, 1)
    # What a step leaves of its promise: curvatures lie between beta and beta + n / 2, and little stays of the weights' part.
    left = max(((last - first) / beta) ** 2, COUPLED**4)
    for attempt in range(max_steps):
        promise, mean, square = 0.0, 0.0, 0.0
        for a in range(n_active):
            promises[a] = 0.0
            if not moving[a]:
                continue
            weight, own, gain = weights[active[a]], 0.0, 0.0
            unit = 1.0 / (beta + weight * curvature[a])
            for k in range(n_classes):
                slope = weight * residual[a, k] - beta * tau[a, k]
                own += slope * slope
                step[a, k] = slope * unit
                gain += residual[a, k] * step[a, k]
            promises[a], gains[a] = own * unit, gain
            promise += own * unit
            mean += weight * gain
            square += weight * gain * gain
        if promise < tolerance or attempt == max_steps - 1:
            break
        coupled = free and square - mean * mean < COUPLED * promise
        penalty = 0.0
        for a in range(n_active):
            if promises[a] > enough:  # the others are where they should be
                weight, moving[a] = weights[active[a]], (free and not coupled) or promises[a] * left > enough
                # The step moves the class weights as well, and these the slopes.
                turn = weight * (gains[a] - mean) / (beta + weight * curvature[a]) if coupled else 0.0
                for k in range(n_classes):
                    tau[a, k] += step[a, k] + turn * residual[a, k]
                _exp(classes, tau[a], e[a])
                factor[a] = _evaluate(
                    classes, workers, labels, first, last, p, active[a], e[a], residual[a], inverse[a], moving[a]
                )
            for k in range(n_classes):
                penalty += tau[a, k] * tau[a, k]
        rise = _reweigh(classes, start, factor, active, n_active, free, weights) - 0.5 * beta * penalty
    return rise


@_inline
def _add_sums(classes, workers, labels, first, last, p, active, weights, e, inverse, expected, sums):
    """Add an item to its workers' sums."""
    n_classes, a = len(classes), 0
    for c in range(n_classes):
        weight = weights[c]
        if a < len(active) and active[a] == c:
            for n in range(first, last):
                target, row = sums[workers[n], c], p[workers[n], c]
                scale = weight * inverse[a, n - first]
                for k in range(n_classes):
                    expected[k] = scale * row[k] * e[a, k]
                for k in range(n_classes):
                    target[k] -= expected[k]
                target[labels[n]] += weight
            a += 1
        elif weight > FAINT:
            for n in range(first, last):
                target = sums[workers[n], c]
                target[labels[n]] += weight
                target[n_classes] += weight


@_inline
def _misjudge(classes, active, weights, e, average):
    """Return the probability that the average worker gets an item wrong."""
    n_classes, wrong = len(classes), 1.0
    for c in range(n_classes):
        wrong -= weights[c] * average[c, c]
    for a in range(len(active)):
        c, total = active[a], 0.0
        for k in range(n_classes):
            total += average[c, k] * e[a, k]
        wrong -= weights[c] * average[c, c] * (e[a, c] / total - 1.0)
    return wrong


@_inline
def _project(active, tau, columns, coordinates):
    """Write an item's coordinates: those of its active classes' tables, zero for the others."""
    n_classes = len(columns)
    coordinates[:] = 0.0
    for a in range(len(active)):
        for r in range(n_classes - 1):
            value = 0.0
            for k in range(n_classes):
                value += columns[active[a], k, r] * tau[a, k]
            coordinates[active[a] * (n_classes - 1) + r] = value


@_jit
def solve_weak_items(classes, starts, workers, labels, cells, gold, first, last, log_p, p, p_by_label, spreads, log_prior,
                      beta, mode, given, max_steps, tolerance, columns, average, state, difficulty, sums, totals,
                      posterior):  # fmt: skip
    r"""Fit every item of [first, last) on its own, add its worker sums and return the objective.

    ``classes`` tells the number of classes, as in `crowdassay.engines.kernels.count`. ``workers`` and ``labels`` are unsigned,
    so that a negative index need not be looked out for. ``p`` (n_workers, true, observed) are the workers' probabilities
    without an item, ``log_p`` their logarithms and ``p_by_label`` (n_workers * observed, true) the same again for the first
    E-step; ``spreads`` (n_workers, true) the mean curvature :math:`(1 - \sum_k p_k^2) / (K - 1)` of a label. Added to ``sums``
    (n_workers, true, observed + 1) are, for active classes, observed minus expected labels; for the others observed labels
    and, in the last column, their number, to be expected at ``p``. ``state`` (n_items, size) takes the coordinates and
    ``difficulty`` (n_items,) the probability that a worker of the probabilities ``average`` (true, observed) gets the item
    wrong; each may be empty, as may ``posterior``.
    """
    n_classes, longest = len(classes), 0
    for j in range(first, last):
        longest = max(longest, starts[j + 1] - starts[j])
    start, weights, factor, curvature = row_of(classes), row_of(classes), row_of(classes), row_of(classes)
    promises, gains, expected = row_of(classes), row_of(classes), row_of(classes)
    tau, e, residual, step = table_of(classes), table_of(classes), table_of(classes), table_of(classes)
    chosen, moving, inverse = np.empty(n_classes, np.int64), np.empty(n_classes, np.bool_), np.empty((n_classes, longest))
    log_joint, by_logs, prior = np.empty(n_classes), np.empty(n_classes), np.exp(log_prior)
    objective, product = 0.0, 1.0
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        free = mode == FREE_WEIGHTS and gold[j] < 0
        total = weigh_by_products(classes, cells, begin, end, p_by_label, prior, start) if free else 0.0
        if total < SMALLEST_PRODUCT:
            objective += weigh_by_logs(j, starts, workers, labels, gold, log_p, log_prior, mode, given, log_joint, by_logs)
            for c in range(n_classes):
                start[c] = by_logs[c]
            total = 1.0
        product *= total
        if product < SMALLEST_PRODUCT:
            objective += math.log(product)
            product = 1.0
        n_active, least = 0, math.sqrt(0.05 * tolerance * beta) / max(end - begin, 1)
        for c in range(n_classes):
            start[c] /= total
            weights[c] = start[c]
            if weights[c] > least:
                chosen[n_active] = c
                n_active += 1
        active = chosen[:n_active]
        objective += _climb(classes, workers, labels, begin, end, p, spreads, beta, free, start, active, max_steps, tolerance,
                            weights, tau, e, residual, step, inverse, curvature, factor, promises, gains, moving)  # fmt: skip
        _add_sums(classes, workers, labels, begin, end, p, active, weights, e, inverse, expected, sums)
        for c in range(n_classes):
            totals[c] += weights[c]
            if len(posterior) > 0:
                posterior[j, c] = weights[c]
        if len(difficulty) > 0:
            difficulty[j] = _misjudge(classes, active, weights, e, average)
        if len(state) > 0:
            _project(active, tau, columns, state[j])
    return objective + math.log(product)
