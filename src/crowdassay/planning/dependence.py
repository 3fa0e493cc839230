"""What several labels on one item are worth, since workers share mistakes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Dependence:
    r"""A law of two constants for the weight of each of n labels on one item.

    .. math::  t(n) = \frac{c}{1 + r (n - 1)}

    Class probabilities follow from the labels' log-likelihood times t(n). With r = 0 labels err independently; the larger r,
    the less a further label adds. `benchmarks/replay.py` compares the constants.

    Parameters
    ----------
    first : float
        c, the weight of an item's only label.
    overlap : float
        r, how far a label repeats what the others have said.

    Examples
    --------
    >>> Dependence(overlap=0.5).independent(np.array([1, 2, 10])).round(2).tolist()
    [1.0, 1.33, 1.82]
    """

    first: float = 2.0
    overlap: float = 0.3

    def weight(self, n: FloatArray) -> FloatArray:
        """Return the weight t(n) of each label where there are n, shape as n."""
        return np.asarray(self.first / (1 + self.overlap * np.maximum(n - 1.0, 0.0)))

    def independent(self, n: FloatArray) -> FloatArray:
        """Return how many independent labels n labels are worth: n t(n) / t(1)."""
        return np.asarray(n / (1 + self.overlap * np.maximum(n - 1.0, 0.0)))

    def adds(self, n: FloatArray | IntArray) -> FloatArray:
        """Return how much of an independent label one more is worth where there are n."""
        n = np.asarray(n, np.float64)
        return np.asarray(self.independent(n + 1.0) - self.independent(n))
