"""Copies of a store: back it up, bring it back, or move it between SQLite and PostgreSQL, while it is served."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from crowdassay.errors import DataError, FileError
from crowdassay.labels.databases.home import PostgresHome, Session, SqliteHome, shortened
from crowdassay.service.store.open import find_home, known_store, migrate
from crowdassay.service.store.records import number

# Their rows have a number, seq.
NUMBERED_TABLES = (
    "labels", "items", "truths", "decisions", "corrections", "fits", "tokens", "audit", "notices", "annotations",
)  # fmt: skip
STORE_TABLES = (*NUMBERED_TABLES, "fit_parts")
ROWS_COPIED_AT_A_TIME = 10_000


def backup(place: str, path: Path) -> dict[str, int]:
    """Write a store as it is at this moment into a new file; return how many rows of each table it has.

    The file appears only when it is whole: what a kill leaves behind has another name.
    """
    if path.exists():
        raise FileError(f"'{path}' exists already; name a new file for the backup.")
    unfinished = path.with_name(path.name + ".part")
    _remove(unfinished)
    try:
        counts = copy(place, str(unfinished))
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        with unfinished.open("rb") as stream:
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    finally:
        _remove(unfinished)
    return counts


def copy(source: str, target: str) -> dict[str, int]:
    """Copy a store into another that is empty, tokens, fits and the audit log included; return the rows of each table.

    >>> import tempfile
    >>> from crowdassay.service.store.open import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/job.db")
    ...     _ = store.add([{"item": "i1", "worker": "ann", "label": "yes"}])
    ...     copy(f"{folder}/job.db", f"{folder}/other.db")["labels"]
    1
    """
    origin, home = known_store(source), find_home(target)
    try:
        migrate(origin)
        home.prepare()
        migrate(home)
        with origin.read() as old, home.write() as new:
            if any(new.one(f"SELECT 1 FROM {name} LIMIT 1") for name in STORE_TABLES):  # noqa: S608 - names of this module
                raise DataError(f"The store {home.name} is not empty; name a new one.")
            counts = {name: _copy_table(old, new, name) for name in STORE_TABLES}
            settings = old.rows("SELECT name, value FROM crowdassay_meta WHERE name <> 'schema'")  # the fixed classes
            new.run_many("INSERT INTO crowdassay_meta VALUES (?, ?)", settings)
            for name in NUMBERED_TABLES if isinstance(home, PostgresHome) else ():  # SQLite numbers on by itself
                last = f"(SELECT COALESCE(MAX(seq), 0) + 1 FROM {name})"  # noqa: S608 - names of this module
                new.one(f"SELECT setval(pg_get_serial_sequence('{name}', 'seq'), {last}, false)")
    finally:
        origin.close()
        home.close()
    return counts


def check(place: str) -> dict[str, int]:
    """Return how many rows each table of a store has; raise `DataError` if the store is damaged."""
    home = known_store(place)
    try:
        with home.read() as session:
            if isinstance(home, SqliteHome) and (said := session.one("PRAGMA integrity_check")) != ("ok",):
                raise DataError(f"The store {home.name} is damaged ({said and said[0]}); restore a backup.")
            for key_short, key in session.rows("SELECT key_short, key FROM labels"):
                if bytes(key_short) != shortened(key):
                    raise DataError(f"The store {home.name} is damaged: the index does not fit the label '{key[:80]}'.")
            return {name: number(session, f"SELECT COUNT(*) FROM {name}") for name in STORE_TABLES}  # noqa: S608
    except sqlite3.DatabaseError as error:
        raise DataError(f"The store {home.name} is damaged ({error}); restore a backup.") from None
    finally:
        home.close()


def _copy_table(old: Session, new: Session, name: str) -> int:
    order = "seq" if name in NUMBERED_TABLES else "fit, name"
    cursor = old.connection.execute(f"SELECT * FROM {name} ORDER BY {order}")  # noqa: S608 - names of this module
    columns = [column[0] for column in cursor.description]
    sql = f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
    count = 0
    while rows := cursor.fetchmany(ROWS_COPIED_AT_A_TIME):
        new.run_many(sql, rows)
        count += len(rows)
    return count


def _remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(FileNotFoundError):
            path.with_name(name).unlink()
