"""`crowdassay rate`: the real rate of each class from many judges and a few people."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, confidence_option, json_option, read_options, reading_options
from crowdassay.cli.outputs import check_outputs, print_json
from crowdassay.errors import ParameterError

if TYPE_CHECKING:
    from crowdassay.judges.rated import Rated
    from crowdassay.labels.labels import Labels


@click.command(cls=Grouped)
@partial(reading_options, metavar="VERDICTS")
@click.option("--people", help="The workers who are people, separated by commas; all others are judges.")
@click.option("--gold", type=PATH, help="File of items whose class is known, without error.")
@click.option("--by", help="Column that names a group of items, such as the model judged: a rate for each group.")
@click.option("--pair", help="--by: column that items of different groups share, such as the question: differences in pairs.")
@click.option("--against", type=PATH, help="Verdicts on another system's answers to the same items: the difference.")
@click.option("--strata", help="Column that names the stratum in which items were drawn for people.")
@click.option(
    "--cluster",
    help="Column that items share which are alike, such as the question: intervals allow for it. Found by name otherwise.",
)
@click.option("--order-column", help="Column that says in which order choices were shown to a judge.")
@click.option(
    "--cost",
    type=PATH,
    help="CSV file with columns judge and cost: which judges to drop; with people's costs, what the judges save.",
)
@click.option("--beyond", is_flag=True, help="Rate the system that gave these answers, not these answers alone.")
@confidence_option
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same result.")
@click.option("--next", "next_file", type=PATH, help="CSV file for the items that people should see next.")
@click.option("--next-size", default=20, show_default=True, type=click.IntRange(1), help="How many items.")
@click.option("--items", "items_file", type=PATH, help="CSV file for every item's probabilities.")
@click.option(
    "--fail-if", multiple=True, help="End with exit code 1 if this holds, such as 'pass_rate.low < 0.9'; again for more."
)
@click.option("--report", type=PATH, help="HTML file for a page about all of it.")
@json_option
def rate(labels: tuple[str, ...], **options: Any) -> int:
    """Estimate the real share of each class from VERDICTS: many by judges, a few by people.

    VERDICTS has a row for each verdict: item, worker and label, judges and people together. Judges may answer other things than
    the classes: scores, "unsure", refusals, several votes.
    """
    from crowdassay.cli.gates import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.rate_read import read_verdicts
    from crowdassay.cli.running import working

    conditions = read_conditions(options["fail_if"], "pass_rate.low < 0.9")
    check_outputs(
        [*labels, options["gold"], options["against"], options["cost"]],
        files=[options["next_file"], options["items_file"]],
        pages=[options["report"]],
    )
    data = read_verdicts(labels, options)
    with working("Rating ...", quiet=options["as_json"]):
        rated = find(data, labels, options)
    facts = {**rated.as_dict(), "read": data.report.as_dict()}
    if options["against"] is not None:
        facts["against"] = compare(data, options)
    gates = check_conditions(conditions, *figures(facts))
    facts["gate"] = [gate.as_dict() for gate in gates]
    write(rated, facts, labels, options)
    if options["as_json"]:
        print_json(facts)
    else:
        from crowdassay.cli.rate_show import show

        show(rated, facts, options)
    return tell_failures(gate for gate in gates if gate.failed)


def figures(facts: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what conditions may ask about, and the names to suggest: all facts, and each class's rate, ``pass_rate``."""
    by_class = {str(name): rate for name, rate in facts["rate"].items()}
    rates = {f"{name}_rate": rate for name, rate in by_class.items()}
    return by_class | facts | rates, [*(f"{name}.low" for name in rates), "worth", "n_people_labels"]


def find(data: Labels, labels: tuple[str, ...], options: dict[str, Any]) -> Rated:
    """Read what else there is and estimate."""
    from crowdassay.cli.rate_read import item_columns, people_in, read_costs, read_gold, read_order
    from crowdassay.judges.rate import rate as estimate

    if options["pair"] is not None and options["by"] is None:
        raise ParameterError("Pairs are pairs of groups: --pair goes with --by.")
    if len(labels) > 1 and options["order_column"] is not None:
        raise ParameterError("--order-column is read from one file; put the verdicts into one.")
    columns: Any
    columns, note = item_columns(data, labels, options)
    rated = estimate(
        data,
        people=people_in(options),
        gold=read_gold(options["gold"], data.report.columns.get("item")),
        classes=read_options(options).classes,
        order=read_order(data, Path(labels[0]), options),
        cost=read_costs(options),
        n_next=options["next_size"],
        **{name: options[name] for name in ("beyond", "confidence", "seed")},
        **columns,
    )
    return replace(rated, notes=(*rated.notes, *note))


def compare(data: Labels, options: dict[str, Any]) -> dict[str, Any]:
    """Compare with the verdicts on another system."""
    from crowdassay.cli.rate_read import people_in, read_verdicts
    from crowdassay.judges.rate import rate_against

    if not (people := people_in(options)):
        raise ParameterError(
            "--against needs people who judged both systems: name them with --people. (What --gold knows of one system's "
            "answers says nothing about the other's.)"
        )
    other = read_verdicts([options["against"]], options)
    chosen = {name: options[name] for name in ("beyond", "confidence", "seed")}
    return rate_against(data, other, people=people, classes=read_options(options).classes, **chosen)


def write(rated: Rated, facts: dict[str, Any], labels: tuple[str, ...], options: dict[str, Any]) -> None:
    """Write the files that were asked for."""
    from crowdassay.labels.write import write_table

    for name, table in {"next_file": rated.next_items, "items_file": rated.items}.items():
        if options[name] is not None:
            write_table(table(), options[name], "csv")
    if options["report"] is not None:
        from crowdassay.judges.page import judges_page
        from crowdassay.results.report.page import write_findings

        write_findings(judges_page(rated, facts, f"Rates by {Path(labels[0]).name}"), options["report"])
