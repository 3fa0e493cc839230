"""What `crowdassay aggregate` prints for people: the summary of a fit."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from click.core import ParameterSource

from crowdassay.findings.items import hardest, hardness
from crowdassay.findings.money import WAYS_TO_SETTLE, Money
from crowdassay.findings.money_words import advice, missing_prices, spending
from crowdassay.findings.tables import ITEMS, WORKERS
from crowdassay.labels.folder import TABLE_FORMS
from crowdassay.labels.record import LIKELIEST
from crowdassay.labels.report import import_sentences
from crowdassay.labels.values import counted
from crowdassay.notes import NoteKind, kind_of
from crowdassay.planning.expert import KNOWN_ITEMS
from crowdassay.read_options import READING_OPTIONS
from crowdassay.results.result import Result
from crowdassay.results.show import print_table, terminal
from crowdassay.tables import Column
from crowdassay.text import short

if TYPE_CHECKING:
    from rich.console import Console

    from crowdassay.labels.labels import Facts, Labels


LEAST_LABELS = 5  # labels a worker must have given to be called unreliable
MOST_FLAGGED = 8  # workers named with their reasons
ROWS_PRINTED = 5  # of workers and of items
NOTHING_WRITTEN = {  # what to say of a sheet for people that asks nothing
    "ask": " It is empty: every item is settled.",
    "disputes": " It is empty: on no item of unknown class do two answers differ.",
    "feedback": " Nobody has a likely mistake, so that there is only the index.",
    "expert": " It asks nothing: every class is known.",
}
ADD_SALT = "Add --salt with the same salt, which is never printed; without it the ids of workers become other ones."
LEAST_RELIABLE = (
    "worker",
    "n_labels",
    WORKERS.column("accuracy", format="precise"),
    WORKERS.column("accuracy_low", format="precise"),
    WORKERS.column("action", title="what to do"),
)
HARDEST = ("item", "n_labels", Column("label", format="name"), ITEMS.column("probability", format="precise"))


def print_report(labels: Labels | Facts, *, notes: bool = True) -> None:
    """Print what was read, and what was left out and why; of labels, or of the facts of labels held elsewhere."""
    console, report = terminal(), labels.report
    columns = ", ".join(f"{role} = {short(name)}" for role, name in report.columns.items())
    names = labels.class_names[:12]
    named = ", ".join(f"'{short(name)}'" if "," in name else short(name) for name in map(str, names))
    console.print(
        f"Read {counted(labels.n_labels, 'label')} of {counted(labels.n_items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')} from {report.source} "
        f"({columns}); classes {named}{', ...' if labels.n_classes > 12 else ''}."
    )
    if report.format != "plain":
        question = "" if report.question is None else f", question {short(report.question)}"
        console.print(
            f"Read as {report.format}{question}: {report.rows_kept:,} of {counted(report.rows_read, 'judgement')} kept."
        )
    for sentence in import_sentences(report):
        console.print(sentence)
    if report.gold:
        console.print(f"The export itself knows the class of {counted(report.gold, 'item')}.")
    for note in report.notes if notes else ():
        console.print(f"Note: {note}")
    if notes and labels.n_labels == labels.n_items > 1:
        console.print("Note: No item has a second label; if rows share what was labelled, name it with --item-column.")


def print_summary(result: Result, summary: dict[str, Any], money: Money, options: dict[str, Any]) -> None:
    """Print what was read, then one story: what is known, how sure, who needs attention, what next, and what it costs."""
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
    insight = result.insight
    for sentence in filter(None, (insight.told_known, insight.told_error, insight.told_bands)):
        console.print(sentence)
    if "error_rate" in summary:
        console.print(told_score(summary))
    for note in sorted([*facts.report.notes, *summary["notes"]], key=lambda note: note != result.gold_warning):
        if kind_of(note) is not NoteKind.WORKERS:  # they are named below
            console.print(f"Note: {note}", style="bold red" if note == result.gold_warning else None)
    flagged = summary["flagged_workers"]
    for row in flagged[:MOST_FLAGGED]:
        console.print(f"{row['action'].capitalize()} {short(row['worker'])}: {'; '.join(row['reasons'])}.")
    if (more := len(flagged) - MOST_FLAGGED) > 0:
        console.print(f"{counted(more, 'more worker')} {'needs' if more == 1 else 'need'} attention; workers.csv names them.")
    if least := least_reliable(result):
        workers = result.workers_table().take(least).to_pylist()
        print_table(console, WORKERS, workers, LEAST_RELIABLE, title="Least reliable workers")
    print_items(console, result)
    console.print()
    print_next(console, result, summary, options)
    print_cost(console, money, told=money.chance or not money.open_items or advice(money) in summary["next_steps"][0])
    print_written(options, money, cells=isinstance(options["out"], Path) and result.cell_table() is not None)


def print_next(console: Console, result: Result, summary: dict[str, Any], options: dict[str, Any]) -> None:
    """Print the one thing to do next, how to get a sheet for an expert, and what further answers would buy."""
    totals = result.insight.totals
    console.print(f"What to do next: {summary['next_steps'][0]}")
    if result.spread is not None and not totals.known and 2 * totals.unsettled > totals.items and options["expert"] is None:
        some = counted(min(KNOWN_ITEMS, totals.items), "item")
        console.print(f"Nothing has checked these labels yet. This writes a sheet of {some} drawn at random for an expert:")
        console.print(f"  {command_again(options)} --expert expert.xlsx", soft_wrap=True)
        if options["salt"] is not None:
            console.print(ADD_SALT)
    if result.insight.told_next:
        console.print(result.insight.told_next)


def command_again(options: dict[str, Any]) -> str:
    """Return the command that reads the same labels in the same way and fits the same method, as somebody would type it."""
    from crowdassay.cli.aggregate import FITTING  # it is light, and knows the options

    words, context = ["crowdassay", "aggregate", *options["labels"]], click.get_current_context()
    for param in context.command.params:
        name, value = param.name or "", context.params.get(param.name or "")
        kept = name in {*READING_OPTIONS, *FITTING, "method"} and name != "salt"  # which is a secret
        if kept and context.get_parameter_source(name) == ParameterSource.COMMANDLINE:
            values = [()] if value is True else [(str(one),) for one in (value if isinstance(value, tuple) else [value])]
            words += [word for one in values for word in (param.opts[0], *one)]
    return shlex.join(words)


def print_written(options: dict[str, Any], money: Money, *, cells: bool = False) -> None:
    """Print which files were written, or that none were; with ``cells``, that of what workers answer to what is among them."""
    out = options["out"]
    kind = f" (.{TABLE_FORMS[options['form']]}) and summary.json" if isinstance(out, Path) else ", as tables,"
    written = {
        f"labels, posterior, {'workers, items and confusion' if cells else 'workers and items'}{kind}": out,
        "the items to label next": options["ask"],
        "the sheet for an expert": options["expert"],
        "the items that workers disagree on": options["disputes"],
        "a sheet for each worker with likely mistakes, and an index of them,": options["feedback"],
        "the chart of the probabilities": options["calibration"],
        "the model": options["save_model"],
        "the report": options["report"],
    }
    held = {where: told_rows(name, n, money) for name, n in options["rows"].items() if (where := options[name]) is not None}
    for what, where in written.items():
        if where is not None:
            click.echo(f"Wrote {what} to {where}.{held.get(where, '')}")
    if options["rows"].get("expert"):
        click.echo(
            "Let the expert fill in the column 'label' from the top, as far as time allows; then\n"
            f"  {command_again(options)} --gold {shlex.quote(str(options['expert']))}"
        )
        if options["salt"] is not None:
            click.echo(ADD_SALT)
    if not any(where is not None for where in written.values()):
        click.echo("Nothing was written; give --out DIR for the tables or --report FILE.html for a page.")


def told_rows(name: str, rows: int, money: Money) -> str:
    """Return what to know of the number of rows that a sheet for people holds; empty where it holds all that there is."""
    if name == "ask" and rows < money.open_items:
        which = ": the least sure and the surest" if rows else ""
        return f" It holds {rows:,} of {counted(money.open_items, 'open item')}{which}."
    return "" if rows else NOTHING_WRITTEN[name]


def told_method(summary: dict[str, Any]) -> str:
    """Return which method it was, with what can be set by an option; summary.json has the rest."""
    from crowdassay.cli.aggregate import FITTING  # it is light, and knows the options

    values = {name: value for name, value in summary["parameters"].items() if name in FITTING and value is not None}
    parameters = ", ".join(f"{name} = {brief(value)}" for name, value in values.items())
    decided = "" if summary["decide"] == LIKELIEST else f"; labels by the {summary['decide']}"
    return f"Method {summary['method']}{f' ({parameters})' if parameters else ''}{decided}"


def print_cost(console: Console, money: Money, *, spent: bool = True, told: bool = False) -> None:
    """Print what was spent, what to ask for unless that has been ``told``, and the ways to settle what is open."""
    for sentence in ("" if told else advice(money), *((spending(money), missing_prices(money)) if spent else ())):
        if sentence:
            console.print(sentence)
    if money.ways:
        title = f"What would settle {counted(money.open_items, 'open item')}"
        print_table(console, WAYS_TO_SETTLE, money.rows(), money.shown, title=title)


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


def print_items(console: Console, result: Result) -> None:
    """Print the hardest items."""
    record = result.insight.record
    labels, hard, chosen = record.labels, hardness(record), hardest(record, ROWS_PRINTED)
    if not len(chosen):
        return
    rows = [
        {
            "item": labels.items[j].as_py(),
            "n_labels": labels.starts[j + 1] - labels.starts[j],
            "label": labels.class_names[record.code[j]],
            "probability": record.probability[j],
            "hardness": hard[j],
        }
        for j in chosen.tolist()
    ]
    more = () if record.difficulty is None else (Column("hardness", "difficulty", "precise"),)
    print_table(console, ITEMS, rows, (*HARDEST, *more), title="Hardest items")


def brief(value: object) -> str:
    """Return a parameter as text, numbers with a few digits."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(brief, value[:5]))}{', ...' if len(value) > 5 else ''}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def least_reliable(result: Result) -> list[int]:
    """Return up to five workers of the lowest accuracy that can be judged; those with few labels left out if others remain."""
    counts = result.insight.n_labels
    judged = np.flatnonzero((counts >= min(LEAST_LABELS, counts.max())) & result.insight.estimable)
    return [int(i) for i in judged[np.argsort(result.insight.accuracy[judged], kind="stable")][:ROWS_PRINTED]]
