r"""The two passes over responses and quadrature nodes, compiled.

No exponential is taken per response: :math:`\exp(k\theta - \eta_{jk}) = \exp(k\theta) \exp(-\eta_{jk})`, both made once.
"""

from __future__ import annotations

import math

import numba as nb

_jit = nb.njit(cache=True, nogil=True, error_model="numpy")


@_jit
def add_log_chances(worker, item, score, pull, ease, out):  # type: ignore[no-untyped-def]
    """Add the log probability of each response to ``out`` (n_workers, n_nodes).

    ``pull`` is exp(k theta), shape (n_workers, n_nodes, n_scores), and ``ease`` exp(-eta), shape (n_items, n_scores).
    """
    _, n_nodes, n_scores = pull.shape
    for n in range(len(worker)):
        i, j, x = worker[n], item[n], score[n]
        for q in range(n_nodes):
            total = 0.0
            for k in range(n_scores):
                total += pull[i, q, k] * ease[j, k]
            out[i, q] += math.log(pull[i, q, x] * ease[j, x] / total)


@_jit
def add_expected(worker, item, pull, ease, weight, out):  # type: ignore[no-untyped-def]
    """Add the expected number of responses with each score to ``out`` (n_items, n_scores)."""
    _, n_nodes, n_scores = pull.shape
    for n in range(len(worker)):
        i, j = worker[n], item[n]
        for q in range(n_nodes):
            total = 0.0
            for k in range(n_scores):
                total += pull[i, q, k] * ease[j, k]
            share = weight[i, q] / total
            for k in range(n_scores):
                out[j, k] += share * pull[i, q, k] * ease[j, k]
