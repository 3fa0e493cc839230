"""What several labels on one item are worth, since workers share mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.models.assay.constants import default_constants


def worth(n_labels: FloatArray, correlation: float) -> FloatArray:
    r"""Return t(n): the share of themselves that n labels of an item are worth.

    >>> (4 * worth(np.array([4.0]), 0.5)).round(2).tolist()
    [1.6]
    """
    return np.asarray(1.0 / (1.0 + correlation * (np.maximum(n_labels, 1.0) - 1.0)))


def sharpening(n_labels: FloatArray, few: float, growth: float) -> FloatArray:
    r"""Return the factor :math:`\max(1, n / n_0)^g` by which the logits of items with many labels grow.

    As :math:`n\, t(n)` is bounded, many labels would be worth no more than a few. With two classes the member with item effects
    speaks there, and this factor is 1; with more classes there is no such member, and real crowds have been more often right.

    >>> sharpening(np.array([2.0, 10.0, 40.0]), 10.0, 0.5).tolist()
    [1.0, 1.0, 2.0]
    """
    return np.asarray(np.maximum(n_labels / few, 1.0) ** growth)


@dataclass(frozen=True)
class Dependence:
    r"""The law by which n labels on one item count for S(n) independent ones.

    .. math::  S(n) = \frac{n}{1 + r (n - 1)}

    It is the default's own: r is learned by `benchmarks/learn_default.py`, and nothing about it is set for planning.

    Parameters
    ----------
    overlap : float
        r, how far a label repeats what the others have said; 0 where labels err independently.

    Examples
    --------
    >>> Dependence(overlap=0.5).independent(np.array([1, 2, 10])).round(2).tolist()
    [1.0, 1.33, 1.82]
    """

    overlap: float = field(default_factory=lambda: default_constants().correlation)

    def weight(self, n: FloatArray) -> FloatArray:
        """Return what each label counts for where there are n, shape as n."""
        return worth(n, self.overlap)

    def independent(self, n: FloatArray) -> FloatArray:
        """Return how many independent labels n labels are worth."""
        return np.asarray(n * worth(n, self.overlap))

    def adds(self, n: FloatArray | IntArray) -> FloatArray:
        """Return how much of an independent label one more is worth where there are n."""
        n = np.asarray(n, np.float64)
        return np.asarray(self.independent(n + 1.0) - self.independent(n))
