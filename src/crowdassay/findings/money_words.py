"""What it will cost, in words: the same on the terminal and in the report."""

from __future__ import annotations

from crowdassay.findings.money import Ask, Money, Way
from crowdassay.labels.values import counted
from crowdassay.planning.expert import KNOWN_ITEMS


def headline(money: Money) -> str:
    """Return the answer to "What will it cost?" in a figure: money where the prices are known, else what is asked for.

    >>> from crowdassay.findings.money import Ask
    >>> def with_price(price):
    ...     cost = None if price is None else 3 * price
    ...     return Money("", None, price, None, None, None, 9, 3, 0, None, (Way(Ask.EXPERT, 0, 0, 3, cost, 3, None),))
    >>> headline(with_price(None)), headline(with_price(1.5))
    ('3 answers', '4.50')
    """
    if not money.open_items:
        return "nothing"
    if money.chance:
        return "unknown"
    if money.alone == money.open_items:
        return "a second label"
    way = money.way(Ask.KNOWN) or money.best
    assert way is not None  # something is open
    if way.cost is not None:
        return money.amount(way.cost)
    if way.answers >= way.on_items:  # what settles more; the sentence has the rest
        return counted(way.answers, "answer") if money.per_answer is None else money.amount(way.answers * money.per_answer)
    return counted(way.labels, "label") if money.per_label is None else money.amount(way.labels * money.per_label)


def advice(money: Money) -> str:
    """Return what to ask for and what that would settle, in a few sentences."""
    if not money.open_items:
        return "Every item is settled."
    if money.chance:
        return "These labels agree no better than chance, so that more of them would settle nothing. Check the question first."
    some = counted(min(KNOWN_ITEMS, money.alone), "item")
    price = "" if money.per_label is None else f" ({money.amount(min(KNOWN_ITEMS, money.alone) * money.per_label)})"
    if money.alone == money.open_items:
        return (
            f"Let a second worker label {some}{price}: until workers can be compared, nothing shows how many labels it takes. "
            f"{_settles(money, money.ways[-1], money.ways[-1].asks)}"
        )
    known, best = money.way(Ask.KNOWN), money.best
    if known is not None:
        labelled = (way for way in money.ways if way.labels and way.ask != Ask.SECOND_WORKER)
        way = next(labelled)  # what labels alone would do: too little
        return (
            f"Let an expert answer {counted(known.answers, 'item')} drawn at random. Given as known, they show how far all "
            f"labels can be trusted; nothing does today. {_settles(money, way, counted(way.labels, 'more label'))}"
        )
    assert best is not None  # something is open
    lone = f" Of {counted(money.alone, 'item')} nothing can be said until a second worker labels some." if money.alone else ""
    return f"{_settles(money, best, best.asks)}{lone}"


def _settles(money: Money, way: Way, asks: str) -> str:
    """Return what a way settles and what the error becomes, in a sentence that begins with what it asks for."""
    cost = "" if way.cost is None else f", {money.amount(way.cost)},"
    some = f"{way.settles:,} of {counted(money.open_items, 'open item')}" if way.settles else "no item"
    some = "what is open" if way.settles == money.open_items else some
    fall = ""
    if money.error is not None and way.error_after is not None:
        now, then = f"{money.error:.1%}", f"{way.error_after:.1%}"
        falls = f"stay at {now}" if now == then else f"fall from {now} to {then}"
        fall = f"; the expected error would {falls}"
    return f"{asks[0].upper()}{asks[1:]}{cost} would settle {some}{fall}."


def missing_prices(money: Money) -> str:
    """Return which prices were not given, of those that the ways to settle what is open need; empty where none is missing."""
    if money.chance:
        return ""  # nobody should pay for more of these
    labels = money.per_label is None and any(way.labels for way in money.ways)
    answers = money.per_answer is None and any(way.answers for way in money.ways)
    if labels and answers:
        return "No prices were given (--cost, --expert-cost)."
    if labels:
        return "No price of a label was given (--cost)."
    return "No price of an expert's answer was given (--expert-cost)." if answers else ""


def spending(money: Money) -> str:
    """Return what was spent so far, empty where no price of a label is known."""
    if money.spent is None:
        return ""
    each = money.per_settled_item
    settled = "" if each is None else f", {money.amount(each)} for each settled item"
    removed = money.spent_on_removed
    vain = f" {money.amount(removed)} of it went to workers to remove." if removed else ""
    return f"Spent so far: {money.amount(money.spent)}{settled}.{vain}"
