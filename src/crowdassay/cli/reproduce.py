"""`crowdassay reproduce`: the paper's tables, its figures and ours side by side."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from crowdassay.cli.options import PATH, json_option
from crowdassay.cli.outputs import check_outputs, print_json


@click.command()
@click.argument("table", type=click.IntRange(1, 4), required=False)
@click.option("--html", type=PATH, help="Write one page that opens offline as well.")
@json_option
def reproduce(table: int | None, html: Path | None, as_json: bool) -> None:
    """Reproduce the paper's Tables 1 to 4, or the one of number TABLE, from the data in CROWDASSAY_DATA."""
    from crowdassay.checks.reproduce import reproduce as run
    from crowdassay.checks.reproduce import table_4_records
    from crowdassay.cli.running import progress_line
    from crowdassay.labels.write import write_bytes
    from crowdassay.results.report.chart import render_svg
    from crowdassay.results.report.charts import calibration_chart
    from crowdassay.results.report.reproduction import FIGURES, empty_rows, figures_of, reproduction_page
    from crowdassay.results.show import print_table, terminal

    numbers = [1, 2, 3, 4] if table is None else [table]
    check_outputs([], pages=[html])
    with progress_line(quiet=not sys.stderr.isatty()) as (_, announce):
        tables, experiments = run(numbers, announce)
    if html is not None:
        plot = None
        if 4 in numbers and experiments.data("Web search") is not None:
            plot = render_svg(calibration_chart(table_4_records(experiments, converged=False)).spec)
        write_bytes(reproduction_page(tables, plot).encode(), html)
    if as_json:
        print_json(tables)
        return
    console = terminal()
    for made in tables:
        print_table(console, FIGURES, *figures_of(made["rows"]), title=f"Table {made['table']}: {made['title']}")
        for note in empty_rows(made["rows"]):
            console.print(note)
        console.print()
    if html is not None:
        click.echo(f"Wrote {html}.")
