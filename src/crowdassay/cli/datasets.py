"""`crowdassay datasets`: what there is, where it comes from, and fetching it."""

from __future__ import annotations

import click

from crowdassay.cli.outputs import print_json


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def datasets(context: click.Context, as_json: bool) -> None:
    """List the public datasets, show one, or fetch some."""
    if context.invoked_subcommand is not None:
        if as_json:
            raise click.UsageError(f"Put --json after {context.invoked_subcommand}.")
        return
    from crowdassay.labels.datasets.load import cached
    from crowdassay.labels.datasets.registry import entries

    known = entries().values()
    if as_json:
        print_json([{**entry.record(), "folder": cached(entry.name)} for entry in known])
        return
    rows: list[tuple[str, ...]] = [
        ("name", "kind", "classes", "items", "workers", "labels", "licence", "here", "can be fetched")
    ]
    for entry in known:
        state = ("yes" if cached(entry.name) else "no", "yes" if entry.raw else "no")
        counts = [f"{count:,}" for count in (len(entry.classes), entry.items, entry.workers, entry.labels)]
        rows.append((entry.name, entry.kind, *counts, entry.licence, *state))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if 2 <= place <= 5 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


@datasets.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(name: str, as_json: bool) -> None:
    """Show what is known about one dataset."""
    from crowdassay.labels.datasets.load import cached, file_url
    from crowdassay.labels.datasets.registry import entry

    facts, folder = entry(name), cached(name)
    if as_json:
        print_json({**facts.record(), "folder": folder})
        return
    names = f" ({', '.join(facts.class_names)})" if facts.class_names else ""
    lines = {
        "name": facts.name,
        "kind": facts.kind,
        "classes": ", ".join(facts.classes) + names,
        "items": f"{facts.items:,}, {facts.truth_items:,} with truth",
        "workers": f"{facts.workers:,}",
        "labels": f"{facts.labels:,}",
        "source": facts.source,
        "paper": facts.paper,
        "licence": facts.licence_note,
        "notes": facts.notes,
        "folder": folder or "not on this machine",
    }
    for key, value in lines.items():
        click.echo(f"{key:<9}{value}")
    if facts.raw is not None:
        for path in facts.raw.files:
            click.echo(f"{'file':<9}{file_url(facts.raw, path)}")


@datasets.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the folder of each.")
def fetch(names: tuple[str, ...], as_json: bool) -> None:
    """Download datasets into the user's data folder, unless they are here already."""
    from crowdassay.labels.datasets.load import fetch_dataset
    from crowdassay.labels.datasets.registry import entry

    for name in names:
        entry(name)  # a misspelt name stops before anything is downloaded
    folders = {}
    for name in names:
        folders[name] = str(fetch_dataset(name, announce=lambda line: click.echo(line, err=True)))
        if not as_json:
            click.echo(f"{name} is in {folders[name]}")
    if as_json:
        print_json(folders)
