"""Labels on standard input: CSV, TSV, JSON, JSON lines or Parquet, plain or gzipped, told by how they begin."""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path
from typing import BinaryIO

from crowdassay.errors import DataError

STDIN = "-"
NAME = "standard-input"


def fetch_stdin(folder: Path, stream: BinaryIO | None = None) -> Path:
    """Copy standard input into a folder, under a name that says what it holds."""
    whole = folder / NAME
    with whole.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer if stream is None else stream, copy)
    if whole.stat().st_size == 0:
        raise DataError("Standard input is empty; no labels found. Pipe a file into the command, or name one.")
    return whole.rename(folder / f"{NAME}{_kind(whole)}")


def _kind(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(4096)
    packed = ""
    if start[:2] == b"\x1f\x8b":
        packed = ".gz"
        try:
            with gzip.open(path) as unpacked:
                start = unpacked.read(4096)
        except (OSError, EOFError):
            raise DataError("Standard input begins like a gzipped file and is not a whole one; send it again.") from None
    if start[:4] == b"PAR1":
        return ".parquet"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"[":
        return f".json{packed}"
    if text[:1] == b"{":
        return f".jsonl{packed}"
    first = text.split(b"\n", 1)[0]
    return f"{'.tsv' if first.count(b'	') > first.count(b',') else '.csv'}{packed}"
