"""Paths on the command line: an empty one is a slip, and what is read is not written over."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

TABLES = ("aggregate", "update")  # commands whose results may go to a database
READ = ("labels", "truth", "gold", "validation")  # which may be addresses
ELSEWHERE = ("temp_dir",)  # of whose addresses others have something to say


class GivenPath(click.Path):
    """A path that is not empty: `--out "$DIR"` with DIR not set must not mean the folder one stands in."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as a `Path`."""
        if not str(value) or "\0" in str(value):
            self.fail("the path is empty; was a variable not set?" if not str(value) else "a path holds no NUL.", param, ctx)
        if "://" in str(value) and param is not None:
            if param.name in READ:
                return str(value)  # a path would lose one of the slashes
            if param.name == "out" and ctx is not None and ctx.command.name in TABLES:
                from crowdassay.results.write_tables import as_tables

                return as_tables(str(value)) or super().convert(value, param, ctx)
            if param.name not in ELSEWHERE:
                self.fail("this is an address; name a file or folder of this machine.", param, ctx)
        return super().convert(value, param, ctx)


def check_paths(command: click.Command) -> None:
    """Let a command refuse empty paths."""
    for parameter in command.params:
        if isinstance(parameter.type, click.Path):
            parameter.type = GivenPath(path_type=Path)


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
    from crowdassay.labels.kinds import find_inputs

    try:
        inputs = find_inputs([given])
    except CrowdassayError:
        inputs = []
    return [*inputs, *(path for path in Path(given).rglob("*") if path.is_file())] if os.path.isdir(given) else inputs
