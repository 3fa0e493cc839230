"""Options that say how labels are read, the same for every command that reads some."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from crowdassay.data.labels import Labels

OPTIONS = (
    click.argument("labels", type=click.Path(path_type=Path)),
    click.option("--classes", help="All classes in order, separated by commas; otherwise numeric or alphabetical order."),
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
    click.option("--from", "tool", help="The tool that exported LABELS, or 'plain'; recognised by content otherwise."),
    click.option("--question", help="Which question to take from an export that holds several."),
    click.option("--predictions", is_flag=True, help="Take model predictions in an export as workers."),
    click.option("--missing", help="A label that stands for none given, such as -1 in a matrix."),
    click.option("--use-gold", is_flag=True, help="Keep the classes that an export itself knows."),
    click.option("--pseudonymise", is_flag=True, help="Replace worker ids by salted ones."),
    click.option("--salt", help="--pseudonymise: the same salt gives the same ids again."),
)
NAMES = (
    "item_column", "worker_column", "label_column", "repeats",
    "question", "predictions", "missing", "use_gold", "pseudonymise", "salt",
)  # fmt: skip


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument LABELS and the options that say how to read it."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def read(labels: Path, options: dict[str, Any]) -> Labels:
    """Read LABELS as the options say."""
    from crowdassay.io.files import read_labels

    chosen = {name: options[name] for name in NAMES}
    return read_labels(labels, classes=class_list(options["classes"]), format=options["tool"], **chosen)


def class_list(text: str | None) -> list[str] | None:
    """Return the classes that --classes names."""
    return None if text is None else [name.strip() for name in text.split(",")]
