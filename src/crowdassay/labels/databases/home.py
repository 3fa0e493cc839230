"""What a database must offer to be the home of a store: connections that read, and one that writes at a time."""

from __future__ import annotations

import queue
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

Row = Sequence[Any]
LONG_TEXT_BYTES = 48  # bytes from which a text is shortened in an index
WRITER_PATIENCE = 60.0  # seconds to wait for another writer before giving up


class Session:
    """One transaction: SQL with ``?`` for values, whatever the database writes instead."""

    def __init__(self, connection: Any, mark: str) -> None:
        self.connection, self.mark = connection, mark

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""
        cursor = self.connection.execute(self._marked(sql), values)
        return list(cursor.fetchall())

    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None:
        """Run a query and return its first row, None without any."""
        row = self.connection.execute(self._marked(sql), values).fetchone()
        return None if row is None else tuple(row)

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run a statement; return how many rows it touched."""
        return int(self.connection.execute(self._marked(sql), values).rowcount)

    def run_many(self, sql: str, values: Iterable[Sequence[Any]]) -> None:
        """Run a statement once for each row of values."""
        cursor = self.connection.cursor()
        cursor.executemany(self._marked(sql), list(values))
        cursor.close()

    def _marked(self, sql: str) -> str:
        return sql if self.mark == "?" else sql.replace("?", self.mark)


class Home(ABC):
    """A database: subclasses connect, begin to write, and say how they spell types."""

    mark: str
    begin_read = "BEGIN"
    types: dict[str, str]
    name: str
    """How messages call it; never with a password."""

    def __init__(self) -> None:
        self._idle: queue.LifoQueue[Any] = queue.LifoQueue()
        self.close = weakref.finalize(self, _close_all, self._idle)
        """Close the connections that nobody uses; also done when nobody holds the home any more."""

    @abstractmethod
    def connect(self) -> Any:
        """Return a new connection that begins no transaction by itself."""

    @abstractmethod
    def begin_write(self, session: Session) -> None:
        """Begin a transaction that no other writer can be in at the same time."""

    @abstractmethod
    def has_tables(self, session: Session) -> bool:
        """Return whether anything is in there already."""

    @abstractmethod
    def has_meta(self, session: Session) -> bool:
        """Return whether it is a store of ours: the table ``crowdassay_meta`` exists."""

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Yield a session that sees one consistent state."""
        with self._connection() as connection:
            session = Session(connection, self.mark)
            connection.execute(self.begin_read)
            try:
                yield session
            finally:
                with suppress(Exception):
                    connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Yield a session whose changes are durable once the block ends, and gone where it fails."""
        with self._connection() as connection:
            session = Session(connection, self.mark)
            self.begin_write(session)
            try:
                yield session
                connection.execute("COMMIT")
            except BaseException:
                with suppress(Exception):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self.connect()
        try:
            yield connection
        except BaseException:
            # Whatever went wrong, the next one gets a fresh connection: a database server may have been restarted.
            with suppress(Exception):
                connection.close()
            raise
        self._idle.put(connection)


def _close_all(idle: queue.LifoQueue[Any]) -> None:
    while not idle.empty():
        idle.get_nowait().close()


def now() -> str:
    """Return the time as text that sorts: UTC, ISO 8601, microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def digest(text: str) -> bytes:
    """Return 16 bytes that stand for a text of any length in an index."""
    return blake2b(text.encode(), digest_size=16).digest()


def shortened(text: str) -> bytes:
    """Return bytes that stand for a text in an index: the text itself, or where it is long its beginning and a digest.

    Texts that are alike lie side by side, so that an index of many keys is written to in few places.

    >>> shortened("a-1"), len(shortened("a" * 1000))
    (b'a-1', 48)
    """
    data = text.encode()
    return data if len(data) < LONG_TEXT_BYTES else data[: LONG_TEXT_BYTES - 16] + digest(text)
