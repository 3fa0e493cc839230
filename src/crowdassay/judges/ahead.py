r"""Which items people should look at next, to narrow the interval most for each label.

Of :math:`m` more labels, stratum :math:`h` (by how far judges disagree) gets what it lacks to the best allocation,
:math:`n_h \propto N_h \sqrt{\overline{q(1 - q)}_h}` (Neyman 1934), with :math:`q` the prediction of what people would say.
Within a stratum items are drawn at random: whoever picks the oddest ones learns nothing about the rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.people import People

KINDS = ("agreed", "in between", "disputed")


@dataclass(frozen=True, eq=False)
class Ahead:
    """Items for people.

    Attributes
    ----------
    item : ndarray of int, shape (m,)
    stratum : ndarray of int, shape (m,)
    narrower : float
        Expected width of the interval with these labels, as a share of what it is now.
    """

    item: IntArray
    stratum: IntArray
    narrower: float


def items_ahead(blind: FloatArray, stratum: IntArray, people: People, size: int, generator: np.random.Generator) -> Ahead:
    """Return the next items for people.

    Parameters
    ----------
    blind : ndarray, shape (n_items, n_classes)
        Predictions of what people would say.
    stratum : ndarray of int, shape (n_items,)
        By disagreement, as `disputed_strata` gives them.
    people : People
    size : int
        How many items.
    generator : numpy.random.Generator
    """
    free = np.ones(len(blind), bool)
    free[people.item] = False
    n_strata = int(stratum.max()) + 1
    sizes = np.bincount(stratum, minlength=n_strata).astype(float)
    seen = np.bincount(stratum[people.item], minlength=n_strata).astype(float)
    open_ = np.bincount(stratum[free], minlength=n_strata).astype(float)
    doubt = np.bincount(stratum, weights=(blind * (1 - blind)).sum(axis=1), minlength=n_strata) / sizes
    size = min(size, int(free.sum()))
    more = allocate(sizes * np.sqrt(doubt), seen, open_, size)
    chosen = []
    for h in np.argsort(-doubt, kind="stable"):
        rows = np.flatnonzero(free & (stratum == h))
        chosen.append(generator.permutation(rows)[: more[h]])
    item = np.concatenate(chosen) if chosen else np.zeros(0, int)
    if seen.min() < 2:  # as if drawn from all alike
        sizes, seen, more, doubt = (np.array([values.sum()]) for values in (sizes, seen, more, doubt))
    before, after = _variance(sizes, doubt, seen), _variance(sizes, doubt, seen + more)
    return Ahead(item, stratum[item], float(np.sqrt(after / before)) if before > 0 else 1.0)


def allocate(wish: FloatArray, seen: FloatArray, free: FloatArray, size: int) -> IntArray:
    """Return how many items to take of each stratum, so that all together come nearest to shares in proportion to `wish`.

    >>> allocate(np.array([1.0, 3.0]), np.array([5.0, 5.0]), np.array([50.0, 50.0]), 10).tolist()
    [0, 10]
    """
    more = np.zeros(len(wish), int)
    for _ in range(size):
        with np.errstate(divide="ignore", invalid="ignore"):
            lack = np.where(more < free, wish**2 / ((seen + more) * (seen + more + 1)), -1.0)
        lack = np.where((more < free) & (seen + more < 2), np.inf, lack)  # two of each, for a variance
        more[int(lack.argmax())] += 1
    return more


def _variance(sizes: FloatArray, doubt: FloatArray, seen: FloatArray) -> float:
    share = sizes / sizes.sum()
    return float((share**2 * doubt * (1 - seen / sizes) / np.maximum(seen, 1)).sum())
