"""Bring labels from elsewhere into a local file, which the reader then reads like any other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from crowdassay.labels.sources.database import fetch_postgres, fetch_sqlite
from crowdassay.labels.sources.duck import DUCK, fetch_duckdb
from crowdassay.labels.sources.remote import fetch_remote
from crowdassay.labels.sources.stdin import STDIN, fetch_stdin

POSTGRES = ("postgresql://", "postgres://")


def is_elsewhere(name: str | Path) -> bool:
    """Tell whether a name stands for something else than a local file, folder or pattern.

    >>> [is_elsewhere(name) for name in ("-", "sqlite:///a.db?table=t", "labels.csv", "job.duckdb")]
    [True, True, False, True]
    """
    text = str(name)
    return text == STDIN or "://" in text or text.lower().endswith(DUCK)


@contextmanager
def local_sources(names: Sequence[str | Path]) -> Iterator[tuple[str, ...]]:
    """Yield names of local files only; what is elsewhere is in a temporary folder for the length of the block."""
    if not any(map(is_elsewhere, names)):
        yield tuple(map(str, names))
        return
    with tempfile.TemporaryDirectory(prefix="crowdassay-source-") as place:
        places = []
        for number, name in enumerate(map(str, names)):
            if is_elsewhere(name):
                folder = Path(place) / str(number)
                folder.mkdir()
                places.append(str(fetch(name, folder)))
            else:
                places.append(name)
        yield tuple(places)


def fetch(name: str, folder: Path) -> Path:
    """Copy a source into a folder; return the file."""
    if name == STDIN:
        return fetch_stdin(folder)
    if name.startswith("sqlite://"):
        return fetch_sqlite(name, folder)
    if name.startswith(POSTGRES):
        return fetch_postgres(name, folder)
    if name.startswith("duckdb://") or name.lower().endswith(DUCK):
        return fetch_duckdb(name, folder)
    return fetch_remote(name, folder)
