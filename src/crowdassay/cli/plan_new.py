"""`crowdassay plan --new`: how much to order before anything is labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.planning.sizing import Sizing


def size_new(source: tuple[str, ...], options: dict[str, Any]) -> None:
    """Say how much to order before anything is labelled."""
    import json

    from crowdassay.errors import ParameterError
    from crowdassay.planning.sizing import size_job

    if source:
        raise ParameterError("--new is for a job without labels; leave out the file or --new.")
    if options["items"] is None or options["classes"] is None:
        raise ParameterError("--new needs --items and --classes, their numbers.")
    classes = number_of_classes(options["classes"].strip())
    sizing = size_job(
        options["items"], classes, like=options["like"], target_error=options["target_error"], cost=options["label_cost"]
    )
    if options["as_json"]:
        facts = {
            "rows": [row.__dict__ for row in sizing.rows],
            "advised": None if sizing.advised is None else sizing.advised.__dict__,
            "known_items": [{"known_items": m, "upper_limit": high} for m, high in sizing.known],
            "known_items_advised": sizing.known_advised,
            "groups": sizing.groups,
        }
        click.echo(json.dumps(facts, indent=2))
    elif not options["quiet"]:
        show_sizing(sizing, options)


def number_of_classes(text: str) -> int:
    """Return the number that was given, or that of the names that were."""
    from crowdassay.errors import ParameterError

    if text.removeprefix("-").isdecimal():
        return int(text)
    names = {name.strip() for name in text.split(",")} - {""}
    if len(names) < 2:
        raise ParameterError(f"--classes takes their number or their names, such as 3 or no,yes; not '{text}'.")
    return len(names)


def show_sizing(sizing: Sizing, options: dict[str, Any]) -> None:
    """Print the table and the advice."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.labels.values import counted
    from crowdassay.planning.sizing import COVERED

    console = Console(highlight=False, markup=False)
    rows = Table("labels per item", "expected error", f"{COVERED:.0%} of jobs", "labels", "cost")
    for row in sizing.rows:
        between = f"{100 * row.error_low:.1f} to {100 * row.error_high:.1f} %"
        rows.add_row(str(row.labels_per_item), f"{100 * row.error:.1f} %", between, f"{row.labels:,}", f"{row.cost:,.2f}")
    console.print(rows)
    if sizing.advised is None:
        target = f"{100 * options['target_error']:.2g} %"
        console.print(
            f"No number of labels up to {sizing.rows[-1].labels_per_item} is expected to reach {target}: plan for experts."
        )
    else:
        n = counted(sizing.advised.labels_per_item, "label")
        console.print(f"Order {n} per item: {sizing.advised.labels:,} labels for {sizing.advised.cost:,.2f}.")
    (_, bare), *known = sizing.known
    limits = ", ".join(f"{high:.0%} with {m} known items" for m, high in known)
    console.print(f"Upper limit of the error to expect: {bare:.0%} without known items{', ' if known else ''}{limits}.")
    if sizing.known_advised:
        console.print(f"So know the class of {sizing.known_advised} items beforehand.")
    kind = "of this kind" if options["like"] else "of all kinds"
    console.print(
        f"Learned from {counted(sizing.groups, 'group')} of public datasets {kind}; your job may differ as they do. To know "
        "more, label a few items and plan from these."
    )
