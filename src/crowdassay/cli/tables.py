"""What `measure` and `rank` have in common: a folder of tables, a page, a picture, conditions and JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def table_options(*, page: str, picture: str, condition: str) -> Callable[[Any], Any]:
    """Return a decorator that adds the options of what is written, given what the page and the picture show."""
    path = click.Path(path_type=Path)
    options = (
        click.option("--allow-drops", is_flag=True, help="Go on even if more than half of the rows miss a value."),
        click.option("--out", type=path, help="Folder for the tables, as CSV."),
        click.option("--report", type=path, help=f"A page with {page} (.html)."),
        click.option("--chart", type=path, help=f"{picture} as a picture (.svg or .png)."),
        click.option("--report-title", help="Title of the page."),
        click.option(
            "--fail-if", multiple=True, help=f"End with exit code 1 if this holds, such as '{condition}'; again for more."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else."),
    )

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def split(text: str | None) -> list[str]:
    """Return names separated by commas."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def check_outputs(source: Path, files: tuple[str, ...], mark: str, options: dict[str, Any]) -> None:
    """Refuse what cannot be written before there is anything to write; ``mark`` is a key of the last of ``files``."""
    from crowdassay.cli.outputs import refuse_inputs
    from crowdassay.labels.folder import check_free, check_writable

    refuse_inputs([source], [options["report"], options["chart"]], [(options["out"], files)])
    if options["report"] is not None:
        from crowdassay.results.report.build import check_report

        check_report(options["report"])
    if options["chart"] is not None:
        from crowdassay.results.report.chart import check_chart

        check_chart(options["chart"])
    if options["out"] is not None:
        check_writable(options["out"])
        check_free(options["out"], files, files[-1], [mark])


def write_tables(out: Path | None, files: tuple[str, ...], mark: str, tables: dict[str, Any], summary: dict[str, Any]) -> None:
    """Write every table and the summary, all or nothing, where a folder was asked for."""
    from crowdassay.labels.folder import replacing_folder
    from crowdassay.labels.write import write_json, write_table

    if out is None:
        return
    with replacing_folder(out, files, files[-1], [mark]) as fresh:
        for name, table in tables.items():
            write_table(table, fresh / f"{name}.csv", "csv")
        write_json(summary, fresh / files[-1])


def print_json(summary: dict[str, Any], tables: dict[str, Any]) -> None:
    """Print the summary and the rows of the tables."""
    import json

    from crowdassay.labels.write import finite

    body = summary | {"tables": {name: table.to_pylist() for name, table in tables.items()}}
    click.echo(json.dumps(finite(body), indent=2, ensure_ascii=False))


def say_written(console: Any, options: dict[str, Any], picture: str) -> None:
    """Print where the tables, the page and the picture are."""
    words = (("out", "tables"), ("report", "the page"), ("chart", picture))
    written = [f"{word} to {options[name]}" for name, word in words if options[name]]
    console.print(f"Wrote {', '.join(written)}." if written else "No tables were written; give --out DIR for them.")
