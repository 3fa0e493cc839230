"""Limited-memory BFGS, the package's own and SciPy's, both in natural scales.

In scales in which all curvatures are about one, the gradient itself is a good first step and a unit step a good later one.
`maximise` is for functions of which an evaluation is a pass over all labels: a line search that tries two points where one
would do doubles the work, vectors may lie on a GPU, and what was learned of the curvature is kept between stages. `minimise`
hands cheap functions to SciPy, which has bounds and a line search to the last digit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.solvers.stopping import brought_little, promises_little

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MEMORY_PAIRS = 20  # pairs of steps and changes of the gradient remembered
MEMORY_NUMBERS = 2**26  # numbers that all pairs together may take, 512 MB

FLAT_SLOPE = 1e-12  # slopes below this, in natural scales, are none
ACCEPTED_SHARE = 1e-4  # share of the rise that the slope promises with which a step is accepted
UNSEEN_RISE = 1e-15  # relative rises below this cannot be seen

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""A point in, its value and gradient out."""


Pair = tuple[FloatArray, FloatArray, float]


class Minimum(NamedTuple):
    """Where `minimise` has ended: the point (size,), the value there, steps taken, and whether it converged."""

    point: FloatArray
    value: float
    n_iter: int
    converged: bool


def minimise(
    function: Function,
    start: FloatArray,
    scales: FloatArray | float = 1.0,
    *,
    bounds: tuple[FloatArray, FloatArray] | None = None,
    step: Callable[[float], None] | None = None,
    **options: float,
) -> Minimum:
    """Minimise a cheap function by SciPy's L-BFGS-B.

    Parameters
    ----------
    function : callable
    start : ndarray of shape (size,)
    scales : ndarray of shape (size,) or float
        As `maximise` takes them.
    bounds : pair of ndarray of shape (size,), optional
        The least and the largest value of every coordinate.
    step : callable, optional
        Called with the value after every step.
    **options
        SciPy's: maxiter, maxfun, maxcor, ftol, gtol.

    >>> minimise(lambda x: (float(x @ x), 2 * x), np.ones(2)).point.round(6).tolist()
    [0.0, 0.0]
    """
    from scipy.optimize import minimize  # noqa: PLC0415  slow to load, seldom needed

    def scaled(z: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(z * scales)
        return value, gradient * scales

    def accepted(intermediate_result: OptimizeResult) -> None:
        if step is not None:
            step(float(intermediate_result.fun))

    limits = None if bounds is None else np.stack([bounds[0] / scales, bounds[1] / scales], axis=1)
    found: OptimizeResult = minimize(
        scaled, start / scales, jac=True, method="L-BFGS-B", bounds=limits, callback=accepted, options=options
    )
    return Minimum(found.x * scales, float(found.fun), int(found.nit), bool(found.success))


def negated(function: Function) -> Function:
    """Return minus a function, so that `minimise` maximises it."""

    def minus(point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = function(point)
        return -value, -gradient

    return minus


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
        slope = float(direction @ gradient)
        if promises_little(slope, value, tol):
            break
        line = _search(function, point, direction * scales, value, slope, max_iter - n_iter)
        n_iter += line.n_iter
        if line.gradient is None:
            return point, value, (*history, value), n_iter, line.at_top
        ahead = line.gradient * scales
        moved, change = line.length * direction, gradient - ahead
        curvature = float(moved @ change)
        if curvature > 1e-10 * np.sqrt(float(moved @ moved) * float(change @ change)):  # else the function curves upwards
            pairs.append((moved, change, curvature))
        converged = brought_little(value, line.value, tol) or bool(abs(ahead).max() < FLAT_SLOPE)
        point, value, gradient = line.point, line.value, ahead
        history.append(value)
        if step is not None:
            step(n_iter, value)
    return point, value, tuple(history) or (value,), n_iter, True


class _Line(NamedTuple):
    """A search along a line: the point accepted, or no gradient where none was, because evaluations ran out or at the top."""

    point: FloatArray
    value: float
    gradient: FloatArray | None
    length: float
    n_iter: int
    at_top: bool = False


def _search(function: Function, point: FloatArray, move: FloatArray, value: float, slope: float, allowed: int) -> _Line:
    """Try the whole step, then shorter ones, until the function rises by a share of what the slope promises."""
    length, n_iter = 1.0, 0
    while n_iter < allowed:
        trial = point + length * move
        higher, gradient = function(trial)
        n_iter += 1
        if higher >= value + ACCEPTED_SHARE * length * slope:
            return _Line(trial, higher, gradient, length, n_iter)
        if length * slope <= UNSEEN_RISE * abs(value):  # what is left is below rounding
            return _Line(point, value, None, length, n_iter, at_top=True)
        top = 0.5 * slope * length**2 / (slope * length - (higher - value))  # of the parabola through both values and the slope
        length = min(max(top, 0.1 * length), 0.5 * length)
    return _Line(point, value, None, length, n_iter)


def memory_for(start: FloatArray) -> deque[Pair]:
    """Return an empty memory of steps, as many as there is room for."""
    return deque(maxlen=max(2, min(MEMORY_PAIRS, MEMORY_NUMBERS // (2 * max(len(start), 1)))))


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
