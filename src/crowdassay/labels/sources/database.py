"""Labels in a table or query of SQLite or PostgreSQL, read in blocks and never written to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import pyarrow as pa

from crowdassay.errors import DataError, FileError, MissingExtraError, ParameterError
from crowdassay.labels.databases.postgres import without_password

ROWS_AT_A_TIME = 50_000
STORE = "crowdassay_meta"  # by which a store of ours is known: its labels are in the table labels


def split(url: str) -> tuple[str, str | None, str | None]:
    """Return a URL without ``table`` and ``query``, and these.

    >>> split("sqlite:///a.db?table=labels")
    ('sqlite:///a.db', 'labels', None)
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    table, query = options.pop("table", None), options.pop("query", None)
    if table is not None and query is not None:
        raise ParameterError("Give ?table= or ?query=, not both.")
    # urlunsplit takes away the slashes of sqlite:///
    rest = urlencode(options, quote_via=quote)
    head = url.split("?", 1)[0]
    return f"{head}?{rest}" if rest else head, table, query


def file_of(url: str, scheme: str) -> Path:
    """Return the file that ``scheme:///file`` names; four slashes for an absolute path."""
    if not url.startswith(f"{scheme}:///") or len(url) == len(scheme) + 4:
        raise ParameterError(f"Write {scheme}:///file.db, or {scheme}:////folder/file.db with the whole path.")
    path = Path(unquote(url.removeprefix(f"{scheme}:///")))
    if not path.is_file():
        raise FileError(f"There is no file '{path}'.")
    return path


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    if "\0" in name:
        raise ParameterError("A table's name holds no NUL.")
    return '"' + name.replace('"', '""') + '"'


def choose(tables: list[str], table: str | None, query: str | None, where: str) -> str:
    """Return the query to run: as given, or all of the table that is named or the only one."""
    if query is not None:
        return query
    if STORE in tables and table in {None, "labels"}:
        return "SELECT item, worker, label, time FROM labels ORDER BY seq"
    if table is None and len(tables) == 1:
        table = tables[0]
    if table is None or table not in tables:
        shown = ", ".join(sorted(tables)[:20]) or "none"
        what = f"There is no table '{table}' in" if table is not None else "Say which table (?table=) or query (?query=) of"
        raise DataError(f"{what} {where}; its tables: {shown}.")
    return f"SELECT * FROM {quoted(table)}"  # noqa: S608 - quoted


def fetch_sqlite(url: str, folder: Path) -> Path:
    """Copy the rows of a table or query of an SQLite file."""
    head, table, query = split(url)
    path = file_of(head, "sqlite")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as connection:
            rows = connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
            sql = choose([str(row[0]) for row in rows], table, query, f"'{path}'")
            cursor = connection.execute(sql)
            return write_rows(cursor.description, _blocks(cursor), folder / f"{path.stem}.parquet")
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise DataError(f"'{path}' could not be read as SQLite ({error}).") from None


def fetch_postgres(url: str, folder: Path) -> Path:
    """Copy the rows of a table or query of a PostgreSQL database, in a transaction that cannot write."""
    try:
        import psycopg  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("PostgreSQL needs the extra 'web': pip install 'crowdassay[web]'.") from None
    head, table, query = split(url)
    parts = urlsplit(head)
    options = dict(parse_qsl(parts.query))
    schema = options.pop("schema", "public")
    place = urlunsplit(parts._replace(query=urlencode(options, quote_via=quote)))
    shown = without_password(url)
    try:
        with psycopg.connect(place, connect_timeout=10) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SELECT set_config('search_path', %s, true)", (quoted(schema),))
            rows = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (schema,))
            sql = choose([str(row[0]) for row in rows], table, query, shown)
            with connection.cursor(name="crowdassay") as cursor:  # on the server, so that it takes one query and no command
                cursor.execute(sql.encode())
                written = write_rows(cursor.description, _blocks(cursor), folder / "postgresql.parquet")
            connection.rollback()
            return written
    except psycopg.OperationalError:  # whose own words may repeat the URL
        raise FileError(f"{shown} cannot be reached; check host, user, password and that the server runs.") from None
    except psycopg.Error as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(f"{shown} could not be read ({said}).") from None


def write_rows(description: Any, blocks: Iterable[list[Any]], path: Path) -> Path:
    """Write rows as Parquet, every value as text; ids stay what they are."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

    names = [str(column[0]) for column in description or ()]
    if not names or len(set(names)) < len(names):
        raise DataError("The query must give rows, and columns of different names.")
    schema = pa.schema([(name, pa.string()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for block in blocks:
            columns = zip(*block, strict=True)
            writer.write_table(pa.table([pa.array(list(map(as_text, column)), pa.string()) for column in columns], schema))
    return path


def as_text(value: Any) -> str | None:
    """Return a value of a database as text: whole numbers without a point, truth values as true and false.

    >>> as_text(1.0), as_text(True), as_text(None), as_text("007")
    ('1', 'true', None, '007')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, int | float | Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        raise DataError("A column holds bytes; choose the columns of text or numbers with ?query=SELECT ...")
    return str(value)


def _blocks(cursor: Any) -> Iterator[list[Any]]:
    while block := cursor.fetchmany(ROWS_AT_A_TIME):
        yield block
