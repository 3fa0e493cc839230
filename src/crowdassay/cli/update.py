"""`crowdassay update`: new labels into a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.grouped import Grouped
from crowdassay.cli.reading import column_options, read

if TYPE_CHECKING:
    from crowdassay.estimators.base import Estimator

STALE = 0.1  # share of labels that the workers were not fitted to from which a refit is advised


def update_options(command: Any) -> Any:
    """Add the arguments and the options that say how the new labels are read."""
    arguments = (
        click.argument("model", type=click.Path(path_type=Path)),
        click.argument("labels", nargs=-1),
    )
    command = column_options(command, without=("classes",))  # which are the model's
    for part in reversed(arguments):
        command = part(command)
    return command


@click.command(cls=Grouped)
@update_options
@click.option("--refit", is_flag=True, help="Fit the workers too, going on from where they are.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the result tables of all items.")
@click.option(
    "--format", "form", type=click.Choice(["csv", "parquet"]), default="csv", show_default=True, help="Of the tables."
)
@click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print what happened as JSON.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def update(model: Path, labels: tuple[str, ...], **options: Any) -> None:
    """Add the labels in LABELS to the model in the folder MODEL, which 'crowdassay aggregate --save-model' wrote.

    Only items that get labels are judged again, with the workers as they were fitted, unless --refit is given; --refit alone,
    without LABELS, fits the workers to all labels so far. The folder holds the old model or the new one, never half of either.
    """
    import json

    from crowdassay.errors import ParameterError
    from crowdassay.estimators.load import load_model
    from crowdassay.fit.summary import summarise
    from crowdassay.fit.write import write_result
    from crowdassay.io.tables import check_results
    from crowdassay.persistence.saved import save_model
    from crowdassay.persistence.update import SINCE

    if not (labels or options["refit"]):
        raise ParameterError("Name the file of new labels, or give --refit to fit the workers to those the model has.")
    if options["out"] is not None:
        check_results(options["out"])
    estimator = load_model(model)
    facts = add(estimator, labels, options) if labels else {}
    n_iter = estimator.refresh().result_.n_iter if options["refit"] else None
    save_model(estimator, model)
    result = estimator.result_
    if options["out"] is not None:
        summary = summarise(result, result.method)
        write_result(result, summary, options["out"], options["form"], raw=options["raw"])
    facts |= {
        "n_items": result.labels.n_items,
        "n_labels": result.labels.n_labels,
        "refit_n_iter": n_iter,
        SINCE: result.parameters.get(SINCE, 0),
    }
    if options["as_json"]:
        click.echo(json.dumps(facts, indent=2))
    elif not options["quiet"]:
        tell(facts, model)


def add(estimator: Estimator, labels: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Take in the labels of files; return what that did."""
    import time

    from crowdassay.persistence.update import count_again
    from crowdassay.persistence.update import update as take_in

    old = estimator._fitted().labels
    new = read(labels, {**options, "classes": list(old.class_names)})
    started = time.perf_counter()
    done = take_in(estimator, new)
    return {
        "n_new_labels": new.n_labels,
        "n_known_labels": count_again(old, new),
        "n_touched": len(done.touched),
        "n_changed": done.changed,
        "seconds": round(time.perf_counter() - started, 4),
    }


def tell(facts: dict[str, Any], model: Path) -> None:
    """Print what happened, and what to do about labels given twice or workers left behind."""
    from crowdassay.io.values import counted

    if n_new := facts.get("n_new_labels"):
        click.echo(
            f"Took in {counted(n_new, 'label')}: judged {counted(facts['n_touched'], 'item')} again in "
            f"{facts['seconds']:.2f} s, and the label of {counted(facts['n_changed'], 'old item')} changed. "
            f"The model now holds {counted(facts['n_labels'], 'label')} of {counted(facts['n_items'], 'item')}."
        )
        if facts["n_known_labels"] == n_new:
            click.echo(
                "Note: The model had all of these labels already, word for word (same item, worker and label), and now counts "
                "them twice. If they were given again by mistake, start again from a copy of the model, or from all labels."
            )
    since = facts["labels_since_fit"]
    if facts["refit_n_iter"] is not None:
        click.echo(f"Fitted the workers again in {counted(facts['refit_n_iter'], 'iteration')}.")
    elif since > STALE * facts["n_labels"]:
        refit = f"crowdassay update {model} --refit"
        click.echo(f"The workers have not been fitted to {since:,} of these labels; {refit} does that.")
