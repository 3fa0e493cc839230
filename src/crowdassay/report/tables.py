"""How results show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from crowdassay.data.result import Result
from crowdassay.insight.worth import SETTLED
from crowdassay.io.values import counted
from crowdassay.metrics.agreement import Agreement
from crowdassay.report.text import short

ROWS = 8
NOTHING = ""
CELL = "padding:.15rem .8rem .15rem 0;text-align:{};font-variant-numeric:tabular-nums"


def result_html(result: Result) -> str:
    """Return what was found in a few lines, with the least sure items and the busiest workers."""
    labels, found = result.labels, result.insight
    settled = float((result.probability >= SETTLED).mean())
    least = np.argsort(result.probability, kind="stable")[:ROWS]
    items = [
        (
            labels.items[int(j)].as_py(),
            labels.class_names[int(result.code[j])],
            f"{result.probability[j]:.1%}",
            found.standings[j],
        )
        for j in least
    ]
    n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
    workers = [
        (
            labels.workers[int(i)].as_py(),
            f"{n_labels[i]:,}",
            f"{found.accuracy[i]:.1%}" if found.estimable[i] else "unknown",
            f"{found.low[i]:.1%} to {found.high[i]:.1%}" if found.estimable[i] else "",
            found.actions[i],
        )
        for i in np.argsort(-n_labels, kind="stable")[:ROWS]
    ]
    return (
        f"<p><b>{escape(result.method)}</b>: {counted(labels.n_labels, 'label')} of "
        f"{counted(labels.n_items, 'item')} by {counted(labels.n_workers, 'worker')}; {settled:.0%} of the items are "
        "settled.</p>"
        f"<div style='display:flex;flex-wrap:wrap;gap:2rem'>{table('Least sure items', ITEMS, items)}"
        f"{table('Busiest workers', WORKERS, workers)}</div>"
        + "".join(f"<p>{escape(note)}</p>" for note in (*result.notes, *found.notes))
    )


def agreement_html(found: Agreement) -> str:
    """Return the measures with their intervals, and the workers who agree least with the others."""
    rows = [
        (
            row["measure"].replace("_", " "),
            "" if row["value"] is None else f"{row['value']:.3f}",
            "" if row["low"] is None else f"{row['low']:.3f} to {row['high']:.3f}",
            row["undefined"] or "",
        )
        for row in found.tables["overall"].to_pylist()
    ]
    workers = [row for row in found.tables["workers"].to_pylist() if row["agreement"] is not None]
    least = [
        (row["worker"], f"{row['items']:,}", f"{row['agreement']:.3f}", "few items" if row["few"] else "")
        for row in sorted(workers, key=lambda row: row["agreement"])[:ROWS]
    ]
    tables = table(f"Agreement ({found.level})", MEASURES, rows) + table("Agree least with the others", LEAST, least)
    return f"<div style='display:flex;flex-wrap:wrap;gap:2rem'>{tables}</div>"


MEASURES = ("measure", "value", "interval", "")
LEAST = ("worker", "items", "agreement", "")
ITEMS = ("item", "label", "probability", "standing")
WORKERS = ("worker", "labels", "accuracy", "95% interval", "what to do")


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
