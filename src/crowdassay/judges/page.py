"""The page about judges, and what it and the terminal say in sentences: the rate, the judges by name, items for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crowdassay.judges.charts import judges_chart, likeness_chart, rates_chart, tables_chart
from crowdassay.judges.panel import AGREES_WELL, HARDLY_BETTER, WORSE_THAN_ONE_CLASS
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.rated import GROUPS, JUDGES, NEXT_FOR_PEOPLE, Rated, group_rows
from crowdassay.judges.redundancy import judges_gain
from crowdassay.labels.values import counted
from crowdassay.results.report.overview import worth_knowing
from crowdassay.results.report.page import Findings
from crowdassay.results.show import Section, card, table_section
from crowdassay.text import joined, short

MOST_ROWS_ON_PAGE = 30
WHOLE = {"format": "share"}  # the page shows whole percents
JUDGE_COLUMNS = (
    "judge", "items", JUDGES.column("accuracy", **WHOLE), JUDGES.column("accuracy_low", **WHOLE), "kappa", "bias", "verdict",
)  # fmt: skip
GROUPS_SHOWN = ("group", "estimate", "low", GROUPS.column("seen", title="seen by people"))
JUDGES_NAMED = 8
TONES = {AGREES_WELL: "good", HARDLY_BETTER: "bad", WORSE_THAN_ONE_CLASS: "bad"}  # of verdicts, on the page
FAVOURABLE = ("pass", "passed", "correct", "true", "yes", "good", "1", "ok", "acceptable", "safe", "positive", "win")


def judges_page(rated: Rated, facts: dict[str, Any], title: str = "Rates by judges and people") -> Findings:
    """Return the page; ``facts`` are those of ``rated.as_dict()``, with ``gate`` and ``against`` where there are any."""
    people, success = rated.people, rated.verdicts.classes[headline(rated.verdicts.classes)]
    return Findings(
        title,
        f"{counted(rated.verdicts.n_items, 'item')}, {counted(len(rated.judges), 'judge')}; people saw "
        f"{counted(len(people.item), 'item')} ({counted(people.n_labels, 'label')}).",
        notes=list(filter(None, (about_people(rated), *rated.notes))),
        cards=_cards(rated),
        charts={
            "rates": rates_chart(rated),
            "judges": judges_chart(rated),
            "likeness": likeness_chart(rated),
            "tables": tables_chart(rated),
        },
        template="judges.html",
        more={
            "steps": worth_knowing([to_do(rated), to_drop(rated), about_help(rated)]),
            "gate": facts.get("gate", []),
            "groups": table_section("groups", "", GROUPS, group_rows(facts.get("by") or {}, success), GROUPS_SHOWN),
            "differences": _differences(facts, success),
            "judges": _judges(rated),
            "sentences": [*about_replacing(rated), *about_order(rated)],
            "worth": about_worth(rated),
            "next_items": table_section("items", "", NEXT_FOR_PEOPLE, rated.next_items().slice(0, MOST_ROWS_ON_PAGE)),
        },
    )


def _cards(rated: Rated) -> list[dict[str, str]]:
    c = headline(rated.verdicts.classes)
    name, one, alone, claim = short(rated.verdicts.classes[c], 24), rated.rates[c], rated.alone[c], rated.claimed[c]
    about = "of the system that gave these answers" if rated.beyond else f"of {counted(rated.verdicts.n_items, 'item')}"
    between = [f"{rate.low:.1%} to {rate.high:.1%}" for rate in (one, alone, claim)]
    outside = not one.low <= claim.estimate <= one.high
    sure = "is what they would be sure of, and people's labels contradict it."
    sure = sure if outside else "is what they would be sure of; people's labels do not contradict it."
    worth = f"{rated.likeness.worth:.1f}" if np.isfinite(rated.likeness.worth) else "unknown"
    seen = f"from {counted(len(rated.people.item), 'item')} that people saw."
    return [
        card(f"Rate of {name}", f"{one.estimate:.1%}", f"{between[0]} ({rated.confidence:.0%} interval) {about}."),
        card("People alone", f"{alone.estimate:.1%}", f"{between[1]}, {seen}"),
        card("Judges alone claim", f"{claim.estimate:.1%}", f"{between[2]} {sure}", "bad" if outside else ""),
        card("Judges are worth", worth, f"independent ones, of {counted(len(rated.judges), 'judge')}."),
    ]


def _judges(rated: Rated) -> Section:
    order = rated.by_accuracy[:MOST_ROWS_ON_PAGE]
    rows = rated.judges_table().take(order).to_pylist()
    for i, row in zip(order, rows, strict=True):
        row["verdict"] += "; can be dropped without loss" if i in rated.droppable else ""
    tones = [TONES.get(rated.judges[i].verdict, "") for i in order]
    more = len(rated.judges) - MOST_ROWS_ON_PAGE
    note = f"{counted(more, 'more is', 'more are')} in the JSON." if more > 0 else ""
    return table_section("judges", "", JUDGES, rows, JUDGE_COLUMNS, note=note, tones=tones)


def _differences(facts: dict[str, Any], name: str) -> list[str]:
    """Return by how much the rate of a class differs between systems or groups, in sentences."""
    several = [(one["first"], one["second"], one["difference"], one["pairs"]) for one in facts.get("differences") or []]
    if facts.get("against"):
        several.append(
            ("These verdicts", "those of the other system", facts["against"]["difference"], facts["against"]["pairs"])
        )
    said = []
    for first, second, difference, pairs in several[:MOST_ROWS_ON_PAGE]:
        if difference:
            one = difference[name]
            points = f"{100 * one['estimate']:+.1f} points ({100 * one['low']:+.1f} to {100 * one['high']:+.1f})"
            said.append(
                f"{short(first)} less {short(second)}: {points}"
                + (f", in {counted(pairs, 'pair')}." if pairs is not None else ".")
            )
    return said


def headline(classes: Sequence[str]) -> int:
    """Return the class to show first: the one that means success, or else the first.

    >>> headline(["fail", "pass"]), headline(["A", "B"])
    (1, 0)
    """
    names = [name.strip().casefold() for name in classes]
    return next((names.index(word) for word in FAVOURABLE if word in names), 0)


def about_worth(rated: Rated) -> str:
    """Return how many independent judges the panel is worth, and who makes the same mistakes."""
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
        groups = "; ".join(joined([names[i] for i in group], JUDGES_NAMED) for group in like.clusters[:4])
        text += f" These make the same mistakes: {groups}."
    return text


def about_people(rated: Rated) -> str:
    """Return how often people err, where that is known."""
    people = rated.people
    if not people.error:
        return ""
    return (
        f"People err on {people.error:.1%} of labels, as {counted(people.pairs, 'pair')} of labels on the same item show; the "
        "rates are corrected for that, taking errors to be as likely in every class."
    )


def about_replacing(rated: Rated) -> list[str]:
    """Return which judges may replace a person."""
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
        text = f"May replace a person by the alternative annotator test: {joined(passing, JUDGES_NAMED)}."
    return [text + (" With fewer than three people this is weak evidence." if fewest < 3 else "")]


def about_order(rated: Rated) -> list[str]:
    """Return which judges go by the order in which choices are shown."""
    if rated.orders is None:
        return []
    told = [
        f"{name} {bias.in_words()}."
        for name, bias in zip(rated.verdicts.judges, rated.orders, strict=True)
        if bias is not None and not bias.shift.low <= 0 <= bias.shift.high
    ]
    return told or ["No judge's verdicts clearly depend on the order in which choices were shown."]


def about_help(rated: Rated) -> str:
    """Return what the judges save people, and what that is worth where costs are known."""
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
    """Return which judges can be dropped without loss."""
    names, drop = rated.verdicts.judges, rated.droppable
    if not rated.dropped:
        return ""
    if not drop:
        return "No judge can be dropped for certain without loss."
    saved = next(step.saved for step in reversed(rated.dropped) if step.bearable)
    cost = f", which saves {saved:.0%} of their cost" if rated.costed else ""
    return f"Without loss you can drop {joined([names[i] for i in drop], JUDGES_NAMED)}{cost}."


def to_do(rated: Rated) -> str:
    """Return what the next labels of people would do, where there are items for them."""
    if not len(rated.ahead.item):
        return ""
    return (
        f"{counted(len(rated.ahead.item), 'more item')} seen by people (--next) would make the interval about "
        f"{1 - rated.ahead.narrower:.0%} narrower."
    )
