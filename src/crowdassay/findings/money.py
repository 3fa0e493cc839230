"""What the labels cost, what was spent in vain, and what it would cost to settle the rest: by labels, or by an expert."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.findings.items import ItemStanding
from crowdassay.findings.verdicts import REMOVE
from crowdassay.labels.values import counted
from crowdassay.planning.expert import KNOWN_ITEMS
from crowdassay.planning.gain import LABELS_AHEAD, Worth
from crowdassay.tables import Column, TableOf

if TYPE_CHECKING:
    from crowdassay.findings.insight import Insight

HIGHEST_PRICE = 1e9  # for a label or an answer; more is a mistake
LONGEST_CURRENCY = 8  # characters
CURRENCY_SIGNS = "$€£¥₹₽₩₺₴"  # of currencies, which stand before the amount


class Ask(StrEnum):
    """Ways to settle what is open, and what to ask for on an item."""

    LABELS = "labels"  # as many as settle an item
    ONE_EACH = "one label each"
    KNOWN = "known items"  # some, drawn at random, from an expert
    EXPERT = "expert"
    BOTH = "both"  # labels on some items and an expert's answers to the others
    SECOND_WORKER = "second worker"  # on an item that nothing can be said of


WAYS_TO_SETTLE = TableOf(
    "ways",
    (
        Column("asks", "ask for", about="Labels, answers by an expert, or both."),
        Column("cost", "cost", "figure", "What that costs.", missing="no price given"),
        Column("settles", "settles", "figure", "Items that it is expected to settle, of those that are open."),
        Column("error_after", "expected error then", "precise share", "Expected share of wrong labels afterwards."),
    ),
)


@dataclass(frozen=True)
class Way:
    """A way to settle open items: what it asks for, what that costs, and what it buys.

    Attributes
    ----------
    ask : Ask
        'labels' where they settle items, 'one label each' on every open item, 'known items', 'expert' or 'both'.
    labels, on_items : int
        Further labels, and the items that they are for.
    answers : int
        Items that an expert answers.
    cost : float or None
        None where a price is missing.
    settles : int
        Items that are expected to be settled by it.
    error_after : float or None
        The expected share of wrong labels afterwards; None where the error is not estimated.
    """

    ask: Ask
    labels: int
    on_items: int
    answers: int
    cost: float | None
    settles: int
    error_after: float | None

    @property
    def asks(self) -> str:
        """What it asks for, in words.

        >>> Way(Ask.BOTH, 49, 4, 1, None, 5, None).asks
        "49 labels on 4 items and an expert's answer to 1 item"
        """
        labels = f"{counted(self.labels, 'label')} on {counted(self.on_items, 'item')}"
        if self.ask in {Ask.ONE_EACH, Ask.SECOND_WORKER}:
            who = "a second worker's" if self.ask == Ask.SECOND_WORKER else "one more"
            return f"{who} label on {'' if self.on_items == 1 else 'each of '}{counted(self.on_items, 'item')}"
        answers = f"an expert's {'answer' if self.answers == 1 else 'answers'} to {counted(self.answers, 'item')}"
        answers += " drawn at random" if self.ask == Ask.KNOWN else ""
        return " and ".join(words for words, there in ((labels, self.labels), (answers, self.answers)) if there)


@dataclass(frozen=True)
class Money:
    """Costs in the unit of the prices that were given, and the ways to settle what is open.

    Attributes
    ----------
    currency : str
    per_label : float or None
        The price of a label, or the mean where prices differ; None where none was given.
    per_answer : float or None
        The price of an expert's answer to an item.
    spent, spent_on_removed : float or None
        In all, and on workers whom the advice says to remove.
    per_settled_item : float or None
        Everything spent by the number of items settled; None where none is.
    items, open_items, alone : int
        Items, those that are not settled, and those among them of which nothing can be said: see
        `crowdassay.findings.items.OpenItems`.
    error : float or None
        The expected share of wrong labels, as it is estimated today.
    ways : tuple of Way
        By a second worker's labels, by labels that settle items, by one more label on each, by some items known from an expert
        where that comes first, by an expert, and by both where that is another way. Empty where nothing is open; without labels
        where these tell nothing.
    chance : bool
        Whether labels agree no better than chance, so that more of them would tell nothing.
    """

    currency: str
    per_label: float | None
    per_answer: float | None
    spent: float | None
    spent_on_removed: float | None
    per_settled_item: float | None
    items: int
    open_items: int
    alone: int
    error: float | None
    ways: tuple[Way, ...]
    chance: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    def way(self, ask: Ask) -> Way | None:
        """Return the way that asks for labels, for an expert, or for both; None where there is none."""
        return next((way for way in self.ways if way.ask == ask), None)

    @property
    def best(self) -> Way | None:
        """The cheapest of the ways that settle all there is, or the one that settles most where prices are missing."""
        most = max((way.settles for way in self.ways), default=0)
        full = [way for way in self.ways if way.settles == most > 0]
        if full and all(way.cost is not None for way in full):
            return min(full, key=lambda way: way.cost or 0.0)
        return next((way for ask in (Ask.LABELS, Ask.BOTH, Ask.EXPERT) for way in full if way.ask == ask), None)

    def amount(self, value: float) -> str:
        """Return an amount of money as people read it.

        >>> Money("EUR", *[None] * 5, 3, 0, 0, None, ()).amount(2.45)
        '2.45 EUR'
        """
        sign = self.currency in tuple(CURRENCY_SIGNS)
        return f"{self.currency}{value:,.2f}" if sign else f"{value:,.2f} {self.currency}".rstrip()

    @property
    def shown(self) -> list[str]:
        """The columns of `WAYS_TO_SETTLE` that people see: the cost where there are prices, the error where it is estimated."""
        there = {"cost": self.per_label is not None or self.per_answer is not None, "error_after": self.error is not None}
        return [column.name for column in WAYS_TO_SETTLE.columns if there.get(column.name, True)]

    def rows(self) -> list[dict[str, Any]]:
        """Return the ways as people read them: see `WAYS_TO_SETTLE`."""
        return [
            {
                "asks": way.asks,
                "cost": None if way.cost is None else self.amount(way.cost),
                "settles": f"{way.settles:,} of {self.open_items:,}",
                "error_after": way.error_after,
            }
            for way in self.ways
        ]


def check_price(price: float, what: str = "A label") -> None:
    """Refuse a price that is none."""
    if not 0 <= price <= HIGHEST_PRICE:
        raise ParameterError(f"{what} must cost between 0 and {HIGHEST_PRICE:,.0f}, not {price:g}.")


def check_currency(currency: str) -> None:
    """Refuse what is no currency."""
    if len(currency) > LONGEST_CURRENCY or not currency.isprintable():
        raise ParameterError(f"A currency is a sign or a few letters, such as $ or EUR, not {currency[:40]!r}.")


def count_money(
    insight: Insight, price: float | FloatArray | None = None, *, expert: float | None = None, currency: str = ""
) -> Money:
    """Return what labels have cost, and what it takes to settle the rest.

    Parameters
    ----------
    insight : Insight
    price : float or ndarray of shape (n_workers,), optional
        The price of a label, or what each worker has been paid in all.
    expert : float, optional
        The price of an expert's answer to an item.
    currency : str
    """
    check_currency(currency)
    if expert is not None:
        check_price(expert, "An expert's answer")
    each = spent = in_vain = None
    if price is not None:
        if np.ndim(price) == 0:
            check_price(float(price))
            price = np.full(len(insight.n_labels), price) * insight.n_labels
        paid = np.asarray(price, np.float64)
        if paid.shape != insight.n_labels.shape or not np.all(np.isfinite(paid)) or paid.min(initial=0) < 0:
            raise ParameterError("What workers were paid must be one amount of at least 0 for each of them.")
        spent, in_vain = float(paid.sum()), float(paid[np.asarray(insight.actions, object) == REMOVE].sum())
        each = spent / max(int(insight.n_labels.sum()), 1)
    settled, left = insight.totals.settled, insight.left
    return Money(
        currency=currency,
        per_label=each,
        per_answer=expert,
        spent=spent,
        spent_on_removed=in_vain,
        per_settled_item=spent / settled if spent is not None and settled else None,
        items=insight.totals.items,
        open_items=left.count,
        alone=left.alone,
        error=None if insight.error is None else insight.error.error,
        ways=_ways(insight, each, expert),
        chance=insight.chance,
    )


def _ways(insight: Insight, label: float | None, expert: float | None) -> tuple[Way, ...]:
    left, steps = insight.left, np.arange(LABELS_AHEAD + 2)
    n_open, within = int(left.items.sum()), steps <= LABELS_AHEAD

    def way(ask: Ask, labels: int, on_items: int, answers: int, settles: int, gain: float) -> Way:
        prices = ((labels, label), (answers, expert))
        cost = None if any(n and price is None for n, price in prices) else sum(n * (price or 0.0) for n, price in prices)
        error = insight.error
        after = None if error is None else max(0.0, round(error.error - error.factor * gain / insight.totals.items, 12))
        return Way(ask, labels, on_items, answers, cost, settles, after)

    def divide(ask: Ask, labelled: Any) -> Way:
        """Ask for labels on some of the items, by how many they need, and for an expert's answers to the others."""
        on = int(left.items[labelled].sum())
        gain = float(left.by_labels[labelled].sum() + left.by_expert[~labelled].sum())
        return way(ask, int((left.items * steps)[labelled].sum()), on, left.count - on, left.count, gain)

    if not left.count:
        return ()
    by_expert = divide(Ask.EXPERT, np.zeros(len(steps), bool))
    if insight.chance:
        return (by_expert,)
    some = min(KNOWN_ITEMS, left.alone)  # what these labels settle nobody knows before
    second = [way(Ask.SECOND_WORKER, some, some, 0, 0, 0.0)] if some else []
    if not n_open:
        return (*second, by_expert)
    by_labels, ways = divide(Ask.LABELS, within), second
    if by_labels.labels:
        gain = float(left.by_labels.sum())
        ways.append(way(Ask.LABELS, by_labels.labels, by_labels.on_items, 0, by_labels.on_items, gain))
    if set(left.items.nonzero()[0]) - {1}:  # else it is the same as the one before
        gain, settles = left.one_each
        ways.append(way(Ask.ONE_EACH, n_open, n_open, 0, int(settles), float(gain)))
    if wants_known_items(insight):  # as many are right or wrong, settled or open, as of all
        known = min(KNOWN_ITEMS, insight.totals.items)
        share = known / insight.totals.items
        ways.append(way(Ask.KNOWN, 0, 0, known, round(share * left.count), share * insight.totals.wrong))
    ways.append(by_expert)
    cheaper = within if label is None or expert is None else within & (steps * label <= expert)
    both = divide(Ask.BOTH, cheaper)
    return (*ways, both) if both.labels and both.answers else tuple(ways)


