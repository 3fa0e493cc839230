"""Maximise a smooth function by limited-memory BFGS, in natural scales and with few evaluations.

In scales in which all curvatures are about one, the gradient itself is a good first step and a unit step a good later one: an
evaluation is a pass over all labels, and a line search that tries two points where one would do doubles the work.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.solvers.stopping import brought_little, promises_little

MEMORY_PAIRS = 20  # pairs of steps and changes of the gradient remembered
MEMORY_NUMBERS = 2**26  # numbers that all pairs together may take, 512 MB

FLAT_SLOPE = 1e-12  # slopes below this, in natural scales, are none
ACCEPTED_SHARE = 1e-4  # share of the rise that the slope promises with which a step is accepted
ROUNDING = 1e-15  # relative rises below this cannot be seen

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point in, its value and gradient out."""


Pair = tuple[FloatArray, FloatArray, float]


def maximise(
    function: Function,
    start: FloatArray,
    scales: FloatArray | float = 1.0,
    *,
    max_iter: int,
    tol: float,
    step: Callable[[int, float], None] | None = None,
    pairs: deque[Pair] | None = None,
) -> tuple[FloatArray, float, tuple[float, ...], int, bool]:
    """Maximise a function.

    Parameters
    ----------
    function : callable
    start : ndarray of shape (size,)
    scales : ndarray of shape (size,) or float
        A natural step length of each coordinate: the inverse root of the curvature, as far as it can be guessed.
    max_iter : int
        Evaluations allowed.
    tol : float
        Relative change of the value at which to stop: before a step that promises no more, or after one that brought no more.
    step : callable, optional
        Called with the number of evaluations and the value after every step.
    pairs : deque, optional
        What an earlier run on nearly the same function has learned of its curvature, in the same scales; added to.

    Returns
    -------
    point : ndarray of shape (size,)
        The best one found.
    value : float
        Minus infinity if no evaluation was allowed.
    history : tuple of float
        The value after every step.
    n_iter : int
    converged : bool

    >>> point, *_ = maximise(lambda x: (-float(x @ x), -2 * x), np.ones(2), max_iter=50, tol=1e-12)
    >>> bool(np.abs(point).max() < 1e-6)
    True
    """
    if max_iter < 1:
        return start, -np.inf, (-np.inf,), 0, False
    point, (value, gradient), n_iter = start, function(start), 1
    gradient = gradient * scales
    history: list[float] = []
    pairs = memory_for(start) if pairs is None else pairs
    converged = len(start) == 0 or bool(abs(gradient).max() < FLAT_SLOPE)
    while not converged:
        direction = _direction(gradient, pairs)
        slope, length = float(direction @ gradient), 1.0
        if promises_little(slope, value, tol):
            break
        while True:
            if n_iter >= max_iter:
                return point, value, (*history, value), n_iter, False
            trial = point + length * (direction * scales)
            higher, ahead = function(trial)
            n_iter += 1
            if higher >= value + ACCEPTED_SHARE * length * slope:
                break
            if length * slope <= ROUNDING * abs(value):  # what is left is below rounding
                return point, value, (*history, value), n_iter, True
            parabola = (
                0.5 * slope * length**2 / (slope * length - (higher - value))
            )  # its top, through both values and the slope
            length = min(max(parabola, 0.1 * length), 0.5 * length)
        ahead = ahead * scales
        _remember(pairs, length * direction, gradient - ahead)
        converged = brought_little(value, higher, tol) or bool(abs(ahead).max() < FLAT_SLOPE)
        point, value, gradient = trial, higher, ahead
        history.append(value)
        if step is not None:
            step(n_iter, value)
    return point, value, tuple(history) or (value,), n_iter, True


def memory_for(start: FloatArray) -> deque[Pair]:
    """Return an empty memory of steps, as many as there is room for."""
    return deque(maxlen=max(2, min(MEMORY_PAIRS, MEMORY_NUMBERS // (2 * max(len(start), 1)))))


def _remember(pairs: deque[Pair], step: FloatArray, change: FloatArray) -> None:
    """Keep a step and how it changed the gradient, unless the function curves upwards there."""
    curvature = float(step @ change)
    if curvature > 1e-10 * np.sqrt(float(step @ step) * float(change @ change)):
        pairs.append((step, change, curvature))


def _direction(gradient: FloatArray, pairs: deque[Pair]) -> FloatArray:
    """Return the gradient times the inverse curvature that the pairs imply: the two loops of Nocedal (1980)."""
    direction, shares = gradient.copy(), []
    for step, change, curvature in reversed(pairs):
        shares.append(float(step @ direction) / curvature)
        direction -= shares[-1] * change
    if pairs:
        direction *= pairs[-1][2] / float(pairs[-1][1] @ pairs[-1][1])
    for (step, change, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction += (share - float(change @ direction) / curvature) * step
    return direction
