"""`crowdassay simulate`: labels and truth drawn from the family."""

from __future__ import annotations

from pathlib import Path

import click

from crowdassay.cli.options import PATH, choice
from crowdassay.cli.outputs import check_outputs
from crowdassay.errors import ParameterError

REVIEWS_KNOWN = 60  # reviews whose class is known
SIMULATION_HEAD = "simulation.json"  # by which a folder is known to hold what was simulated


@click.command()
@click.option("--out", type=PATH, required=True, help="Folder for labels.csv and truth.csv.")
@click.option("--items", "n_items", default=200, show_default=True, help="Number of items.")
@click.option("--workers", "n_workers", default=20, show_default=True, help="Number of workers.")
@click.option("--classes", "n_classes", default=2, show_default=True, help="Number of classes.")
@click.option("--labels-per-item", default=5, show_default=True, help="Different workers who label each item.")
@choice("--structure", values=["nominal", "ordinal", "agreement", "class-accuracy"], help="What workers and items differ in.")
@click.option("--skill", default=1.5, show_default=True, help="Log odds of the right answer against one wrong answer.")
@click.option("--worker-spread", default=1.0, show_default=True, help="Standard deviation of the worker parameters.")
@click.option("--item-spread", default=0.5, show_default=True, help="Standard deviation of the item parameters.")
@click.option("--spammers", default=0.0, show_default=True, help="Share of workers who guess.")
@click.option("--story", type=click.Choice(["birds", "reviews"]), help="Instead of all that: a story of the documentation.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same labels.")
@click.pass_context
def simulate(context: click.Context, /, out: Path, seed: int, story: str | None, **options: object) -> None:
    """Draw labels and truth from the model family, to try things out on."""
    import numpy as np
    import pyarrow as pa

    from crowdassay.checks.simulate import birds, reviews
    from crowdassay.checks.simulate import simulate as draw
    from crowdassay.labels.files import table_of
    from crowdassay.labels.values import counted
    from crowdassay.labels.write import write_json, write_table
    from crowdassay.version import VERSION

    if seed < 0:
        raise ParameterError(f"seed must be zero or a positive whole number, not {seed}.")
    given = [name for name in options if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT]
    if story is not None and given:
        raise ParameterError(
            f"--story fixes everything but --out and --seed; leave out --{given[0].removeprefix('n_').replace('_', '-')}."
        )
    check_outputs([], folders=[(out, ("labels.csv", "truth.csv", "gold.csv", SIMULATION_HEAD), SIMULATION_HEAD)])
    generator = np.random.default_rng(seed)
    more: dict[str, pa.Array] = {}
    if story == "reviews":
        labels, truth, texts = reviews(generator)
        more = {"text": pa.array(texts).take(pa.array(labels.label_item))}
    else:
        labels, truth = birds(generator) if story else draw(generator, **options)  # type: ignore[arg-type]
    if labels.time is not None:
        more["time"] = pa.array(labels.time).cast(pa.int64()).cast(pa.timestamp("s")).cast(pa.string())
    if labels.duration is not None:
        more["duration"] = pa.array(labels.duration)
    out.mkdir(parents=True, exist_ok=True)
    rows = table_of(labels)
    write_table(pa.table([*rows.columns, *more.values()], [*rows.column_names, *more]), out / "labels.csv", "csv")
    truths = pa.table({"item": labels.items, "label": labels.classes.take(pa.array(truth))})
    write_table(truths, out / "truth.csv", "csv")
    if story == "reviews":  # some that somebody has looked at with care
        write_table(truths.slice(0, REVIEWS_KNOWN), out / "gold.csv", "csv")
    about = {"version": VERSION, "n_labels": labels.n_labels, "seed": seed, "story": story, **({} if story else options)}
    write_json(about, out / SIMULATION_HEAD)  # without it, the files may be somebody's own
    click.echo(
        f"Wrote {counted(labels.n_labels, 'label')} of {counted(labels.n_items, 'item')} by "
        f"{counted(labels.n_workers, 'worker')} to {out / 'labels.csv'}, and the truth to {out / 'truth.csv'}."
    )
