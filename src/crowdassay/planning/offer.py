"""Who can be asked, and at what price."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.planning.state import State

EXPERT = -1  # the code of an expert among workers


@dataclass(frozen=True, eq=False)
class Offer:
    """Who can be asked, at what price.

    Attributes
    ----------
    workers : ndarray of int, shape (n,)
        Codes into the workers of a `State`.
    cost : ndarray of shape (n,)
        Of one label.
    capacity : ndarray of int, shape (n,)
        Labels that each will still give.
    expert : float or None
        What it costs to know the class of an item for certain.
    """

    workers: IntArray
    cost: FloatArray
    capacity: IntArray
    expert: float | None = None

    @classmethod
    def everyone(cls, state: State, *, cost: float = 1.0, expert: float | None = None) -> Offer:
        """Offer all workers of a state at one price."""
        n = len(state.workers)
        return cls(np.arange(n), np.full(n, cost), np.full(n, np.iinfo(np.int64).max), expert)
