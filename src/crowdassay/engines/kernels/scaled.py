r"""The pass over items of models in which an item scales its workers' tables.

.. math::  P(x_{ij} = k \mid y_j = c) \propto \exp[a_j\, s_i(c, k)], \qquad a_j = e^{\lambda_j} > 0

An exponential for each label and cell is needed, since the scale multiplies the table inside it.
"""

from __future__ import annotations

import math

import numpy as np

from crowdassay.engines.kernels.compiled import _jit, _weigh
from crowdassay.engines.kernels.small import FAINT

HUGE = 1e200
KEPT = 2_000_000  # probabilities of an item's labels that are kept from its first pass to its second
HIGHEST = 30.0  # log scales beyond this, which a line search may try, count as this much


@_jit
def _respond(row, scale, p):
    """Write the probabilities of the answers into ``p``; return the highest exponent and the sum of the others' against it."""
    top = scale * row[0]
    for k in range(1, len(row)):
        top = max(top, scale * row[k])
    total = 0.0
    for k in range(len(row)):
        p[k] = math.exp(scale * row[k] - top)
        total += p[k]
    inverse = 1.0 / total
    for k in range(len(row)):
        p[k] *= inverse
    return top, total


@_jit
def _moments(first, last, workers, labels, tables, scale, c, kept):
    """Return the log-likelihood of an item's labels if its class is c, and the derivative of that by the scale.

    The probabilities of the answers stay in ``kept`` (n_kept, n_classes, n_classes), of labels past its end in its last row.
    """
    log_likelihood, slope, product = 0.0, 0.0, 1.0
    for n in range(first, last):
        row, p = tables[workers[n], c], kept[min(n - first, len(kept) - 1), c]
        top, total = _respond(row, scale, p)
        log_likelihood += scale * row[labels[n]] - top
        slope += row[labels[n]]
        for k in range(len(row)):
            slope -= p[k] * row[k]
        product *= total  # one logarithm for many labels
        if product > HUGE:
            log_likelihood -= math.log(product)
            product = 1.0
    return log_likelihood - math.log(product), slope


@_jit
def scale_items(starts, workers, labels, gold, first, last, tables, log_scale, log_prior, mode, given, plain,
                gradient, totals, slope, posterior):  # fmt: skip
    """Pass over the items [first, last) and return the objective.

    Added to ``gradient`` (n_workers, n_classes, n_classes) is the derivative by the workers' tables, or if ``plain`` the
    observed minus the expected counts; written to ``slope`` (n_items,) the derivative by the log scales.
    """
    n_classes = len(log_prior)
    log_joint, weights, slopes = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    longest, objective = 1, 0.0
    for j in range(first, last):
        longest = max(longest, starts[j + 1] - starts[j])
    kept = np.empty((min(longest, KEPT // n_classes**2) + 1, n_classes, n_classes))
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        scale = math.exp(min(log_scale[j], HIGHEST))
        for c in range(n_classes):
            log_likelihood, slopes[c] = _moments(begin, end, workers, labels, tables, scale, c, kept)
            log_joint[c] = log_prior[c] + log_likelihood
        objective += _weigh(log_joint, gold[j], mode, given[j % len(given)], labels, begin, end, weights)
        posterior[j] = weights
        slope[j] = 0.0
        for c in range(n_classes):
            totals[c] += weights[c]
            slope[j] += scale * weights[c] * slopes[c]
        for c in range(n_classes):
            if weights[c] < FAINT:
                continue
            weight = weights[c] if plain else weights[c] * scale
            for n in range(begin, end):
                p = kept[min(n - begin, len(kept) - 1), c]
                if n - begin >= len(kept) - 1:
                    _respond(tables[workers[n], c], scale, p)
                cells = gradient[workers[n], c]
                for k in range(n_classes):
                    cells[k] -= weight * p[k]
                cells[labels[n]] += weight
    return objective


@_jit
def scale_abilities(starts, workers, labels, gold, first, last, ability, log_scale, log_prior, mode, given,
                    gradient, totals, slope, posterior):  # fmt: skip
    r"""Do the same where a worker has one ability, the log odds of a right answer, and wrong answers fall alike.

    With :math:`z = \alpha_i \beta_j`, a right answer has the log odds z, so that item j's log joint of class c is
    :math:`\sum_i \log \frac{1}{1 + e^{z}}`, and :math:`z + \log(K - 1)` more for each label c. No table is needed.
    ``ability`` and ``gradient`` are (n_workers, 1).
    """
    n_classes = len(log_prior)
    others = math.log(max(n_classes - 1, 1))
    log_joint, weights = np.empty(n_classes), np.empty(n_classes)
    objective = 0.0
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        scale = math.exp(min(log_scale[j], HIGHEST))
        for c in range(n_classes):
            log_joint[c] = log_prior[c]
        base, product = 0.0, 1.0
        for n in range(begin, end):
            z = ability[workers[n], 0] * scale
            base -= max(z, 0.0) + others
            log_joint[labels[n]] += z + others
            product *= 1.0 + math.exp(-abs(z))  # one logarithm for many labels
            if product > HUGE:
                base -= math.log(product)
                product = 1.0
        base -= math.log(product)
        for c in range(n_classes):
            log_joint[c] += base
        objective += _weigh(log_joint, gold[j], mode, given[j % len(given)], labels, begin, end, weights)
        steep = 0.0
        for n in range(begin, end):
            z = ability[workers[n], 0] * scale
            small = math.exp(-abs(z))
            residual = weights[labels[n]] - (1.0 if z >= 0.0 else small) / (1.0 + small)
            gradient[workers[n], 0] += residual * scale
            steep += residual * z
        slope[j] = steep
        for c in range(n_classes):
            totals[c] += weights[c]
            posterior[j, c] = weights[c]
    return objective
