"""`crowdassay update`: new labels into a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from crowdassay.cli.reading import OPTIONS, read_many

STALE = 0.1  # share of labels that the workers were not fitted to from which a refit is advised


def update_options(command: Any) -> Any:
    """Add the arguments and the options that say how the new labels are read."""
    arguments = (
        click.argument("model", type=click.Path(path_type=Path)),
        click.argument("labels", nargs=-1, required=True),
    )
    for part in reversed([*arguments, *OPTIONS[2:]]):  # without --classes: they are the model's
        command = part(command)
    return command


@click.command()
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

    Only items that get labels are judged again, with the workers as they were fitted, unless --refit is given. The folder
    holds the old model or the new one, never half of either.
    """
    import json
    import time

    from crowdassay.cli.summary import summarise
    from crowdassay.estimators.saved import load_model, save_model
    from crowdassay.estimators.update import SINCE
    from crowdassay.estimators.update import update as take_in
    from crowdassay.io.tables import check_results, write_result

    if options["out"] is not None:
        check_results(options["out"])
    estimator = load_model(model)
    classes = list(estimator._fitted().labels.class_names)
    new = read_many(labels, {**options, "classes": classes})
    started = time.perf_counter()
    done = take_in(estimator, new)
    seconds = time.perf_counter() - started
    sweeps = None
    since = done.result.parameters[SINCE]
    if options["refit"]:
        sweeps = estimator.refresh().result_.sweeps
    save_model(estimator, model)
    result = estimator.result_
    if options["out"] is not None:
        summary = summarise(result, result.method, None, ordered=False)
        write_result(result, summary, options["out"], options["form"], raw=options["raw"])
    facts = {
        "n_new_labels": new.n_labels,
        "n_touched": len(done.touched),
        "n_changed": done.changed,
        "n_items": result.labels.n_items,
        "n_labels": result.labels.n_labels,
        "seconds": round(seconds, 4),
        "refit_sweeps": sweeps,
        SINCE: 0 if options["refit"] else since,
    }
    if options["as_json"]:
        click.echo(json.dumps(facts, indent=2))
    elif not options["quiet"]:
        click.echo(
            f"Took in {new.n_labels:,} labels: judged {len(done.touched):,} items again in {seconds:.2f} s, and "
            f"{done.changed:,} old ones changed their label. The model now holds {result.labels.n_labels:,} labels of "
            f"{result.labels.n_items:,} items."
        )
        if sweeps is not None:
            click.echo(f"Fitted the workers again in {sweeps} sweeps.")
        elif since > STALE * result.labels.n_labels:
            click.echo(f"The workers have not been fitted to {since:,} of these labels; --refit does that.")
