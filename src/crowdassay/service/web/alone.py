"""One server for each store: two would fit the same labels twice. Other programs may add labels all the while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from crowdassay.errors import FileError
from crowdassay.labels.databases.home import Home
from crowdassay.labels.databases.postgres import LOCK, PostgresHome
from crowdassay.labels.databases.sqlite import SqliteHome
from crowdassay.labels.lock import locked


@contextmanager
def serving_alone(home: Home) -> Iterator[None]:
    """Hold the place of the one server; the system lets go of it even after a kill -9."""
    busy = FileError(f"Another server runs on {home.name}; use that one, or stop it first.")
    if isinstance(home, SqliteHome):
        with locked(home.path.with_name(home.path.name + ".serving"), busy=busy):
            yield
    elif isinstance(home, PostgresHome):
        with _held(home, busy):
            yield
    else:
        with nullcontext():
            yield


@contextmanager
def _held(home: PostgresHome, busy: FileError) -> Iterator[None]:
    connection: Any = home.connect()
    try:
        number = (LOCK + 1) & 0x7FFFFFFF
        row = connection.execute("SELECT pg_try_advisory_lock(%s, hashtext(current_schema()))", (number,)).fetchone()
        if not row[0]:
            raise busy
        yield
    finally:
        connection.close()
