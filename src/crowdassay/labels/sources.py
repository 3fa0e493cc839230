"""Labels that lie elsewhere than in files: they are copied into a local file, which the reader then reads like any other.

They may come from standard input, from a table or query of SQLite, PostgreSQL or DuckDB, which is never written to, from
HTTP(S) or from an object store (s3://, gs://, abfs:// ...).
"""

from __future__ import annotations

import gzip
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import pyarrow as pa

from crowdassay.errors import DataError, FileError, MissingExtraError, ParameterError
from crowdassay.labels.databases.duck import quoted
from crowdassay.labels.databases.home import POSTGRES_SCHEMES, STORE_TABLE, load_psycopg, split_schema, without_password
from crowdassay.labels.values import text_of

STDIN = "-"
STDIN_NAME = "standard-input"
DUCKDB_SUFFIXES = (".duckdb", ".ddb")
ROWS_IN_A_BLOCK = 50_000
EXACT_FLOATS = 1e15  # below which a whole number in a float has all its digits
FSSPEC_PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs", "http": "aiohttp",
    "https": "aiohttp",
}  # fmt: skip


def is_elsewhere(name: str | Path) -> bool:
    """Return whether a name stands for something else than a local file, folder or pattern.

    >>> [is_elsewhere(name) for name in ("-", "sqlite:///a.db?table=t", "labels.csv", "job.duckdb")]
    [True, True, False, True]
    """
    text = str(name)
    return text == STDIN or "://" in text or text.lower().endswith(DUCKDB_SUFFIXES)


@contextmanager
def local_sources(names: Sequence[str | Path]) -> Iterator[tuple[str, ...]]:
    """Yield names of local files only; what is elsewhere is in a temporary folder for the length of the block."""
    if not any(map(is_elsewhere, names)):
        yield tuple(map(str, names))
        return
    with tempfile.TemporaryDirectory(prefix="crowdassay-source-") as place:
        folders = [Path(tempfile.mkdtemp(dir=place)) for _ in names]
        named = zip(map(str, names), folders, strict=True)
        yield tuple(str(fetch(name, folder)) if is_elsewhere(name) else name for name, folder in named)


def fetch(name: str, folder: Path) -> Path:
    """Copy a source into a folder; return the file."""
    if name == STDIN:
        return fetch_stdin(folder)
    if name.startswith("sqlite://"):
        return fetch_sqlite(name, folder)
    if name.startswith(POSTGRES_SCHEMES):
        return fetch_postgres(name, folder)
    if name.startswith("duckdb://") or name.lower().endswith(DUCKDB_SUFFIXES):
        return fetch_duckdb(name, folder)
    return fetch_remote(name, folder)


def fetch_stdin(folder: Path) -> Path:
    """Copy standard input into a folder, under a name that says what it holds."""
    whole = folder / STDIN_NAME
    with whole.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    if whole.stat().st_size == 0:
        raise DataError("Standard input is empty; no labels found. Pipe a file into the command, or name one.")
    return whole.rename(folder / f"{STDIN_NAME}{_suffix_of(whole)}")


def _suffix_of(path: Path) -> str:
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
    if start[:4] == b"PK\x03\x04":
        return ".xlsx" if b"[Content_Types].xml" in start or b"xl/" in start else ".zip"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] == b"[":
        return f".json{packed}"
    if text[:1] == b"{":
        return f".jsonl{packed}"
    first = text.split(b"\n", 1)[0]
    return f"{'.tsv' if first.count(b'	') > first.count(b',') else '.csv'}{packed}"


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
    """Return the file that a path or ``scheme:///file`` names; four slashes for an absolute path."""
    if "://" in url and (not url.startswith(f"{scheme}:///") or len(url) == len(scheme) + 4):
        raise ParameterError(f"Write {scheme}:///file.db, or {scheme}:////folder/file.db with the whole path.")
    path = Path(unquote(url.removeprefix(f"{scheme}:///")) if "://" in url else url)
    if not path.is_file():
        raise FileError(f"There is no file '{path}'.")
    return path


