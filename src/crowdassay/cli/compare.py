"""`crowdassay compare`: several methods on the same labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.grouped import Grouped
from crowdassay.cli.reading import read, reading_options

if TYPE_CHECKING:
    from crowdassay.selection.compare import MethodComparison

SHOWN = 10


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

    from crowdassay.cli.progress import progress_line
    from crowdassay.cli.summary import print_report
    from crowdassay.errors import DataError
    from crowdassay.estimators.methods import METHODS, find_method
    from crowdassay.io.truth import match_truth, take_gold
    from crowdassay.metrics.scores import without_gold
    from crowdassay.selection.compare import compare as fit_all

    chosen = list(METHODS.values()) if methods == "all" else [find_method(name.strip()) for name in methods.split(",")]
    data = read(labels, options)
    if options["gold"] is not None:
        data = take_gold(data, options["gold"])
    truth = None if options["truth"] is None else without_gold(data, match_truth(data, options["truth"])[0])
    if truth is not None and not (truth >= 0).any():
        raise DataError("There is nothing to score: every item of the truth is given as gold; leave out --truth or --gold.")
    with progress_line(quiet=not sys.stderr.isatty()) as (_, announce):
        comparison = fit_all(
            chosen, data, heldout=truth is None, folds=options["folds"], seed=options["seed"], announce=announce
        )
    table = tabulate(comparison, truth)
    if as_json:
        click.echo(json.dumps(table, indent=2, ensure_ascii=False))
    else:
        print_report(data)
        show(table)


def tabulate(comparison: MethodComparison, truth: Any) -> dict[str, Any]:
    """Return what --json prints."""
    from crowdassay.metrics.scores import score

    rows = []
    for name, result in comparison.results.items():
        row: dict[str, Any] = {"method": name}
        if truth is not None:
            found = score(result, truth)
            row |= {name: found[name] for name in ("error_rate", "rmse", "mae") if name in found}
        else:
            row["heldout_log_likelihood"] = comparison.heldout[name]
        rows.append({**row, "converged": result.converged, "seconds": round(result.seconds, 3)})
    disputes = comparison.disputes()
    return {
        "methods": rows,
        "scored_by": "heldout_log_likelihood" if truth is None else "error_rate",
        "best": best_methods(rows, truth is None),
        "refused": comparison.refused,
        "agreement": [{"a": a, "b": b, "share": share} for (a, b), share in comparison.agreement().items()],
        "n_items": len(next(iter(comparison.results.values())).code),
        "n_disputed": len(disputes),
        "disputed": disputes[:100],
    }


def best_methods(rows: list[dict[str, Any]], heldout: bool) -> list[str]:
    """Return the methods whose score is the best, several where they are as good."""
    scores = [row["heldout_log_likelihood"] if heldout else -row["error_rate"] for row in rows]
    return [row["method"] for row, score in zip(rows, scores, strict=True) if score == max(scores)]


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
        for row in table["disputed"][:SHOWN]:
            items.add_row(shown(row["item"]), *(shown(row["methods"][name]) for name in methods))
        console.print(items)
