"""The frame of a command that runs a study: `rank` and `measure` say what is read, fitted and viewed, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crowdassay.cli.options import PATH, json_option
from crowdassay.cli.outputs import check_outputs, print_json

if TYPE_CHECKING:
    from crowdassay.results.show import StudyView

    Prepare = Callable[[], tuple[str, Callable[[], StudyView]]]

SUMMARY_FILE = "summary.json"


@dataclass(frozen=True)
class StudyCommand:
    """What the command of a study has of its own."""

    tables: tuple[str, ...]  # names of the tables that it may write
    mark: str  # a key of the summary by which it is known to be of this command
    page: str  # what the page shows
    picture: str  # what the picture shows
    condition: str  # how a condition may look
    only_written: tuple[str, ...] = ()  # tables that are too wide for JSON

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files that it may write, the summary last."""
        return (*(f"{name}.csv" for name in self.tables), SUMMARY_FILE)

    def options(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """Add the options of what is written."""
        picture = self.picture[0].upper() + self.picture[1:]
        options = (
            click.option("--allow-drops", is_flag=True, help="Go on even if more than half of the rows miss a value."),
            click.option("--out", type=PATH, help="Folder for the tables, as CSV."),
            click.option("--report", type=PATH, help=f"A page with {self.page} (.html)."),
            click.option("--chart", type=PATH, help=f"{picture} as a picture (.svg or .png)."),
            click.option("--report-title", help="Title of the page."),
            click.option(
                "--fail-if",
                multiple=True,
                help=f"End with exit code 1 if this holds, such as '{self.condition}'; again for more.",
            ),
            json_option,
        )
        for option in reversed(options):
            command = option(command)
        return command

    def run(self, source: Path, options: dict[str, Any], prepare: Prepare) -> int:
        """Run the study, write and print what was asked for, and return the exit code.

        Parameters
        ----------
        source : Path
            What is read.
        options : dict
        prepare : callable
            Checks the options; returns a sentence to show while the fit runs, and what fits and gives the view.
        """
        from crowdassay.cli.gates import check_conditions, read_conditions, tell_failures
        from crowdassay.cli.running import working

        conditions = read_conditions(options["fail_if"], self.condition)
        folder = (options["out"], self.files, SUMMARY_FILE, [self.mark])
        check_outputs([source], pages=[options["report"]], pictures=[options["chart"]], folders=[folder])
        doing, fit = prepare()
        with working(doing, quiet=options["as_json"]):
            view = fit()
            tables = view.tables
        gates = check_conditions(conditions, view.figures()) if conditions else []
        summary = view.summary() | ({"gate": [gate.as_dict() for gate in gates]} if gates else {})
        self._write(view, summary, options)
        if options["as_json"]:
            from crowdassay.labels.write import finite

            rows = {name: table.to_pylist() for name, table in tables.items() if name not in self.only_written}
            print_json(finite(summary | {"tables": rows}))
        else:
            from crowdassay.results.show import terminal

            console = terminal()
            view.show(console)
            words = (("out", "tables"), ("report", "the page"), ("chart", self.picture))
            written = [f"{word} to {options[name]}" for name, word in words if options[name]]
            console.print(f"Wrote {', '.join(written)}." if written else "No tables were written; give --out DIR for them.")
        return tell_failures(gate for gate in gates if gate.failed)

    def _write(self, view: StudyView, summary: dict[str, Any], options: dict[str, Any]) -> None:
        """Write the tables and the summary, all or nothing, the picture and the page, where they were asked for."""
        if options["out"] is not None:
            from crowdassay.labels.folder import replacing_folder
            from crowdassay.labels.write import write_json, write_table

            with replacing_folder(options["out"], self.files, SUMMARY_FILE, [self.mark]) as fresh:
                for name, table in view.tables.items():
                    write_table(table, fresh / f"{name}.csv", "csv")
                write_json(summary, fresh / SUMMARY_FILE)
        if options["chart"] is not None:
            view.chart().save(options["chart"])
        if options["report"] is not None:
            from crowdassay.results.report.page import write_findings

            write_findings(view.page(options["report_title"]), options["report"])
