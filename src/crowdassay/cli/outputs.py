"""Where results go: a folder, or tables of a database; and nothing that is read is written over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.results.result import Result
    from crowdassay.results.write import DatabaseTables

ADDRESS = re.compile(r"[a-zA-Z][\w+.-]+:/")  # what a path makes of s3://bucket; one letter is a drive of Windows


def table_options(command: Any) -> Any:
    """Add the options that say how tables are written."""
    raw = click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
    kinds = click.Choice(["csv", "parquet"])
    form = click.option("--format", "form", type=kinds, default="csv", show_default=True, help="File type of the tables.")
    return form(raw(command))


def check_out(out: Path | DatabaseTables, *, spark: bool = False) -> None:
    """Refuse a place that results could not be written to, before there are any; Spark writes to addresses, too."""
    if isinstance(out, Path):
        from crowdassay.errors import FileError
        from crowdassay.labels.folder import check_results

        if not spark and ADDRESS.match(str(out)):
            raise FileError(f"'{out}' is an address; tables go to a folder, or to sqlite:///FILE or postgresql://...")
        check_results(out)
    else:
        from crowdassay.results.write import check_tables

        check_tables(out)


def write_out(result: Result, summary: dict[str, Any], out: Path | DatabaseTables, form: str, *, raw: bool) -> None:
    """Write the tables of a result, all of them or none."""
    from crowdassay.results.write import write_database, write_result

    if isinstance(out, Path):
        write_result(result, summary, out, form, raw=raw)
    else:
        write_database(result, summary, out)


def refuse_inputs(
    inputs: Iterable[str | Path | None],
    outputs: Iterable[Path | None],
    folders: Iterable[tuple[Path | None, Iterable[str]]] = (),
) -> None:
    """Refuse to write over a file that is read, whatever it is called: patterns and folders are expanded, links followed.

    Parameters
    ----------
    inputs : iterable of str, Path or None
        Files, folders and patterns that are read.
    outputs : iterable of Path or None
        Files that are written.
    folders : iterable of pairs
        Folders that are written to, each with the names of the files that may be written there.
    """
    from crowdassay.errors import FileError
    from crowdassay.labels.values import shown_file

    read = {os.path.realpath(path) for given in inputs if given is not None for path in _files(given)}
    inside = [place / name for place, names in folders if isinstance(place, Path) for name in names]
    for output in [*(output for output in outputs if output is not None), *inside]:
        if os.path.realpath(output) in read:
            raise FileError(f"{shown_file(output)} is read by this command and would be written over; name another.")


def _files(given: str | Path) -> list[Path]:
    """Return the files that a path, folder or pattern stands for; what cannot be found, whoever reads it complains of."""
    from crowdassay.errors import CrowdassayError
    from crowdassay.labels.raw import find_inputs

    try:
        inputs = find_inputs([given])
    except CrowdassayError:
        inputs = []
    return [*inputs, *(path for path in Path(given).rglob("*") if path.is_file())] if os.path.isdir(given) else inputs
