"""The page about judges: the rate first, then the judges by name, whose errors go together, and the items for people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from crowdassay.judges.charts import judges_chart, likeness_chart, rates_chart, tables_chart
from crowdassay.judges.rated import Rated
from crowdassay.judges.sentences import (
    about_help,
    about_order,
    about_people,
    about_replacing,
    about_worth,
    headline,
    to_do,
    to_drop,
)
from crowdassay.labels.values import counted
from crowdassay.labels.write import write_bytes
from crowdassay.results.report.build import check_report
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.html import asset, render
from crowdassay.text import short
from crowdassay.version import VERSION

ROWS_SHOWN = 30
NARROW = ("likeness", "tables")  # squares keep their size, the others fill the page


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
    order = sorted(rated.judges, key=lambda one: -(one.accuracy.estimate if one.accuracy else -1))
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
        for one in order[:ROWS_SHOWN]
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
