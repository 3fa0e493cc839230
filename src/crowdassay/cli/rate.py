"""`crowdassay rate`: the real rate of each class from many judges and a few people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, read, read_options, reading_options
from crowdassay.cli.outputs import refuse_inputs

if TYPE_CHECKING:
    from crowdassay.judges.rated import Rated
    from crowdassay.labels.labels import Labels


@click.command(cls=Grouped)
@reading_options
@click.option("--people", help="The workers who are people, separated by commas; all others are judges.")
@click.option("--gold", type=click.Path(path_type=Path), help="File of items whose class is known, without error.")
@click.option("--by", help="Column that names a group of items, such as the model judged: a rate for each group.")
@click.option("--pair", help="--by: column that items of different groups share, such as the question: differences in pairs.")
@click.option(
    "--against", type=click.Path(path_type=Path), help="Verdicts on another system's answers to the same items: the difference."
)
@click.option("--strata", help="Column that names the stratum in which items were drawn for people.")
@click.option("--order-column", help="Column that says in which order choices were shown to a judge.")
@click.option(
    "--cost",
    type=click.Path(path_type=Path),
    help="CSV file with columns judge and cost: which judges to drop; with people's costs, what the judges save.",
)
@click.option("--beyond", is_flag=True, help="Rate the system that gave these answers, not these answers alone.")
@click.option("--confidence", default=0.95, show_default=True, help="Share of intervals that hold the real value.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same result.")
@click.option(
    "--next", "next_file", type=click.Path(path_type=Path), help="CSV file for the items that people should see next."
)
@click.option("--next-size", default=20, show_default=True, type=click.IntRange(1), help="How many items.")
@click.option("--items", "items_file", type=click.Path(path_type=Path), help="CSV file for every item's probabilities.")
@click.option(
    "--fail-if", multiple=True, help="End with exit code 1 if this holds, such as 'pass_rate.low < 0.9'; again for more."
)
@click.option("--report", type=click.Path(path_type=Path), help="HTML file for a page about all of it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def rate(labels: tuple[str, ...], **options: Any) -> int:
    """Estimate the real share of each class from VERDICTS: many by judges, a few by people.

    VERDICTS has a row for each verdict: item, worker and label, judges and people together. Judges may answer other things than
    the classes: scores, "unsure", refusals, several votes.
    """
    from crowdassay.cli.gates import check_conditions, read_conditions, tell_failures
    from crowdassay.cli.running import working

    conditions = read_conditions(options["fail_if"], "pass_rate.low < 0.9")
    check_outputs(labels, options)
    data = read(labels, {**options, "classes": None})
    with working(f"Rating {data.n_labels:,} verdicts ...", quiet=options["as_json"]):
        rated = find(data, labels, options)
    facts = {**rated.as_dict(), "read": data.report.as_dict()}
    if options["against"] is not None:
        facts["against"] = compare(data, options)
    gates = check_conditions(conditions, *figures(facts))
    facts["gate"] = [gate.as_dict() for gate in gates]
    write(rated, facts, labels, options)
    if options["as_json"]:
        import json

        click.echo(json.dumps(facts, indent=2, ensure_ascii=False, default=str))
    else:
        from crowdassay.cli.rate_show import show

        show(rated, facts, options)
    return tell_failures(gate for gate in gates if gate.failed)


def figures(facts: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what conditions may ask about, and the names to suggest: all facts, and each class's rate, ``pass_rate``."""
    by_class = {str(name): rate for name, rate in facts["rate"].items()}
    rates = {f"{name}_rate": rate for name, rate in by_class.items()}
    return by_class | facts | rates, [*(f"{name}.low" for name in rates), "worth", "n_people_labels"]


def check_outputs(labels: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse files that cannot be written before anything is computed."""
    from crowdassay.labels.folder import check_writable

    outputs = [options[name] for name in ("next_file", "items_file", "report")]
    refuse_inputs([*labels, options["gold"], options["against"], options["cost"]], outputs)
    for path in outputs[:2]:
        if path is not None:
            check_writable(path.parent)
    if options["report"] is not None:
        from crowdassay.results.report.page import check_report

        check_report(options["report"])


def find(data: Labels, labels: tuple[str, ...], options: dict[str, Any]) -> Rated:
    """Read what else there is and estimate."""
    from crowdassay.cli.rate_columns import item_column, read_costs, read_gold, read_order
    from crowdassay.errors import ParameterError
    from crowdassay.judges.rate import rate as estimate

    if options["pair"] is not None and options["by"] is None:
        raise ParameterError("Pairs are pairs of groups: --pair goes with --by.")
    if len(labels) > 1 and any(options[name] is not None for name in ("by", "pair", "strata", "order_column")):
        raise ParameterError("Columns beside item, worker and label are read from one file; put the verdicts into one.")
    table = Path(labels[0])
    columns: dict[str, Any] = {name: item_column(data, table, options[name], name) for name in ("by", "pair", "strata")}
    return estimate(
        data,
        people=people_named(options["people"]),
        gold=read_gold(options["gold"]),
        classes=read_options(options).classes,
        order=read_order(data, table, options),
        cost=read_costs(options["cost"]),
        n_next=options["next_size"],
        **{name: options[name] for name in ("beyond", "confidence", "seed")},
        **columns,
    )


def people_named(given: str | None) -> list[str]:
    """Return the names that --people gives."""
    return [name for part in (given or "").split(",") if (name := part.strip())]


def compare(data: Labels, options: dict[str, Any]) -> dict[str, Any]:
    """Compare with the verdicts on another system."""
    from crowdassay.errors import ParameterError
    from crowdassay.judges.rate import rate_against

    people = people_named(options["people"])
    if not people:
        raise ParameterError(
            "--against needs people who judged both systems: name them with --people. (What --gold knows of one system's "
            "answers says nothing about the other's.)"
        )
    other = read([options["against"]], {**options, "classes": None})
    chosen = {name: options[name] for name in ("beyond", "confidence", "seed")}
    return rate_against(data, other, people=people, classes=read_options(options).classes, **chosen)


def write(rated: Rated, facts: dict[str, Any], labels: tuple[str, ...], options: dict[str, Any]) -> None:
    """Write the files that were asked for."""
    from crowdassay.labels.write import write_table

    if options["next_file"] is not None:
        write_table(rated.next_items(), options["next_file"], "csv")
    if options["items_file"] is not None:
        write_table(rated.items(), options["items_file"], "csv")
    if options["report"] is not None:
        from crowdassay.judges.page import write_judges_report

        write_judges_report(rated, facts, options["report"], title=f"Rates by {Path(labels[0]).name}")


for parameter in rate.params:
    if parameter.name == "labels" and isinstance(parameter, click.Argument):
        parameter.metavar = "VERDICTS"
