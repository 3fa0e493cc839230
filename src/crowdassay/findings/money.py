"""What the labels cost, what was spent in vain, and what it would cost to settle the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.findings.verdicts import REMOVE

if TYPE_CHECKING:
    from crowdassay.findings.insight import Insight

KNOWN_ITEMS = 50  # items of known class, from which on they are worth several points of error: docs/accuracy.md
HIGHEST_PRICE = 1e9  # for a label; more is a mistake


@dataclass(frozen=True)
class Money:
    """Costs in the unit of the price that was given.

    Attributes
    ----------
    per_label : float
        The price of a label, or the mean where prices differ.
    spent : float
    spent_on_removed : float
        On workers whom the advice says to remove.
    per_settled_item : float or None
        Everything spent by the number of items settled; None where none is.
    labels_to_settle : int
        About how many further labels would settle the items that labels can settle; the others are for experts.
    to_settle : float
        What they would cost.
    for_experts : int
        Items that labels would hardly settle.
    """

    per_label: float
    spent: float
    spent_on_removed: float
    per_settled_item: float | None
    labels_to_settle: int
    to_settle: float
    for_experts: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Return plain values for JSON."""
        return asdict(self)


def check_price(price: float) -> None:
    """Refuse a price that is none."""
    if not 0 <= price <= HIGHEST_PRICE:
        raise ParameterError(f"A label must cost between 0 and {HIGHEST_PRICE:,.0f}, not {price:g}.")


def count_money(insight: Insight, price: float | FloatArray) -> Money:
    """Return what labels cost and will cost.

    Parameters
    ----------
    insight : Insight
    price : float or ndarray of shape (n_workers,)
        The price of a label, or what each worker has been paid in all.

    Where more items are unsettled than were looked at, those looked at, which are the least sure, stand for the others.
    """
    n_labels = insight.n_labels
    if np.ndim(price) == 0:
        check_price(float(price))
    paid = np.asarray(price, float) * n_labels if np.ndim(price) == 0 else np.asarray(price, float)
    if paid.shape != n_labels.shape or not np.all(np.isfinite(paid)) or paid.min(initial=0) < 0:
        raise ParameterError("What workers were paid must be one amount of at least 0 for each of them.")
    total, spent = int(n_labels.sum()), float(paid.sum())
    each = spent / max(total, 1)
    removed = np.array([action == REMOVE for action in insight.actions], bool)
    needed, experts = further_labels(insight)
    settled = insight.totals.settled
    return Money(
        per_label=each,
        spent=spent,
        spent_on_removed=float(paid[removed].sum()),
        per_settled_item=spent / settled if settled else None,
        labels_to_settle=needed,
        to_settle=needed * each,
        for_experts=experts,
    )


def wants_known_items(insight: Insight) -> bool:
    """Return whether items of known class would help more than anything: none is known, and labels hardly settle most items.

    Only for methods that learn from known items how far labels can be trusted; those say how far datasets have been off.
    """
    needed, experts = further_labels(insight)
    return insight.record.spread is not None and insight.totals.known == 0 and experts > max(KNOWN_ITEMS, needed)


def further_labels(insight: Insight) -> tuple[int, int]:
    """Return about how many labels would settle the items that labels can settle, and how many items are for an expert."""
    items = insight.next_items
    if not items or not insight.connection.identified.any() or insight.chance:
        return 0, 0
    few = [one.labels for one in items if one.labels is not None]
    scale = max(insight.totals.unsettled / len(items), 1.0)
    return round(sum(few) * scale), round((len(items) - len(few)) * scale)