def choose(rows: Iterable[Sequence[Any]], table: str | None, query: str | None, where: str) -> str:
    """Return the query to run: as given, or all of the table that is named or the only one; tables are listed by row."""
    if query is not None:
        return query
    tables = [str(row[0]) for row in rows]
    if STORE_TABLE in tables and table in {None, "labels"}:
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
            return write_rows(connection.execute(choose(rows, table, query, f"'{path}'")), folder / f"{path.stem}.parquet")
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise DataError(f"'{path}' could not be read as SQLite ({error}).") from None


def fetch_postgres(url: str, folder: Path) -> Path:
    """Copy the rows of a table or query of a PostgreSQL database, in a transaction that cannot write."""
    psycopg = load_psycopg()
    head, table, query = split(url)
    place, schema = split_schema(head)
    shown = without_password(url)
    try:
        with psycopg.connect(place, connect_timeout=10) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            connection.execute("SELECT set_config('search_path', %s, true)", (quoted(schema),))
            rows = connection.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (schema,))
            sql = choose(rows, table, query, shown)
            with connection.cursor(name="crowdassay") as cursor:  # on the server, so that it takes one query and no command
                cursor.execute(sql.encode())
                written = write_rows(cursor, folder / "postgresql.parquet")
            connection.rollback()
            return written
    except psycopg.OperationalError:  # whose own words may repeat the URL
        raise FileError(f"{shown} cannot be reached; check host, user, password and that the server runs.") from None
    except psycopg.Error as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(f"{shown} could not be read ({said}).") from None


def fetch_duckdb(name: str, folder: Path) -> Path:
    """Copy the rows of a table or query as Parquet, with the types they have."""
    import duckdb  # noqa: PLC0415 - slow to load
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load

    head, table, query = split(name)
    path = file_of(head, "duckdb")
    copy = folder / f"{path.stem}.parquet"
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as connection:
            rows = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
            reader = connection.sql(choose(rows, table, query, f"'{path}'")).to_arrow_reader(ROWS_IN_A_BLOCK)
            with pq.ParquetWriter(copy, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
    except duckdb.Error as error:
        said = " ".join(str(error).split())[:200]
        raise DataError(f"'{path}' could not be read as DuckDB ({said}).") from None
    return copy


def fetch_remote(url: str, folder: Path) -> Path:
    """Copy a remote file into a folder, under its own name."""
    shown, parts = without_password(url), urlsplit(url)
    name = Path(unquote(parts.path)).name
    if not name or any(mark in name for mark in "*?["):
        raise ParameterError(f"{shown} does not name one file; patterns and folders go with local files.")
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("Labels elsewhere need the extra 'sources': pip install 'crowdassay[sources]'.") from None
    copy = folder / name
    try:
        with fsspec.open(url, "rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except ImportError:
        package = FSSPEC_PACKAGES.get(parts.scheme, f"the package of fsspec for {parts.scheme}")
        raise MissingExtraError(f"{parts.scheme}:// needs {package}: pip install {package}.") from None
    except FileNotFoundError:
        raise FileError(f"There is nothing at {shown}.") from None
    except ValueError:  # fsspec: Protocol not known
        raise ParameterError(f"'{parts.scheme}' is no kind of place that labels can be read from.") from None
    except Exception as error:  # noqa: BLE001 - each kind of store has errors of its own, which may repeat what is secret
        raise FileError(f"{shown} could not be read ({type(error).__name__}).") from None
    return copy


def write_rows(cursor: Any, path: Path) -> Path:
    """Write the rows that a query gives as Parquet, every value as text; ids stay what they are."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

    names = [str(column[0]) for column in cursor.description or ()]
    if not names or len(set(names)) < len(names):
        raise DataError("The query must give rows, and columns of different names.")
    schema = pa.schema([(name, pa.string()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        while block := cursor.fetchmany(ROWS_IN_A_BLOCK):
            columns = zip(*block, strict=True)
            writer.write_table(pa.table([pa.array(list(map(cell_text, column)), pa.string()) for column in columns], schema))
    return path


def cell_text(value: object) -> str | None:
    """Return a value of a database as text: whole numbers without a point, truth values as true and false.

    >>> cell_text(1.0), cell_text(True), cell_text(None), cell_text("007")
    ('1', 'true', None, '007')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes | memoryview):
        raise DataError("A column holds bytes; choose the columns of text or numbers with ?query=SELECT ...")
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return text_of(value.total_seconds())
    return str(value) if isinstance(value, float) and abs(value) >= EXACT_FLOATS else text_of(value)
