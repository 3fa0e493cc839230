"""Options that say how labels are read, the same for every command that reads some."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.data.labels import Labels

OPTIONS = (
    click.argument("labels", type=click.Path(path_type=Path)),
    click.option(
        "--classes",
        "--order",
        "classes",
        help="All classes in order, separated by commas; otherwise numeric or alphabetical order.",
    ),
    click.option("--item-column", help="Column that names the item."),
    click.option("--worker-column", help="Column that names the worker."),
    click.option("--label-column", help="Column that holds the label."),
    click.option(
        "--repeats",
        type=click.Choice(["keep", "first", "last", "error"]),
        default="keep",
        show_default=True,
        help="What to do when a worker judged an item more than once.",
    ),
    click.option("--time-column", help="--repeats first or last: column that says when; found by name otherwise."),
    click.option("--weight-column", help="Column of weights: labels of weight 0 are left out."),
    click.option("--allow-drops", is_flag=True, help="Go on even if more than half of the rows miss a value."),
    click.option("--skip-bad", is_flag=True, help="Leave out lines of a JSONL file that are not valid JSON."),
    click.option("--from", "tool", help="The tool that exported LABELS, 'plain' or 'wide'; recognised by content otherwise."),
    click.option("--question", help="Which question to take from an export that holds several."),
    click.option("--predictions", is_flag=True, help="Take model predictions in an export as workers."),
    click.option("--missing", multiple=True, help="A label that stands for none given, such as -1; may be given again."),
    click.option("--use-gold", is_flag=True, help="Keep the classes that an export itself knows."),
    click.option("--pseudonymise", is_flag=True, help="Replace worker ids by salted ones."),
    click.option("--salt", help="--pseudonymise: the same salt gives the same ids again."),
)
NAMES = (
    "item_column", "worker_column", "label_column", "time_column", "weight_column", "repeats", "allow_drops", "skip_bad",
    "question", "predictions", "missing", "use_gold", "pseudonymise", "salt",
)  # fmt: skip

ALONE = ("time_column", "weight_column", "skip_bad", "question", "predictions", "use_gold")  # not for several files


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument LABELS and the options that say how to read it."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def many_reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument LABELS for any number of files, folders and patterns, and the same options."""
    for option in reversed((click.argument("labels", nargs=-1, required=True), *OPTIONS[1:])):
        command = option(command)
    return command


def read_many(labels: Sequence[str], options: dict[str, Any]) -> Labels:
    """Read any number of files, folders and patterns as the options say; one file, or a tool's folder, as `read` does."""
    from crowdassay.sources.local import local_sources

    with local_sources(labels) as names:
        return _read_many(names, options)


def _read_many(labels: Sequence[str], options: dict[str, Any]) -> Labels:
    from crowdassay.errors import CrowdassayError, ParameterError
    from crowdassay.io.ingest_source import find_inputs
    from crowdassay.io.several import read_several

    single = Path(labels[0])
    try:
        paths = find_inputs(labels)
    except CrowdassayError:
        if len(labels) > 1 or not labels[0] or not os.path.isdir(single):
            raise
        paths = [single]  # a folder of no plain tables may be a tool's export
    if len(labels) == 1 and (paths == [single] or (single.is_dir() and _is_export(single, options["tool"]))):
        return read(single, options)
    if unfit := [name for name in ALONE if options[name]]:
        raise ParameterError(f"--{unfit[0].replace('_', '-')} goes with a single file; there are {len(paths)} here.")
    if len(paths) == 1:
        return read(paths[0], options)
    chosen = {name: options[name] for name in NAMES if name not in ALONE}
    return read_several(paths, classes=class_list(options["classes"]), **chosen)


def _is_export(folder: Path, tool: str | None) -> bool:
    from crowdassay.errors import CrowdassayError
    from crowdassay.io.formats.look import look
    from crowdassay.io.formats.registry import PLAIN, recognise

    try:
        return (tool or recognise(look(folder))) != PLAIN
    except CrowdassayError:
        return False


def read(labels: Path, options: dict[str, Any]) -> Labels:
    """Read LABELS as the options say."""
    from crowdassay.io.files import read_labels
    from crowdassay.sources.local import local_sources

    chosen = {name: options[name] for name in NAMES}
    with local_sources([labels]) as (name,):
        return read_labels(name, classes=class_list(options["classes"]), format=options["tool"], **chosen)


def class_list(given: str | list[str] | None) -> list[str] | None:
    """Return the classes that --classes names, or a list as it is."""
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else given
