"""`crowdassay compare` and `crowdassay methods`: several methods on the same labels, and which there are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import Grouped, read, reading_options

if TYPE_CHECKING:
    from crowdassay.estimators.selection.compare import Comparison

ROWS_SHOWN = 10


@click.command(cls=Grouped)
@reading_options
@click.option(
    "--methods", default="majority,dawid-skene,minimax,assay", show_default=True, help="Separated by commas, or 'all'."
)
@click.option("--truth", type=click.Path(path_type=Path), help="File of item,label to score against.")
@click.option("--gold", type=click.Path(path_type=Path), help="File of item,label whose classes are known and kept.")
@click.option(
    "--folds", default=5, show_default=True, help="Without --truth: parts into which labels are dealt to be held out."
)
@click.option("--seed", default=0, show_default=True, help="Decides which labels are held out together.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def compare(labels: tuple[str, ...], methods: str, as_json: bool, **options: Any) -> None:
    """Fit several methods to LABELS and compare them.

    With --truth by their errors; without, by how well they predict labels held out, and in both cases by where they differ.
    """
    import json
    import sys

    from crowdassay.cli.running import progress_line
    from crowdassay.cli.summary import print_report
    from crowdassay.estimators.compare import compare as compare_methods

    chosen = methods if methods == "all" else methods.split(",")
    data = read(labels, options)
    known = {name: options[name] for name in ("truth", "gold", "folds", "seed")}
    with progress_line(quiet=not sys.stderr.isatty()) as (_, announce):
        comparison = compare_methods(data, chosen, **known, announce=announce)
    table = tabulate(comparison)
    if as_json:
        click.echo(json.dumps(table, indent=2, ensure_ascii=False))
    else:
        print_report(comparison.labels)
        show(table)


def tabulate(comparison: Comparison) -> dict[str, Any]:
    """Return what --json prints."""
    disputes = comparison.disputes()
    return {
        "methods": comparison.rows(),
        "scored_by": comparison.scored_by,
        "best": comparison.best,
        "refused": comparison.refused,
        "agreement": [{"a": a, "b": b, "share": share} for (a, b), share in comparison.agreement().items()],
        "n_items": comparison.labels.n_items,
        "n_disputed": len(disputes),
        "disputed": disputes[:100],
    }


def verdict(table: dict[str, Any]) -> str:
    """Say what the scores mean and who has the best."""
    best = " and ".join(table["best"])
    are = "are" if len(table["best"]) > 1 else "is"
    if table["scored_by"] == "error_rate":
        return f"Lower is better: error is the share of wrong labels on items of known class. {best} {are} best here."
    return (
        "Higher (nearer to 0) is better: how well labels that a method has not seen are predicted, on average by label. "
        f"By that {best} {are} ahead; mistakes that a crowd shares are predicted well, too, and only a truth shows them."
    )


def show(table: dict[str, Any]) -> None:
    """Print the table, who agrees with whom, and the most disputed items."""
    from rich.console import Console
    from rich.table import Table

    from crowdassay.cli.summary import shown

    console = Console(highlight=False, markup=False)
    names = {
        "error_rate": ("error", "{:.2%}"),
        "rmse": ("RMSE", "{:.4f}"),
        "mae": ("MAE", "{:.4f}"),
        "heldout_log_likelihood": ("held-out log-likelihood", "{:.4f}"),
        "seconds": ("seconds", "{:.2f}"),
    }
    columns = [name for name in names if name in table["methods"][0]]
    scores = Table("method", *(names[name][0] for name in columns))
    for row in table["methods"]:
        scores.add_row(row["method"], *(names[name][1].format(row[name]) for name in columns))
    console.print(scores)
    if len(table["methods"]) > 1:
        console.print(verdict(table))
    unfinished = [row["method"] for row in table["methods"] if not row["converged"]]
    if unfinished:
        console.print(f"Not converged: {', '.join(unfinished)}.")
    for reason in table["refused"].values():
        console.print(f"Left out: {reason}")
    methods = [row["method"] for row in table["methods"]]
    if len(methods) > 1:
        shares = {(row["a"], row["b"]): row["share"] for row in table["agreement"]}
        agreement = Table("same label", *methods[1:])
        for a in methods[:-1]:
            agreement.add_row(a, *(f"{shares[a, b]:.1%}" if (a, b) in shares else "" for b in methods[1:]))
        console.print(agreement)
    console.print(f"The methods disagree on {table['n_disputed']:,} of {table['n_items']:,} items.")
    if table["disputed"]:
        items = Table("item", *methods, title="Most disputed items", title_justify="left")
        for row in table["disputed"][:ROWS_SHOWN]:
            items.add_row(shown(row["item"]), *(shown(row["methods"][name]) for name in methods))
        console.print(items)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def methods(as_json: bool) -> None:
    """List the methods, one line each."""
    import json

    from crowdassay.estimators.methods import METHODS

    if as_json:
        click.echo(json.dumps({name: method.summary for name, method in METHODS.items()}, indent=2))
        return
    width = max(map(len, METHODS))
    for name, method in METHODS.items():
        click.echo(f"{name:<{width}}  {method.summary}")
