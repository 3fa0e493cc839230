"""Read the few columns that are needed from a file with DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from crowdassay.errors import DataError
from crowdassay.io.columns import find_columns
from crowdassay.io.delimited import read_slowly, sniff
from crowdassay.io.jsontext import LINES, check_whole, explain
from crowdassay.io.raw import broken_parquet, check_text, is_gzipped, without_bom
from crowdassay.io.values import shown_file

T = TypeVar("T")

DELIMITED = frozenset({".csv", ".tsv", ".txt"})
JSON = LINES | {".json"}
PARQUET = ".parquet"
# Types that encoding understands; all others are read as text.
AS_IS = frozenset(
    {"varchar", "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint"}
    | {"float", "double"}
)


def scan(path: Path, kind: str, roles: Sequence[str], given: Mapping[str, str | None]) -> tuple[pa.Table, dict[str, str]]:
    """Read one column per role, in file order.

    Parameters
    ----------
    path : Path
        An existing file.
    kind : str
        Its extension without .gz.
    roles, given
        As for `find_columns`.

    Returns
    -------
    table : pyarrow.Table
        Columns named by role; those of optional roles only where there are any.
    columns : dict
        The file's own name of each.
    """
    if kind == PARQUET:
        return _scan_parquet(path, roles, given)
    has_bom = check_text(path)
    if kind in DELIMITED:
        return _scan_delimited(path, roles, given)
    if kind not in LINES:
        check_whole(path)
    if has_bom:
        with without_bom(path) as copy:
            return _scan_json(copy, kind, roles, given)
    return _scan_json(path, kind, roles, given)


def _scan_delimited(path: Path, roles: Sequence[str], given: Mapping[str, str | None]) -> tuple[pa.Table, dict[str, str]]:
    dialect = sniff(path)
    columns = find_columns(dialect.header, roles, given)
    positions = [dialect.header.index(name) for name in columns.values()]
    # Columns are called c0, c1... here, so no name from the file ever enters the query.
    types = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(dialect.header)))
    query = (
        f"SELECT {', '.join(f'c{position}' for position in positions)} FROM read_csv(?, auto_detect=false, header=true, "  # noqa: S608
        f"delim='{dialect.separator}', quote='\"', escape='\"', columns={{{types}}}, "
        f"compression='{_compression(path)}', skip={dialect.skip}, hive_partitioning=false)"
    )
    # DuckDB may take blank lines for the header and lose rows, so the slow reader confirms an empty table too.
    table = None if dialect.starts_blank else _fetch(query, path)
    if table is None or not table.num_rows:
        table = read_slowly(path, dialect, positions)
    return table.rename_columns(list(columns)), columns


def _scan_json(path: Path, kind: str, roles: Sequence[str], given: Mapping[str, str | None]) -> tuple[pa.Table, dict[str, str]]:
    layout = "newline_delimited" if kind in LINES else "auto"
    # Depth 1 leaves every value as JSON, so that whole numbers of any length keep their digits.
    source = f"read_json(?, maximum_depth=1, format='{layout}', compression='{_compression(path)}', hive_partitioning=false)"
    names = _columns_of(source, path)
    if names is None:
        explain(path, kind in LINES)
    if list(names) == ["json"]:  # what DuckDB calls values that are no objects
        raise DataError(f"There were no labels found in {shown_file(path.name)}; it needs one JSON object per label.")
    columns = find_columns(list(names), roles, given)
    chosen = ", ".join(f"{_quoted(name)} ->> '$'" for name in columns.values())
    table = _fetch(f"SELECT {chosen} FROM {source}", path)  # noqa: S608
    if table is None:
        explain(path, kind in LINES)
    return table.rename_columns(list(columns)), columns


def _scan_parquet(path: Path, roles: Sequence[str], given: Mapping[str, str | None]) -> tuple[pa.Table, dict[str, str]]:
    source = "read_parquet(?, binary_as_string=true, hive_partitioning=false)"
    types = _columns_of(source, path)
    if types is not None:
        columns = find_columns(list(types), roles, given)
        chosen = ", ".join(_quoted(name) if types[name] in AS_IS else f"{_quoted(name)}::VARCHAR" for name in columns.values())
        table = _fetch(f"SELECT {chosen} FROM {source}", path)  # noqa: S608
        if table is not None:
            return table.rename_columns(list(columns)), columns
    raise broken_parquet(path)


def _columns_of(source: str, path: Path) -> dict[str, str] | None:
    def names_and_types(relation: Any) -> dict[str, str]:
        return {name: str(kind.id) for name, kind in zip(relation.columns, relation.types, strict=True)}

    return _run(f"SELECT * FROM {source}", path, names_and_types)  # noqa: S608


def _fetch(query: str, path: Path) -> pa.Table | None:
    return _run(query, path, lambda relation: relation.to_arrow_table())


def load_duckdb() -> Any:
    """Return DuckDB, which is slow to load."""
    import duckdb  # noqa: PLC0415 - only when a file is read

    return duckdb


def _run(query: str, path: Path, finish: Callable[[Any], T]) -> T | None:
    duckdb = load_duckdb()
    # Nothing may be fetched from elsewhere on account of what a file holds, and no file but this one is opened.
    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    name = os.path.abspath(path)
    pattern = glob.escape(name)  # DuckDB expands * ? [ in paths
    allowed = ", ".join("'" + text.replace("'", "''") + "'" for text in (name, pattern))
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        try:
            return finish(connection.sql(query, params=[pattern]))
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except (duckdb.Error, UnicodeDecodeError):  # it cuts its messages at bytes, not at characters
            return None  # its message is for people who write SQL; the caller finds out what is wrong


def _compression(path: Path) -> str:
    return "gzip" if is_gzipped(path) else "none"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
