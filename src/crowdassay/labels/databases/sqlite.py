"""A store in one SQLite file, made on first use; readers never wait for the writer (WAL)."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError, FileError
from crowdassay.labels.databases.home import WRITER_PATIENCE, Home, Session

CHECKPOINT = 4000  # pages of 4 KB in the log from which they are brought into the file: seldom, as that takes a while


class SqliteHome(Home):
    """A file; acknowledged means written to disk: every commit is synced."""

    mark = "?"
    types = {"serial": "INTEGER PRIMARY KEY", "blob": "BLOB", "hash": ""}  # noqa: RUF012

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        """Take a file; ``shared`` if tables of others may be in it."""
        super().__init__()
        self.path, self.shared = path, shared
        self.name = f"'{path}'"
        if path.is_dir():
            raise FileError(f"{self.name} is a folder; a store is one file, such as job.db.")
        if path.exists() and path.stat().st_size:
            with path.open("rb") as stream:
                if stream.read(16) != b"SQLite format 3\0":
                    raise DataError(f"{self.name} is no store: it is not an SQLite file. Name another file for the store.")
            if not shared:
                self._leave_others_alone()

    def _leave_others_alone(self) -> None:
        """Refuse somebody else's database before anything is written to it, such as the mode of its journal."""
        with closing(
            sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True, timeout=WRITER_PATIENCE)
        ) as connection:
            session = Session(connection, self.mark)
            try:
                other = self.has_tables(session) and not self.has_meta(session)
            except sqlite3.DatabaseError as error:
                raise DataError(f"{self.name} cannot be read ({error}); restore it from a copy.") from None
        if other:
            raise DataError(f"{self.name} holds tables and is no store; name another file for the store.")

    def connect(self) -> Any:
        """Connect; the file appears with the first table."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=WRITER_PATIENCE, isolation_level=None, check_same_thread=False)
            if not self.shared:
                connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")  # WAL alone would lose the last commits with the power
            connection.execute("PRAGMA cache_size=-65536")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT}")
        except (sqlite3.Error, OSError) as error:
            raise FileError(f"The store {self.name} cannot be opened ({error}); check the path and its permissions.") from None
        return connection

    def begin_write(self, session: Session) -> None:
        """Take SQLite's one write lock, waiting for whoever holds it."""
        try:
            session.run("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise FileError(
                f"The store {self.name} has been locked by another program for {WRITER_PATIENCE:.0f} s; try again later."
            ) from None

    def has_tables(self, session: Session) -> bool:
        """Return whether the file holds any table."""
        return session.one("SELECT 1 FROM sqlite_master LIMIT 1") is not None

    def has_meta(self, session: Session) -> bool:
        """Return whether the file is a store."""
        return session.one("SELECT 1 FROM sqlite_master WHERE name = 'crowdassay_meta'") is not None

    def writable(self) -> bool:
        """Return whether the file, or its folder where there is none yet, can be written to."""
        place = self.path if self.path.exists() else self.path.parent
        return os.access(place, os.W_OK)
