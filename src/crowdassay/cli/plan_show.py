"""Print what `crowdassay plan` found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.planning.plan import Planned


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
    """Say what further known items would do for the limit; None where it need not be narrower."""
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
    """Say how many labels of which kind are planned, and what they are expected to bring."""
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
    """Say how far it is to the target."""
    target = f"{100 * facts['target_error']:.1f} %"
    if facts["labels_for_target"] is None:
        return f"More labels by these workers are not expected to bring the error to {target}; an expert could."
    if facts["labels_for_target"] <= 0:
        return f"The estimate is within {target}, its upper limit is not."
    return (
        f"About {facts['labels_for_target']:,.0f} more labels, for {facts['spend_for_target']:,.2f}, are expected to bring the "
        f"estimate to {target}."
    )
