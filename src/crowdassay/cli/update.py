"""`crowdassay update`: new labels into a saved model."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, Grouped, column_options, quiet_option, read, settled_option
from crowdassay.cli.outputs import check_outputs, is_same, print_json, table_options
from crowdassay.cli.running import noting
from crowdassay.errors import FileError, ParameterError

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator

STALE = 0.1  # share of labels that the workers were not fitted to from which a refit is advised


@click.command(cls=Grouped)
@click.argument("model", type=PATH)
@click.argument("labels", nargs=-1)
@partial(column_options, without=("classes",))  # which are the model's
@click.option("--refit", is_flag=True, help="Fit the workers too, going on from where they are.")
@settled_option
@click.option("--out", type=PATH, help="Folder for the result tables of all items.")
@click.option("--report", type=PATH, help="Write the report on all items, one .html file that opens offline.")
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print what happened as JSON.")
@quiet_option
def update(model: Path, labels: tuple[str, ...], **options: Any) -> None:
    """Add the labels in LABELS to the model in the folder MODEL, which 'crowdassay aggregate --save-model' wrote.

    Only items that get labels are judged again, with the workers as they were fitted, unless --refit is given; --refit alone,
    without LABELS, fits the workers to all labels so far. The folder holds the old model or the new one, never half of either.
    """
    from crowdassay.estimators.load import load_estimator
    from crowdassay.labels.workspace import folder_locked
    from crowdassay.results.saved.folder import save_model
    from crowdassay.results.saved.update import SINCE
    from crowdassay.results.summary import summarise
    from crowdassay.results.write import write_result

    if not (labels or options["refit"] or options["settled"]):
        raise ParameterError("Name the file of new labels, or give --refit to fit the workers to those the model has.")
    if options["out"] is not None and is_same(str(options["out"]), model):
        raise FileError(f"'{options['out']}' is the model's own folder; name another for the tables.")
    check_outputs([*labels, model], results=options["out"], pages=[options["report"]])
    wait = partial(click.echo, f"Waiting for another update of '{model}' to end ...", err=True)
    with folder_locked(model, None if options["quiet"] else wait):
        estimator = load_estimator(model)
        facts = add(estimator, labels, options) if labels else {}
        if options["settled"] is not None:
            estimator.set_params(settled=options["settled"])
        n_iter = estimator.refresh().result_.n_iter if options["refit"] else None
        if facts.get("n_new_labels") or facts.get("n_replaced_labels") or options["refit"] or options["settled"]:
            with noting(f"the model in '{model}'"):
                save_model(estimator, model)
    result = estimator.result_
    if options["out"] is not None:
        summary = summarise(result, result.method)
        with noting(f"the tables in '{options['out']}'"):
            write_result(result, summary, options["out"], options["form"], raw=options["raw"])
    if options["report"] is not None:
        with noting(f"'{options['report']}'"):
            result.report(options["report"])
    facts |= {
        "n_items": result.labels.n_items,
        "n_labels": result.labels.n_labels,
        "refit_n_iter": n_iter,
        SINCE: result.parameters.get(SINCE, 0),
    }
    if options["quiet"]:
        return
    if options["as_json"]:
        print_json(facts)
    else:
        show(facts, model)
        if options["report"] is not None:
            click.echo(f"Wrote the report to {options['report']}.")


def add(estimator: Estimator, labels: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Take in the labels of files; return what that did."""
    from crowdassay.cli.aggregate_show import print_report
    from crowdassay.results.saved.pseudonyms import check_pseudonyms
    from crowdassay.results.saved.update import update as take_in

    old = estimator._fitted().labels
    new = read(labels, {**options, "classes": list(old.class_names)})
    strangers = check_pseudonyms(old, new)
    if not (options["quiet"] or options["as_json"]):
        print_report(new)
        if strangers is not None:
            click.echo(f"Note: {strangers}")
    started = time.perf_counter()
    done = take_in(estimator, new, repeats=options["repeats"])
    sifted = done.sifted
    return {
        "n_new_labels": 0 if sifted.new is None else sifted.new.n_labels,
        "n_known_labels": sifted.known,
        "n_left_out_labels": sifted.left_out,
        "n_replaced_labels": sifted.replaced,
        "n_touched": len(done.touched),
        "n_changed": done.changed,
        "dropped": dict(new.report.dropped),
        "notes": [*new.report.notes, *filter(None, [strangers])],
        "seconds": round(time.perf_counter() - started, 4),
    }


def show(facts: dict[str, Any], model: Path) -> None:
    """Print what happened, and what to do about labels given twice or workers left behind."""
    from crowdassay.labels.values import counted

    if known := facts.get("n_known_labels"):
        click.echo(
            f"The model had {known:,} of these labels already (same item, worker and label): "
            f"{'it was' if known == 1 else 'they were'} not counted again."
        )
    if count := facts.get("n_left_out_labels"):
        click.echo(f"Left out {counted(count, 'label')} of workers who had labelled the item before (--repeats first).")
    if count := facts.get("n_replaced_labels"):
        click.echo(f"Replaced {counted(count, 'older label')} by the same workers on the same items (--repeats last).")
    if facts.get("n_new_labels") == 0:
        click.echo("Nothing was added to the model.")
    if n_new := facts.get("n_new_labels"):
        click.echo(
            f"Took in {counted(n_new, 'label')}: judged {counted(facts['n_touched'], 'item')} again in "
            f"{facts['seconds']:.2f} s, and the label of {counted(facts['n_changed'], 'old item')} changed. "
            f"The model now holds {counted(facts['n_labels'], 'label')} of {counted(facts['n_items'], 'item')}."
        )
    since = facts["labels_since_fit"]
    if facts["refit_n_iter"] is not None:
        click.echo(f"Fitted the workers again in {counted(facts['refit_n_iter'], 'iteration')}.")
    elif since > STALE * facts["n_labels"]:
        refit = f"crowdassay update {model} --refit"
        click.echo(f"The workers have not been fitted to {since:,} of these labels; {refit} does that.")
