"""Where results go: a folder, or tables of a database."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.results.result import Result
    from crowdassay.results.write_tables import Tables

ADDRESS = re.compile(r"[a-zA-Z][\w+.-]+:/")  # what a path makes of s3://bucket; one letter is a drive of Windows


def table_options(command: Any) -> Any:
    """Add the options that say how tables are written."""
    raw = click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
    kinds = click.Choice(["csv", "parquet"])
    form = click.option("--format", "form", type=kinds, default="csv", show_default=True, help="File type of the tables.")
    return form(raw(command))


def check_out(out: Path | Tables, *, spark: bool = False) -> None:
    """Refuse a place that results could not be written to, before there are any; Spark writes to addresses, too."""
    if isinstance(out, Path):
        from crowdassay.errors import FileError
        from crowdassay.labels.tables import check_results

        if not spark and ADDRESS.match(str(out)):
            raise FileError(f"'{out}' is an address; tables go to a folder, or to sqlite:///FILE or postgresql://...")
        check_results(out)
    else:
        from crowdassay.results.write_tables import check_tables

        check_tables(out)


def write_out(result: Result, summary: dict[str, Any], out: Path | Tables, form: str, *, raw: bool) -> None:
    """Write the tables of a result, all of them or none."""
    if isinstance(out, Path):
        from crowdassay.results.write import write_result

        write_result(result, summary, out, form, raw=raw)
    else:
        from crowdassay.results.write_tables import write_tables

        write_tables(result, summary, out)
