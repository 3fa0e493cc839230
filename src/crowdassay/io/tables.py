"""Write the tables of a result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdassay.data.result import Result
from crowdassay.errors import FileError
from crowdassay.io.write import write_json, write_table


def write_result(result: Result, summary: dict[str, Any], folder: Path, form: str, *, raw: bool = False) -> None:
    """Write labels, posterior, workers and items as CSV or Parquet, and the summary last."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"The folder '{folder}' cannot be made: {error.strerror or error}.") from error
    for name, table in (
        ("labels", result.labels_table),
        ("posterior", result.posterior_table),
        ("workers", result.workers_table),
        ("items", result.items_table),
    ):
        write_table(table(), folder / f"{name}.{form}", form, raw=raw)
    write_json(summary, folder / "summary.json")
