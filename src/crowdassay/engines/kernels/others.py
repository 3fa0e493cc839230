"""The pass over items that compares every label with what the other workers say, compiled."""

from __future__ import annotations

import numba as nb
import numpy as np

from crowdassay.engines.kernels.columns import AGREED, CHANCE, HALFWAY, NEGLIGIBLE, SQUARES, TYPICAL

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def weigh_all(starts, workers, labels, gold, log_p, log_prior, votes, j, total):
    """Write the log weight, or the votes, of every class of item ``j`` to ``total`` (n_classes,)."""
    if gold[j] >= 0:
        return
    for c in range(len(total)):
        total[c] = log_prior[c]
    for n in range(starts[j], starts[j + 1]):
        if votes:
            total[labels[n]] += 1.0
        else:
            for c in range(len(total)):
                total[c] += log_p[workers[n], c, labels[n]]


@_jit
def weigh_others(starts, workers, labels, weight, gold, log_p, votes, j, n, total, q):
    """Write to ``q`` (n_classes,) the class weights of item ``j`` without the worker of label ``n``; they sum to 1."""
    if gold[j] >= 0:
        q[:] = 0.0
        q[gold[j]] = 1.0
        return
    i, n_classes = workers[n], len(q)
    for c in range(n_classes):
        q[c] = total[c]
    low, high = (starts[j], starts[j + 1]) if weight[n] < 1.0 else (n, n + 1)
    for o in range(low, high):
        if workers[o] == i:
            if votes:
                q[labels[o]] -= 1.0
            else:
                for c in range(n_classes):
                    q[c] -= log_p[i, c, labels[o]]
    if not votes:  # loops, since array expressions would make an array for every label
        most = q[0]
        for c in range(1, n_classes):
            most = max(most, q[c])
        for c in range(n_classes):
            q[c] = np.exp(q[c] - most)
    mass = 0.0
    for c in range(n_classes):
        mass += q[c]
    for c in range(n_classes):
        q[c] /= mass


@_jit
def compare_with_others(
    starts, workers, labels, weight, gold, counted, log_p, log_prior, votes, habit, crowd, sums, first, second
):
    """Add up how each worker's labels agree with class weights that leave out the worker.

    ``weight`` (n_labels,) is below 1 for a label that its worker repeated. With ``votes`` the class weights are vote shares;
    else they follow from the tables ``log_p`` (n_workers, n_classes, n_classes). ``habit`` (n_workers, n_classes) holds the
    shares of a worker's answers. Adds to ``sums`` (n_workers, 5): the weight of the worker's answer, its mean by habit and by
    the ``crowd``'s table, the square of the second, and the variance of a worker who answers half by either; ``first`` and
    ``second`` (n_workers, n_classes) sum the class weights and their squares.
    """
    n_classes = len(log_prior)
    total, q = np.empty(n_classes), np.empty(n_classes)
    held = np.empty(n_classes, np.int64)
    for j in range(len(starts) - 1):
        weigh_all(starts, workers, labels, gold, log_p, log_prior, votes, j, total)
        for n in range(starts[j], starts[j + 1]):
            if not counted[n]:
                continue
            i = workers[n]
            weigh_others(starts, workers, labels, weight, gold, log_p, votes, j, n, total, q)
            size = 0
            for c in range(n_classes):
                if q[c] > NEGLIGIBLE:
                    held[size] = c
                    size += 1
            guess, usual, squared = 0.0, 0.0, 0.0
            for s in range(size):
                k = held[s]
                answer = 0.0
                for t in range(size):
                    answer += q[held[t]] * crowd[held[t], k]
                guess += habit[i, k] * q[k]
                usual += answer * q[k]
                squared += (habit[i, k] + answer) * q[k] * q[k]
                first[i, k] += q[k]
                second[i, k] += q[k] * q[k]
            sums[i, AGREED] += q[labels[n]]
            sums[i, CHANCE] += guess
            sums[i, TYPICAL] += usual
            sums[i, SQUARES] += guess * guess
            sums[i, HALFWAY] += squared / 2.0 - ((guess + usual) / 2.0) ** 2
