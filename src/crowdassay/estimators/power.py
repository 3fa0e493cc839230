"""The power iteration, on every connected part of the labels at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray, IntArray

MAX_STEPS = 3000
STOP_CHANGE = 1e-12  # change of any entry at which the iteration stops


def leading_vector(
    apply: Callable[[FloatArray], FloatArray], start: FloatArray, part: IntArray
) -> tuple[FloatArray, FloatArray, bool]:
    r"""Return the leading eigenvector of a symmetric operator whose largest eigenvalue is the largest in size, part by part.

    An eigenvector of labels that fall apart lives on one part only. Here each part has a vector of its own, of length one and
    of the sign that most of its entries share with the start, by the start's weights. Library routines leave that sign open,
    and pick any mixture of vectors with equal eigenvalues, not the same one every time.

    Parameters
    ----------
    apply : callable
        Multiplies a vector (n,) by the operator, which leaves parts apart.
    start : ndarray of shape (n,)
        Not negative.
    part : ndarray of shape (n,)
        Which part each entry belongs to.

    Returns
    -------
    vector : ndarray of shape (n,)
        Zero on parts that the operator maps to zero.
    value : ndarray of shape (n,)
        The eigenvalue of the part of each entry.
    converged : bool
    """
    vector, value, change = start, np.zeros(len(start)), np.inf
    for _ in range(MAX_STEPS):
        before, vector = vector, apply(vector)
        value = np.sqrt(np.bincount(part, weights=vector**2))[part]
        vector = vector / np.where(value > 0, value, 1.0)
        change = float(np.abs(vector - before).max())
        if change < STOP_CHANGE:
            break
    voices = np.bincount(part, weights=start * np.sign(vector))[part]
    return np.where(voices < 0, -vector, vector), value, change < STOP_CHANGE
