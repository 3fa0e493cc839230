"""Newton's method for a smooth function of few parameters: damped, with a ridge where the curvature is not positive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.threads import sum_of_parts

RIDGES_TRIED = 40
FIRST_RIDGE = 1e-8  # of the largest curvature
MOST_HALVINGS = 30
ROUNDING_ERROR = 1e-9  # relative fall of the value that counts as none

Evaluation = tuple[float, FloatArray, FloatArray]
"""Value, gradient and information (the negative second derivatives) of a function that is to be maximised."""
Solve = Callable[[FloatArray, FloatArray, BoolArray], FloatArray]
"""Information, gradient and the parameters that are held in; the step out."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where Newton's method has ended.

    Attributes
    ----------
    point : ndarray of shape (size,)
    value : float
    information : ndarray of shape (size, size)
        The negative second derivatives there.
    held : ndarray of bool, shape (size,)
        Parameters that are fixed, or stand at a bound.
    n_iter : int
    converged : bool
    """

    point: FloatArray
    value: float
    information: FloatArray
    held: BoolArray
    n_iter: int
    converged: bool


def halves(starts: IntArray, least: int) -> list[tuple[int, int]]:
    """Return where groups of rows, which begin at ``starts`` (n_groups + 1,), are cut in two; one part of fewer than ``least``.

    >>> halves(np.array([0, 2, 4, 6]), 4), halves(np.array([0, 2, 4, 6]), 9)
    ([(0, 2), (2, 3)], [(0, 3)])
    """
    cuts = [0, len(starts) - 1]
    if starts[-1] >= least:
        cuts.insert(1, int(np.searchsorted(starts, starts[-1] // 2)))
    return [(begin, end) for begin, end in pairwise(cuts) if end > begin]


def evaluate_parts(
    work: Callable[[int, int, FloatArray, FloatArray], Any], parts: list[tuple[int, int]], size: int, *, dense: bool
) -> Evaluation:
    """Return the value, the gradient and the information (a matrix, or its diagonal) of all parts, several at once.

    ``work`` takes where a part begins and ends, returns its value and adds to a gradient (size,) and to a matrix (size, size or
    1).
    """
    gradients = [np.zeros(size) for _ in parts]
    matrices = [np.zeros((size, size if dense else 1)) for _ in parts]
    value = sum_of_parts(lambda n: float(work(*parts[n], gradients[n], matrices[n])), len(parts))
    matrix = np.sum(matrices, axis=0)
    return value, np.sum(gradients, axis=0), matrix if dense else matrix[:, 0]


def solve_ridge(matrix: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's step (size,), with the smallest ridge that makes the matrix positive; else a step along the gradient.

    >>> solve_ridge(np.array([[4.0, 0.0], [0.0, 16.0]]), np.array([4.0, 8.0])).tolist()
    [1.0, 0.5]
    """
    ridge, scale = 0.0, max(float(np.diag(matrix).max()), 1e-12)
    for _ in range(RIDGES_TRIED):
        try:
            return np.asarray(cho_solve(cho_factor(matrix + ridge * np.eye(len(matrix))), gradient))
        except LinAlgError:
            ridge = max(10 * ridge, FIRST_RIDGE * scale)
    return gradient / scale


def hold(matrix: FloatArray, held: BoolArray) -> FloatArray:
    """Return the matrix (size, size) with the parameters that are held out of the way: they neither move nor matter."""
    free = np.where(held[:, None] | held[None, :], 0.0, matrix)
    free[held, held] = max(float(np.diag(matrix).max()), 1e-12)
    return np.asarray(free)


def shorten(step: FloatArray, longest: float) -> FloatArray:
    """Return a step (size,) in which no parameter moves by more than ``longest``.

    >>> shorten(np.array([1.0, -4.0]), 2.0).tolist()
    [0.5, -2.0]
    """
    return step * min(1.0, longest / max(float(np.abs(step).max()), 1e-300))


def maximise(
    evaluate: Callable[[FloatArray], Evaluation],
    point: FloatArray,
    solve: Solve,
    *,
    longest: float,
    max_iter: int,
    tol: float,
    low: FloatArray | None = None,
    high: FloatArray | None = None,
) -> Maximum:
    """Maximise a function.

    Parameters
    ----------
    evaluate : callable
        A point in; value, gradient and information out.
    point : ndarray of shape (size,)
        Where to begin.
    solve : callable
        Information, gradient and the parameters that are held in; the step out.
    longest : float
        By which a parameter may move in one step.
    max_iter : int
    tol : float
        Largest change of a parameter at which to stop.
    low, high : ndarray of shape (size,), optional
        Bounds; a parameter whose bounds are equal is fixed.

    Examples
    --------
    >>> def bowl(x):
    ...     return -float((x - 3.0) @ (x - 3.0)), -2 * (x - 3.0), 2 * np.eye(len(x))
    >>> top = maximise(bowl, np.zeros(2), lambda m, g, held: solve_ridge(hold(m, held), np.where(held, 0, g)),
    ...     longest=2.0, max_iter=9, tol=1e-6, high=np.array([1.0, np.inf]))
    >>> top.point.tolist(), top.held.tolist(), top.converged
    ([1.0, 3.0], [True, False], True)
    """
    low = np.full(len(point), -np.inf) if low is None else low
    high = np.full(len(point), np.inf) if high is None else high
    point = np.clip(point, low, high)
    value, gradient, matrix = evaluate(point)
    n_iter, converged = 0, False
    held = _held(point, gradient, low, high)
    while n_iter < max_iter and not converged:
        n_iter += 1
        step = shorten(solve(matrix, gradient, held), longest)
        for _ in range(MOST_HALVINGS):
            there = np.clip(point + step, low, high)
            ahead = evaluate(there)
            if ahead[0] >= value - ROUNDING_ERROR * (1 + abs(value)):
                break
            step = 0.5 * step
        converged = bool(np.abs(there - point).max() < tol)
        point, (value, gradient, matrix) = there, ahead
        held = _held(point, gradient, low, high)
    return Maximum(point, value, matrix, held, n_iter, converged)


def _held(point: FloatArray, gradient: FloatArray, low: FloatArray, high: FloatArray) -> BoolArray:
    """Mark the parameters that are fixed, or that the gradient pushes against a bound; shape (size,)."""
    return np.asarray((low == high) | ((point <= low) & (gradient <= 0)) | ((point >= high) & (gradient >= 0)))
