"""Where results go: a folder, or tables of a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdassay.fit.result import Result
    from crowdassay.sources.results import Tables


def check_out(out: Path | Tables) -> None:
    """Refuse a place that results could not be written to, before there are any."""
    if isinstance(out, Path):
        from crowdassay.io.tables import check_results

        check_results(out)
    else:
        from crowdassay.sources.results import check_tables

        check_tables(out)


def write_out(result: Result, summary: dict[str, Any], out: Path | Tables, form: str, *, raw: bool) -> None:
    """Write the tables of a result, all of them or none."""
    if isinstance(out, Path):
        from crowdassay.fit.write import write_result

        write_result(result, summary, out, form, raw=raw)
    else:
        from crowdassay.sources.results import write_tables

        write_tables(result, summary, out)
