"""Encode files that are larger than memory: DuckDB numbers the ids and sorts the labels by item, into a spool.

For Spark the same columns, read by the same rules, are turned into Parquet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from crowdassay.arrays import CodeArray, IntArray
from crowdassay.errors import ColumnError, ParameterError
from crowdassay.labels.cells import (
    COMPLETE,
    DUCKDB_BLANK,
    MISSING_COUNTS,
    WITHOUT,
    blank_as_null,
    float_text,
    missing_rows,
    refuse_infinite,
    refuse_nul,
    without_bound,
)
from crowdassay.labels.classes import arrange_classes, class_order, many_classes
from crowdassay.labels.databases.duck import connect, heard, pattern_of, quoted, text
from crowdassay.labels.delimited import FIRST_ROWS
from crowdassay.labels.extras import NUMBER_TEXT, WHOLE_TEXT, read_times
from crowdassay.labels.files import check
from crowdassay.labels.labels import Labels
from crowdassay.labels.listed_cells import refuse_listed
from crowdassay.labels.merged import parts_note, refuse_merged
from crowdassay.labels.probe import probe
from crowdassay.labels.pseudonyms import pseudonymise
from crowdassay.labels.raw import check_file, utf8_copy
from crowdassay.labels.reader import TIMED
from crowdassay.labels.repeats import RepeatTotals
from crowdassay.labels.report import (
    MAX_CLASSES,
    NOTHING_READ,
    ImportReport,
    check_dropped,
    similar_names,
    too_many_classes,
    vanished_items,
)
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.source import Source, open_source
from crowdassay.labels.spool import Spool, SpoolWriter, block_size
from crowdassay.labels.telling import check_repeats, whole_table
from crowdassay.labels.truth import as_in_labels, match_truth, read_known, take_gold
from crowdassay.labels.values import as_text, is_text, shown_file
from crowdassay.memory import shown_size
from crowdassay.read_options import ReadOptions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OWN_MEMORY = 350_000_000  # bytes that the interpreter and the libraries take before any label is read
LEAST_INGEST_MEMORY = 600_000_000  # bytes in all below which nothing can be promised
ROWS_DATABASE = "rows.duckdb"
ROWS_STREAMED = 1 << 18  # rows handed over at a time
TIME_ZONE = r"(Z|[+-]\d\d:?\d\d| ?(UTC|GMT))$"

Known = tuple[IntArray, NDArray[np.int32]]  # first rows of the items whose class is known, in order, and their classes


def spool_files(
    paths: Sequence[Path],
    folder: Path,
    options: ReadOptions,
    *,
    memory: int,
    threads: int,
    gold: Path | None = None,
    truth: Path | None = None,
) -> Spool:
    """Encode files of labels into a spool, using about ``memory`` bytes.

    Vocabularies, dropped rows, repeats and messages are those of `crowdassay.read_labels`; items come in order of appearance.
    The names of the items, and whatever else has the size of the labels, stay on disk.
    """
    check(options)
    if reason := options.refusal("files"):
        raise ParameterError(reason)
    if memory < LEAST_INGEST_MEMORY:
        raise ParameterError(
            f"Encoding takes at least {shown_size(LEAST_INGEST_MEMORY)} of memory, and {shown_size(memory)} are given or free."
        )
    paths, said = zip(*(utf8_copy(check_file(path)[0], folder, options.opening) for path in paths), strict=True)
    sources = [find_source(path, options) for path in paths]
    source = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    # DuckDB takes somewhat more than its limit.
    config = {"memory_limit": f"{(memory - OWN_MEMORY) * 2 // 3}B", "threads": threads, "temp_directory": str(folder / "sort")}
    with connect(paths, database=str(folder / ROWS_DATABASE), folder=folder, **config) as connection:
        spool = _spool_rows(connection, folder, sources, source, options, gold, truth)
    (folder / ROWS_DATABASE).unlink()  # what follows needs the space
    notes = tuple(note for part in (*said, *(one.notes for one in sources)) for note in part)
    return replace(spool, report=replace(spool.report, notes=(*notes, *spool.report.notes)))


def _spool_rows(
    connection: DuckDBPyConnection,
    folder: Path,
    sources: Sequence[Source],
    source: str,
    options: ReadOptions,
    gold: Path | None,
    truth: Path | None,
) -> Spool:
    """Load the rows, number what they hold, and write them sorted by item; return the spool with its report."""
    roles, whole = load_rows(connection, sources, options)
    for one in sources:
        one.probe.check_unchanged()
    time_column = sources[0].columns["time"] if "time" in roles else None
    name_kept(connection, whole, None if time_column is None else time_expression(connection, source))
    counts = connection.sql(f"SELECT count(*) AS n_rows, {MISSING_COUNTS} FROM raw").to_arrow_table().to_pylist()[0]  # noqa: S608
    rows_read, dropped = counts["n_rows"], missing_rows(counts)
    half = check_dropped(rows_read, dropped, source, allow=options.allow_drops or bool(options.missing))
    workers, notes = _number_workers(connection, options)
    classes, class_notes = _number_classes(connection, options.classes)
    connection.execute("CREATE TABLE items AS SELECT item, min(row) AS first FROM kept GROUP BY item")
    lost = "SELECT (SELECT count(DISTINCT item) FROM raw) - (SELECT count(*) FROM items)"
    vanished = int(connection.execute(lost).fetchall()[0][0]) if dropped else 0
    known, gold_report, truth_counts = _known(connection, classes, sources[0].columns["item"], gold, truth)
    writer, repeated = SpoolWriter(folder, len(workers), len(classes)), RepeatTotals(options.repeats, time_column)
    rows = connection.sql(
        "SELECT i.first, w.code, c.code, k.time FROM kept k JOIN workers w USING (worker) JOIN classes c USING (label) "
        "JOIN items i USING (item) ORDER BY i.first, k.row"
    ).to_arrow_reader(ROWS_STREAMED)
    for first, n_of_items, worker, label in item_blocks(rows, block_size(len(workers), len(classes)), len(workers), repeated):
        codes = [_look_up(first, *known[what]) for what in ("gold", "truth")]
        writer.add(n_of_items, worker, label, *codes)
    names = connection.sql("SELECT item FROM items ORDER BY first").to_arrow_reader(ROWS_STREAMED)
    writer.name(names, names.schema.types[0])
    spool = Spool(
        folder, workers, classes, writer.worker_counts, writer.class_counts, np.array(writer.sizes), ImportReport(),
        int(np.sum(known["gold"][1] >= 0)), truth_counts,
    )  # fmt: skip
    notes += [*half, *class_notes, *vanished_items(vanished), *similar_names(workers)]
    n_labels = rows_read - sum(dropped.values())
    notes += many_classes(classes, n_labels, given=options.classes is not None)
    notes += [*repeated.notes(lambda block, item, worker: (workers[worker], spool.ids(block)[item])), *gold_report.notes]
    table = partial(whole_table, [one.probe for one in sources], question=options.question)
    named = options.item_column is not None
    if not named:
        refuse_merged([one.probe for one in sources], sources[0].columns)
    said = check_repeats(repeated.count, n_labels, sources[0].columns, table, named=named)
    notes[:0] = [*parts_note([one.probe for one in sources], sources[0].columns), *said]
    if repeated.left_out:
        dropped["repeated judgement"] = repeated.left_out
    report = ImportReport(
        source=source,
        columns=sources[0].columns,
        rows_read=rows_read,
        rows_kept=spool.n_labels,
        dropped=dropped,
        repeats=repeated.count,
        conflicts=repeated.conflicts,
        repeats_policy=options.repeats,
        notes=tuple(notes),
        drawn=gold_report.drawn,
        order=class_order(classes, given=options.classes is not None),
    )
    return replace(spool, report=report)


def _number_workers(connection: DuckDBPyConnection, options: ReadOptions) -> tuple[pa.Array, list[str]]:
    """Number the workers; whatever is said of them from here on has their pseudonyms where these are asked for."""
    connection.execute(
        "CREATE TABLE workers AS SELECT worker, (row_number() OVER (ORDER BY first) - 1)::INTEGER AS code "
        "FROM (SELECT worker, min(row) AS first FROM kept GROUP BY worker)"
    )
    names = connection.sql("SELECT worker FROM workers ORDER BY code").to_arrow_table()["worker"].combine_chunks()
    notes: list[str] = []
    if options.pseudonymise:
        names, note = pseudonymise(names, options.salt, keep_models=False)
        notes.append(note)
    refuse_nul(names, "worker")
    return names, notes


def _number_classes(connection: DuckDBPyConnection, given: Sequence[str] | None) -> tuple[pa.Array, list[str]]:
    counted = connection.sql(
        f"SELECT label, count(*) AS n FROM kept GROUP BY label ORDER BY min(row) LIMIT {MAX_CLASSES + 1}"  # noqa: S608
    ).to_arrow_table()
    if len(counted) > MAX_CLASSES:
        several = connection.execute("SELECT approx_count_distinct(label) FROM kept").fetchall()[0][0]
        raise too_many_classes(f"about {several}")
    values = counted["label"].combine_chunks()
    refuse_nul(values, "label")
    classes, codes, notes = arrange_classes(values, counted["n"].to_numpy(), given)
    _create(connection, "classes", pa.table({"label": values, "code": pa.array(codes, pa.int16())}))
    return classes, notes


def _known(
    connection: DuckDBPyConnection, classes: pa.Array, item: str, gold: Path | None, truth: Path | None
) -> tuple[dict[str, Known], ImportReport, dict[str, int] | None]:
    """Match gold and truth; return what is known by either, a report on the gold, and how many items the truth has."""
    nothing: Known = (np.empty(0, np.int64), np.empty(0, np.int32))
    columns, counts = {"gold": nothing, "truth": nothing}, None
    report = NOTHING_READ
    for what, path in (("gold", gold), ("truth", truth)):
        if path is None:
            continue
        table = as_in_labels(partial(read_known, path), item)
        connection.register("given", table)
        matched = "SELECT item::VARCHAR AS item, first FROM items"
        both = connection.sql(f"{matched} WHERE item::VARCHAR IN (SELECT item FROM given) ORDER BY first").to_arrow_table()  # noqa: S608
        if not len(both):  # one of them, for the message
            both = connection.sql(f"{matched} ORDER BY first LIMIT 1").to_arrow_table()
        connection.unregister("given")
        items, empty = both["item"].combine_chunks(), np.zeros(0, np.int32)
        starts, unknown = np.zeros(len(items) + 1, np.int64), np.full(len(items), -1, np.int32)
        few = Labels(starts, empty, empty.astype(np.int16), items, pa.array([], pa.string()), classes, unknown)
        if what == "gold":
            taken = take_gold(few, table)
            codes, report = taken.gold, taken.report
        else:
            codes, counts = match_truth(few, table, what="truth")
        columns[what] = (both["first"].to_numpy(), codes)
    return columns, report, counts


def _look_up(first: IntArray, rows: IntArray, codes: NDArray[np.int32]) -> IntArray:
    """Return the classes of items by their first rows, -1 where there is none."""
    if not len(rows):
        return np.full(len(first), -1)
    where = np.minimum(np.searchsorted(rows, first), len(rows) - 1)
    return np.where(rows[where] == first, codes[where], -1)


def item_blocks(
    batches: Iterable[pa.RecordBatch], size: int, n_workers: int, repeated: RepeatTotals
) -> Iterator[tuple[IntArray, IntArray, CodeArray, CodeArray]]:
    """Yield blocks of whole items, of at least ``size`` labels, from batches of (item's first row, worker, label, time).

    Batches are sorted by the first. A block is the items' first rows, their numbers of labels, and the labels' codes.
    """
    held: list[tuple[NDArray[Any], ...]] = []
    number, waiting = 0, 0
    for batch in batches:
        held.append(tuple(column.to_numpy() for column in batch.columns))
        waiting += len(batch)
        if waiting <= size:
            continue
        columns = [np.concatenate(parts) for parts in zip(*held, strict=True)]
        cut = int(np.searchsorted(columns[0], columns[0][-1]))  # the last item may go on
        if cut:
            yield _block([column[:cut] for column in columns], number, n_workers, repeated)
            number += 1
        held, waiting = [tuple(column[cut:] for column in columns)], len(columns[0]) - cut
    if waiting:
        yield _block([np.concatenate(parts) for parts in zip(*held, strict=True)], number, n_workers, repeated)


def _block(
    columns: list[NDArray[Any]], number: int, n_workers: int, repeated: RepeatTotals
) -> tuple[IntArray, IntArray, CodeArray, CodeArray]:
    first, worker, label, time = columns
    begins = np.flatnonzero(np.append(True, first[1:] != first[:-1]))
    n_labels = np.diff(np.append(begins, len(first)))
    item = np.repeat(np.arange(len(begins)), n_labels)
    keep = repeated.add(number, item, worker, label, n_workers, time)
    if keep is not None:
        n_labels, worker, label = np.bincount(item[keep], minlength=len(begins)), worker[keep], label[keep]
    return first[begins], n_labels, worker, label


def find_source(path: Path, options: ReadOptions) -> Source:
    """Probe a plain table and choose its columns."""
    timed = options.repeats in TIMED
    try:
        roles = (*ITEM_WORKER_LABEL, *(["time"] if timed else []))
        return open_source(probe(path), roles, options.columns, options.question)
    except ColumnError as error:
        if any(options.columns.values()):
            raise
        raise ColumnError(
            f"{error.message} If an annotation tool wrote this file, turn it into a plain table first: crowdassay convert."
        ) from None


def load_rows(connection: DuckDBPyConnection, sources: Sequence[Source], options: ReadOptions) -> tuple[list[str], set[str]]:
    """Copy the columns of all files into the table ``raw``; what is missing becomes null.

    Floating-point numbers are written as text, whole ones without a point. Returned are the roles of the columns, and of those
    of floating-point numbers the roles of which all are whole.
    """
    roles = [role for role in (*ITEM_WORKER_LABEL, "time") if all(role in source.columns for source in sources)]
    if "time" not in roles and any("time" in source.columns for source in sources):
        raise ColumnError(
            f"Only some of {len(sources)} files have a time column, so that --repeats {options.repeats} cannot go by it."
        )
    every = {role: {source.types[role] for source in sources} for role in roles}
    types = {role: kinds.pop() if len(kinds) == 1 else pa.string() for role, kinds in every.items()}
    held = {role: pa.string() if pa.types.is_floating(kind) or role == "time" else kind for role, kind in types.items()}
    empty = pa.table({role: pa.array([], kind) for role, kind in held.items()})
    _create(connection, "raw", empty)
    values = [blank_as_null(role, DUCKDB_BLANK) if is_text(kind) else role for role, kind in held.items()]
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
    first = connection.sql(f"SELECT worker::VARCHAR AS worker, label::VARCHAR AS label FROM raw LIMIT {FIRST_ROWS}")  # noqa: S608
    pairs = first.to_arrow_table()
    refuse_listed(pairs["worker"], pairs["label"], sources[0].columns, sources[0].probe.path.name)
    return roles, {role for role, all_whole in whole.items() if all_whole}


def _create(connection: DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Copy a table into the database."""
    connection.register("given", table)
    connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given")  # noqa: S608
    connection.unregister("given")


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


def name_kept(connection: DuckDBPyConnection, whole: Collection[str], time: str | None) -> None:
    """Name the rows that miss nothing ``kept``, with floating-point columns as whole numbers where all are."""
    shown_as = [f"{role}::BIGINT AS {role}" if role in whole else role for role in ITEM_WORKER_LABEL]
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
    _create(connection, "times", pa.table({"row": np.arange(len(order)), "t": order}))
    return "(SELECT t FROM times WHERE times.row = raw.rowid)"


def _as_held(column: pa.Array, kind: pa.DataType, role: str, whole: dict[str, bool]) -> pa.Array:
    if pa.types.is_floating(column.type):
        if role in ITEM_WORKER_LABEL:
            refuse_infinite(column, role)
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
        copy, _ = utf8_copy(check_file(path)[0], folder, options.opening)
        source = find_source(copy, options)
        target = folder / f"rows-{number:05}.parquet"
        columns = columns or {role: source.columns[role] for role in ITEM_WORKER_LABEL}
        done = None
        if source.query is not None:
            chosen = ", ".join(f"{role} AS {quoted(name)}" for role, name in columns.items())
            # The path of our own file stands in the text, since COPY takes no parameter there.
            query = f"COPY (SELECT {chosen} FROM ({source.query})) TO {text(str(target))} (FORMAT parquet)"  # noqa: S608
            with connect([source.probe.path], folder=folder) as connection:
                done = heard(partial(_executed, connection, query, {"path": pattern_of(source.probe.path)}))
        if not done or not done[0]:
            schema = pa.schema([(name, source.types[role]) for role, name in columns.items()])
            with pq.ParquetWriter(target, schema) as writer:
                for batch in source.slowly():
                    rows = pa.Table.from_batches([batch]).select(list(columns)).rename_columns(list(columns.values()))
                    writer.write_table(rows.cast(schema))
        source.probe.check_unchanged()
        for batch in pq.ParquetFile(target).iter_batches():
            for role, name in columns.items():
                refuse_nul(batch.column(name), role, f" in {shown_file(path.name)}")
            refuse_listed(batch.column(columns["worker"]), batch.column(columns["label"]), columns, path.name)
        written.append(target)
    return written, columns
