"""The page about judges, and what it and the terminal say in sentences: the rate, the judges by name, items for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.judges.charts import judges_chart, likeness_chart, rates_chart, tables_chart
from crowdassay.judges.ppi import FEWEST_ITEMS
from crowdassay.judges.rated import Rated
from crowdassay.judges.redundancy import judges_gain
from crowdassay.labels.values import counted
from crowdassay.labels.write import write_bytes
from crowdassay.results.report.build import check_report
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.html import asset, render
from crowdassay.text import short
from crowdassay.version import VERSION

ROWS_SHOWN = 30
NARROW = ("likeness", "tables")  # squares keep their size, the others fill the page
JUDGES_NAMED = 8
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
    names, people = rated.verdicts.judges, rated.people
    worth = about_worth(rated)
    return render(
        asset("judges.html"),
        _charts(rated),
        title=short(title or "Rates by judges and people", 120),
        subtitle=f"{counted(rated.verdicts.n_items, 'item')}, {counted(len(names), 'judge')}; people saw "
        f"{counted(len(people.item), 'item')} ({counted(people.n_labels, 'label')}).",
        cards=_cards(rated),
        steps=[text for text in (to_do(rated) if len(rated.ahead.item) else "", to_drop(rated), about_help(rated)) if text],
        notes=[text for text in (about_people(rated), *rated.notes) if text],
        gate=facts.get("gate", []),
        groups=_groups(rated, facts),
        differences=_differences(rated, facts),
        judges=_judges(rated),
        judges_note="" if len(names) <= ROWS_SHOWN else f"{len(names) - ROWS_SHOWN} more are in the JSON.",
        sentences=[*about_replacing(rated), *about_order(rated)],
        worth=worth,
        items=[
            {**row, "item": short(row["item"]), "label": short(row["label"]), "probability": f"{row['probability']:.0%}"}
            for row in rated.next_items().slice(0, ROWS_SHOWN).to_pylist()
        ],
        version=VERSION,
    )


def _charts(rated: Rated) -> dict[str, Chart]:
    made = {
        "rates": rates_chart(rated),
        "judges": judges_chart(rated),
        "likeness": likeness_chart(rated),
        "tables": tables_chart(rated),
    }
    charts = {}
    for name, chart in made.items():
        if chart is not None:
            bare = {key: value for key, value in chart.spec.items() if key != "title"}  # the page has headings of its own
            charts[name] = Chart(bare if name in NARROW else {**bare, "width": "container"}, chart.note)
    return charts


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


def _judges(rated: Rated) -> list[dict[str, str]]:
    drop = {rated.verdicts.judges[i] for i in rated.droppable}
    return [
        {
            "judge": short(one.name),
            "items": f"{one.items:,}",
            "accuracy": "–" if one.accuracy is None else f"{one.accuracy.estimate:.0%}",
            "interval": "–" if one.accuracy is None else f"{one.accuracy.low:.0%} to {one.accuracy.high:.0%}",
            "kappa": "–" if one.kappa is None else f"{one.kappa:.2f}",
            "bias": one.bias,
            "verdict": one.verdict + ("; can be dropped without loss" if one.name in drop else ""),
            "tone": "good" if "well" in one.verdict else "bad" if "guess" in one.verdict or "worse" in one.verdict else "",
        }
        for one in (rated.judges[i] for i in rated.by_accuracy[:ROWS_SHOWN])
    ]


def _groups(rated: Rated, facts: dict[str, Any]) -> list[dict[str, str]]:
    name, rows = rated.verdicts.classes[headline(rated.verdicts.classes)], []
    for group, one in (facts.get("by") or {}).items():
        rate = one["rate"] and one["rate"][name]
        rows.append(
            {
                "group": short(group),
                "rate": f"{rate['estimate']:.1%}" if rate else "–",
                "interval": f"{rate['low']:.1%} to {rate['high']:.1%}" if rate else "–",
                "seen": f"{one['n_people_items']:,} of {one['n_items']:,}",
            }
        )
    return rows


def _differences(rated: Rated, facts: dict[str, Any]) -> list[str]:
    name = rated.verdicts.classes[headline(rated.verdicts.classes)]
    several = [(one["first"], one["second"], one["difference"], one["pairs"]) for one in facts.get("differences") or []]
    if facts.get("against"):
        several.append(
            ("These verdicts", "those of the other system", facts["against"]["difference"], facts["against"]["pairs"])
        )
    said = []
    for first, second, difference, pairs in several[:ROWS_SHOWN]:
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
