"""Files inside the page: labels, workers and what to label next, as addresses that hold their data."""

from __future__ import annotations

from base64 import b64encode

import pyarrow as pa

from crowdassay.findings.insight import Insight
from crowdassay.labels.write import csv_lines

LARGEST_DOWNLOAD = 600_000  # characters of a file that goes into the page
MOST_ROWS = LARGEST_DOWNLOAD // 20
WORKERS = ("worker", "n_labels", "accuracy", "accuracy_low", "accuracy_high", "action", "verdict", "evidence", "looks_like")


def downloads(insight: Insight) -> list[dict[str, str]]:
    """Return the name, a description and the address of each file that is small enough to go into the page."""
    tables = []
    if not insight.partial and insight.record.labels.n_items < MOST_ROWS:
        table = insight.record.labels_table().append_column("standing", pa.array(insight.standings))
        tables.append(("labels.csv", "the label of every item", table))
    tables.append(("workers.csv", "all workers", insight.workers_table().select(WORKERS)))
    worth = insight.next_table()
    if worth.num_rows:
        tables.append(("next.csv", "items to label next", worth))
    small = [(name, text, address(table)) for name, text, table in tables if table.num_rows < MOST_ROWS]
    return [{"name": name, "text": text, "address": data} for name, text, data in small if len(data) <= LARGEST_DOWNLOAD]


def address(table: pa.Table) -> str:
    """Return a table as CSV in a data address; cells that a spreadsheet would run are defused."""
    header = csv_lines([pa.array([name]) for name in table.column_names], False)
    rows = b"".join(csv_lines(batch.columns, False) for batch in table.to_batches())
    return f"data:text/csv;charset=utf-8;base64,{b64encode(header + rows).decode()}"
