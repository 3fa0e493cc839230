"""What `crowdassay aggregate` prints: the summary of a fit, for programs and for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from crowdassay.findings.items import hardness
from crowdassay.findings.money import KNOWN_ITEMS
from crowdassay.labels.report import import_sentences
from crowdassay.labels.values import counted
from crowdassay.notes import NoteKind, kind_of
from crowdassay.results.result import Result
from crowdassay.results.show import print_table, terminal
from crowdassay.tables import Column, TableOf
from crowdassay.text import short

if TYPE_CHECKING:
    from rich.console import Console


LEAST_LABELS = 5  # labels a worker must have given to be called unreliable
MOST_FLAGGED = 8  # workers named with their reasons
ROWS_PRINTED = 5  # of workers and of items
LEAST_RELIABLE = TableOf(
    "workers",
    (
        Column("worker", format="name"),
        Column("n_labels", "labels", "count"),
        Column("accuracy", format="precise", missing="unknown"),
        Column("accuracy_low", "95% interval", "precise", to="accuracy_high"),
        Column("action", "what to do"),
    ),
)
HARDEST = TableOf(
    "items",
    (
        Column("item", format="name"),
        Column("n_labels", "labels", "count"),
        Column("label", format="name"),
        Column("probability", format="precise"),
        Column("hardness", format="precise"),
    ),
)


def print_report(labels: Any, *, notes: bool = True) -> None:
    """Print what was read, and what was left out and why; of labels, or of the facts of labels held elsewhere."""
    console, report = terminal(), labels.report
    columns = ", ".join(f"{role} = {short(name)}" for role, name in report.columns.items())
    console.print(
        f"Read {counted(labels.n_labels, 'label')} of {counted(labels.n_items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')} from {report.source} "
        f"({columns}); classes {', '.join(map(short, labels.class_names[:12]))}{', ...' if labels.n_classes > 12 else ''}."
    )
    if report.format != "plain":
        question = "" if report.question is None else f", question {short(report.question)}"
        console.print(f"Read as {report.format}{question}: {report.rows_kept:,} of {report.rows_read:,} judgements kept.")
    for sentence in import_sentences(report):
        console.print(sentence)
    if report.gold:
        console.print(f"The export itself knows the class of {counted(report.gold, 'item')}.")
    for note in report.notes if notes else ():
        console.print(f"Note: {note}")


def tell(result: Result, summary: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the summary as was asked for: as JSON, in words, or not at all."""
    if options["as_json"]:
        click.echo(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not options["quiet"]:
        print_summary(result, summary, options)


def print_summary(result: Result, summary: dict[str, Any], options: dict[str, Any]) -> None:
    """Print what was read, the result, the least reliable workers, the hardest items and where the files are."""
    console, facts = terminal(), result.place.facts
    print_report(facts, notes=False)
    where = "" if summary["engine"] == "local" else f", engine {summary['engine']}"
    console.print(f"\n{told_method(summary)}{where}.")
    end = "converged" if result.converged else "not converged"
    if result.objective is not None:
        n_iter = counted(result.n_iter, "iteration")
        console.print(f"Objective {result.objective:,.4f} after {n_iter}, {end}, in {result.seconds:.2f} s.")
    if result.selection is not None:
        scores = ", ".join(f"{row['candidate']}: {row['score']:.4f}" for row in result.selection["rows"])
        console.print(f"Chosen by {result.selection['criterion']}: {scores}.")
    totals = result.insight.totals
    low, high = totals.error_interval(result.spread)
    console.print(
        f"{totals.settled / totals.items:.1%} of the items are settled (probability at least {result.settled:g}, or known); "
        f"{totals.tied:,} are tied.\n"
        f"About {totals.wrong:,.0f} of {totals.items:,} labels are expected to be wrong ({low:,.0f} to {high:,.0f})."
    )
    if result.spread is not None and not totals.known and 2 * totals.unsettled > totals.items:
        console.print(
            "Nothing shows how far these labels can be trusted, so they count like those of an average real crowd. Let an "
            f"expert answer {KNOWN_ITEMS} items drawn at random, and give them with --gold."
        )
    if "error_rate" in summary:
        console.print(told_score(summary))
    if "cost" in summary:
        console.print(told_cost(summary))
    for note in sorted([*facts.report.notes, *summary["notes"]], key=lambda note: note != result.gold_warning):
        if kind_of(note) is not NoteKind.WORKERS:  # they are named below
            console.print(f"Note: {note}", style="bold red" if note == result.gold_warning else None)
    flagged = summary["flagged_workers"]
    for row in flagged[:MOST_FLAGGED]:
        console.print(f"{row['action'].capitalize()} {short(row['worker'])}: {'; '.join(row['reasons'])}.")
    if (more := len(flagged) - MOST_FLAGGED) > 0:
        console.print(f"{counted(more, 'more worker')} {'needs' if more == 1 else 'need'} attention; workers.csv names them.")
    console.print()
    print_workers(console, result)
    print_items(console, result)
    print_written(options, cells=isinstance(options["out"], Path) and result.cell_table() is not None)


def print_written(options: dict[str, Any], *, cells: bool = False) -> None:
    """Print which files were written, or that none were; with ``cells``, that of what workers answer to what is among them."""
    out = options["out"]
    kind = f" (.{options['form']}) and summary.json" if isinstance(out, Path) else ", as tables,"
    written = {
        f"labels, posterior, {'workers, items and confusion' if cells else 'workers and items'}{kind}": out,
        "the items to label next": options["ask"],
        "the chart of the probabilities": options["calibration"],
        "the model": options["save_model"],
        "the report": options["report"],
    }
    for what, where in written.items():
        if where is not None:
            click.echo(f"Wrote {what} to {where}.")
    if not any(where is not None for where in written.values()):
        click.echo("Nothing was written; give --out DIR for the tables or --report FILE.html for a page.")


def told_method(summary: dict[str, Any]) -> str:
    """Return which method it was, with what can be set by an option; summary.json has the rest."""
    from crowdassay.cli.aggregate import FITTING  # it is light, and knows the options

    values = {name: value for name, value in summary["parameters"].items() if name in FITTING and value is not None}
    parameters = ", ".join(f"{name} = {brief(value)}" for name, value in values.items())
    return f"Method {summary['method']}{f' ({parameters})' if parameters else ''}"


def told_cost(summary: dict[str, Any]) -> str:
    """Return what was spent, and what settling the rest would cost."""
    cost = summary["cost"]
    settled = "" if cost["per_settled_item"] is None else f", {cost['per_settled_item']:,.2f} for each settled item"
    vain = f" {cost['spent_on_removed']:,.2f} went to workers to remove." if cost["spent_on_removed"] else ""
    easy = max(summary["n_items"] - summary["n_settled"] - cost["for_experts"], 1)
    labels = counted(cost["labels_to_settle"], "more label")
    more = f" About {labels}, {cost['to_settle']:,.2f}, would settle {counted(easy, 'item')}."
    expert = f" Labels like these would hardly settle {counted(cost['for_experts'], 'item')}"
    expert += "." if cost["for_experts"] > KNOWN_ITEMS and not summary["n_gold"] else ": ask an expert."
    more = (more if cost["labels_to_settle"] else "") + (expert if cost["for_experts"] else "")
    return f"Spent {cost['spent']:,.2f}{settled}.{vain}{more}"


def told_score(summary: dict[str, Any]) -> str:
    """Return how far the labels are from the truth, and how many items were left out because their class was given."""
    gold = counted(summary["truth_items_gold"], "item")
    if summary["error_rate"] is None:
        return f"Not scored: the truth knows {gold}, all given as gold."
    steps = " in steps of the scale" if summary.get("distance") == "steps" else ""
    extra = f", RMSE {summary['rmse']:.4f}, MAE {summary['mae']:.4f}{steps}" if "rmse" in summary else ""
    left_out = f" Left out: {gold} given as gold." if summary["truth_items_gold"] else ""
    items = counted(summary["truth_items"], "item")
    return f"Against the truth of {items}: error {summary['error_rate']:.2%}{extra}.{left_out}"


def print_workers(console: Console, result: Result) -> None:
    """Print the least reliable workers."""
    insight = result.insight
    rows = [
        {
            "worker": insight.record.labels.workers[i].as_py(),
            "n_labels": insight.n_labels[i],
            "accuracy": insight.accuracy[i] if insight.estimable[i] else None,
            "accuracy_low": insight.low[i],
            "accuracy_high": insight.high[i],
            "action": insight.actions[i],
        }
        for i in least_reliable(result)
    ]
    print_table(console, LEAST_RELIABLE, rows, title="Least reliable workers")


def print_items(console: Console, result: Result) -> None:
    """Print the hardest items."""
    record = result.insight.record
    labels, hard = record.labels, hardness(record)
    rows = [
        {
            "item": labels.items[j].as_py(),
            "n_labels": labels.starts[j + 1] - labels.starts[j],
            "label": labels.class_names[record.code[j]],
            "probability": record.probability[j],
            "hardness": hard[j],
        }
        for j in np.argsort(-hard, kind="stable")[:ROWS_PRINTED]
    ]
    measure = HARDEST.column("hardness", title="entropy" if record.difficulty is None else "difficulty")
    print_table(console, HARDEST, rows, [*HARDEST.columns[:-1], measure], title="Hardest items")


def brief(value: Any) -> str:
    """Return a parameter as text, numbers with a few digits."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(brief, value[:5]))}{', ...' if len(value) > 5 else ''}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def least_reliable(result: Result) -> list[int]:
    """Return up to five workers of the lowest accuracy, those with too few labels to judge left out if others remain."""
    counts = result.insight.n_labels
    judged = np.flatnonzero(counts >= min(LEAST_LABELS, counts.max()))
    return [int(i) for i in judged[np.argsort(result.insight.accuracy[judged], kind="stable")][:ROWS_PRINTED]]
