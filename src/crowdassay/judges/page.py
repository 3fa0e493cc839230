"""The page about judges, and what it and the terminal say in sentences: the rate, the judges by name, items for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.judges.charts import judges_chart, likeness_chart, rates_chart, tables_chart
from crowdassay.judges.panel import AGREES_WELL, HARDLY_BETTER, WORSE_THAN_ONE_CLASS
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.rated import GROUPS, JUDGES, NEXT_FOR_PEOPLE, Rated, group_rows
from crowdassay.judges.redundancy import judges_gain
from crowdassay.labels.values import counted
from crowdassay.labels.write import write_bytes
from crowdassay.results.report.page import asset, check_report, on_page, render
from crowdassay.results.show import Section, table_section
from crowdassay.text import short

MOST_ROWS_ON_PAGE = 30
WHOLE = {"format": "share"}  # the page shows whole percents
JUDGE_COLUMNS = (
    "judge", "items", JUDGES.column("accuracy", **WHOLE), JUDGES.column("accuracy_low", **WHOLE), "kappa", "bias", "verdict",
)  # fmt: skip
GROUPS_SHOWN = ("group", "estimate", "low", GROUPS.column("seen", title="seen by people"))
JUDGES_NAMED = 8
TONES = {AGREES_WELL: "good", HARDLY_BETTER: "bad", WORSE_THAN_ONE_CLASS: "bad"}  # of verdicts, on the page
FAVOURABLE = ("pass", "passed", "correct", "true", "yes", "good", "1", "ok", "acceptable", "safe", "positive", "win")


def write_judges_report(rated: Rated, facts: dict[str, Any], path: str | Path, *, title: str | None = None) -> None:
    """Write the page as one HTML file that opens offline.

    Parameters
    ----------
    rated : Rated
    facts : dict
        As ``rated.as_dict()`` has them, with ``gate`` and ``against`` where there are any.
    path : str or Path
    title : str, optional
    """
    path = Path(path)
    check_report(path)
    write_bytes(build_judges_report(rated, facts, title=title).encode(), path)


def build_judges_report(rated: Rated, facts: dict[str, Any], *, title: str | None = None) -> str:
    """Return the page as HTML."""
    names, people, c = rated.verdicts.judges, rated.people, headline(rated.verdicts.classes)
    charts = {
        "rates": rates_chart(rated),
        "judges": judges_chart(rated),
        "likeness": likeness_chart(rated),
        "tables": tables_chart(rated),
    }
    return render(
        asset("judges.html"),
        on_page(charts),
        title=title or "Rates by judges and people",
        subtitle=f"{counted(rated.verdicts.n_items, 'item')}, {counted(len(names), 'judge')}; people saw "
        f"{counted(len(people.item), 'item')} ({counted(people.n_labels, 'label')}).",
        cards=_cards(rated),
        steps=[text for text in (to_do(rated) if len(rated.ahead.item) else "", to_drop(rated), about_help(rated)) if text],
        notes=[text for text in (about_people(rated), *rated.notes) if text],
        gate=facts.get("gate", []),
        groups=table_section("groups", "", GROUPS, group_rows(facts.get("by") or {}, rated.verdicts.classes[c]), GROUPS_SHOWN),
        differences=_differences(rated, facts),
        judges=_judges(rated),
        sentences=[*about_replacing(rated), *about_order(rated)],
        worth=about_worth(rated),
        next_items=table_section("items", "", NEXT_FOR_PEOPLE, rated.next_items().slice(0, MOST_ROWS_ON_PAGE)),
    )


def _cards(rated: Rated) -> list[dict[str, str]]:
    c = headline(rated.verdicts.classes)
    name, one, alone, claim = short(rated.verdicts.classes[c], 24), rated.rates[c], rated.alone[c], rated.claimed[c]
    level = f"{rated.confidence:.0%}"
    about = "of the system that gave these answers" if rated.beyond else f"of {counted(rated.verdicts.n_items, 'item')}"
    outside = not one.low <= claim.estimate <= one.high
    worth = rated.likeness.worth
    return [
        {"title": f"Rate of {name}", "value": f"{one.estimate:.1%}", "tone": "",
         "text": f"{one.low:.1%} to {one.high:.1%} ({level} interval) {about}."},
        {"title": "People alone", "value": f"{alone.estimate:.1%}", "tone": "",
         "text": f"{alone.low:.1%} to {alone.high:.1%}, from {counted(len(rated.people.item), 'item')} that people saw."},
        {"title": "Judges alone claim", "value": f"{claim.estimate:.1%}", "tone": "bad" if outside else "",
         "text": f"{claim.low:.1%} to {claim.high:.1%} "
         + ("is what they would be sure of, and people's labels contradict it." if outside
            else "is what they would be sure of; people's labels do not contradict it.")},
        {"title": "Judges are worth", "value": f"{worth:.1f}" if np.isfinite(worth) else "unknown", "tone": "",
         "text": f"independent ones, of {counted(len(rated.judges), 'judge')}."},
    ]  # fmt: skip


def _judges(rated: Rated) -> Section:
    order = rated.by_accuracy[:MOST_ROWS_ON_PAGE]
    rows = rated.judges_table().take(order).to_pylist()
    for i, row in zip(order, rows, strict=True):
        row["verdict"] += "; can be dropped without loss" if i in rated.droppable else ""
    tones = [TONES.get(rated.judges[i].verdict, "") for i in order]
    more = len(rated.judges) - MOST_ROWS_ON_PAGE
    note = f"{more} more are in the JSON." if more > 0 else ""
    return table_section("judges", "", JUDGES, rows, JUDGE_COLUMNS, note=note, tones=tones)


def _differences(rated: Rated, facts: dict[str, Any]) -> list[str]:
    name = rated.verdicts.classes[headline(rated.verdicts.classes)]
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
                f"{short(first)} less {short(second)}: {points}" + (f", in {pairs:,} pairs." if pairs is not None else ".")
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
        groups = "; ".join(_joined([names[i] for i in group]) for group in like.clusters[:4])
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
        text = f"May replace a person by the alternative annotator test: {_joined(passing)}."
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
    return f"Without loss you can drop {_joined([names[i] for i in drop])}{cost}."


def to_do(rated: Rated) -> str:
    """Return what the next labels of people would do."""
    return (
        f"{counted(len(rated.ahead.item), 'more item')} seen by people (--next) would make the interval about "
        f"{1 - rated.ahead.narrower:.0%} narrower."
    )


def _joined(names: list[str]) -> str:
    shown = names[:JUDGES_NAMED] + ([f"{len(names) - JUDGES_NAMED} more"] if len(names) > JUDGES_NAMED else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
