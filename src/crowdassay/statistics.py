"""Intervals of shares, false discoveries, softmax and connected parts: what several packages need, once."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray


def q_values(p: FloatArray, *, dependent: bool = False) -> FloatArray:
    r"""Return q-values (n,): among the tests with a q of at most :math:`\alpha`, at most that share is expected to be false.

    .. math::  q_{(k)} = \min_{l \geq k} \frac{n\, c\, p_{(l)}}{l}

    with c = 1 (Benjamini and Hochberg 1995), or :math:`\sum_l 1/l` for tests that depend on each other in any way (Benjamini
    and Yekutieli 2001). Tests whose p is NaN were not made: their q is NaN, and they do not count.

    Examples
    --------
    >>> q_values(np.array([0.01, 0.04, 0.03, np.nan])).round(3).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    made = np.flatnonzero(~np.isnan(p))
    order, n = made[np.argsort(p[made], kind="stable")], len(made)
    penalty = (1.0 / np.arange(1, n + 1)).sum() if dependent else 1.0
    q = np.full(len(p), np.nan)
    raised = penalty * n * p[order] / np.arange(1, n + 1)
    q[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    return q


def discoveries(p: FloatArray, tested: BoolArray, rate: float, *, dependent: bool = False) -> BoolArray:
    """Mark the tests, in an array of any shape, that are significant at a false discovery rate, of those that were made.

    >>> discoveries(np.array([0.001, 0.02, 0.5, 0.0]), np.array([True, True, True, False]), 0.05).tolist()
    [True, True, False, False]
    """
    with np.errstate(invalid="ignore"):
        q = q_values(np.where(tested, p, np.nan).ravel(), dependent=dependent)
        return np.asarray(q <= rate).reshape(np.shape(p))


def wilson(share: Any, n: Any, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's limits (1927) of a share seen among n, which need not be whole; NaN where n is 0.

    >>> [round(float(limit), 3) for limit in wilson(0.9, 10)]
    [0.596, 0.982]
    """
    from scipy.special import ndtri  # noqa: PLC0415  slow to load

    z, n = float(ndtri((1 + confidence) / 2)), np.asarray(n, float)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - np.asarray(share)) / n + z**2 / (4 * n**2))
    return np.asarray(np.maximum(centre - reach, 0.0)), np.asarray(np.minimum(centre + reach, 1.0))


def softmax(logits: FloatArray) -> FloatArray:
    """Return probabilities that add up to one along the last axis.

    >>> softmax(np.log([[1.0, 3.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithms of `softmax`, of arrays of NumPy or on a GPU.

    >>> log_softmax(np.log([[1.0, 3.0]])).round(4).tolist()
    [[-1.3863, -0.2877]]
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def connected_parts(one: IntArray, other: IntArray, size: int, *, both_ways: bool = False) -> IntArray:
    """Return the part, 0 or more, to which each of ``size`` nodes belongs, given the two ends of every link.

    With ``both_ways`` a link leads from one to the other only, and two nodes are of one part if each can be reached from the
    other.

    >>> connected_parts(np.array([0, 1]), np.array([1, 0]), 3).tolist()
    [0, 0, 1]
    """
    from scipy import sparse  # noqa: PLC0415  slow to load
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    graph = sparse.coo_array((np.ones(len(one), np.int8), (one, other)), shape=(size, size))
    part = connected_components(graph, directed=both_ways, connection="strong" if both_ways else "weak")[1]
    return np.asarray(part, dtype=np.int64)
