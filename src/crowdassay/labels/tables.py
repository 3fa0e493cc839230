"""The files of a result, and whether a folder can take them."""

from __future__ import annotations

import os
from pathlib import Path

from crowdassay.errors import FileError
from crowdassay.labels.folder import check_free
from crowdassay.labels.values import shown_file
from crowdassay.labels.write import check_writable

TABLES = ("labels", "posterior", "workers", "items", "confusion")
SUMMARY = "summary.json"
MODEL = "model.json"  # by which a model's folder is known
MODEL_FILES = frozenset({MODEL, *(f"{name}.parquet" for name in ("classes", "workers", "items", "labels"))})
OURS = frozenset({SUMMARY, *(f"{name}.{form}" for name in TABLES for form in ("csv", "parquet"))})


def check_results(folder: Path) -> None:
    """Raise `FileError` if a result could not be written to a folder; leave nothing behind."""
    check_writable(folder)
    target = Path(os.path.realpath(folder))
    if (target / MODEL).exists():  # a model has a labels.parquet, too, which would be lost
        raise FileError(f"{shown_file(folder)} holds a model ({MODEL}); name another folder for the tables.")
    check_free(target, OURS, SUMMARY)
