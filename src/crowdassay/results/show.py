"""What results and studies show, and declared tables drawn: on the terminal, and as sections of a page.

A study answers another question than which labels are right: how severe raters are, or which of two is better. A new one brings
its data, its model and its view; the command line, the files and the page come from here and from `crowdassay.cli.study`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from crowdassay.tables import Column, Row, TableOf

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


@dataclass(frozen=True)
class Section:
    """A part of a page, whose chart is the one named by its id.

    Attributes
    ----------
    id, title, text : str
    columns : sequence of str
        The heads of the table.
    rows : sequence of sequences of str
    note : str
        Below the table.
    sides : sequence of str
        On which side the cells of each column stand, "left" or "right".
    tones : sequence of str
        For each row how its last cell is coloured: "good", "bad", "warn" or not at all.
    """

    id: str
    title: str
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    note: str = ""
    sides: Sequence[str] = ()
    tones: Sequence[str] = ()

    def side(self, place: int) -> str:
        """Return on which side the cells of a column stand; unless told, figures follow a first column of names."""
        return self.sides[place] if self.sides else "right" if place else "left"


def card(title: str, value: str, text: str, tone: str = "") -> dict[str, str]:
    """Return a card of a page: a question, a figure, a sentence, and how it is coloured (`Section.tones`)."""
    return {"title": title, "value": value, "text": text, "tone": tone}


def terminal() -> Console:
    """Return where commands print: nothing that comes from the data is taken for markup or coloured."""
    from rich.console import Console  # noqa: PLC0415  only commands print

    return Console(highlight=False, markup=False)


def print_table(
    console: Console,
    table: TableOf,
    rows: pa.Table | Iterable[Row],
    shown: Sequence[str | Column] = (),
    *,
    title: str | None = None,
) -> None:
    """Print a table, all declared columns or those of ``shown``."""
    from rich.table import Table  # noqa: PLC0415  only commands print

    heads, body = table.cells(rows, shown)
    drawn = Table(*heads, title=title, title_justify="left")
    for cells in body:
        drawn.add_row(*cells)
    console.print(drawn)


def table_section(
    name: str,
    title: str,
    table: TableOf,
    rows: pa.Table | Iterable[Row],
    shown: Sequence[str | Column] = (),
    *,
    text: str = "",
    note: str = "",
    tones: Sequence[str] = (),
) -> Section:
    """Return the section of a page that shows a table, below the chart of that name if the page has one."""
    heads, body = table.cells(rows, shown)
    return Section(name, title, text, heads, body, note, [column.side for column in table.shown(shown)], tones)
