"""Strata of items: as given, or by how far judges disagree, so that people may look at disputed items more often."""

from __future__ import annotations

import numpy as np
from scipy.stats import chisquare

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError
from crowdassay.judges.people import People
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.values import counted, shown

PARTS = 3
SMALLEST = 0.05  # share of items that a stratum by disagreement has at least
LEAST_IN_EACH_STRATUM = 5  # people's items in each stratum from which strata by disagreement are used
ALWAYS_STRATIFIED = 60  # people's items from which they are always used
ODD = 0.01  # p-value from which fewer items look as if they were not drawn at random


def disagreement(verdicts: Verdicts) -> FloatArray:
    """Return for each item the share of verdicts that are not its most common answer, shape (n_items,)."""
    counts = np.zeros((verdicts.n_items, len(verdicts.answers)))
    np.add.at(counts, (verdicts.item, verdicts.answer), 1)
    return np.asarray(1 - counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1))


def disputed_strata(verdicts: Verdicts) -> IntArray:
    """Return a stratum for each item, from agreed to disputed; people's labels have no part in it.

    Items drawn at random within these strata, however many of each, may be put together with any others drawn so.
    """
    value = disagreement(verdicts)
    cuts = np.unique(np.quantile(value, np.arange(1, PARTS) / PARTS))
    stratum = np.searchsorted(cuts, value, side="left")
    _, stratum = np.unique(stratum, return_inverse=True)
    sizes = np.bincount(stratum)
    for h in range(len(sizes) - 1, 0, -1):  # small ones join the next below
        if (stratum == h).sum() < SMALLEST * len(stratum):
            stratum[stratum == h] = h - 1
    if (stratum == 0).sum() < SMALLEST * len(stratum) and stratum.any():
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
    odd = float(chisquare(seen, n * sizes / sizes.sum()).pvalue) < ODD if n < verdicts.n_items else False
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
    """Return codes for strata that were given, refusing those that cannot be used.

    Parameters
    ----------
    names : list of str
        The stratum of each item.
    people : People
    """
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
