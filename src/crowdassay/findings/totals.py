"""What is counted over all items, so that a report can be made without all of them at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.findings.items import ItemInsight, ItemStanding
from crowdassay.findings.sums import BlockSums
from crowdassay.special import expit, logit

PROBABILITY_BINS = 20
NINETY_PERCENT = 1.645  # standard deviations on either side that hold 90 %


def error_limits(wrong: float, variance: float, n_items: int, spread: float | None) -> tuple[float, float]:
    r"""Return the limits of a 90 % interval of the number of wrong labels of so many items, ``wrong`` being expected.

    .. math::  \operatorname{logit} e \pm 1.645 \sqrt{\sigma^2 + \frac{1}{n e (1 - e)}}

    for an estimated error e on n items, where sigma, the ``spread``, says how far datasets have been off; without it items are
    taken as independent, with this ``variance``, and the probabilities as right.

    >>> [round(limit) for limit in error_limits(10.0, 9.0, 100, 0.5)]
    [4, 23]
    """
    if spread is None or not 0 < wrong < n_items:
        width = NINETY_PERCENT * float(np.sqrt(variance))
        return max(wrong - width, 0.0), min(wrong + width, float(n_items))
    rate = wrong / n_items
    width = NINETY_PERCENT * float(np.sqrt(spread**2 + 1.0 / (n_items * rate * (1.0 - rate))))
    low, high = expit(logit(rate) + np.array([-width, width])) * n_items
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Totals(BlockSums):
    """Counts over items.

    Attributes
    ----------
    items, labels, tied, known : int
        Items, labels, items whose probabilities are tied, and items whose class was given.
    settled : int
        Items whose label is settled, or known.
    unsettled : int
        Items whose label is less sure, and not known.
    probability : float
        The sum of the probabilities of the labels.
    wrong, variance : float
        Expected number of wrong labels, and its variance where items are independent.
    bins : ndarray of int, shape (20,)
        Items by the probability of their label.
    mass : ndarray of shape (n_classes,)
        Expected number of items of each class.
    given : ndarray of int, shape (n_classes,)
        Labels of each class.
    """

    items: int
    labels: int
    tied: int
    known: int
    settled: int
    unsettled: int
    probability: float
    wrong: float
    variance: float
    bins: IntArray
    mass: FloatArray
    given: IntArray

    @classmethod
    def of(cls, insight: ItemInsight) -> Totals:
        """Count some items."""
        record, labels = insight.record, insight.record.labels
        wrong = np.where(labels.gold >= 0, 0.0, 1 - record.probability)
        place = np.clip(np.ceil(record.probability * PROBABILITY_BINS - 1e-9).astype(np.int64) - 1, 0, PROBABILITY_BINS - 1)
        return cls(
            items=labels.n_items,
            labels=labels.n_labels,
            tied=int(record.tied.sum()),
            known=int((labels.gold >= 0).sum()),
            settled=int(np.isin(insight.standing, (ItemStanding.SETTLED, ItemStanding.KNOWN)).sum()),
            unsettled=int(((record.probability < record.settled) & (labels.gold < 0)).sum()),
            probability=float(record.probability.sum()),
            wrong=float(wrong.sum()),
            variance=float((wrong * (1 - wrong)).sum()),
            bins=np.bincount(place, minlength=PROBABILITY_BINS),
            mass=record.posterior.sum(axis=0),
            given=np.bincount(labels.label, minlength=labels.n_classes),
        )

    def error_interval(self, spread: float | None) -> tuple[float, float]:
        """Return the limits of a 90 % interval of the number of wrong labels."""
        return error_limits(self.wrong, self.variance, self.items - self.known, spread)
