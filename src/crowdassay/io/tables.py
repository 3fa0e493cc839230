"""Write the tables of a result, as a folder that appears at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from crowdassay.data.result import Result
from crowdassay.io.folder import check_free, replacing_folder
from crowdassay.io.write import check_writable, write_json, write_table

TABLES = ("labels", "posterior", "workers", "items")
SUMMARY = "summary.json"
OURS = frozenset({SUMMARY, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet"))})


def write_result(result: Result, summary: dict[str, Any], folder: Path, form: str, *, raw: bool = False) -> None:
    """Write labels, posterior, workers and items as CSV or Parquet, and the summary; all of them or nothing."""
    tables = (result.labels_table, result.posterior_table, result.workers_table, result.items_table)
    with replacing_folder(folder, OURS, SUMMARY) as fresh:
        for name, table in zip(TABLES, tables, strict=True):
            write_table(table(), fresh / f"{name}.{form}", form, raw=raw)
        write_json(summary, fresh / SUMMARY)


def check_results(folder: Path) -> None:
    """Raise `FileError` if a result could not be written to a folder; leave nothing behind."""
    check_writable(folder)
    check_free(Path(os.path.realpath(folder)), OURS, SUMMARY)
