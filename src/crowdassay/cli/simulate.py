"""`crowdassay simulate`: labels and truth drawn from the family."""

from __future__ import annotations

from pathlib import Path

import click

REVIEWS_KNOWN = 60  # reviews whose class is known
SIMULATION_HEAD = "simulation.json"  # by which a folder is known to hold what was simulated


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder for labels.csv and truth.csv.")
@click.option("--items", "n_items", default=200, show_default=True, help="Number of items.")
@click.option("--workers", "n_workers", default=20, show_default=True, help="Number of workers.")
@click.option("--classes", "n_classes", default=2, show_default=True, help="Number of classes.")
@click.option("--labels-per-item", default=5, show_default=True, help="Different workers who label each item.")
@click.option(
    "--structure",
    type=click.Choice(["nominal", "ordinal", "agreement", "class-accuracy"]),
    default="nominal",
    show_default=True,
    help="What workers and items differ in.",
)
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

    from crowdassay.checks.simulate import simulate as draw
    from crowdassay.checks.stories import birds, reviews
    from crowdassay.errors import ParameterError
    from crowdassay.labels.folder import check_free, check_writable
    from crowdassay.labels.write import write_json, write_table
    from crowdassay.version import VERSION

    if seed < 0:
        raise ParameterError(f"seed must be zero or a positive whole number, not {seed}.")
    given = [name for name in options if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT]
    if story is not None and given:
        raise ParameterError(
            f"--story fixes everything but --out and --seed; leave out --{given[0].removeprefix('n_').replace('_', '-')}."
        )
    check_writable(out)
    check_free(out, ("labels.csv", "truth.csv", "gold.csv", SIMULATION_HEAD), SIMULATION_HEAD)
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
    rows = pa.table(
        {
            "item": labels.items.take(pa.array(labels.label_item)),
            "worker": labels.workers.take(pa.array(labels.worker)),
            "label": labels.classes.take(pa.array(labels.label)),
            **more,
        }
    )
    write_table(rows, out / "labels.csv", "csv")
    write_table(pa.table({"item": labels.items, "label": labels.classes.take(pa.array(truth))}), out / "truth.csv", "csv")
    if story == "reviews":  # some that somebody has looked at with care
        known = pa.table({"item": labels.items, "label": labels.classes.take(pa.array(truth))}).slice(0, REVIEWS_KNOWN)
        write_table(known, out / "gold.csv", "csv")
    about = {"version": VERSION, "n_labels": labels.n_labels, "seed": seed, "story": story, **({} if story else options)}
    write_json(about, out / SIMULATION_HEAD)  # without it, the files may be somebody's own
    click.echo(
        f"Wrote {labels.n_labels:,} labels of {labels.n_items:,} items by {labels.n_workers:,} workers "
        f"to {out / 'labels.csv'}, and the truth to {out / 'truth.csv'}."
    )
