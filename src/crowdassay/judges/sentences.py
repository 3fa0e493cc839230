"""What was found about judges and people, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from crowdassay.judges.costs import judges_gain
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.rated import Rated
from crowdassay.labels.values import counted

JUDGES_NAMED = 8
FAVOURABLE = ("pass", "passed", "correct", "true", "yes", "good", "1", "ok", "acceptable", "safe", "positive", "win")


def headline(classes: Sequence[str]) -> int:
    """Return the class to show first: the one that means success, or else the first.

    >>> headline(["fail", "pass"]), headline(["A", "B"])
    (1, 0)
    """
    names = [name.strip().casefold() for name in classes]
    return next((names.index(word) for word in FAVOURABLE if word in names), 0)


def about_worth(rated: Rated) -> str:
    """Say how many independent judges the panel is worth, and who makes the same mistakes."""
    like, names = rated.likeness, rated.verdicts.judges
    if len(names) == 1:
        return ""
    if not np.isfinite(like.worth):
        return "How many independent judges these are worth cannot be told: people saw too few common items."
    between = f" ({like.low:.1f} to {like.high:.1f})" if like.high > like.low else ""
    text = f"{counted(like.judges, 'judge')} are worth {like.worth:.1f} independent ones{between}."
    if like.judges < len(names):
        text += f" Of {counted(len(names) - like.judges, 'other judge')} people saw too few items."
    if like.clusters:
        groups = "; ".join(_joined([names[i] for i in group]) for group in like.clusters[:4])
        text += f" These make the same mistakes: {groups}."
    return text


def about_people(rated: Rated) -> str:
    """Say how often people err, where that can be told."""
    people = rated.people
    if not people.error:
        return ""
    return (
        f"People err on {people.error:.1%} of labels, as {counted(people.pairs, 'pair')} of labels on the same item show; the "
        "rates are corrected for that, taking errors to be as likely in every class."
    )


def about_replacing(rated: Rated) -> list[str]:
    """Say which judges may replace a person."""
    tested = [(one.name, one.replaces) for one in rated.judges if one.replaces is not None]
    if not tested:
        return []
    passing = [f"{name} (wins against {test.winning_rate:.0%} of people)" for name, test in tested if test.passes]
    fewest = min(test.people for _, test in tested)
    if not passing:
        best = max(tested, key=lambda one: one[1].average_advantage)
        chance = f"the nearest is {best[0]}, as good as a person on {best[1].average_advantage:.0%} of items"
        text = f"No judge may replace a person by the alternative annotator test; {chance}."
    else:
        text = f"May replace a person by the alternative annotator test: {_joined(passing)}."
    return [text + (" With fewer than three people this is weak evidence." if fewest < 3 else "")]


def about_order(rated: Rated) -> list[str]:
    """Say which judges go by the order in which choices are shown."""
    if rated.orders is None:
        return []
    told = [
        f"{name} {bias.in_words()}."
        for name, bias in zip(rated.verdicts.judges, rated.orders, strict=True)
        if bias is not None and not bias.shift.low <= 0 <= bias.shift.high
    ]
    return told or ["No judge's verdicts clearly depend on the order in which choices were shown."]


def about_help(rated: Rated) -> str:
    """Say what the judges spare people, and what that is worth where costs are known."""
    n = len(rated.people.item)
    gain = judges_gain(rated.rates, rated.alone) if rated.rates[0].effective > 0 else 1.0
    if n < FEWEST_ITEMS or not 1.02 < gain < float("inf"):
        if rated.spent is None:
            return ""
        return f"The judges cost {rated.spent.judges:,.2f} and narrow the interval by nothing that could be told."
    text = f"The judges help: people alone would have to see {counted(round(gain * n), 'item')} for as narrow an interval."
    if rated.spent is None:
        return text
    more = rated.spent.alone - rated.spent.people
    worth = "less than the judges" if more < rated.spent.judges else "more than the judges"
    return f"{text} That would cost {more:,.2f} more, {worth}, who cost {rated.spent.judges:,.2f}."


def to_drop(rated: Rated) -> str:
    """Say which judges can be dropped without loss."""
    names, drop = rated.verdicts.judges, rated.droppable
    if not rated.dropped:
        return ""
    if not drop:
        return "No judge can be dropped for certain without loss."
    saved = next(step.saved for step in reversed(rated.dropped) if step.bearable)
    cost = f", which saves {saved:.0%} of their cost" if rated.costed else ""
    return f"Without loss you can drop {_joined([names[i] for i in drop])}{cost}."


def to_do(rated: Rated) -> str:
    """Say what the next labels of people would do."""
    return (
        f"{counted(len(rated.ahead.item), 'more item')} seen by people (--next) would make the interval about "
        f"{1 - rated.ahead.narrower:.0%} narrower."
    )


def _joined(names: list[str]) -> str:
    shown = names[:JUDGES_NAMED] + ([f"{len(names) - JUDGES_NAMED} more"] if len(names) > JUDGES_NAMED else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
