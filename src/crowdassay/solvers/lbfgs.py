"""Climb a smooth function by limited-memory BFGS: SciPy's, in natural units and with a limit on passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from crowdassay.arrays import FloatArray

MEMORY = 20  # pairs of steps remembered

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point in, its value and gradient out."""


class OutOfSweepsError(Exception):
    """The number of evaluations allowed is used up."""


def climb(
    function: Function,
    start: FloatArray,
    units: FloatArray | float = 1.0,
    *,
    max_sweeps: int,
    tolerance: float,
    step: Callable[[int, float], None] | None = None,
) -> tuple[FloatArray, float, tuple[float, ...], int, bool]:
    """Maximise a function.

    Parameters
    ----------
    function : callable
    start : ndarray of shape (size,)
    units : ndarray of shape (size,) or float
        A natural step length of each coordinate: the inverse root of the curvature, as far as it can be guessed.
    max_sweeps : int
        Evaluations allowed.
    tolerance : float
        Relative change of the value at which to stop.
    step : callable, optional
        Hears the number of evaluations and the value after every step.

    Returns
    -------
    point : ndarray of shape (size,)
        The best one found.
    value : float
        Minus infinity if no evaluation was allowed.
    history : tuple of float
        The value after every step.
    sweeps : int
    converged : bool

    >>> point, *_ = climb(lambda x: (-float(x @ x), -2 * x), np.ones(2), max_sweeps=50, tolerance=1e-12)
    >>> bool(np.abs(point).max() < 1e-6)
    True
    """
    best, top, sweeps = start, -np.inf, 0
    history: list[float] = []

    def negative(scaled: FloatArray) -> tuple[float, FloatArray]:
        nonlocal best, top, sweeps
        if sweeps >= max_sweeps:
            raise OutOfSweepsError
        sweeps += 1
        point = scaled * units
        value, gradient = function(point)
        if value > top:
            best, top = point, value
        return -value, -gradient * units

    def accepted(intermediate_result: Any) -> None:
        history.append(-float(intermediate_result.fun))
        if step is not None:
            step(sweeps, history[-1])

    options = {"maxcor": MEMORY, "ftol": tolerance, "gtol": 1e-12, "maxiter": 10**6, "maxfun": 10**6}
    try:
        minimize(negative, start / units, jac=True, method="L-BFGS-B", callback=accepted, options=options)
        converged = True
    except OutOfSweepsError:
        converged = False
    if not history or top > history[-1]:  # cut short in the middle of a step
        history.append(top)
    return best, top, tuple(history), sweeps, converged
