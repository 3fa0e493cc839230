"""`crowdassay compare` and `crowdassay methods`: several methods on the same labels, and which there are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, gold_option, json_option, read, reading_options, truth_option
from crowdassay.cli.outputs import print_json

if TYPE_CHECKING:
    from crowdassay.estimators.compare import Comparison

DISPUTES_PRINTED = 10


@click.command(cls=Grouped)
@reading_options
@click.option(
    "--methods", default="majority,dawid-skene,minimax,assay", show_default=True, help="Separated by commas, or 'all'."
)
@truth_option
@gold_option
@click.option(
    "--folds", default=5, show_default=True, help="Without --truth: parts into which labels are dealt to be held out."
)
@click.option("--seed", default=0, show_default=True, help="Decides which labels are held out together.")
@json_option
def compare(labels: tuple[str, ...], methods: str, as_json: bool, **options: Any) -> None:
    """Fit several methods to LABELS and compare them.

    With --truth by their errors; without, by how well they predict labels held out, and in both cases by where they differ.
    """
    from crowdassay.cli.aggregate_show import print_report
    from crowdassay.cli.running import progress_line
    from crowdassay.estimators.compare import compare as compare_methods

    chosen = methods if methods == "all" else methods.split(",")
    data = read(labels, options)
    known = {name: options[name] for name in ("truth", "gold", "folds", "seed")}
    with progress_line(quiet=not sys.stderr.isatty()) as (_, announce):
        comparison = compare_methods(data, chosen, **known, announce=announce)
    facts = tabulate(comparison)
    if as_json:
        print_json(facts)
    else:
        print_report(comparison.labels)
        show(comparison, facts)


def tabulate(comparison: Comparison) -> dict[str, Any]:
    """Return what --json prints."""
    disputes = comparison.disputes()
    return {
        "methods": comparison.rows(),
        "scored_by": comparison.scored_by,
        "best": comparison.best,
        "summary": comparison.summary,
        "refused": comparison.refused,
        "agreement": [{"a": a, "b": b, "share": share} for (a, b), share in comparison.agreement().items()],
        "n_items": comparison.labels.n_items,
        "n_disputed": len(disputes),
        "disputed": disputes[:100],
    }


def show(comparison: Comparison, facts: dict[str, Any]) -> None:
    """Print the scores, who agrees with whom, and the most disputed items."""
    from crowdassay.estimators.compare import SCORES
    from crowdassay.labels.values import counted
    from crowdassay.results.show import print_table, terminal
    from crowdassay.tables import Column, TableOf

    console = terminal()
    rows, columns = comparison.shown_scores()
    print_table(console, SCORES, rows, columns)
    if comparison.summary:
        console.print(comparison.summary)
    unfinished = [row["method"] for row in rows if not row["converged"]]
    if unfinished:
        console.print(f"Not converged: {', '.join(unfinished)}.")
    for reason in facts["refused"].values():
        console.print(f"Left out: {reason}")
    methods = [row["method"] for row in rows]
    if len(methods) > 1:
        shares = {(row["a"], row["b"]): row["share"] for row in facts["agreement"]}
        same = TableOf(
            "agreement",
            (Column("method", "same label"), *(Column(name, name, "precise share", missing="") for name in methods[1:])),
        )
        pairs = [{"method": a, **{b: shares.get((a, b)) for b in methods[1:]}} for a in methods[:-1]]
        print_table(console, same, pairs)
    console.print(f"The methods disagree on {facts['n_disputed']:,} of {counted(facts['n_items'], 'item')}.")
    if facts["disputed"]:
        items = TableOf("disputed", (Column("item", format="name"), *(Column(name, name, "name") for name in methods)))
        disputed = [{"item": row["item"], **row["methods"]} for row in facts["disputed"][:DISPUTES_PRINTED]]
        print_table(console, items, disputed, title="Most disputed items")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(as_json: bool) -> None:
    """List the methods, one line each."""
    from crowdassay.estimators.methods import METHODS

    if as_json:
        print_json({name: method.summary for name, method in METHODS.items()})
        return
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        click.echo(f"{name:<{width}}  {method.summary}")
