"""The command line: translation only. Heavy modules load inside the commands, so that help is quick."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from crowdassay.cli.running import INTERRUPTED, Ending, prompt_ending
from crowdassay.cli.start import open_streams
from crowdassay.errors import CrowdassayError

PASSWORD = re.compile(r"(\b[a-zA-Z][\w+.-]+:/{1,2}[^\s/:@]*):[^\s]*@")  # of an address, wherever a message repeats it
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


COMMANDS = {
    "aggregate": "Turn LABELS into one label for each item.",
    "agreement": "Measure how far workers agree.",
    "compare": "Fit several methods and compare them.",
    "convert": "Turn a tool's export into a plain table.",
    "datasets": "List the public datasets, show one, or fetch some.",
    "measure": "Measure raters, tasks and other facets.",
    "methods": "List the methods, one line each.",
    "plan": "Say what to label next, by whom, and when to stop.",
    "rank": "Rank what was compared two at a time.",
    "rate": "Find the real pass rate from judges and a few people.",
    "reproduce": "Reproduce the paper's tables.",
    "serve": "Serve a labelling job, with a page.",
    "simulate": "Draw labels with a known truth.",
    "store": "Back up, copy or check the store of a job; its tokens.",
    "update": "Add new labels to a saved model.",
}
MODULES = {"methods": "compare"}  # of commands that are not in a module of their own name


class Commands(click.Group):
    """The commands by name; the module of a command loads when the command is called, or its own help is asked for."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, or None if there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"crowdassay.cli.{MODULES.get(cmd_name, cmd_name)}"), cmd_name)
        assert isinstance(command, click.Command)
        command.short_help = COMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each command, without loading any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    commands=list(map(click.Command, COMMANDS)),  # names alone, for the list and for "Did you mean ..."
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="crowdassay")
@click.option("--debug", is_flag=True, help="Show the whole traceback when something goes wrong.")
def cli(debug: bool) -> None:
    """Turn many noisy labels into true labels, and measure the people and models who gave them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 1 bad data, 2 usage, 3 interrupted."""
    open_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(errors="replace")  # better than to end in the middle of a table
    with prompt_ending() as ending:
        sys.exit(run(given, ending))


def run(given: list[str], ending: Ending) -> int:
    """Run a command and return the exit code; what goes wrong is one line, and a traceback only with --debug."""
    try:
        return cli.main(given, prog_name="crowdassay", standalone_mode=False, obj=ending) or 0
    except click.ClickException as error:
        return fail(error, error.format_message(), error.exit_code) if "--json" in given else show(error)
    except (KeyboardInterrupt, click.exceptions.Abort):
        return interrupted(ending)
    except (BrokenPipeError, SystemExit):  # whoever was reading, such as head, has seen enough; rich says so by an exit
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  Python flushes it once more at the end
        return 0
    except Exception as error:  # a user is told what to do even of what we did not think of
        if ending.heard:  # modules that load compiled code make an ImportError of Ctrl-C, and count as missing
            return interrupted(ending)
        if "--debug" in given:
            raise
        message, code = (error.message, error.exit_code) if isinstance(error, CrowdassayError) else (unforeseen(error), 1)
        return fail(error, message, code, as_json="--json" in given)


def interrupted(ending: Ending) -> int:
    """Print what had been written, and return the exit code."""
    click.echo(ending.last_words(), err=True)
    return INTERRUPTED


def show(error: click.ClickException) -> int:
    """Show what is wrong with the command itself, and how it is used."""
    text = io.StringIO()
    error.show(file=text)
    click.echo(PASSWORD.sub(r"\1:***@", text.getvalue()), err=True, nl=False)
    return error.exit_code


def fail(error: Exception, message: str, code: int, *, as_json: bool = True) -> int:
    """Print in one line what went wrong; with --json as JSON, where a program looks for the result.

    At a terminal, where people read, each way out has a line of its own.
    """
    if isinstance(error, CrowdassayError) and error.ways and not as_json and sys.stderr.isatty():
        message = "\n".join([" ".join(map(str, error.args)), *(f"  {way}" for way in error.ways)])
    message = PASSWORD.sub(r"\1:***@", message)
    if as_json:
        click.echo(json.dumps({"error": {"kind": type(error).__name__, "message": message, "exit_code": code}}))
    else:
        click.echo(f"Error: {message}", err=True)
    return code


def unforeseen(error: Exception) -> str:
    """Return a line about an error that is none of ours."""
    kind = type(error).__name__
    if isinstance(error, MemoryError) or kind == "OutOfMemoryException":  # DuckDB's own
        return "Not enough memory for these labels and this number of classes; --engine files needs less."
    if isinstance(error, OSError) and error.errno in FULL:
        return f"Nothing more can be written ({os.strerror(error.errno)}); free some space."
    said = " ".join(str(error).split())[:200]
    return f"Something went wrong that should not have ({kind}: {said}); please report it with what --debug shows."
