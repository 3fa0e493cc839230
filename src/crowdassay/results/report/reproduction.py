"""One page of the paper's tables that opens offline."""

from __future__ import annotations

from html import escape
from typing import Any

from crowdassay.tables import Column, TableOf

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto; }
th, td { padding: 0.2rem 0.8rem; text-align: right; border-bottom: 1px solid #8884; }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; }
.note { opacity: 0.7; margin: 0.2rem 0; }
figure { background: white; display: inline-block; margin: 0; padding: 1rem; }
svg { max-width: 100%; height: auto; }
"""
FIGURES = TableOf(
    "figures",
    (
        Column("dataset", " "),
        Column("column", " "),
        Column("paper", format="plain", missing=""),
        Column("ours", format="plain", missing=""),
        Column("difference", format="plain signed", missing=""),
        Column("converged", format="plain", missing=""),
        Column("gamma", format="plain", missing=""),
    ),
)


def reproduction_page(tables: list[dict[str, Any]], calibration_svg: str | None) -> str:
    """Return HTML with the tables and, where there is one, the calibration plot (SVG made from our own records)."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>The paper's tables</title><style>{STYLE}</style></head><body>",
        "<h1>Regularized Minimax Conditional Entropy for Crowdsourcing: the tables</h1>",
        "<p><b>ours</b> follows the paper's protocol: gamma by 5-fold likelihood cross-validation, Algorithm 1 stopped when no "
        "probability changes by 0.005 or after 50 steps. <b>converged</b> is the same gamma at full convergence.</p>",
    ]
    for table in tables:
        parts.append(f"<h2>Table {table['table']}: {escape(table['title'])}</h2>")
        parts.append(_table(table["rows"]))
        if table["table"] == 4 and calibration_svg is not None:
            parts.append(f"<figure>{calibration_svg}</figure>")
    return "\n".join([*parts, "</body></html>\n"])


def figures_of(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows with a value or None in every column, and the columns that have a value."""
    names = [column.name for column in FIGURES.columns]
    return [{name: row.get(name) for name in names} for row in rows], [
        name for name in names if any(name in row for row in rows)
    ]


def _table(rows: list[dict[str, Any]]) -> str:
    heads, lines = FIGURES.cells(*figures_of(rows))
    head = "".join(f"<th>{escape(name.strip())}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in lines)
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in empty_rows(rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"


def empty_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Return why the rows of a dataset are empty, once for each dataset."""
    return list(dict.fromkeys(f"{row['dataset']}: {row['note']}." for row in rows if "note" in row))
