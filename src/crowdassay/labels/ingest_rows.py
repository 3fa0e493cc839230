"""Load the columns of large tables into DuckDB, by the same source and the same rules as into memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import ColumnError
from crowdassay.labels.coding import float_text
from crowdassay.labels.databases.duck import heard, pattern_of
from crowdassay.labels.extras import NUMBER, WHOLE, read_times
from crowdassay.labels.probe import probe
from crowdassay.labels.reader import TIMED
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.source import Source, open_source
from crowdassay.labels.values import as_text, is_text, number_key
from crowdassay.read_options import ReadOptions

# White space as Unicode has it; only values that begin below '!' or above '~' need the look.
BLANK = r"regexp_full_match({0}, '[\p{{Z}}\s\x0b\x1c-\x1f\x{{85}}]*')"
ZONE = r"(Z|[+-]\d\d:?\d\d)$"


def find_source(path: Path, options: ReadOptions) -> Source:
    """Probe at a plain table and choose its columns."""
    timed = options.repeats in TIMED
    try:
        return open_source(probe(path), (*ITEM_WORKER_LABEL, *(["time"] if timed else [])), options.columns)
    except ColumnError as error:
        if any(options.columns.values()):
            raise
        raise ColumnError(
            f"{error.message} If an annotation tool wrote this file, turn it into a plain table first: crowdassay convert."
        ) from None


MISSING = (
    "(list_contains($missing, label::VARCHAR) OR (list_contains($numbers, TRY_CAST(label::VARCHAR AS DOUBLE))"
    r" AND regexp_full_match(label::VARCHAR, '[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?')))"
)


def load_rows(connection: Any, sources: Sequence[Source], options: ReadOptions) -> dict[str, pa.DataType]:
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
    values = [_present(role, kind) for role, kind in held.items()]
    bound: dict[str, Any] = {}
    if options.missing:  # numbers however they are spelt, but for leading zeros, which mean codes
        bound = {"missing": list(options.missing), "numbers": [float(key) for key in map(number_key, options.missing) if key]}
        values[2] = f"CASE WHEN {MISSING} THEN NULL ELSE {values[2]} END"
    whole = {role: True for role, kind in types.items() if pa.types.is_floating(kind)}
    for source in sources:
        done = None
        if source.query is not None:
            insert = f"INSERT INTO raw SELECT {', '.join(values)} FROM ({source.query})"  # noqa: S608
            everything = {**bound, "path": pattern_of(source.probe.path)}
            done = heard(partial(_inserted, connection, insert, everything))
        if done is None or (source.doubtful and not done[0]):
            _insert(connection, source, held, values, bound, whole)
    return {**held, **{role: pa.int64() for role, all_whole in whole.items() if all_whole and role != "time"}}


def _inserted(connection: Any, insert: str, bound: dict[str, Any]) -> Any:
    return connection.execute(insert, bound).fetchall()[0]


def _insert(
    connection: Any,
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


def name_kept(connection: Any, kinds: Mapping[str, pa.DataType], time: str | None) -> None:
    """Name the rows that miss nothing ``kept``, with floating-point columns as whole numbers where all are."""
    stored = {name: kind for name, kind, *_ in connection.execute("DESCRIBE raw").fetchall()}
    shown_as = [
        f"{role}::BIGINT AS {role}" if kinds[role] == pa.int64() and stored[role] == "VARCHAR" else role
        for role in ITEM_WORKER_LABEL
    ]
    present = " AND ".join(f"{role} IS NOT NULL" for role in ITEM_WORKER_LABEL)
    connection.execute(
        f"CREATE VIEW kept AS SELECT rowid AS row, {', '.join(shown_as)}, {time or '0::BIGINT'} AS time "  # noqa: S608
        f"FROM raw WHERE {present}"
    )


def time_expression(connection: Any, source: str) -> str:
    """Return what turns times into numbers in which earlier is less; those that cannot be read are refused as in memory."""
    clean, zoned = "trim(time)", f"regexp_matches(trim(time), '{ZONE}')"
    whole, number, date, all_zoned, any_zoned = connection.execute(
        f"SELECT bool_and(coalesce(regexp_matches({clean}, '{WHOLE}') AND try_cast({clean} AS BIGINT) >= 0, false)), "  # noqa: S608
        f"bool_and(coalesce(regexp_matches({clean}, '{NUMBER}'), false)), "
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


def _present(role: str, kind: pa.DataType) -> str:
    if not is_text(kind):
        return role
    return f"CASE WHEN ({role} < '!' OR {role} > '~') AND {BLANK.format(role)} THEN NULL ELSE {role} END"
