"""Kinds of files by their extensions, and which files paths, folders and patterns stand for."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from crowdassay.errors import FileError
from crowdassay.labels.raw import is_gzipped, refuse_odd_path
from crowdassay.labels.values import shown, shown_file

DELIMITED = frozenset({".csv", ".tsv", ".tab", ".txt", ".results"})  # .results: Mechanical Turk's command line tools
LINES = frozenset({".jsonl", ".ndjson"})
JSON = LINES | {".json"}
RECORDS = JSON | {".manifest"}
PARQUET, ARRAY = ".parquet", ".npy"
ZIPPED = frozenset({".zip", ".eval"})  # .eval: Inspect's logs
SUPPORTED = (".csv", ".tsv", ".tab", ".txt", ".results", PARQUET, ".jsonl", ".ndjson", ".json")
EXPORTS = (*sorted(ZIPPED, reverse=True), ".manifest", ARRAY)  # only as what a tool exports
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
MAGIC = frozenset("*?[")


def kind_of(path: Path) -> str:
    """Return a file's extension in lower case, without .gz.

    >>> kind_of(Path("Labels.CSV.gz"))
    '.csv'
    """
    return (path.with_suffix("") if is_gzipped(path) else path).suffix.lower()


def check_file(path: str | Path) -> tuple[Path, str]:
    """Check that a file exists and is of a kind we read; return it with its extension, without .gz."""
    refuse_odd_path(path)
    path = Path(path)
    if path.is_dir():
        raise FileError(f"{shown_file(path)} is a folder that no known tool writes; give a file inside it.")
    if not path.exists():
        raise FileError(f"There is no file {shown_file(path)}.")
    kind = kind_of(path)
    if kind in SPREADSHEETS:
        raise FileError(
            f"{shown_file(path.name)} is a spreadsheet; save it as CSV UTF-8 (in Excel: Save As) and give that file."
        )
    if kind not in SUPPORTED or (is_gzipped(path) and kind not in DELIMITED | JSON):
        raise FileError(
            f"{shown_file(path.name)} has an extension that is not supported; the supported ones are {', '.join(SUPPORTED)}, "
            f"and .gz after any text format; annotation tools' exports may also end in {', '.join(EXPORTS)}."
        )
    return path, kind


def find_inputs(given: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and patterns stand for, each once, in order.

    A folder stands for the files in it of a kind we read; a pattern such as ``day-*.csv`` for what matches.
    """
    inputs: dict[str, Path] = {}
    for one in given:
        refuse_odd_path(one)
        path = Path(one)
        if path.is_dir():
            inside = [file for file in sorted(path.iterdir()) if file.is_file() and kind_of(file) in (*SUPPORTED, *EXPORTS)]
            inside = [file for file in inside if not file.name.startswith(".")]
            if not inside:
                raise FileError(f"The folder {shown_file(path)} holds no file of labels ({', '.join(SUPPORTED)}).")
            files = inside
        elif not path.exists() and MAGIC & set(str(one)):
            matches = sorted(glob.glob(str(one), recursive=True))
            if not matches:
                raise FileError(f"No file matches {shown(str(one))}.")
            files = find_inputs(matches)
        else:
            files = [path]
        for file in files:
            inputs.setdefault(os.path.realpath(file), file)
    return list(inputs.values())
