"""What `crowdassay rate` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdassay.judges.page import about_help, about_order, about_people, about_replacing, about_worth, headline, to_do, to_drop
from crowdassay.judges.rated import GROUPS, JUDGES, group_rows
from crowdassay.labels.values import counted
from crowdassay.results.show import print_table, terminal
from crowdassay.tables import Column, TableOf
from crowdassay.text import short

if TYPE_CHECKING:
    from rich.console import Console

    from crowdassay.judges.ppi import Interval
    from crowdassay.judges.rated import Rated

JUDGES_PRINTED = 20  # and classes, and differences
RATES = TableOf(
    "rates",
    (
        Column("class", format="name"),
        Column("rate", format="precise share"),
        Column("low", "interval", "precise share", to="high"),
        Column("people", "people alone"),
        Column("judges", "judges alone claim"),
    ),
)


def show(rated: Rated, facts: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the rates, the judges, what they are worth, and what to do next."""
    console = terminal()
    console.print(
        f"{counted(rated.verdicts.n_items, 'item')}, {counted(len(rated.verdicts.judges), 'judge')}; people saw "
        f"{counted(len(rated.people.item), 'item')} ({counted(rated.people.n_labels, 'label')})."
    )
    console.print()
    show_rates(console, rated)
    show_groups(console, facts)
    show_judges(console, rated)
    said = [about_help(rated), about_worth(rated), *about_replacing(rated), *about_order(rated), about_people(rated)]
    for sentence in filter(None, [*said, to_drop(rated), to_do(rated)]):
        console.print(sentence, soft_wrap=True)
    for note in rated.notes:
        console.print(f"Note: {note}", soft_wrap=True)
    for name in ("next_file", "items_file", "report"):
        if options[name] is not None:
            console.print(f"Wrote {options[name]}.", soft_wrap=True)


def show_rates(console: Console, rated: Rated) -> None:
    """Print the rate of each class beside what people, and judges, say alone."""
    rows = [
        {
            "class": name,
            "rate": one.estimate,
            "low": one.low,
            "high": one.high,
            "people": with_limits(alone),
            "judges": with_limits(claim),
        }
        for name, one, alone, claim in zip(rated.verdicts.classes, rated.rates, rated.alone, rated.claimed, strict=True)
    ]
    limits = RATES.column("low", title=f"{rated.confidence:.0%} interval")
    print_table(console, RATES, rows[:JUDGES_PRINTED], ["class", "rate", limits, "people", "judges"], title="Rate")


def show_groups(console: Console, facts: dict[str, Any]) -> None:
    """Print rates by group and differences, for the class that means success or else the first."""
    name = facts["classes"][headline(facts["classes"])]
    if "by" in facts:
        rate = GROUPS.column("estimate", title=f"rate of {short(name)}")
        print_table(console, GROUPS, group_rows(facts["by"], name), ["group", rate, "low", "seen"], title="By group")
        for one in facts["differences"][:JUDGES_PRINTED]:
            if one["difference"]:
                pairs = "" if one["pairs"] is None else f" in {counted(one['pairs'], 'pair')}"
                between = f"{short(one['first'])} less {short(one['second'])}, {short(name)}"
                console.print(f"{between}: {_points(one['difference'][name])}{pairs}.")
    if "against" in facts:
        one = facts["against"]
        points = _points(one["difference"][name])
        text = f"VERDICTS less the other system, {short(name)}: {points}, in {counted(one['pairs'], 'pair')} of items."
        console.print(text, soft_wrap=True)


def show_judges(console: Console, rated: Rated) -> None:
    """Print each judge against people, the most accurate first."""
    order = rated.by_accuracy[:JUDGES_PRINTED]
    columns = ["judge", "items", "accuracy", "accuracy_low", "kappa", "verdict"]
    print_table(console, JUDGES, rated.judges_table().take(order), columns, title="Judges")
    for one in (rated.judges[i] for i in order):
        if one.biased:
            console.print(f"{short(one.name)} {one.bias}.", soft_wrap=True)
    if len(rated.judges) > JUDGES_PRINTED:
        more = counted(len(rated.judges) - JUDGES_PRINTED, "more judge is", "more judges are")
        console.print(f"{more} in --json and in the report.")


def with_limits(one: Interval) -> str:
    """Return an estimate with its limits."""
    return f"{one.estimate:.1%} ({one.low:.1%} to {one.high:.1%})"


def _points(rate: dict[str, float]) -> str:
    return f"{100 * rate['estimate']:+.1f} points ({100 * rate['low']:+.1f} to {100 * rate['high']:+.1f})"
