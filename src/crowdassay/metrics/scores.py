"""How far labels are from the truth."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray


def error_rate(winners: BoolArray, truth: np.ndarray) -> float:
    """Return the share of items with truth whose label is wrong, a tie among m classes counting 1 - 1/m if one is right.

    Parameters
    ----------
    winners : ndarray of bool, shape (n_items, n_classes)
        The classes that share the highest probability.
    truth : ndarray of int, shape (n_items,)
        Class codes, -1 where unknown.

    >>> error_rate(np.array([[True, True], [False, True]]), np.array([0, 1]))
    0.25
    """
    share, known = _shares(winners, truth)
    return float(1.0 - share[np.arange(len(known)), truth[known]].mean())


def distance_errors(winners: BoolArray, truth: np.ndarray) -> tuple[float, float]:
    """Return the root mean square and the mean absolute error in positions on the scale, ties averaged.

    What the paper's Table 3 prints is the root.
    """
    share, known = _shares(winners, truth)
    distance = np.abs(np.arange(winners.shape[1]) - truth[known][:, None])
    return float(np.sqrt((share * distance**2).sum(axis=1).mean())), float((share * distance).sum(axis=1).mean())


def _shares(winners: BoolArray, truth: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """Split each known item's label evenly among its winners."""
    known = np.flatnonzero(truth >= 0)
    chosen = winners[known]
    return chosen / chosen.sum(axis=1, keepdims=True), known
