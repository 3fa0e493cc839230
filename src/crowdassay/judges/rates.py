"""The rate of each class: by people with the judges' help, by people alone, and as the judges claim; by stratum and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import chisquare, norm

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError
from crowdassay.judges.people import People
from crowdassay.judges.ppi import FEWEST_ITEMS, WIDEST, Interval, Sample, difference, estimate_rate
from crowdassay.judges.verdicts import Verdicts, natural_order
from crowdassay.labels.values import counted, listed, shown

Rates = list[Interval]
STRATA = 3
SMALLEST_STRATUM = 0.05  # share of items that a stratum by disagreement has at least
LEAST_IN_EACH_STRATUM = 5  # people's items in each stratum from which strata by disagreement are used
ALWAYS_STRATIFIED = 60  # people's items from which they are always used
UNLIKELY_DRAW = 0.01  # p-value from which fewer items look as if they were not drawn at random
MOST_GROUPS = 200
ALL_COMPARED = 6  # groups up to which all are compared with one another; of more, each with the first


@dataclass(frozen=True, eq=False)
class Evidence:
    """What rates are computed from.

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
    cluster : ndarray of int, shape (n_items,), optional
        Items of one question have the same code.
    """

    people: People
    blind: FloatArray
    panel: FloatArray
    stratum: IntArray
    drawn: IntArray
    confidence: float = 0.95
    beyond: bool = False
    cluster: IntArray | None = None

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
            *self._clusters(among, seen, stratum),
        )  # fmt: skip

    def _clusters(self, among: BoolArray, seen: IntArray, stratum: IntArray) -> tuple[IntArray | None, float, float]:
        """Return the clusters of the items seen, how far these were drawn by cluster, and the share of all pairs in one."""
        if self.cluster is None:
            return None, 0.0, 0.0
        cluster, here = self.cluster, self.cluster[among]
        drawn = (np.bincount(stratum[seen]) / np.bincount(stratum[among]))[stratum[among]]
        one_by_one = _pairs_within(drawn, here)
        together = _pairs_within(np.ones(len(seen)), cluster[seen])
        by_cluster = max(1 - one_by_one / together, 0.0) if together else 0.0
        return cluster[seen], by_cluster, _pairs_within(np.ones(len(here)), here) / len(here) ** 2


def _pairs_within(weight: FloatArray, cluster: IntArray) -> float:
    """Return the sum of the products of two different weights of one cluster, each pair counted twice."""
    return float((np.bincount(cluster, weight) ** 2).sum() - (weight**2).sum())


def find_rates(evidence: Evidence, among: BoolArray, *, powered: bool = True) -> Rates:
    """Return the rate of every class among some items, (n_items,), of which people saw some."""
    n_classes = evidence.blind.shape[1]

    def rated(strata: IntArray, *, powered: bool) -> Rates:
        samples = (evidence.sample(c, among, strata) for c in range(n_classes))
        level, beyond = evidence.confidence, evidence.beyond
        return [estimate_rate(sample, confidence=level, beyond=beyond, powered=powered) for sample in samples]

    rates = rated(evidence.drawn, powered=False)
    if powered:
        helped = rated(evidence.stratum, powered=True)
        rates = [one if one.width <= WIDEST * alone.width else alone for one, alone in zip(helped, rates, strict=True)]
    if n_classes == 2:  # the rate of the second is one less that of the first
        one = rates[0]
        rates[1] = Interval(1 - one.estimate, 1 - one.high, 1 - one.low, one.effective)
    return rates


def usable_strata(strata: IntArray, among: BoolArray, seen: IntArray) -> IntArray:
    """Return strata, (n_items,), numbered anew among some items, or one stratum where one holds fewer than two seen."""
    present, code = np.unique(strata[among], return_inverse=True)
    usable = np.zeros_like(strata)
    usable[among] = code
    return usable if np.bincount(usable[seen], minlength=len(present)).min() >= 2 else np.zeros_like(strata)


def claimed_rates(evidence: Evidence, among: BoolArray) -> Rates:
    """Return what the panel alone claims: the mean of its probabilities, with the interval that these would imply."""
    z, claims = float(norm.ppf(0.5 + evidence.confidence / 2)), evidence.panel[among]
    mean, error = claims.mean(axis=0), np.sqrt((claims * (1 - claims)).sum(axis=0)) / len(claims)
    return [
        Interval(float(m), max(float(m - z * e), 0.0), min(float(m + z * e), 1.0)) for m, e in zip(mean, error, strict=True)
    ]


def correlation(evidence: Evidence, c: int, one: BoolArray, two: BoolArray, pairs: IntArray | None) -> float:
    r"""Return the correlation of two groups' estimates, from what people's labels leave of the prediction on common pairs.

    The groups are (n_items,) each; ``pairs`` (n_pairs, 2) are items of the two that belong together, such as two systems'
    answers to one question.

    .. math:: \rho = \frac{n_{12}}{\sqrt{n_1 n_2}}\, \mathrm{cor}(r_1, r_2)
    """
    if pairs is None or not len(pairs):
        return 0.0
    people = evidence.people
    place = people.place(len(evidence.blind))
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


def disputed_strata(verdicts: Verdicts) -> IntArray:
    """Return a stratum for each item, from agreed to disputed; people's labels have no part in it.

    Items drawn at random within these strata, however many of each, may be put together with any others drawn so.
    """
    counts = np.zeros((verdicts.n_items, len(verdicts.answers)))
    np.add.at(counts, (verdicts.item, verdicts.answer), 1)
    value = 1 - counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)  # share of verdicts that are not the most common one
    cuts = np.unique(np.quantile(value, np.arange(1, STRATA) / STRATA))
    stratum = np.searchsorted(cuts, value, side="left")
    _, stratum = np.unique(stratum, return_inverse=True)
    sizes = np.bincount(stratum)
    for h in range(len(sizes) - 1, 0, -1):  # small ones join the next below
        if (stratum == h).sum() < SMALLEST_STRATUM * len(stratum):
            stratum[stratum == h] = h - 1
    if (stratum == 0).sum() < SMALLEST_STRATUM * len(stratum) and stratum.any():
        stratum[stratum == 0] = stratum[stratum > 0].min()
    return np.unique(stratum, return_inverse=True)[1]


def choose_strata(verdicts: Verdicts, people: People) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Return strata by disagreement where they are of use, one for all otherwise; the same for people alone; what to tell.

    They are used from 60 items on, and below where people looked at disputed items more, or less, often than chance would.
    People's labels alone have them only in that second case, where they would mislead without.
    """
    stratum = disputed_strata(verdicts)
    if not np.isin(verdicts.item, people.item).any():
        stratum[:] = 0  # no judge has seen what people saw
    seen, sizes = np.bincount(stratum[people.item], minlength=stratum.max() + 1), np.bincount(stratum)
    one = np.zeros(verdicts.n_items, int)
    if len(sizes) < 2:
        return one, one, ()
    n = len(people.item)
    odd = float(chisquare(seen, n * sizes / sizes.sum()).pvalue) < UNLIKELY_DRAW if n < verdicts.n_items else False
    if not odd and (n < ALWAYS_STRATIFIED or seen.min() < LEAST_IN_EACH_STRATUM):
        return one, one, ()
    if seen.min() < 2:
        kind = "agree" if seen[0] < 2 else "disagree"
        note = (
            f"People saw {counted(int(seen.min()), 'item')} of those on which judges {kind}, fewer than chance would give and "
            "too few to make up for it. The rate holds only if the items were drawn at random."
        )
        return one, one, (note,)
    note = "People looked at disputed items more or less often than at others; each kind of item counts for its number."
    return stratum, stratum if odd else one, (note,) if odd else ()


