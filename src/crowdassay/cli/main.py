"""The command line: translation only. Heavy modules load inside the commands, so that help is quick."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from crowdassay.cli.aggregate import aggregate
from crowdassay.cli.agreement import agreement
from crowdassay.cli.compare import compare
from crowdassay.cli.convert import convert
from crowdassay.cli.datasets import datasets
from crowdassay.cli.methods import methods
from crowdassay.cli.reproduce import reproduce
from crowdassay.cli.simulate import simulate
from crowdassay.errors import CrowdassayError

INTERRUPTED = 3


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="crowdassay")
@click.option("--debug", is_flag=True, help="Show the whole traceback when something goes wrong.")
def cli(debug: bool) -> None:
    """Turn many noisy labels into true labels, and measure the people and models who gave them."""


for command in (aggregate, agreement, compare, convert, datasets, methods, reproduce, simulate):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 bad data, 2 usage, 3 interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.exit(cli.main(given, prog_name="crowdassay", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.exceptions.Abort):
        click.echo("Interrupted; nothing was written.", err=True)
        sys.exit(INTERRUPTED)
    except CrowdassayError as error:
        if "--debug" in given:
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)
    except MemoryError:
        if "--debug" in given:
            raise
        click.echo("Error: Not enough memory for these labels and this number of classes.", err=True)
        sys.exit(1)
