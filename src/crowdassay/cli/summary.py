"""The summary of a fit, for programs and for people."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from crowdassay import __version__
from crowdassay.data.labels import Labels
from crowdassay.data.result import Result
from crowdassay.io.values import counted
from crowdassay.metrics.scores import score

ENOUGH = 5  # labels a worker must have given to be called unreliable
WIDTH = 40


def summarise(result: Result, method: str, truth: tuple[np.ndarray, dict[str, int]] | None, *, ordered: bool) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    labels = result.labels
    summary: dict[str, Any] = {
        "version": __version__,
        "method": method,
        "parameters": result.parameters,
        "classes": list(labels.class_names),
        "objective": result.objective,
        "converged": result.converged,
        "n_iter": result.n_iter,
        "seconds": round(result.seconds, 3),
        "n_items": labels.n_items,
        "n_workers": labels.n_workers,
        "n_labels": labels.n_labels,
        "n_tied": int(result.tied.sum()),
        "n_gold": int((labels.gold >= 0).sum()),
        "mean_probability": float(result.probability.mean()),
        "import_report": labels.report.as_dict(),
        "notes": list(result.notes),
    }
    if result.selection is not None:
        summary["selection"] = result.selection
    if not result.converged:
        summary["notes"].append(
            f"Not converged after {result.n_iter} iterations: the result is usable but not final; raise --max-iter."
        )
    if truth is not None:
        codes, matched = truth
        summary |= score(result, codes, ordered=ordered)
        summary["truth_items_without_labels"] = matched["unknown_items"]
    return summary


def print_report(labels: Labels, *, notes: bool = True) -> None:
    """Print what was read, and what was left out and why."""
    from rich.console import Console

    console, report = Console(highlight=False, markup=False), labels.report
    columns = ", ".join(f"{role} = {shown(name)}" for role, name in report.columns.items())
    console.print(
        f"Read {counted(labels.n_labels, 'label')} of {counted(labels.n_items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')} from {report.source} "
        f"({columns}); classes {', '.join(map(shown, labels.class_names[:12]))}{', ...' if labels.n_classes > 12 else ''}."
    )
    if report.format != "plain":
        question = "" if report.question is None else f", question {shown(report.question)}"
        console.print(f"Read as {report.format}{question}: {report.rows_kept:,} of {report.rows_read:,} judgements kept.")
    for reason, count in report.dropped.items():
        console.print(f"Left out {counted(count, 'row')}: {reason}.")
    if report.repeats:
        console.print(f"Judgements that repeat a worker and item: {report.repeats:,} ({report.repeats_policy}).")
    if report.gold:
        console.print(f"The export itself knows the class of {counted(report.gold, 'item')}.")
    for note in report.notes if notes else ():
        console.print(f"Note: {note}")


def tell(show: Callable[[dict[str, Any], Path | None, str], None], summary: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the summary as was asked for: as JSON, by ``show``, or not at all."""
    if options["as_json"]:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not options["quiet"]:
        show(summary, options["out"], options["form"])
        if options["report"] is not None:
            click.echo(f"Wrote the report to {options['report']}.")


def print_summary(result: Result, summary: dict[str, Any], out: Path | None, form: str) -> None:
    """Print what was read, the result, the least reliable workers, the hardest items and where the files are."""
    from rich.console import Console
    from rich.table import Table

    console, labels = Console(highlight=False, markup=False), result.labels
    print_report(labels, notes=False)
    console.print(f"\n{told_method(summary)}.")
    end = "converged" if result.converged else "not converged"
    if result.objective is not None:
        n_iter = counted(result.n_iter, "iteration")
        console.print(f"Objective {result.objective:,.4f} after {n_iter}, {end}, in {result.seconds:.2f} s.")
    if result.selection is not None:
        scores = ", ".join(f"{row['candidate']}: {row['score']:.4f}" for row in result.selection["rows"])
        console.print(f"Chosen by {result.selection['criterion']}: {scores}.")
    sure = float((result.probability >= 0.95).mean())
    console.print(f"{sure:.1%} of the items have a probability of at least 0.95; {summary['n_tied']:,} are tied.")
    if "error_rate" in summary:
        console.print(told_score(summary))
    for note in [*labels.report.notes, *summary["notes"]]:
        console.print(f"Note: {note}")
    console.print()
    print_workers(console, result)
    measure = "entropy" if result.difficulty is None else "difficulty"
    items = Table("item", "labels", "label", "probability", measure, title="Hardest items", title_justify="left")
    hard = result.entropy if result.difficulty is None else result.difficulty
    for j in np.argsort(-hard, kind="stable")[:5]:
        row = (labels.class_names[result.code[j]], f"{result.probability[j]:.3f}", f"{hard[j]:.3f}")
        items.add_row(shown(labels.items[j].as_py()), f"{labels.starts[j + 1] - labels.starts[j]:,}", shown(row[0]), *row[1:])
    console.print(items)
    if out is None:
        console.print("No tables were written; give --out DIR for them.")
    else:
        console.print(f"Wrote labels, posterior, workers and items (.{form}) and summary.json to {out}.")


def told_method(summary: dict[str, Any]) -> str:
    """Say which method it was, with what can be set by an option; summary.json has the rest."""
    from crowdassay.cli.aggregate import FITTING  # it is light, and knows the options

    values = {name: value for name, value in summary["parameters"].items() if name in FITTING and value is not None}
    parameters = ", ".join(f"{name} = {brief(value)}" for name, value in values.items())
    return f"Method {summary['method']}{f' ({parameters})' if parameters else ''}"


def told_score(summary: dict[str, Any]) -> str:
    """Say how far the labels are from the truth, and how many items were left out because their class was given."""
    gold = counted(summary["truth_items_gold"], "item")
    if summary["error_rate"] is None:
        return f"Not scored: the truth knows {gold}, all given as gold."
    extra = f", RMSE {summary['rmse']:.4f}, MAE {summary['mae']:.4f}" if "rmse" in summary else ""
    left_out = f" Left out: {gold} given as gold." if summary["truth_items_gold"] else ""
    items = counted(summary["truth_items"], "item")
    return f"Against the truth of {items}: error {summary['error_rate']:.2%}{extra}.{left_out}"


def print_workers(console: Any, result: Result) -> None:
    """Print the least reliable workers."""
    from rich.table import Table

    found = result.insight
    workers = Table("worker", "labels", "accuracy", "95% interval", "verdict", title="Least reliable workers")
    workers.title_justify = "left"
    for i in least_reliable(result):
        between = f"{found.low[i]:.3f} to {found.high[i]:.3f}"
        accuracy = f"{found.accuracy[i]:.3f}" if found.estimable[i] else "unknown"
        name = shown(result.labels.workers[i].as_py())
        workers.add_row(name, f"{found.n_labels[i]:,}", accuracy, between, found.verdicts[i])
    console.print(workers)


def brief(value: Any) -> str:
    """Return a parameter as text, numbers with a few digits."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(brief, value[:5]))}{', ...' if len(value) > 5 else ''}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def least_reliable(result: Result) -> list[int]:
    """Return up to five workers of the lowest accuracy, those with too few labels to judge left out if others remain."""
    counts = result.insight.n_labels
    judged = np.flatnonzero(counts >= min(ENOUGH, counts.max()))
    return [int(i) for i in judged[np.argsort(result.insight.accuracy[judged], kind="stable")][:5]]


def shown(value: object) -> str:
    """Return a name fit for a terminal: no control characters, not too long."""
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value))
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
