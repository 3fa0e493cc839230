"""The pass over items that adds up how each worker behaves beside a typical one, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np

from crowdassay.engines.kernels.columns import (
    BIN_EXPECTED,
    BIN_LABELS,
    BIN_RIGHT,
    BIN_VARIANCE,
    BIN_WRONG,
    EXPECTED,
    KNOWN,
    KNOWN_PAR,
    KNOWN_VARIANCE,
    KNOWN_WRONG,
    LABELS,
    NEGLIGIBLE,
    PAR,
    PAR_TYPICAL,
    PAR_VARIANCE,
    SEEN,
    VARIANCE,
    WRONG,
)  # fmt: skip
from crowdassay.engines.kernels.others import weigh_all, weigh_others

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def add_behaviour(  # noqa: PLR0915
    starts, workers, labels, weight, gold, counted, log_p, log_prior, habit, crowd, share, posterior, bins,
    sums, cells, answers, paces,
):  # fmt: skip
    """Add up what the verdicts are made of; q are the class weights of an item without the worker's own label.

    ``crowd`` (n_classes, n_classes) is a typical worker's table and ``habit`` (n_workers, n_classes) the shares of a worker's
    answers. Par is a worker who answers as is typical with probability ``share`` and by habit else. ``posterior``
    (n_items, n_classes) are the class probabilities, and ``bins`` (n_labels,) says in which part of the worker's time a label
    was given, -1 if that is not known; it is empty where no time is known.

    Adds to ``sums`` (n_workers, 9): labels; the weight of classes other than the answer, its mean and its variance at par; the
    probability that a typical worker is right; and, on items of known class, labels, wrong ones, their mean and variance at
    par. To ``cells`` (n_workers, n_classes, n_classes, 3): labels by class weight and answer, as seen, as a typical worker
    would give them, and the variance of the latter. To ``answers`` (n_workers, n_classes, 3): the same without the class. To
    ``paces`` (n_workers, n_bins, 5): labels, right ones, the weight of classes other than the answer, and its mean and
    variance by the worker's own table.
    """
    n_classes = len(log_prior)
    total, q, usual, own = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    held = np.empty(n_classes, np.int64)
    for j in range(len(starts) - 1):
        weigh_all(starts, workers, labels, gold, log_p, log_prior, False, j, total)
        for n in range(starts[j], starts[j + 1]):
            if not counted[n]:
                continue
            i, x = workers[n], labels[n]
            weigh_others(starts, workers, labels, weight, gold, log_p, False, j, n, total, q)
            size = 0
            for c in range(n_classes):
                if q[c] > NEGLIGIBLE:
                    held[size] = c
                    size += 1
            usual[:] = 0.0
            for s in range(size):
                c = held[s]
                for k in range(n_classes):
                    usual[k] += q[c] * crowd[c, k]
                sums[i, PAR_TYPICAL] += q[c] * crowd[c, c]
            mean, square = 0.0, 0.0
            for s in range(size):
                k = held[s]
                chance = share * usual[k] + (1.0 - share) * habit[i, k]
                mean += chance * q[k]
                square += chance * q[k] * q[k]
            sums[i, LABELS] += 1.0
            sums[i, WRONG] += 1.0 - q[x]
            sums[i, PAR] += 1.0 - mean
            sums[i, PAR_VARIANCE] += square - mean * mean
            if gold[j] >= 0:
                sums[i, KNOWN] += 1.0
                sums[i, KNOWN_WRONG] += 1.0 - q[x]
                sums[i, KNOWN_PAR] += 1.0 - mean
                sums[i, KNOWN_VARIANCE] += square - mean * mean
            for k in range(n_classes):
                spread = usual[k] * (1.0 - usual[k])
                answers[i, k, EXPECTED] += usual[k]
                answers[i, k, VARIANCE] += spread
                for s in range(size):
                    c = held[s]
                    cells[i, c, k, EXPECTED] += q[c] * usual[k]
                    cells[i, c, k, VARIANCE] += q[c] * q[c] * spread
            answers[i, x, SEEN] += 1.0
            for s in range(size):
                cells[i, held[s], x, SEEN] += q[held[s]]
            if len(bins) and bins[n] >= 0:
                own[:] = 0.0
                for s in range(size):
                    for t in range(size):
                        own[held[t]] += q[held[s]] * np.exp(log_p[i, held[s], held[t]])
                mean, square = 0.0, 0.0
                for s in range(size):
                    mean += own[held[s]] * q[held[s]]
                    square += own[held[s]] * q[held[s]] ** 2
                pace = paces[i, bins[n]]  # a view
                pace[BIN_LABELS] += 1.0
                pace[BIN_RIGHT] += posterior[j, x]
                pace[BIN_WRONG] += 1.0 - q[x]
                pace[BIN_EXPECTED] += 1.0 - mean
                pace[BIN_VARIANCE] += square - mean * mean
