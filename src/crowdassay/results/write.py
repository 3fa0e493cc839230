"""Write the tables of a result: block by block into a folder that appears at once, or into tables of a database.

In a database all is one transaction, so that the tables are there once, however often the command runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pyarrow as pa

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.databases.home import POSTGRES_SCHEMES, Home, PostgresHome, Session, SqliteHome, now, without_password
from crowdassay.labels.folder import RESULT_FILES, SUMMARY, check_writable, output_path, replacing_folder
from crowdassay.labels.write import table_files, write_json
from crowdassay.results.result import TABLES_OF_ITEMS, Result, item_table
from crowdassay.tables import undefined

DATABASE_SCHEMES = ("sqlite://", *POSTGRES_SCHEMES)
TABLE_PREFIX = "crowdassay_"
MARKER_TABLE = "crowdassay_results"
ROWS_INSERTED = 10_000  # at a time
SQL_REAL = "DOUBLE PRECISION"
SQL_TYPES = {"string": "TEXT", "large_string": "TEXT", "double": SQL_REAL, "float": SQL_REAL, "bool": "BOOLEAN"}


def write_result(
    result: Result, summary: dict[str, Any], folder: str | Path | DatabaseTables, form: str, *, raw: bool = False
) -> None:
    """Write labels, posterior, workers and items as CSV or Parquet, or to a database, and the summary; all or nothing.

    With many classes a table ``confusion`` holds what workers answer to what: see `Insight.cell_table`.
    """
    if isinstance(folder, DatabaseTables):
        write_database(result, summary, folder)
        return
    cells = result.cell_table()  # None but where classes are many
    if result.place.writes:
        from crowdassay.engines.spark.write import write_tables  # noqa: PLC0415  seldom needed

        frames = {name: result.frame(name, own_names=False) for name in TABLES_OF_ITEMS}
        frames["workers"] = result.place.frame(result.insight.workers_table(cells=True))
        if cells is not None:
            frames["confusion"] = result.place.frame(cells)
        write_tables(frames, summary, str(folder), form, raw=raw)
        return
    with replacing_folder(output_path(folder), RESULT_FILES, SUMMARY) as fresh:
        with table_files(fresh, (*TABLES_OF_ITEMS, "workers", "confusion"), form, raw=raw) as streams:
            for block in result.blocks():
                for name in TABLES_OF_ITEMS:
                    streams[name].write(item_table(block, name))
                if not result.place.in_memory:
                    pa.default_memory_pool().release_unused()  # else Arrow keeps as much again
            streams["workers"].write(result.insight.workers_table(cells=True))
            if cells is not None:
                streams["confusion"].write(cells)
        write_json(summary, fresh / SUMMARY)


@dataclass(frozen=True)
class DatabaseTables:
    """A place for results in a database; as text it shows no password."""

    url: str

    def __str__(self) -> str:
        return without_password(self.url)


def as_tables(value: str) -> DatabaseTables | None:
    """Return the place that ``--out`` names, None if it is a folder."""
    return DatabaseTables(value) if value.startswith(DATABASE_SCHEMES) else None


def check_tables(place: DatabaseTables) -> Path | None:
    """Refuse, before any work, a database that cannot be reached, or tables of that name that are not ours.

    Returns
    -------
    Path or None
        The file that holds the database, None where it is a server.
    """
    home, prefix = open_home(place)
    file = home.path if isinstance(home, SqliteHome) else None
    if file is not None and not file.exists():
        check_writable(file.absolute().parent)
        return file
    home.prepare()
    with home.read() as session:
        tables = home.tables(session)
        if MARKER_TABLE not in tables and (taken := [name for name in names(prefix) if name in tables]):
            raise DataError(f"{place} has a table '{taken[0]}' that this command did not write; choose another ?prefix=.")
    home.close()
    return file


def write_database(result: Result, summary: dict[str, Any], place: DatabaseTables) -> bool:
    """Write labels, posterior (long), items, workers and the summary in the place of those before.

    Returns
    -------
    bool
        False where the very same result was there already.
    """
    home, prefix = open_home(place)
    tables = {"labels": result.labels_table(), "items": result.items_table(), "workers": result.workers_table()}
    by_class = ("confusion", "sigma", "tau")  # a column for each pair of classes: more than databases have
    for name, table in tables.items():
        tables[name] = table.select([column for column in table.column_names if not column.startswith(by_class)])
    kept = {name: value for name, value in summary.items() if name != "seconds"}
    text = json.dumps(kept, default=str, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode())
    for table in tables.values():
        for row in _rows(table):
            digest.update(repr(row).encode())
    mark = digest.hexdigest()
    with home.write() as session:
        if MARKER_TABLE not in home.tables(session):
            columns = "prefix TEXT PRIMARY KEY, digest TEXT NOT NULL, written TEXT NOT NULL, summary TEXT NOT NULL"
            session.run(f"CREATE TABLE {MARKER_TABLE} ({columns})")
        marker = session.one(f"SELECT digest FROM {MARKER_TABLE} WHERE prefix = ?", (prefix,))  # noqa: S608
        if marker is not None and marker[0] == mark:
            return False
        for name, table in tables.items():
            _replace(session, f"{prefix}{name}", [(field.name, _type(str(field.type))) for field in table.schema], _rows(table))
        kinds = [("item", "TEXT"), ("class", "TEXT"), ("probability", SQL_REAL)]
        _replace(session, f"{prefix}posterior", kinds, _posterior(result))
        session.run(f"DELETE FROM {MARKER_TABLE} WHERE prefix = ?", (prefix,))  # noqa: S608
        session.run(f"INSERT INTO {MARKER_TABLE} VALUES (?, ?, ?, ?)", (prefix, mark, now(), text))  # noqa: S608
    home.close()
    return True


def names(prefix: str) -> list[str]:
    """Return the tables that are written."""
    return [f"{prefix}{name}" for name in ("labels", "posterior", "items", "workers")]


def open_home(place: DatabaseTables) -> tuple[Home, str]:
    """Return the database and the prefix of the tables."""
    parts = urlsplit(place.url)
    options = dict(parse_qsl(parts.query))
    prefix = options.pop("prefix", TABLE_PREFIX)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,30}", prefix) or MARKER_TABLE in names(prefix):
        raise ParameterError("The prefix of tables is letters, digits and underscores, 31 at most.")
    head = place.url.split("?", 1)[0]
    if head.startswith("sqlite://"):
        if not head.startswith("sqlite:///") or len(head) == len("sqlite:///"):
            raise ParameterError("Write sqlite:///file.db, or sqlite:////folder/file.db with the whole path.")
        return SqliteHome(Path(head.removeprefix("sqlite:///")), shared=True), prefix
    rest = urlencode(options, quote_via=quote)
    return PostgresHome(f"{head}?{rest}" if rest else head), prefix


def _replace(session: Session, name: str, columns: list[tuple[str, str]], rows: Iterable[tuple[Any, ...]]) -> None:
    session.run(f"DROP TABLE IF EXISTS {name}")
    listed = ", ".join(f'"{column}" {kind}' for column, kind in columns)  # our own names
    session.run(f"CREATE TABLE {name} ({listed})")
    sql = f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
    block = []
    for row in rows:
        block.append(row)
        if len(block) == ROWS_INSERTED:
            session.run_many(sql, block)
            block = []
    session.run_many(sql, block)


def _rows(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in table.to_batches(max_chunksize=ROWS_INSERTED):
        columns = [column.to_pylist() for column in batch.columns]
        yield from (tuple(None if undefined(value) else value for value in row) for row in zip(*columns, strict=True))


def _posterior(result: Result) -> Iterator[tuple[str, str, float]]:
    table = result.posterior_table()
    classes = [str(name) for name in result.facts.class_names]
    for batch in table.to_batches(max_chunksize=ROWS_INSERTED):
        items, *columns = (column.to_pylist() for column in batch.columns)
        for item, *row in zip(items, *columns, strict=True):
            yield from ((str(item), name, p) for name, p in zip(classes, row, strict=True))


def _type(name: str) -> str:
    return SQL_TYPES.get(name, "BIGINT" if name.startswith(("int", "uint")) else "TEXT")
