"""Options that say how labels are read, the same for every command that reads some; made from `ReadOptions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.read_options import OPTIONS, ReadOptions, flag

if TYPE_CHECKING:
    from crowdassay.labels.labels import Labels


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument LABELS, any number of files, folders and patterns, and the options that say how to read them."""
    return click.argument("labels", nargs=-1, required=True)(column_options(command))


def column_options(command: Callable[..., Any], without: Sequence[str] = ()) -> Callable[..., Any]:
    """Add the options that say how to read labels, without the argument."""
    for name in reversed([name for name in OPTIONS if name not in without]):
        command = _click_option(name)(command)
    return command


def _click_option(name: str) -> Callable[..., Any]:
    facts = OPTIONS[name].metadata
    flags = facts.get("flags", (flag(name),))
    if isinstance(OPTIONS[name].default, bool):
        return click.option(*flags, name, is_flag=True, help=facts["help"])
    more: dict[str, Any] = {}
    if choices := facts.get("choices"):
        more |= {"type": click.Choice(list(choices)), "default": OPTIONS[name].default}
        more |= {"show_default": OPTIONS[name].default is not None}
    if bare := facts.get("bare"):
        more |= {"is_flag": False, "flag_value": bare}
    return click.option(*flags, name, multiple=bool(facts.get("several")), help=facts["help"], **more)


def read_options(options: dict[str, Any]) -> ReadOptions:
    """Return what the command line says of reading."""
    given = {name: options[name] for name in OPTIONS if name in options}
    for name, option in OPTIONS.items():
        if option.metadata.get("commas") and isinstance(given.get(name), str):
            given[name] = [part.strip() for part in given[name].split(",")]
    return ReadOptions.of(given)


def read(labels: Sequence[str | Path], options: dict[str, Any]) -> Labels:
    """Read LABELS as the options say."""
    from crowdassay.labels.files import read_files

    return read_files(labels, read_options(options))
