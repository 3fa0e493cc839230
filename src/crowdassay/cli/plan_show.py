"""What `crowdassay plan` prints: where a job stands, what is planned, and how much to order for a new one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.planning.plan import Planned
    from crowdassay.planning.sizing import Sizing


def tell(made: Planned, options: dict[str, Any]) -> None:
    """Print where the job stands and what was planned."""
    import json

    from crowdassay.labels.values import counted

    facts = made.summary()
    if options["as_json"]:
        click.echo(json.dumps({**facts, "notes": made.notes}, indent=2, ensure_ascii=False))
        return
    if options["quiet"]:
        return
    click.echo(
        f"{counted(facts['labels'], 'label')} on {counted(facts['items'], 'item')}, {facts['items_settled']:,} of them settled."
    )
    if facts["known_items"]:
        click.echo(
            f"Known items checked: {facts['known_items']:,}, of which {facts['known_items_wrong']:,} were labelled wrong."
        )
    says = facts["says"]
    click.echo(f"{says[0].upper()}{says[1:]}.")
    if (sentence := about_known_items(facts)) is not None:
        click.echo(sentence)
    if facts["stop"]:
        click.echo("Nothing is planned.")
    else:
        if facts["target_error"] is not None:
            click.echo(way_to_target(facts))
        click.echo(what_is_planned(facts))
        if facts["batches"] > 1:
            click.echo("Do batch 1, add its labels, and plan again: later batches are a forecast.")
    for note in made.notes:
        click.echo(f"Note: {note}")
    for name in ("out", "decisions", "curve"):
        if options[name] is not None:
            click.echo(f"Wrote {options[name]}.")


def about_known_items(facts: dict[str, Any]) -> str | None:
    """Return what further known items would do for the limit; None where it need not be narrower."""
    if facts["stop"]:
        return None
    target, advised = facts["target_error"], facts["known_items_advised"]
    if target is not None and facts["estimated_error"] > target:
        return None  # more labels come first
    if advised is None:
        return f"Known items alone cannot bring the limit to {100 * target:.1f} %." if target is not None else None
    more = "more known items" if facts["known_items"] else "known items (--gold)"
    high = f"{100 * facts['upper_limit_with_these']:.1f} %"
    wide = "" if facts["known_items"] else "The limit is wide because nothing checks it: no class is known. "
    so = "" if target is None else ", and you could stop"
    return f"{wide}With about {advised:,} {more}, labelled as well as estimated, it would be {high}{so}."


def what_is_planned(facts: dict[str, Any]) -> str:
    """Return how many labels of which kind are planned, and what they are expected to bring."""
    from crowdassay.labels.values import counted

    kinds = [counted(facts["planned_labels"], "label")]
    if facts["planned_trials"]:
        kinds.append(counted(facts["planned_trials"], "trial label"))
    if facts["planned_experts"]:
        kinds.append(f"{counted(facts['planned_experts'], 'item')} for an expert")
    batches = "1 batch" if facts["batches"] == 1 else f"{facts['batches']:,} batches"
    after = f"Expected error after them: {100 * facts['expected_error_after']:.1f} %."
    return f"Planned: {', '.join(kinds)}, in {batches}, for {facts['spend']:,.2f}. {after}"


def way_to_target(facts: dict[str, Any]) -> str:
    """Return how far it is to the target."""
    target = f"{100 * facts['target_error']:.1f} %"
    if facts["labels_for_target"] is None:
        return f"More labels by these workers are not expected to bring the error to {target}; an expert could."
    if facts["labels_for_target"] <= 0:
        return f"The estimate is within {target}, its upper limit is not."
    return (
        f"About {facts['labels_for_target']:,.0f} more labels, for {facts['spend_for_target']:,.2f}, are expected to bring the "
        f"estimate to {target}."
    )


def show_sizing(sizing: Sizing, options: dict[str, Any]) -> None:
    """Print the table and the advice."""
    from crowdassay.labels.values import counted
    from crowdassay.planning.sizing import SIZES
    from crowdassay.results.show import print_table, terminal

    console = terminal()
    print_table(console, SIZES, sizing.table(), ["labels_per_item", "error", "error_low", "labels", "cost"])
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
