r"""The pass of models without an item block, compiled: an E-step and expected counts.

The probabilities of an item's labels are multiplied, not their logarithms added: no exponential per item, and a logarithm
only for every few dozen items. Where a product comes near the smallest float the item is done again in logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from crowdassay.engines.kernels.compiled import _inline, _jit, _weigh
from crowdassay.engines.kernels.small import FREE_WEIGHTS, VOTE_WEIGHTS

SMALLEST_PRODUCT = 1e-150  # products below this are taken in logarithms; the product of two such is still a float
ADDED_CLASSES = 8  # classes up to which adding all is quicker than choosing
NO_PRODUCT_WEIGHT = 1e-25  # weights below leave no trace: a million of them are lost in the epsilon that EM adds to a count


@_jit
def weigh_by_logs(j, starts, workers, labels, gold, log_p, log_prior, mode, given, log_joint, weights):
    """Set the class weights of one item from logarithms and return its part of the objective."""
    n_classes, first, last = len(log_prior), starts[j], starts[j + 1]
    for c in range(n_classes):
        log_joint[c] = log_prior[c]
        for n in range(first, last):
            log_joint[c] += log_p[workers[n], c, labels[n]]
    return _weigh(log_joint, gold[j], mode, given[j % len(given)], labels, first, last, weights)


@_inline
def weigh_by_products(classes, cells, first, last, p, prior, weights):
    """Set the class weights of one item, not normalised, and return their sum."""
    for c in range(len(classes)):
        weights[c] = prior[c]
    for n in range(first, last):
        row = p[cells[n]]
        for c in range(len(classes)):
            weights[c] *= row[c]
    total = 0.0
    for c in range(len(classes)):
        total += weights[c]
    return total


@_inline
def weigh_by_votes(classes, cells, labels, first, last, p, prior, joint, weights):
    """Set the class weights of one item to its vote shares; return its part of the objective, infinity if that needs logs."""
    weigh_by_products(classes, cells, first, last, p, prior, joint)
    for c in range(len(classes)):
        weights[c] = 0.0
    for n in range(first, last):
        weights[labels[n]] += 1.0
    value, scale = 0.0, 1.0 / (last - first)
    for c in range(len(classes)):
        if weights[c] > 0.0:
            if joint[c] < SMALLEST_PRODUCT:
                return math.inf
            weights[c] *= scale
            value += weights[c] * math.log(joint[c] / weights[c])
    return value


@_inline
def add_weights(classes, cells, first, last, weights, chosen, counts):
    """Add an item's class weights to the counts of its labels; of many classes only those that leave a trace."""
    if len(classes) <= ADDED_CLASSES:
        for n in range(first, last):
            row = counts[cells[n]]
            for c in range(len(classes)):
                row[c] += weights[c]
        return
    n_chosen = 0
    for c in range(len(classes)):
        if weights[c] >= NO_PRODUCT_WEIGHT:
            chosen[n_chosen] = c
            n_chosen += 1
    for n in range(first, last):
        row = counts[cells[n]]
        for a in range(n_chosen):
            row[chosen[a]] += weights[chosen[a]]


@_jit
def count_items(classes, starts, workers, labels, cells, gold, first, last, log_p, p, log_prior, mode, given,
                counts, totals, posterior):  # fmt: skip
    """Run the E-step of items [first, last); add expected counts and return the objective.

    ``classes`` holds as many entries as there are classes. A tuple tells their number to the compiler, which then unrolls all
    loops over them: `crowdassay.engines.memory.engine` says when. ``log_p`` is (n_workers, true, observed); ``p``, its
    exponential, and ``counts`` are (n_workers * observed, true), so that one label touches one row, whose number is in
    ``cells``: worker * n_classes + label, unsigned so that a negative index need not be looked out for. ``posterior`` may have
    no rows and is then left alone.
    """
    n_classes = len(classes)
    prior, weights, log_joint = np.exp(log_prior), np.empty(n_classes), np.empty(n_classes)
    chosen = np.empty(n_classes, np.uint32)
    objective, product = 0.0, 1.0
    for j in range(first, last):
        begin, end = starts[j], starts[j + 1]
        total = 0.0
        if mode == FREE_WEIGHTS and gold[j] < 0:
            total = weigh_by_products(classes, cells, begin, end, p, prior, weights)
        elif mode == VOTE_WEIGHTS and gold[j] < 0 and begin < end:
            value = weigh_by_votes(classes, cells, labels, begin, end, p, prior, log_joint, weights)
            if value < math.inf:
                objective += value
                total = 1.0
        if total < SMALLEST_PRODUCT:
            objective += weigh_by_logs(j, starts, workers, labels, gold, log_p, log_prior, mode, given, log_joint, weights)
            total = 1.0
        product *= total
        if product < SMALLEST_PRODUCT:
            objective += math.log(product)
            product = 1.0
        scale = 1.0 / total
        for c in range(n_classes):
            weights[c] *= scale
            totals[c] += weights[c]
        if len(posterior) > 0:
            for c in range(n_classes):
                posterior[j, c] = weights[c]
        add_weights(classes, cells, begin, end, weights, chosen, counts)
    return objective + math.log(product)


@_jit
def tally_items(starts, cells, first, last, weights, counts):
    """Add the class weights (n_items, n_classes) of items [first, last) to ``counts`` (n_workers * observed, true)."""
    n_classes = weights.shape[1]
    for j in range(first, last):
        for n in range(starts[j], starts[j + 1]):
            row = counts[cells[n]]
            for c in range(n_classes):
                row[c] += weights[j, c]
