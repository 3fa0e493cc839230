"""Linear equations in the parameters, some of which are locked."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from crowdassay.arrays import BoolArray, FloatArray


def lock_matrix(matrix: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    """Return the matrix with locked parameters out of the way and, with ``shared``, the mean of the scores held."""
    scale = max(float(np.diag(matrix).max()), 1e-12)
    held = matrix.copy()
    held[locked, :] = 0.0
    held[:, locked] = 0.0
    held[locked, locked] = scale
    if shared:
        free = (~locked[:n_items]).astype(float)
        held[:n_items, :n_items] += scale * np.outer(free, free) / max(free.sum(), 1.0)
    return held


def newton_step(matrix: FloatArray, gradient: FloatArray, locked: BoolArray, n_items: int, *, shared: bool) -> FloatArray:
    """Return the step of Newton's method, along the slope where the matrix cannot be made positive."""
    held = lock_matrix(matrix, locked, n_items, shared=shared)
    slope = np.where(locked, 0.0, gradient)
    ridge, scale = 0.0, float(np.diag(held).max())
    for _ in range(40):
        try:
            return np.asarray(cho_solve(cho_factor(held + ridge * np.eye(len(held))), slope))
        except LinAlgError:
            ridge = max(10 * ridge, 1e-8 * scale)
    return slope / scale
