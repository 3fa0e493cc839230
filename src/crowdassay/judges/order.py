"""Does a judge's verdict depend on the order in which things were shown?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.judges.ppi import Interval, wilson
from crowdassay.judges.verdicts import Verdicts

LEAST_IN_EACH_ORDER = 10  # verdicts in each order, below which nothing is said


@dataclass(frozen=True)
class OrderBias:
    """How a judge's verdicts differ between two orders.

    Attributes
    ----------
    answer : str
        The answer whose share differs most.
    shift : Interval
        Its share in the first order less that in the second.
    flipped : float or None
        Share of items judged in both orders on which the verdict changed.
    items : int
        Items judged in both orders.
    orders : tuple of str
    """

    answer: str
    shift: Interval
    flipped: float | None
    items: int
    orders: tuple[str, str]

    def in_words(self) -> str:
        """Say what was found in a sentence."""
        first, second = self.orders
        if self.shift.low <= 0 <= self.shift.high:
            text = f"no clear effect of order on {self.answer}"
        else:
            more = "more" if self.shift.estimate > 0 else "less"
            text = (
                f"says {self.answer} {100 * abs(self.shift.estimate):.0f} points {more} often in order {first} than in {second}"
            )
        between = f" ({100 * self.shift.low:+.0f} to {100 * self.shift.high:+.0f})"
        flips = "" if self.flipped is None else f"; changes its verdict on {100 * self.flipped:.0f} % of {self.items} items"
        return text + between + flips


def order_bias(verdicts: Verdicts, order: IntArray, names: tuple[str, ...], judge: int) -> OrderBias | None:
    """Compare a judge's verdicts in the two most common orders.

    Parameters
    ----------
    verdicts : Verdicts
    order : ndarray of int, shape (n_verdicts,)
        Order of each verdict, a code into `names`; -1 where none is given.
    names : tuple of str
    judge : int
    """
    mine = (verdicts.judge == judge) & (order >= 0)
    counts = np.bincount(order[mine], minlength=max(len(names), 2))
    top = np.sort(np.argsort(-counts, kind="stable")[:2])
    if counts[top].min() < LEAST_IN_EACH_ORDER:
        return None
    tables = [np.bincount(verdicts.answer[mine & (order == o)], minlength=len(verdicts.answers)) for o in top]
    shares = [table / table.sum() for table in tables]
    a = int(np.abs(shares[0] - shares[1]).argmax())
    one, two = (wilson(float(share[a]), int(table.sum())) for share, table in zip(shares, tables, strict=True))
    shift = difference(one, two)
    flipped, items = _flips(verdicts, order, mine, top)
    return OrderBias(verdicts.answers[a], shift, flipped, items, (names[int(top[0])], names[int(top[1])]))


def difference(one: Interval, two: Interval, correlation: float = 0.0) -> Interval:
    """Return the interval of a difference from two intervals (Newcombe 1998; with correlated estimates, Zou 2008).

    >>> difference(wilson(0.8, 100), wilson(0.8, 100)).as_dict()
    {'estimate': 0.0, 'low': -0.111043, 'high': 0.111043}
    """
    below, above = one.estimate - one.low, one.high - one.estimate
    under, over = two.estimate - two.low, two.high - two.estimate
    estimate = one.estimate - two.estimate
    low = estimate - np.sqrt(max(below**2 + over**2 - 2 * correlation * below * over, 0))
    high = estimate + np.sqrt(max(above**2 + under**2 - 2 * correlation * above * under, 0))
    return Interval(estimate, max(float(low), -1.0), min(float(high), 1.0))


def _flips(verdicts: Verdicts, order: IntArray, mine: np.ndarray, top: IntArray) -> tuple[float | None, int]:
    answers = []
    for o in top:
        said = np.full(verdicts.n_items, -1)
        rows = mine & (order == o)
        said[verdicts.item[rows]] = verdicts.answer[rows]
        answers.append(said)
    both = (answers[0] >= 0) & (answers[1] >= 0)
    return (float((answers[0] != answers[1])[both].mean()) if both.any() else None), int(both.sum())
