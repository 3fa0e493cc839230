"""Load the columns of large tables into DuckDB, or turn them into Parquet for Spark, by the same rules as into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdassay.errors import ColumnError
from crowdassay.labels.cells import COMPLETE, DUCKDB, WITHOUT, blank_as_null, float_text, refuse_nul, without_bound
from crowdassay.labels.databases.duck import connect, heard, pattern_of, quoted, text
from crowdassay.labels.extras import NUMBER_TEXT, WHOLE_TEXT, read_times
from crowdassay.labels.probe import probe
from crowdassay.labels.raw import check_file, utf8_copy
from crowdassay.labels.reader import TIMED
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.source import Source, open_source
from crowdassay.labels.values import as_text, is_text, shown_file
from crowdassay.read_options import ReadOptions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

TIME_ZONE = r"(Z|[+-]\d\d:?\d\d)$"


def find_source(path: Path, options: ReadOptions) -> Source:
    """Probe a plain table and choose its columns."""
    timed = options.repeats in TIMED
    try:
        return open_source(probe(path), (*ITEM_WORKER_LABEL, *(["time"] if timed else [])), options.columns)
    except ColumnError as error:
        if any(options.columns.values()):
            raise
        raise ColumnError(
            f"{error.message} If an annotation tool wrote this file, turn it into a plain table first: crowdassay convert."
        ) from None


def load_rows(connection: DuckDBPyConnection, sources: Sequence[Source], options: ReadOptions) -> dict[str, pa.DataType]:
    """Copy the columns of all files into the table ``raw``; what is missing becomes null. Return the types by role.

    Floating-point numbers are written as text, whole ones without a point; their type tells whether all are whole.
    """
    roles = [role for role in (*ITEM_WORKER_LABEL, "time") if all(role in source.columns for source in sources)]
    if "time" not in roles and any("time" in source.columns for source in sources):
        raise ColumnError(
            f"Only some of {len(sources)} files have a time column, so that --repeats {options.repeats} cannot go by it."
        )
    types = {role: _common({source.types[role] for source in sources}) for role in roles}
    held = {role: pa.string() if pa.types.is_floating(kind) or role == "time" else kind for role, kind in types.items()}
    empty = pa.table({role: pa.array([], kind) for role, kind in held.items()})
    connection.register("empty_rows", empty)
    connection.execute("CREATE TABLE raw AS SELECT * FROM empty_rows")
    connection.unregister("empty_rows")
    values = [blank_as_null(role, DUCKDB) if is_text(kind) else role for role, kind in held.items()]
    bound: dict[str, Any] = {}
    if options.missing:
        bound, values[2] = without_bound(options.missing), WITHOUT.format(values[2])
    whole = {role: True for role, kind in types.items() if pa.types.is_floating(kind)}
    for source in sources:
        done = None
        if source.query is not None:
            insert = f"INSERT INTO raw SELECT {', '.join(values)} FROM ({source.query})"  # noqa: S608
            everything = {**bound, "path": pattern_of(source.probe.path)}
            done = heard(partial(_executed, connection, insert, everything))
        if done is None or (source.doubtful and not done[0]):
            _insert(connection, source, held, values, bound, whole)
    return {**held, **{role: pa.int64() for role, all_whole in whole.items() if all_whole and role != "time"}}


def _executed(connection: DuckDBPyConnection, query: str, bound: dict[str, Any]) -> Any:
    return connection.execute(query, bound).fetchall()[0]


def _insert(
    connection: DuckDBPyConnection,
    source: Source,
    held: Mapping[str, pa.DataType],
    values: list[str],
    bound: dict[str, Any],
    whole: dict[str, bool],
) -> None:
    """Insert a source batch by batch; what it has to say of itself is said, not what DuckDB makes of it."""
    said: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            for batch in source.slowly():
                cells = [_as_held(batch.column(role), kind, role, whole) for role, kind in held.items()]
                yield pa.record_batch(cells, schema=schema)
        except BaseException as error:
            said.append(error)
            raise

    schema = pa.schema(list(held.items()))
    connection.register("slowly", pa.RecordBatchReader.from_batches(schema, batches()))
    try:
        connection.execute(f"INSERT INTO raw SELECT {', '.join(values)} FROM slowly", bound)  # noqa: S608
    except Exception:
        if said:
            raise said[0] from None
        raise
    finally:
        connection.unregister("slowly")


def name_kept(connection: DuckDBPyConnection, kinds: Mapping[str, pa.DataType], time: str | None) -> None:
    """Name the rows that miss nothing ``kept``, with floating-point columns as whole numbers where all are."""
    stored = {name: kind for name, kind, *_ in connection.execute("DESCRIBE raw").fetchall()}
    shown_as = [
        f"{role}::BIGINT AS {role}" if kinds[role] == pa.int64() and stored[role] == "VARCHAR" else role
        for role in ITEM_WORKER_LABEL
    ]
    connection.execute(
        f"CREATE VIEW kept AS SELECT rowid AS row, {', '.join(shown_as)}, {time or '0::BIGINT'} AS time "  # noqa: S608
        f"FROM raw WHERE {COMPLETE}"
    )


def time_expression(connection: DuckDBPyConnection, source: str) -> str:
    """Return what turns times into numbers in which earlier is less; those that cannot be read are refused as in memory."""
    clean, zoned = "trim(time)", f"regexp_matches(trim(time), '{TIME_ZONE}')"
    whole, number, date, all_zoned, any_zoned = connection.execute(
        f"SELECT bool_and(coalesce(regexp_matches({clean}, '{WHOLE_TEXT}') AND try_cast({clean} AS BIGINT) >= 0, false)), "  # noqa: S608
        f"bool_and(coalesce(regexp_matches({clean}, '{NUMBER_TEXT}'), false)), "
        f"bool_and(coalesce(try_cast({clean} AS TIMESTAMP_NS) IS NOT NULL, false)), "
        f"bool_and({zoned}), bool_or({zoned}) FROM raw"
    ).fetchall()[0]
    if whole:
        return f"{clean}::BIGINT"
    if number:
        return f"{clean}::DOUBLE"
    if date and all_zoned == any_zoned:
        return f"epoch_ns({clean}::TIMESTAMP_NS)"
    column = connection.sql("SELECT time FROM raw ORDER BY rowid").to_arrow_table()["time"]
    order = read_times(column, source).order  # says what is wrong, or reads what DuckDB does not
    connection.register("read_times", pa.table({"row": np.arange(len(order)), "t": order}))
    connection.execute("CREATE TABLE times AS SELECT * FROM read_times")
    connection.unregister("read_times")
    return "(SELECT t FROM times WHERE times.row = raw.rowid)"


def _common(kinds: set[pa.DataType]) -> pa.DataType:
    return kinds.pop() if len(kinds) == 1 else pa.string()


def _as_held(column: pa.Array, kind: pa.DataType, role: str, whole: dict[str, bool]) -> pa.Array:
    if pa.types.is_floating(column.type):
        text = float_text(column)
        if role in whole:
            plain = pc.all(pc.match_substring_regex(text, r"^-?[0-9]+$"), skip_nulls=True).as_py()
            whole[role] &= bool(plain)
        return text
    return column.cast(kind) if not is_text(kind) else as_text(column)


def as_parquet(paths: Sequence[Path], folder: Path, options: ReadOptions) -> tuple[list[Path], dict[str, str]]:
    """Write item, worker and label of every file, as text, to a Parquet file of its own in a folder.

    Return these files in order, and the name of the column of each role, which is the first file's.

    What is wrong with a file is said as by `crowdassay.read_labels`: bad quotes, rows too long or short, bytes that are no
    UTF-8, JSON that is broken, NUL.
    """
    written: list[Path] = []
    columns: dict[str, str] = {}
    for number, path in enumerate(paths):
        copy, _ = utf8_copy(check_file(path)[0], folder)
        source = find_source(copy, options)
        target = folder / f"rows-{number:05}.parquet"
        columns = columns or {role: source.columns[role] for role in ITEM_WORKER_LABEL}
        if not _written_fast(source, target, folder, columns):
            _write_slowly(source, target, columns)
        source.probe.check_unchanged()
        for batch in pq.ParquetFile(target).iter_batches():
            for role, name in columns.items():
                refuse_nul(batch.column(name), role, f" in {shown_file(path.name)}")
        written.append(target)
    return written, columns


def _written_fast(source: Source, target: Path, folder: Path, columns: Mapping[str, str]) -> bool:
    if source.query is None:
        return False
    with connect([source.probe.path], folder=folder) as connection:
        chosen = ", ".join(f"{role} AS {quoted(name)}" for role, name in columns.items())
        # The path of our own file stands in the text, since COPY takes no parameter there.
        query = f"COPY (SELECT {chosen} FROM ({source.query})) TO {text(str(target))} (FORMAT parquet)"  # noqa: S608
        done = heard(partial(_executed, connection, query, {"path": pattern_of(source.probe.path)}))
    return bool(done and done[0])


def _write_slowly(source: Source, target: Path, columns: Mapping[str, str]) -> None:
    schema = pa.schema([(name, source.types[role]) for role, name in columns.items()])
    with pq.ParquetWriter(target, schema) as writer:
        for batch in source.slowly():
            table = pa.Table.from_batches([batch]).select(list(columns)).rename_columns(list(columns.values()))
            writer.write_table(table.cast(schema))
