"""A table is declared once: its columns have a name, a title, a format and a sentence, wherever the table is shown.

The name stands in CSV files, databases and frames. The title and the format are for people: terminal, notebook and page. The
sentence is for the documentation. `TableOf.html` draws a small table for a notebook, `crowdassay.results.show` draws on the
terminal and on pages; nothing else repeats a column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import pyarrow as pa

from crowdassay.text import short

DASH = "–"  # for what is undefined


def undefined(value: object) -> bool:
    """Return whether a cell has no value: nothing, or not a number."""
    return value is None or value != value  # noqa: PLR0124  NaN


FORMATS: dict[str, Callable[[Any], str]] = {
    "text": str,
    "name": short,
    "figure": str,  # one that is a text already
    "digits": lambda value: f"{value:.3g}",
    "count": lambda value: f"{value:,}",
    "plain": lambda value: f"{value:g}",
    "tenths": lambda value: f"{value:,.1f}",
    "number": lambda value: f"{value:z.2f}",
    "precise": lambda value: f"{value:z.3f}",
    "four digits": lambda value: f"{value:z.4f}",
    "money": lambda value: f"{value:,.2f}",
    "signed": lambda value: f"{value:+z.2f}",
    "plain signed": lambda value: f"{value:+g}",
    "share": lambda value: f"{value:.0%}",
    "precise share": lambda value: f"{value:.1%}",
    "error rate": lambda value: f"{value:.2%}",
    "p": lambda value: "<.001" if value < 0.001 else f"{value:.3f}",
}
WORDS = ("text", "name")  # formats that stand on the left; figures stand on the right
CELL_STYLE = "padding:.15rem .8rem .15rem 0;text-align:{};font-variant-numeric:tabular-nums"
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """A column of a table, or one that people see instead of several.

    Parameters
    ----------
    name : str
    title : str
        What people read above it; the name with spaces by default.
    format : str
        A key of `FORMATS`. A "name" comes from the data: it is shortened and made safe to show.
    about : str
        A sentence for the documentation.
    to : str
        The name of the column that ends the range which this one begins: "3 to 5".
    missing : str
        What people read where there is no value.

    Examples
    --------
    >>> Column("best_rank", "may be", "count", to="worst_rank").cell({"best_rank": 1, "worst_rank": 3})
    '1 to 3'
    >>> Column("p", format="p").cell({"p": None})
    '–'
    """

    name: str
    title: str = ""
    format: str = "text"
    about: str = ""
    to: str = ""
    missing: str = DASH

    @property
    def head(self) -> str:
        """The title, or the name with spaces."""
        return self.title or self.name.replace("_", " ")

    @property
    def side(self) -> str:
        """On which side of its column a cell stands: words left, figures right."""
        return "left" if self.format in WORDS else "right"

    def cell(self, row: Row) -> str:
        """Return what people read in this column of a row."""
        show, value = FORMATS[self.format], row[self.name]
        if undefined(value):
            return self.missing
        return f"{show(value)} to {show(row[self.to])}" if self.to else show(value)


@dataclass(frozen=True)
class TableOf:
    """The declaration of a table.

    Parameters
    ----------
    name : str
        What its file is called.
    columns : tuple of Column
        In the order of the file.

    Examples
    --------
    >>> heights = TableOf("heights", (Column("who"), Column("cm", "height", "plain")))
    >>> table = heights.fill(who=["Ann", "Bob"], cm=[170.0, None])
    >>> heights.cells(table.to_pylist(), ["cm", "who"])
    (['height', 'who'], [['170', 'Ann'], ['–', 'Bob']])
    """

    name: str
    columns: tuple[Column, ...]

    def fill(self, **values: Any) -> pa.Table:
        """Return the table with these values; what is not declared is a mistake, what is not given is left out."""
        unknown = values.keys() - {column.name for column in self.columns}
        if unknown:
            raise KeyError(f"the table '{self.name}' declares no column {sorted(unknown)}")
        return pa.table({column.name: values[column.name] for column in self.columns if column.name in values})

    def column(self, name: str, **changes: str) -> Column:
        """Return one of the columns, with another title or format where these are given."""
        return replace(next(column for column in self.columns if column.name == name), **changes)

    def shown(self, names: Sequence[str | Column] = ()) -> list[Column]:
        """Return the columns of these names, all of them by default; a column that is not declared can stand among them."""
        return [self.column(one) if isinstance(one, str) else one for one in names or self.columns]

    def cells(self, rows: pa.Table | Iterable[Row], shown: Sequence[str | Column] = ()) -> tuple[list[str], list[list[str]]]:
        """Return the titles and the rows as people read them; ``shown`` names the columns, or brings its own."""
        columns = self.shown(shown)
        rows = rows.to_pylist() if isinstance(rows, pa.Table) else rows
        return [column.head for column in columns], [[column.cell(row) for column in columns] for row in rows]

    def html(self, rows: pa.Table | Iterable[Row], shown: Sequence[str | Column] = (), *, title: str = "") -> str:
        """Return a small table for a notebook, every cell escaped."""
        heads, body = self.cells(rows, shown)
        styles = [CELL_STYLE.format(column.side) for column in self.shown(shown)]

        def line(kind: str, cells: list[str]) -> str:
            done = (
                f"<{kind} style='{style}'><bdi>{escape(cell)}</bdi></{kind}>" for style, cell in zip(styles, cells, strict=True)
            )
            return f"<tr>{''.join(done)}</tr>"

        lines = "".join(line("td", row) for row in body)
        return f"<div><b>{escape(title)}</b><table>{line('th', heads)}{lines}</table></div>"
