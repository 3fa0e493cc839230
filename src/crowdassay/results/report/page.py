"""One page of the paper's tables that opens offline."""

from __future__ import annotations

from html import escape
from typing import Any

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
COLUMNS = ("paper", "ours", "difference", "converged", "gamma")


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


def _table(rows: list[dict[str, Any]]) -> str:
    shown = [name for name in COLUMNS if any(name in row for row in rows)]
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", "", *shown))
    body = []
    for row in rows:
        cells = f"<td>{escape(row['dataset'])}</td><td>{escape(row['column'])}</td>"
        cells += "".join(f"<td>{escape(format_cell(row.get(name), name))}</td>" for name in shown)
        body.append(f"<tr>{cells}</tr>")
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in empty_rows(rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{notes}"


def empty_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Say once for each dataset why its rows are empty."""
    return list(dict.fromkeys(f"{row['dataset']}: {row['note']}." for row in rows if "note" in row))


def format_cell(value: float | None, column: str) -> str:
    """Return a figure as text: differences with their sign, nothing where there is none."""
    if value is None:
        return ""
    return f"{value:+g}" if column == "difference" else f"{value:g}"
