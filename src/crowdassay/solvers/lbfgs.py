"""Climb a smooth function by limited-memory BFGS.

SciPy's routine does the same, but calls a linear algebra library at every step whose threads wait for one another by spinning:
on a machine that is busy otherwise, that alone can cost ten times the passes over the labels. Here a step costs a few passes
over the coordinates and nothing else. Only steps uphill are taken, and a run can be stopped after any number of evaluations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.solvers.outcome import Progress

MEMORY = 20  # pairs of steps remembered
ENOUGH = 1e-4  # share of the promised rise that a step must bring (Armijo)

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point in, its value and gradient out."""
Pairs = deque[tuple[FloatArray, FloatArray, float]]


def climb(
    function: Function,
    start: FloatArray,
    units: FloatArray,
    *,
    max_sweeps: int,
    tolerance: float,
    progress: Progress | None = None,
) -> tuple[FloatArray, float, tuple[float, ...], int, bool]:
    """Maximise a function.

    Parameters
    ----------
    function : callable
    start : ndarray of shape (size,)
    units : ndarray of shape (size,)
        A natural step length of each coordinate: the inverse root of the curvature, as far as it can be guessed.
    max_sweeps : int
        Evaluations allowed, at least one.
    tolerance : float
        Relative change of the value at which to stop.
    progress : callable, optional

    Returns
    -------
    point : ndarray of shape (size,)
    value : float
    history : tuple of float
        The value at the start and after every step.
    sweeps : int
    converged : bool

    >>> point, *_ = climb(lambda x: (-float(x @ x), -2 * x), np.ones(2), np.ones(2), max_sweeps=50, tolerance=1e-12)
    >>> bool(np.abs(point).max() < 1e-6)
    True
    """
    point, (value, gradient) = start, function(start)
    history, sweeps, gradient = [value], 1, units * gradient
    pairs: Pairs = deque(maxlen=MEMORY)
    while True:
        if progress is not None:
            progress(sweeps, value)
        direction = _direction(gradient, pairs)
        slope = _dot(direction, gradient)
        length = 1.0 if pairs else 1.0 / np.sqrt(max(slope, 1.0))
        while True:
            if length * slope <= 0.1 * tolerance * abs(value):  # nothing more to be had this way
                return point, value, tuple(history), sweeps, True
            if sweeps >= max_sweeps:
                return point, value, tuple(history), sweeps, False
            trial = point + length * (units * direction)
            found, found_gradient = function(trial)
            sweeps += 1
            rise = found - value
            if rise >= ENOUGH * length * slope:
                break
            # The top of the parabola through what is known, kept from shrinking too little or too much.
            shrink = 0.5 * length * slope / (length * slope - rise) if np.isfinite(rise) else 0.0
            length *= min(max(shrink, 0.1), 0.5)
        found_gradient = units * found_gradient
        step, change = length * direction, gradient - found_gradient
        bend = _dot(step, change)
        if bend > 1e-10 * _dot(step, step):  # where the function bends upwards there is nothing to learn
            pairs.append((step, change, 1.0 / bend))
        point, value, gradient = trial, found, found_gradient
        history.append(value)
        if rise <= tolerance * abs(value):
            if progress is not None:
                progress(sweeps, value)
            return point, value, tuple(history), sweeps, True


def _direction(gradient: FloatArray, pairs: Pairs) -> FloatArray:
    """Multiply the gradient by the inverse curvature that the remembered steps imply (the two-loop recursion)."""
    direction, shares = gradient.copy(), []
    for step, change, inverse in reversed(pairs):
        share = inverse * _dot(step, direction)
        direction -= share * change
        shares.append(share)
    if pairs:
        _, change, inverse = pairs[-1]
        direction /= inverse * _dot(change, change)
    for (step, change, inverse), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - inverse * _dot(change, direction)) * step
    return direction


def _dot(left: FloatArray, right: FloatArray) -> float:
    """Return the inner product, on this thread alone."""
    return float(np.einsum("i,i", left, right))
