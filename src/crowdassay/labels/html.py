"""Small tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from crowdassay.text import short

NOTHING = ""
CELL = "padding:.15rem .8rem .15rem 0;text-align:{};font-variant-numeric:tabular-nums"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a small table as HTML, every cell escaped and shortened, figures to the right."""

    def line(kind: str, cells: Sequence[object]) -> str:
        styles = ["left" if n in (0, len(columns) - 1) or columns[n] == "label" else "right" for n in range(len(columns))]
        done = (
            f"<{kind} style='{CELL.format(side)}'><bdi>{escape(short(cell)) if cell else NOTHING}</bdi></{kind}>"
            for side, cell in zip(styles, cells, strict=True)
        )
        return f"<tr>{''.join(done)}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<div><b>{escape(title)}</b><table>{line('th', columns)}{body}</table></div>"
