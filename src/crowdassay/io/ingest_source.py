"""Which files hold the labels, and the query by which DuckDB reads each."""

from __future__ import annotations

import glob
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.errors import ColumnError, DataError, FileError
from crowdassay.io.columns import find_columns
from crowdassay.io.delimited import Dialect, read_slowly, sniff
from crowdassay.io.encode import ROLES
from crowdassay.io.files import SUPPORTED, check_file
from crowdassay.io.jsontext import LINES, check_whole, explain
from crowdassay.io.raw import broken_parquet, check_text, is_gzipped, refuse_odd_path
from crowdassay.io.scan import AS_IS, DELIMITED, PARQUET, load_duckdb
from crowdassay.io.values import shown, shown_file

MAGIC = frozenset("*?[")


@dataclass(frozen=True)
class Source:
    """One file of labels.

    Attributes
    ----------
    path : Path
    columns : dict
        The file's own name of the item, worker and label column.
    types : dict
        The types of these in DuckDB.
    query : str
        What selects the three columns, with the path to be bound as ``$path``.
    dialect : Dialect or None
        Of delimited text.
    """

    path: Path
    columns: dict[str, str]
    types: dict[str, str]
    query: str
    dialect: Dialect | None = None

    @property
    def doubtful(self) -> bool:
        """Whether DuckDB may take blank lines for the header and lose rows."""
        return self.dialect is not None

    def read_slowly(self) -> pa.Table:
        """Read record by record what DuckDB refuses, or say what is wrong with the file."""
        if _kind(self.path) == PARQUET:
            raise broken_parquet(self.path)
        if self.dialect is None:
            explain(self.path, _kind(self.path) in LINES)
        positions = [self.dialect.header.index(self.columns[role]) for role in ROLES]
        return read_slowly(self.path, self.dialect, positions).rename_columns(list(ROLES))


def find_inputs(given: Sequence[str | Path]) -> list[Path]:
    """Return the files that paths, folders and patterns stand for, each once, in order.

    A folder stands for the files in it of a kind we read; a pattern such as ``day-*.csv`` for what matches.
    """
    found: dict[Path, None] = {}
    for one in given:
        refuse_odd_path(one)
        path = Path(one)
        if path.is_dir():
            inside = [file for file in sorted(path.iterdir()) if file.is_file() and _kind(file) in SUPPORTED]
            if not inside:
                raise FileError(f"The folder {shown_file(path)} holds no file of labels ({', '.join(SUPPORTED)}).")
            found |= dict.fromkeys(inside)
        elif not path.exists() and MAGIC & set(str(one)):
            matches = sorted(glob.glob(str(one), recursive=True))
            if not matches:
                raise FileError(f"No file matches {shown(str(one))}.")
            found |= dict.fromkeys(find_inputs(matches))
        else:
            found[path] = None
    return list(found)


def find_source(path: Path, given: Mapping[str, str | None]) -> Source:
    """Look at the beginning of a file, choose its columns and write the query."""
    path, kind = check_file(path)
    if kind == PARQUET:
        return _parquet(path, given)
    has_bom = check_text(path)
    if kind in DELIMITED:
        return _delimited(path, given)
    if kind not in LINES:
        check_whole(path)
    if has_bom:
        raise DataError(f"{shown_file(path.name)} begins with a byte order mark; re-save it as UTF-8 without one.")
    return _json(path, kind, given)


def _delimited(path: Path, given: Mapping[str, str | None]) -> Source:
    dialect = sniff(path)
    columns = _choose(dialect.header, given)
    positions = [dialect.header.index(columns[role]) for role in ROLES]
    # Columns are called c0, c1... here, so no name from the file ever enters the query.
    types = ", ".join(f"'c{n}': 'VARCHAR'" for n in range(len(dialect.header)))
    chosen = ", ".join(f"c{position} AS {role}" for position, role in zip(positions, ROLES, strict=True))
    query = (
        f"SELECT {chosen} FROM read_csv($path, auto_detect=false, header=true, delim='{dialect.separator}', quote='\"', "  # noqa: S608
        f"escape='\"', columns={{{types}}}, compression='{_compression(path)}', skip={dialect.skip}, hive_partitioning=false)"
    )
    return Source(path, columns, dict.fromkeys(ROLES, "VARCHAR"), query, dialect)


def _json(path: Path, kind: str, given: Mapping[str, str | None]) -> Source:
    layout = "newline_delimited" if kind in LINES else "auto"
    # Depth 1 leaves every value as JSON, so that whole numbers of any length keep their digits.
    source = (
        f"read_json($path, maximum_depth=1, format='{layout}', compression='{_compression(path)}', hive_partitioning=false)"
    )
    names = _types(source, path)
    if names is None:
        explain(path, kind in LINES)
    if list(names) == ["json"]:  # what DuckDB calls values that are no objects
        raise DataError(f"There were no labels found in {shown_file(path.name)}; it needs one JSON object per label.")
    columns = _choose(list(names), given)
    chosen = ", ".join(f"{_quoted(columns[role])} ->> '$' AS {role}" for role in ROLES)
    return Source(path, columns, dict.fromkeys(ROLES, "VARCHAR"), f"SELECT {chosen} FROM {source}")  # noqa: S608


def _parquet(path: Path, given: Mapping[str, str | None]) -> Source:
    source = "read_parquet($path, binary_as_string=true, hive_partitioning=false)"
    types = _types(source, path)
    if types is None:
        raise broken_parquet(path)
    columns = _choose(list(types), given)
    kinds = {role: types[columns[role]].upper() if types[columns[role]] in AS_IS else "VARCHAR" for role in ROLES}
    chosen = ", ".join(f"{_quoted(columns[role])}::{kinds[role]} AS {role}" for role in ROLES)
    return Source(path, columns, kinds, f"SELECT {chosen} FROM {source}")  # noqa: S608


def _choose(names: Sequence[str], given: Mapping[str, str | None]) -> dict[str, str]:
    try:
        return find_columns(names, ROLES, given)
    except ColumnError as error:
        if any(given.values()):
            raise
        raise ColumnError(
            f"{error.message} If an annotation tool wrote this file, turn it into a plain table first: crowdassay convert."
        ) from None


def _types(source: str, path: Path) -> dict[str, str] | None:
    duckdb = load_duckdb()
    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    names = [os.path.abspath(path), glob.escape(os.path.abspath(path))]
    allowed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    with duckdb.connect(":memory:", config=config) as connection:
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        try:
            bound = {"path": names[1]}
            relation = connection.sql(f"SELECT * FROM {source}", params=bound)  # noqa: S608
            return {name: str(kind.id) for name, kind in zip(relation.columns, relation.types, strict=True)}
        except (duckdb.Error, UnicodeDecodeError):
            return None


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[:-1][-1:] if suffixes[-1:] == [".gz"] else suffixes[-1:])


def _compression(path: Path) -> str:
    return "gzip" if is_gzipped(path) else "none"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