def given_strata(names: list[str | None], people: People) -> IntArray:
    """Return codes for the strata that were given, one name for each item; refuse those of which people saw too little."""
    if None in names:
        raise DataError(f"{counted(names.count(None), 'item')} have no stratum; every item needs one.")
    values, code = np.unique(np.array([str(name) for name in names]), return_inverse=True)
    seen = np.bincount(code[people.item], minlength=len(values))
    if seen.min() < 2:
        few = int(seen.argmin())
        raise DataError(
            f"People saw {counted(int(seen[few]), 'item')} of stratum {shown(values[few])}; they must see 2 of each at least."
        )
    return np.asarray(code)


def find_clusters(names: list[str | None] | None, people: People) -> IntArray | None:
    """Return a code for the cluster of each item, (n_items,); an item without one stands alone. None where all do."""
    if names is None:
        return None
    every = [(0, name) if name is not None else (1, str(j)) for j, name in enumerate(names)]
    places = {name: code for code, name in enumerate(sorted(set(every)))}
    code = np.array([places[name] for name in every])
    if len(places) == len(names):
        return None
    if len(np.unique(code[people.item])) < 2:
        raise DataError("People saw items of one cluster only, which says nothing about the others; let them see more.")
    return code


def rate_groups(
    evidence: Evidence, names: Sequence[str | None], classes: Sequence[str], pair: Sequence[str | None] | None = None
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """Return the rates of each group, the differences between groups and what to tell.

    Parameters
    ----------
    evidence : Evidence
    names : sequence of str
        The group of each item; None for those that have none.
    classes : sequence of str
    pair : sequence of str, optional
        What items of different groups have in common, such as the question that two systems answered.
    """
    groups = sorted({name for name in names if name is not None}, key=natural_order)
    if len(groups) > MOST_GROUPS:
        raise DataError(f"There are {len(groups)} groups ({listed(groups, 3)}), more than {MOST_GROUPS}; name another column.")
    codes = {name: number for number, name in enumerate(groups)}
    code = np.array([-1 if name is None else codes[name] for name in names])
    by_group: dict[str, Any] = {}
    rates: list[Rates | None] = []
    few = []
    for number, name in enumerate(groups):
        among = code == number
        seen = int(among[evidence.people.item].sum())
        few += [name] if seen < FEWEST_ITEMS else []
        rates.append(find_rates(evidence, among) if seen else None)
        by_group[name] = {
            "rate": as_rates(rates[-1], classes),
            "people_only": as_rates(find_rates(evidence, among, powered=False) if seen else None, classes),
            "panel_only": as_rates(claimed_rates(evidence, among), classes),
            "n_items": int(among.sum()),
            "n_people_items": seen,
        }
    chosen = combinations(range(len(groups)), 2) if len(groups) <= ALL_COMPARED else ((0, k) for k in range(1, len(groups)))
    differences = []
    for a, b in chosen:
        one, two, first, second = code == a, code == b, rates[a], rates[b]
        pairs = None if pair is None else find_pairs(one, two, pair)
        between: Rates | None = None
        if first is not None and second is not None:
            between = [
                difference(left, right, correlation(evidence, c, one, two, pairs))
                for c, (left, right) in enumerate(zip(first, second, strict=True))
            ]
        known = {"difference": as_rates(between, classes), "pairs": None if pairs is None else len(pairs)}
        differences.append({"first": groups[a], "second": groups[b], **known})
    notes = []
    if few:
        many = f"People saw fewer than {FEWEST_ITEMS} items of {counted(len(few), 'group')} ({listed(few, 3)})"
        notes.append(f"{many}: there people's labels are taken alone, and where there are none no rate is given.")
    return by_group, differences, notes


def find_pairs(one: BoolArray, two: BoolArray, common: Sequence[str | None]) -> IntArray:
    """Return the items of two groups that have the same name in common, shape (n_pairs, 2); a name may occur once in each."""
    places: list[dict[str, int]] = [{}, {}]
    for group, rows in zip((one, two), places, strict=True):
        for j in np.flatnonzero(group).tolist():
            name = common[j]
            if name is None:
                continue
            if name in rows:
                raise DataError(
                    f"Two items of one group are both paired by {shown(name)}; a pair has one item of each group. Name another "
                    "column with --pair; this one may be the --cluster."
                )
            rows[name] = j
    both = [(places[0][name], places[1][name]) for name in places[0] if name in places[1]]
    return np.array(both, int).reshape(-1, 2)
