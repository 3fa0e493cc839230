"""Where results go, checked before any work: all can be written, and nothing that is read or written is written over."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import choice
from crowdassay.errors import CrowdassayError, FileError, ParameterError

if TYPE_CHECKING:
    from crowdassay.results.write import DatabaseTables

    Paths = Sequence[Path | None]
    FolderFiles = tuple[Path | None, Collection[str], str] | tuple[Path | None, Collection[str], str, Collection[str]]

ADDRESS = re.compile(r"[a-zA-Z][\w+.-]+:/")  # what a path makes of s3://bucket; one letter is a drive of Windows


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how tables are written."""
    raw = click.option("--raw", is_flag=True, help="Leave text cells that a spreadsheet would take for formulas as they are.")
    words = "File type of the tables; 'excel-csv' is CSV that Excel opens as UTF-8."
    form = choice("--format", "form", values=["csv", "excel-csv", "parquet", "xlsx"], help=words, callback=_writable)
    return form(raw(command))


def _writable(_: object, __: object, form: str) -> str:
    if form == "xlsx":
        from crowdassay.labels.sheets import load

        load("xlsxwriter")  # before any work
    return form


def form_of(path: Path, asked: str = "csv") -> str:
    """Return the kind of table that a file's name asks for; ``asked``, of --format, tells Excel's CSV from others."""
    form = path.suffix.lower().removeprefix(".")
    if form == "csv" and asked == "excel-csv":
        return asked
    if form not in {"csv", "parquet", "xlsx"}:
        raise ParameterError(f"'{path.name}' must end in .csv, .xlsx or .parquet.")
    return _writable(None, None, form)


def print_json(value: object) -> None:
    """Print what --json asks for; what JSON does not have is printed as text."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def check_outputs(
    inputs: Iterable[str | Path | None],
    *,
    files: Paths = (),
    tables: Paths = (),
    pages: Paths = (),
    pictures: Paths = (),
    folders: Iterable[FolderFiles] = (),
    results: Path | DatabaseTables | None = None,
    spark: bool = False,
) -> None:
    """Refuse what could not be written, and what would be written over though this command reads or writes it.

    Parameters
    ----------
    inputs : iterable of str, Path or None
        What is read: patterns and folders are expanded, links followed.
    files, tables, pages, pictures : sequence of Path or None
        Files that are written: of any name, ending in .csv, .xlsx or .parquet, in .html, and in .svg or .png.
    folders : iterable of tuples
        Folders that are written to, as `crowdassay.labels.folder.check_free` takes them.
    results : Path or DatabaseTables, optional
        Where the tables of a fit go; with ``spark`` that may be an address.
    """
    from crowdassay.labels.folder import RESULT_FILES, check_free, check_results, check_writable

    homes: list[tuple[Path, Collection[str]]] = []  # folders and the names of our files in them
    single: list[Path] = []
    if isinstance(results, Path):
        if not spark and ADDRESS.match(str(results)):
            raise FileError(f"'{results}' is an address; tables go to a folder, or to sqlite:///FILE or postgresql://...")
        check_results(results)
        homes.append((results, RESULT_FILES))
    elif results is not None:
        from crowdassay.results.write import check_tables

        single += filter(None, [check_tables(results)])
    for folder, names, *known_by in folders:
        if folder is not None:
            check_writable(folder)
            check_free(folder, names, *known_by)
            homes.append((folder, names))
    for path in filter(None, tables):
        form_of(path)
    for path in filter(None, (*tables, *files)):
        check_writable(path.parent)
    for path in filter(None, pages):
        from crowdassay.results.report.page import check_report

        check_report(path)
    for path in filter(None, pictures):
        from crowdassay.results.report.chart import check_chart

        check_chart(path)
    replaced = [path for path in (*tables, *files, *pages, *pictures) if path is not None]
    check_apart(homes, single + replaced)
    check_kept(inputs, [*replaced, *(folder / name for folder, names in homes for name in names)])


def check_kept(inputs: Iterable[str | Path | None], written: Iterable[Path]) -> None:
    """Refuse to write over a file that is read."""
    from crowdassay.labels.values import shown_file

    read: dict[str, list[str]] = {}
    for real in files_read(inputs):
        read.setdefault(path_key(real), []).append(real)
    for path in written:
        if any(is_same(path, real) for real in read.get(path_key(path), ())):
            raise FileError(f"{shown_file(path)} is read by this command and would be written over; name another.")


def check_apart(folders: Iterable[tuple[Path, Collection[str]]], files: Iterable[Path]) -> None:
    """Refuse two outputs of one run that would be one file, or a file where another output needs a folder.

    Names that differ in case alone are one file on many systems, so that they are refused on all.
    """
    from crowdassay.labels.values import shown_file

    taken: dict[str, Path] = {}  # by the key of each file and folder: the output that it belongs to
    needed: dict[str, Path] = {}  # by the key of each folder that must be there: an output in it
    files = list(files)
    for output, names in (*folders, *((path, ()) for path in files)):
        for path in (output, *(output / name for name in names)):
            if (other := taken.get(path_key(path))) is not None:
                raise FileError(
                    f"{shown_file(path)} would be written twice: another output of this command, {shown_file(other)}, goes "
                    "there as well; name another place for one of them."
                )
            taken[path_key(path)] = output
        needed |= {path_key(parent): output for parent in Path(os.path.realpath(output)).parents}
    for path in files:
        if (other := needed.get(path_key(path))) is not None:
            raise FileError(
                f"{shown_file(path)} cannot be a file and a folder: another output of this command, {shown_file(other)}, needs "
                "the folder; name another file."
            )


def path_key(path: str | Path) -> str:
    """Return a text that is equal for two paths to one file: links followed, case and accents written one way."""
    return unicodedata.normalize("NFC", os.path.realpath(path).casefold())


def is_same(one: str | Path, other: str | Path) -> bool:
    """Return whether two paths lead to one file on this system."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return False


def files_read(inputs: Iterable[str | Path | None]) -> set[str]:
    """Return the real paths of all files that paths, folders and patterns stand for."""
    from crowdassay.labels.raw import find_inputs

    read: set[Path] = set()
    for given in inputs:
        if given is None:
            continue
        with suppress(CrowdassayError):  # whoever reads it says that it is not there
            read.update(find_inputs([given]))
        if os.path.isdir(given):
            read.update(path for path in Path(given).rglob("*") if path.is_file())
    return set(map(os.path.realpath, read))
