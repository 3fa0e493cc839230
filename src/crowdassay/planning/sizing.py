"""How many labels and known items to order before anything is labelled, from what public crowds have done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import expit, stdtrit

from crowdassay.errors import ParameterError
from crowdassay.planning.stop import CLOSE_LIMIT, limit_of, population, shipped_law
from crowdassay.tables import Column, TableOf

COVERED = 0.9  # of new jobs, between the limits
WORTH = 0.01  # fall of the error for one more label on every item, below which more is not advised
KNOWN_ITEMS_OFFERED = (0, 20, 50, 100, 200, 500)
LARGEST_JOB = 10**10
SIZES = TableOf(
    "sizes",
    (
        Column("labels_per_item", format="count", about="Labels on every item."),
        Column("error", "expected error", "precise share", "Share of wrong labels to expect."),
        Column("error_low", f"{COVERED:.0%} of jobs", "precise share", "Lower limit of the error.", to="error_high"),
        Column("error_high", format="precise share", about="Upper limit of the error."),
        Column("labels", format="count", about="Labels in all."),
        Column("cost", format="money", about="What they cost."),
    ),
)


@dataclass(frozen=True)
class Size:
    """One row: labels per item, the error to expect with its limits, and what it comes to."""

    labels_per_item: int
    error: float
    error_low: float
    error_high: float
    labels: int
    cost: float


@dataclass(frozen=True, eq=False)
class Sizing:
    """What to order.

    Attributes
    ----------
    rows : list of Size
    advised : Size or None
        The row to take; None where no number of labels looked at reaches the target.
    known : list of tuple
        Known items, and the upper limit to expect with as many of them, at the advised error.
    known_advised : int
    groups : int
        Groups of public datasets behind it, of the kind asked for or of all.

    Examples
    --------
    >>> sizing = size_job(400, 3, target_error=0.2)
    >>> sizing.advised.labels == 400 * sizing.advised.labels_per_item
    True
    """

    rows: list[Size]
    advised: Size | None
    known: list[tuple[int, float]]
    known_advised: int
    groups: int

    def table(self) -> pa.Table:
        """Tabulate the rows, see `SIZES`."""
        return pa.Table.from_pylist([row.__dict__ for row in self.rows])


def kinds() -> list[str]:
    """Return the kinds of jobs that something is known of.

    >>> "relevance" in kinds()
    True
    """
    return sorted(population()["sizing"]["kinds"])


def size_job(
    n_items: int,
    n_classes: int,
    *,
    like: str | None = None,
    target_error: float | None = None,
    cost: float = 1.0,
) -> Sizing:
    r"""Return what error to expect with how many labels per item, and how many to order.

    The logit of the error, as a share of the error of guessing (1 - 1/K), is taken to be a job's own level plus the mean fall
    with the number of labels. Levels of new jobs scatter around the mean of their kind, which is drawn towards that of all
    kinds the more the fewer groups of datasets there are of it.

    Parameters
    ----------
    n_items, n_classes : int
    like : str, optional
        One of `kinds`; otherwise all public crowds.
    target_error : float, optional
        The error to reach. Without, as many labels are advised as each lower the error by a point or more.
    cost : float
        Of one label.

    Examples
    --------
    >>> few, many = size_job(1000, 3, like="relevance").rows[::6]
    >>> few.error > many.error, few.error_low < few.error < few.error_high
    (True, True)
    """
    if not 1 <= n_items <= LARGEST_JOB:
        raise ParameterError(f"--items must be a whole number from 1 to {LARGEST_JOB:,}, not {n_items:,}.")
    if n_classes < 2:
        raise ParameterError(f"--classes must be at least 2, not {n_classes}.")
    if like is not None and like not in kinds():
        raise ParameterError(f"--like takes one of {', '.join(kinds())}, not '{like}'.")
    if target_error is not None and not 0 < target_error < 1:
        raise ParameterError(f"--target-error must lie between 0 and 1, such as 0.05, not {target_error:g}.")
    if not np.isfinite(cost) or cost < 0:
        raise ParameterError(f"The cost of a label must be a number from 0, not {cost:g}.")
    learned = population()["sizing"]
    level, spread, groups = level_of(learned, like)
    rows = []
    for n, fall, scatter in zip(learned["labels"], learned["fall"], learned["fall_sd"], strict=True):
        low, middle, high = error_limits(level + fall, float(np.hypot(spread, scatter)), groups, n_classes)
        rows.append(Size(n, middle, low, high, n * n_items, round(n * n_items * cost, 2)))
    advised = _advise(rows, target_error)
    at = advised or rows[-1]
    law = shipped_law()
    known = [(m, limit_of(at.error, law, wrong=round(m * at.error), known=m).high) for m in KNOWN_ITEMS_OFFERED if m <= n_items]
    enough = next((m for m, high in known if high <= CLOSE_LIMIT * at.error), known[-1][0])
    return Sizing(rows, advised, known, enough, groups)


def error_limits(level: float, spread: float, groups: int, n_classes: int) -> tuple[float, float, float]:
    """Return the lower limit, the middle and the upper limit of the error of a new job, from its level on the logit scale."""
    tail = float(stdtrit(max(groups - 1, 3), (1 + COVERED) / 2)) * spread
    low, middle, high = (float((1 - 1 / n_classes) * expit(level + shift)) for shift in (-tail, 0.0, tail))
    return low, middle, high


def level_of(learned: dict[str, Any], like: str | None) -> tuple[float, float, int]:
    """Return the mean level of a new job, its standard deviation and the number of groups behind it."""
    if like is None:
        groups = sum(kind["groups"] for kind in learned["kinds"].values())
        return learned["mean"], learned["sd"], groups
    kind, inside = learned["kinds"][like], learned["within_kind_sd"] ** 2
    between = max(learned["sd"] ** 2 - inside, 0.05)
    weight = between / (between + inside / kind["groups"])
    level = weight * kind["mean"] + (1 - weight) * learned["mean"]
    return level, float(np.sqrt(inside + between * (1 - weight))), kind["groups"]


def _advise(rows: list[Size], target: float | None) -> Size | None:
    if target is not None:
        return next((row for row in rows if row.error <= target), None)
    at = 0
    while at < len(rows) - 1:  # one step alone may gain nothing: two labels are often split
        falls = [(rows[at].error - row.error) / (row.labels_per_item - rows[at].labels_per_item) for row in rows[at + 1 :]]
        if max(falls) < WORTH:
            break
        at += falls.index(max(falls)) + 1
    return rows[at]
