"""The files of a result, and whether a folder can take them."""

from __future__ import annotations

import os
from pathlib import Path

from crowdassay.io.folder import check_free
from crowdassay.io.write import check_writable

TABLES = ("labels", "posterior", "workers", "items")
SUMMARY = "summary.json"
OURS = frozenset({SUMMARY, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet"))})


def check_results(folder: Path) -> None:
    """Raise `FileError` if a result could not be written to a folder; leave nothing behind."""
    check_writable(folder)
    check_free(Path(os.path.realpath(folder)), OURS, SUMMARY)