def wants_known_items(insight: Insight) -> bool:
    """Return whether items of known class would help more than anything: none is known, and labels hardly settle most items.

    Only for methods that learn from known items how far labels can be trusted; those say how far datasets have been off.
    """
    hard, easy = int(insight.left.items[-1]), int(insight.left.items[:-1].sum())
    told = insight.record.spread is not None and insight.totals.known == 0 and not insight.chance
    return told and hard > max(KNOWN_ITEMS, easy)


def in_order(insight: Insight, money: Money) -> list[tuple[Worth, Ask, float | None]]:
    """Return the open items in the order in which to begin, what to ask for on each, and what that costs.

    Labels are asked for where they settle an item and cost no more than an expert; else an expert's answer is. With both
    prices, what removes most errors for the money comes first. Otherwise labels and answers cannot be compared: what settles
    more items comes first, and within it what removes most errors, by label or by answer.
    """
    rows: list[tuple[Worth, Ask, float | None]] = []
    for worth in insight.next_items:
        labels = None if money.per_label is None or worth.labels is None else worth.labels * money.per_label
        dear = labels is not None and money.per_answer is not None and labels > money.per_answer
        if not insight.chance and insight.standing[worth.item] == ItemStanding.UNIDENTIFIABLE:
            rows.append((worth, Ask.SECOND_WORKER, money.per_label))
        elif insight.chance or worth.labels is None or dear:
            rows.append((worth, Ask.EXPERT, money.per_answer))
        else:
            rows.append((worth, Ask.LABELS, labels))
    count = {ask: sum(one == ask for _, one, _ in rows) for ask in (Ask.LABELS, Ask.EXPERT, Ask.SECOND_WORKER)}
    priced = all(cost is not None for *_, cost in rows)

    def key(row: tuple[Worth, Ask, float | None]) -> tuple[bool, int, float]:
        worth, ask, cost = row
        gain = worth.by_labels if ask == Ask.LABELS else worth.expert
        per = max(cost or 0.0, 1e-9) if priced else worth.labels or 1 if ask == Ask.LABELS else 1
        return ask == Ask.SECOND_WORKER, 0 if priced else -count[ask], -round(gain / per, 9)

    return sorted(rows, key=key)  # equals stay in the order of what one more label gains
