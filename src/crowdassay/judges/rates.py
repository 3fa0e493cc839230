"""The rate of each class: by people with the panel's help, by people alone, and as the panel alone claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.judges.order import difference
from crowdassay.judges.people import People
from crowdassay.judges.ppi import FEWEST_ITEMS, WIDEST, Interval, Sample, estimate_rate

Rates = list[Interval]


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that rates are made of.

    Attributes
    ----------
    people : People
    blind, panel : ndarray, shape (n_items, n_classes)
        Predictions that have not seen people's labels of the item, and what the panel alone claims.
    stratum : ndarray of int, shape (n_items,)
    drawn : ndarray of int, shape (n_items,)
        The strata in which people's items were drawn; `stratum` may be finer, since judges tell more.
    confidence : float
    beyond : bool
        Whether rates are about the process that made the items.
    """

    people: People
    blind: FloatArray
    panel: FloatArray
    stratum: IntArray
    drawn: IntArray
    confidence: float = 0.95
    beyond: bool = False

    def sample(self, c: int, among: BoolArray, strata: IntArray) -> Sample:
        """Return people's labels and predictions of a class on the items among which the rate is asked for."""
        people, rows = self.people, among[self.people.item]
        seen = people.item[rows]
        stratum = usable_strata(strata, among, seen)
        sizes = np.bincount(stratum[among])
        means = np.bincount(stratum[among], weights=self.blind[among, c]) / sizes
        return Sample(
            people.truth[rows, c], self.blind[seen, c], stratum[seen], sizes, means,
            people.noise[rows, c], people.doubt[rows, c], people.slope[rows, c], 0.0 if people.error else people.error_se,
        )  # fmt: skip


def find_rates(evidence: Evidence, among: BoolArray, *, powered: bool = True) -> Rates | None:
    """Return the rate of every class among some items, (n_items,); None where people saw none of them."""
    if not among[evidence.people.item].any():
        return None
    n_classes = evidence.blind.shape[1]
    how = (evidence.confidence, evidence.beyond)
    rates = [_rate(evidence.sample(c, among, evidence.drawn), False, *how) for c in range(n_classes)]
    if powered:
        helped = [_rate(evidence.sample(c, among, evidence.stratum), True, *how) for c in range(n_classes)]
        rates = [one if one.width <= WIDEST * alone.width else alone for one, alone in zip(helped, rates, strict=True)]
    return _mirrored(rates) if n_classes == 2 else rates


def _rate(sample: Sample, powered: bool, confidence: float, beyond: bool) -> Interval:
    return estimate_rate(sample, confidence=confidence, beyond=beyond, powered=powered)


def usable_strata(strata: IntArray, among: BoolArray, seen: IntArray) -> IntArray:
    """Return strata, (n_items,), numbered anew among some items, or one stratum where one holds fewer than two seen."""
    present, code = np.unique(strata[among], return_inverse=True)
    usable = np.zeros_like(strata)
    usable[among] = code
    return usable if np.bincount(usable[seen], minlength=len(present)).min() >= 2 else np.zeros_like(strata)


def _mirrored(rates: Rates) -> Rates:
    """Let two classes say the same: the second is what the first leaves."""
    one = rates[0]
    return [one, Interval(1 - one.estimate, 1 - one.high, 1 - one.low, one.effective)]


def claimed_rates(evidence: Evidence, among: BoolArray) -> Rates:
    """Return what the panel alone claims: the mean of its probabilities, with the interval that these would imply."""
    z, claims = float(norm.ppf(0.5 + evidence.confidence / 2)), evidence.panel[among]
    mean, error = claims.mean(axis=0), np.sqrt((claims * (1 - claims)).sum(axis=0)) / len(claims)
    return [
        Interval(float(m), max(float(m - z * e), 0.0), min(float(m + z * e), 1.0)) for m, e in zip(mean, error, strict=True)
    ]


def rate_difference(evidence: Evidence, one: BoolArray, two: BoolArray, pairs: IntArray | None) -> Rates | None:
    """Return the difference in the rate of each class between two groups of items, paired where pairs are given.

    Parameters
    ----------
    evidence : Evidence
    one, two : ndarray of bool, shape (n_items,)
    pairs : ndarray of int, shape (n_pairs, 2), optional
        Items of the first and the second group that belong together, such as two systems' answers to the same question.
    """
    first, second = find_rates(evidence, one), find_rates(evidence, two)
    if first is None or second is None:
        return None
    return [
        difference(a, b, correlation(evidence, c, one, two, pairs)) for c, (a, b) in enumerate(zip(first, second, strict=True))
    ]


def correlation(evidence: Evidence, c: int, one: BoolArray, two: BoolArray, pairs: IntArray | None) -> float:
    r"""Return the correlation of two groups' estimates, from what people's labels leave of the prediction on common pairs.

    .. math:: \rho = \frac{n_{12}}{\sqrt{n_1 n_2}}\, \mathrm{cor}(r_1, r_2)
    """
    if pairs is None or not len(pairs):
        return 0.0
    people = evidence.people
    place = np.full(len(evidence.blind), -1)
    place[people.item] = np.arange(len(people.item))
    both = pairs[(place[pairs] >= 0).all(axis=1)]
    if len(both) < FEWEST_ITEMS:
        return 0.0
    residual = people.truth[:, c] - evidence.blind[people.item, c]
    left, right = residual[place[both[:, 0]]], residual[place[both[:, 1]]]
    if left.std() == 0 or right.std() == 0:
        return 0.0
    seen = [int(group[people.item].sum()) for group in (one, two)]
    return float(np.corrcoef(left, right)[0, 1] * len(both) / np.sqrt(seen[0] * seen[1]))


def as_rates(rates: Rates | None, classes: Sequence[str]) -> dict[str, Any] | None:
    """Return rates as plain values by class."""
    return None if rates is None else {name: one.as_dict() for name, one in zip(classes, rates, strict=True)}
