"""A study answers another question than which labels are right: how severe raters are, or which of two is better.

A new study brings its data, its model and its view; the command line, the files and the page come from here and from
`crowdassay.cli.study`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from rich.console import Console

    from crowdassay.results.report.chart import Chart
    from crowdassay.results.report.page import Findings


class StudyView(Protocol):
    """What a fitted study shows.

    Attributes
    ----------
    tables : dict of str to pyarrow.Table
        By the names of their files.
    """

    @property
    def tables(self) -> dict[str, pa.Table]: ...

    def summary(self) -> dict[str, Any]:
        """Return what ``summary.json`` holds, the tables left out."""
        ...

    def figures(self) -> dict[str, float | None]:
        """Return what conditions may ask about, by name; None for what could not be told."""
        ...

    def chart(self) -> Chart:
        """Return the chart that says most."""
        ...

    def page(self, title: str | None) -> Findings:
        """Return the page."""
        ...

    def show(self, console: Console) -> None:
        """Print the sentences and tables that a terminal has room for."""
        ...
