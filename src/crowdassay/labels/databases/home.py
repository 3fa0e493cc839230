"""Homes of a store, an SQLite file or a PostgreSQL schema: connections that read, and one that writes at a time."""

from __future__ import annotations

import queue
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from crowdassay.errors import DataError, FileError, MissingExtraError, ParameterError

Row = Sequence[Any]
LONG_TEXT_BYTES = 48  # bytes from which a text is shortened in an index
POSTGRES_SCHEMES = ("postgresql://", "postgres://")
SQLITE_START = b"SQLite format 3\0"  # how every such file begins
STORE_TABLE = "crowdassay_meta"  # by which a store of ours is known
CHECKPOINT = 4000  # pages of 4 KB in the log from which they are brought into the file: seldom, as that takes a while
LOCK = 0x63726F7764  # "crowd": whoever writes to a store holds this lock until the end of the transaction
WRITER_PATIENCE = 60.0  # seconds to wait for another writer before giving up


class Session:
    """One transaction: SQL with ``?`` for values, whatever the database writes instead."""

    def __init__(self, connection: Any, mark: str) -> None:
        self.connection, self.mark = connection, mark

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a query and return all its rows."""
        return list(self.connection.execute(self._marked(sql), values).fetchall())

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

    def prepare(self) -> None:  # noqa: B027 - most have nothing to prepare
        """Make what tables are put into, where it is not there yet."""

    @abstractmethod
    def scrub(self) -> None:
        """Take away what the database keeps of rows that are gone."""

    @abstractmethod
    def tables(self, session: Session) -> set[str]:
        """Return the names of the tables in there; a store of ours has `STORE_TABLE`."""

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


class SqliteHome(Home):
    """One file, made on first use; readers never wait for the writer (WAL), and every commit is synced to disk."""

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
                if stream.read(len(SQLITE_START)) != SQLITE_START:
                    raise DataError(f"{self.name} is no store: it is not an SQLite file. Name another file for the store.")
            if not shared:
                self._leave_others_alone()

    def _leave_others_alone(self) -> None:
        """Refuse somebody else's database before anything is written to it, such as the mode of its journal."""
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=WRITER_PATIENCE)) as connection:
            session = Session(connection, self.mark)
            try:
                tables = self.tables(session)
            except sqlite3.DatabaseError as error:
                raise DataError(f"{self.name} cannot be read ({error}); restore it from a copy.") from None
        if tables and STORE_TABLE not in tables:
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

    def scrub(self) -> None:
        """Write the file anew, without what was in it once, and empty the log beside it."""
        with self._connection() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def tables(self, session: Session) -> set[str]:
        """Return the tables of the file."""
        return {str(name) for (name,) in session.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}


class PostgresHome(Home):
    """A schema of a database server, that which the URL names (``?schema=``).

    Writers take turns by an advisory lock, so that labels are numbered in the order of commits.
    """

    mark = "%s"
    begin_read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    types = {  # noqa: RUF012
        "serial": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "blob": "BYTEA", "hash": "USING hash",
    }  # fmt: skip

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.schema = split_schema(url)
        if not self.schema.replace("_", "").isalnum():
            raise ParameterError("The schema of a store is letters, digits and underscores.")
        self.name = without_password(url)

    def connect(self) -> Any:
        """Connect, and look in the schema of the store."""
        psycopg = load_psycopg()
        try:
            connection = psycopg.connect(self.url, autocommit=True, connect_timeout=10)
            connection.execute(f'SET search_path TO "{self.schema}"')  # letters, digits and underscores
        except psycopg.Error:  # whose own words may repeat the URL
            raise FileError(
                f"The store {self.name} cannot be reached; check host, user, password and that the server runs."
            ) from None
        return connection

    def prepare(self) -> None:
        """Make the schema that the address names."""
        with self._connection() as connection:
            known = "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s"
            if connection.execute(known, (self.schema,)).fetchone() is None:
                try:
                    connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')  # letters, digits and underscores
                except load_psycopg().Error as error:
                    raise FileError(
                        f"There is no schema '{self.schema}' in {self.name}, and it cannot be made ({type(error).__name__}); "
                        "let somebody who may make it, or name another."
                    ) from None

    def begin_write(self, session: Session) -> None:
        """Begin, and wait for other writers of this store."""
        session.run("BEGIN")
        session.one("SELECT pg_advisory_xact_lock(?, hashtext(current_schema()))", (LOCK & 0x7FFFFFFF,))

    def scrub(self) -> None:
        """Write the tables of the schema anew, without rows that are gone; the server's own log is beyond reach."""
        with self.read() as session:
            tables = sorted(self.tables(session))
        with self._connection() as connection:
            for name in tables:
                connection.execute(f'VACUUM FULL "{name}"')

    def tables(self, session: Session) -> set[str]:
        """Return the tables of the schema."""
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
        return {str(name) for (name,) in session.rows(sql, (self.schema,))}


def load_psycopg() -> Any:
    """Return the driver, which is an extra."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("PostgreSQL needs the extra 'web': pip install 'crowdassay[web]'.") from None
    return psycopg


def split_schema(url: str) -> tuple[str, str]:
    """Return a URL as the driver takes it, without ``schema``, and the schema.

    >>> split_schema("postgresql://ann@db.example/jobs?schema=birds&sslmode=require")
    ('postgresql://ann@db.example/jobs?sslmode=require', 'birds')
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    schema = options.pop("schema", "public")
    return urlunsplit(parts._replace(query=urlencode(options, quote_via=quote))), schema


def without_password(url: str) -> str:
    """Return a URL that can be shown: the password and all options but a few harmless ones are left out.

    >>> without_password("postgresql://ann:secret@db.example/jobs?password=secret&schema=birds")
    'postgresql://ann@db.example/jobs?schema=birds'
    >>> without_password("sqlite:///job.db")
    'sqlite:///job.db'
    """
    parts = urlsplit(url)
    place = parts.hostname or ""
    try:
        place += f":{parts.port}" if parts.port else ""
    except ValueError:
        raise ParameterError(
            "The address of the database cannot be read; in a password, write / as %2F, @ as %40 and : as %3A."
        ) from None
    if parts.username:
        place = f"{parts.username}@{place}"
    kept = {name: value for name, value in parse_qsl(parts.query) if name in {"schema", "table", "host", "sslmode"}}
    rest = f"?{urlencode(kept, safe='/')}" if kept else ""
    return f"{parts.scheme}://{place}{parts.path}{rest}"  # urlunsplit would take away slashes of sqlite:///


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
