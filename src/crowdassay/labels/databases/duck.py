"""DuckDB, which reads tables fast, kept to the files that were named."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

# Nothing may be fetched from elsewhere on account of what a file holds.
NO_EXTENSIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def connect(paths: Sequence[Path], *, database: str = ":memory:", folder: Path | None = None, **config: Any) -> Any:
    """Return a connection that opens no file but these, and whatever is in one folder; its settings are locked."""
    import duckdb  # noqa: PLC0415 - only when a file is read

    connection = duckdb.connect(database, config={**NO_EXTENSIONS, **config})
    names = [name for path in paths for name in (os.path.abspath(path), pattern_of(path))]
    connection.execute(f"SET allowed_paths = [{', '.join(map(text, names))}]")
    if folder is not None:
        connection.execute(f"SET allowed_directories = [{text(str(folder))}]")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def ask(query: str, path: Path, finish: Callable[[Any], T]) -> T | None:
    """Ask one file, ``$path`` in the query; None where DuckDB refuses it: the caller finds out what is wrong."""
    with connect([path]) as connection:
        return heard(lambda: finish(connection.sql(query, params={"path": pattern_of(path)})))


def heard(call: Callable[[], T]) -> T | None:
    """Return what a call returns; None for DuckDB's own errors, whose messages are for people who write SQL."""
    import duckdb  # noqa: PLC0415

    try:
        return call()
    except (duckdb.OutOfMemoryException, duckdb.InterruptException):
        raise
    except (duckdb.Error, UnicodeDecodeError):  # it cuts its messages at bytes, not at characters
        return None


def pattern_of(path: Path) -> str:
    """Return a path as DuckDB wants it: it expands ``* ? [`` in paths."""
    return glob.escape(os.path.abspath(path))


def quoted(name: str) -> str:
    """Quote a name for a query."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a text for a query.

    >>> text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"
