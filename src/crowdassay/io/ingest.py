"""Encode files that are larger than memory: DuckDB numbers the ids and sorts the labels by item, into a spool."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.arrays import IntArray
from crowdassay.data.labels import MAX_CLASSES, ImportReport, Labels
from crowdassay.errors import DataError, ParameterError
from crowdassay.io.classes import arrange_classes
from crowdassay.io.encode import ROLES, check_options
from crowdassay.io.formats.pseudonyms import pseudonymise
from crowdassay.io.ingest_blocks import Repeated, blocks_of
from crowdassay.io.ingest_source import Source, find_source
from crowdassay.io.scan import load_duckdb
from crowdassay.io.similar import similar_workers
from crowdassay.io.spool import Spool, SpoolWriter, block_size
from crowdassay.io.transcode import utf8_copy
from crowdassay.io.truth import match_truth, take_gold
from crowdassay.io.values import as_tuple, is_text, shown, shown_file
from crowdassay.memory import shown_size

OURS = 350_000_000  # bytes that the interpreter and the libraries take before any label is read
LEAST = 600_000_000  # bytes in all below which nothing can be promised
DATABASE = "rows.duckdb"
STREAM = 1 << 18  # rows handed over at a time
# White space as Unicode has it; only values that begin below '!' or above '~' need the look.
BLANK = r"regexp_full_match({0}, '[\p{{Z}}\s\x0b\x1c-\x1f\x{{85}}]*')"


@dataclass(frozen=True)
class Reading:
    """How files are read: as the options of `crowdassay.read_labels` say, as far as they serve large plain tables."""

    columns: Mapping[str, str | None]
    classes: Sequence[str] | None = None
    repeats: str = "keep"
    allow_drops: bool = False
    missing: str | Iterable[str] | None = None
    pseudonymise: bool = False
    salt: str | None = None
    gold: Path | None = None
    truth: Path | None = None


def spool_files(paths: Sequence[Path], folder: Path, reading: Reading, *, memory: int, threads: int) -> Spool:
    """Encode files of labels into a spool, using about ``memory`` bytes.

    Vocabularies, dropped rows, repeats and messages are those of `crowdassay.read_labels`; items come in order of appearance.
    The names of the items, and whatever else has the size of the labels, stay on disk.
    """
    check_options(reading.classes, reading.repeats)
    if memory < LEAST:
        raise ParameterError(
            f"Encoding takes at least {shown_size(LEAST)} of memory, and {shown_size(memory)} are given or free."
        )
    paths, said = zip(*(utf8_copy(path, folder) for path in paths), strict=True)
    sources = [find_source(path, reading.columns) for path in paths]
    with _connected(folder, paths, memory, threads) as connection:
        _load(connection, sources, as_tuple(reading.missing))
        rows_read, dropped = _dropped(connection, paths, allow=reading.allow_drops)
        workers = _number_workers(connection)
        classes, notes = _number_classes(connection, reading.classes)
        if sum(dropped.values()) * 2 > rows_read:
            notes.insert(0, "More than half of the rows were dropped; check the file and the column names.")
        connection.execute("CREATE TABLE items AS SELECT item, min(row) AS first FROM kept GROUP BY item")
        known, more, counts = _known(connection, classes, reading)
        writer, repeated = SpoolWriter(folder, len(workers), len(classes)), Repeated(reading.repeats)
        for block in blocks_of(_sorted(connection), block_size(len(workers), len(classes)), len(workers), repeated):
            codes = [_look_up(block.first, *known[what]) for what in ("gold", "truth")]
            writer.add(block.n_labels, block.worker, block.label, *codes)
        names = connection.sql("SELECT item FROM items ORDER BY first").to_arrow_reader(STREAM)
        writer.name(_without_nul(names, "item"), names.schema.types[0])
    (folder / DATABASE).unlink()  # what follows needs the space
    spool = Spool(
        folder, workers, classes, writer.worker_counts, writer.class_counts, np.array(writer.sizes), ImportReport(),
        int(np.sum(known["gold"][1] >= 0)), counts,
    )  # fmt: skip
    notes += [*more, *repeated.notes(spool)]
    notes[:0] = [note for notes_of_one in said for note in notes_of_one]
    if reading.pseudonymise:
        workers, note = pseudonymise(workers, reading.salt, keep_models=False)
        notes.insert(0, note)
    notes += similar_workers(workers)
    if repeated.left_out:
        dropped["repeated judgement"] = repeated.left_out
    report = ImportReport(
        source=paths[0].name if len(paths) == 1 else f"{len(paths)} files",
        columns=sources[0].columns,
        rows_read=rows_read,
        rows_kept=spool.n_labels,
        dropped=dropped,
        repeats=repeated.count,
        conflicts=repeated.conflicts,
        repeats_policy=reading.repeats,
        notes=tuple(notes),
        order=_order(classes, given=reading.classes is not None),
    )
    return replace(spool, workers=workers, report=report)


def _connected(folder: Path, paths: Sequence[Path], memory: int, threads: int) -> Any:
    duckdb = load_duckdb()
    config: dict[str, Any] = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
    # DuckDB takes somewhat more than its limit.
    config |= {"memory_limit": f"{(memory - OURS) * 2 // 3}B", "threads": threads}
    config |= {"temp_directory": str(folder / "sort")}
    connection = duckdb.connect(str(folder / DATABASE), config=config)
    names = [name for path in paths for name in (os.path.abspath(path), glob.escape(os.path.abspath(path)))]
    quoted = ["'" + name.replace("'", "''") + "'" for name in names]
    connection.execute(f"SET allowed_paths = [{', '.join(quoted)}]")
    connection.execute(f"SET allowed_directories = ['{str(folder).replace(chr(39), chr(39) * 2)}']")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    return connection


def _load(connection: Any, sources: Sequence[Source], missing: Sequence[str]) -> None:
    """Copy the three columns of all files into one table; what is missing becomes null."""
    duckdb = load_duckdb()
    kinds = [{source.types[role] for source in sources} for role in ROLES]
    types = [kind.pop() if len(kind) == 1 else "VARCHAR" for kind in kinds]
    columns = ", ".join(f"{role} {kind}" for role, kind in zip(ROLES, types, strict=True))
    connection.execute(f"CREATE TABLE raw ({columns})")
    values = [_present(role, kind) for role, kind in zip(ROLES, types, strict=True)]
    if missing:
        values[2] = f"CASE WHEN list_contains($missing, label::VARCHAR) THEN NULL ELSE {values[2]} END"
    for source in sources:
        insert = f"INSERT INTO raw SELECT {', '.join(values)} FROM ({source.query})"  # noqa: S608
        bound = {"missing": list(missing)} if missing else {}
        try:
            connection.execute(insert, {**bound, "path": glob.escape(os.path.abspath(source.path))})
            failed = source.doubtful and not connection.execute("SELECT 1 FROM raw LIMIT 1").fetchone()
        except (duckdb.OutOfMemoryException, duckdb.InterruptException):
            raise
        except (duckdb.Error, UnicodeDecodeError):
            failed = True  # its message is for people who write SQL
        if failed:
            connection.register("slowly", source.read_slowly())
            connection.execute(f"INSERT INTO raw SELECT {', '.join(values)} FROM slowly", bound)  # noqa: S608
            connection.unregister("slowly")
    _whole_numbers(connection, dict(zip(ROLES, types, strict=True)))


def _present(role: str, kind: str) -> str:
    if kind == "VARCHAR":
        return f"CASE WHEN ({role} < '!' OR {role} > '~') AND {BLANK.format(role)} THEN NULL ELSE {role} END"
    # DuckDB believes a Parquet file's statistics, which leave NaN out, and answers isnan() by them; the text does not lie.
    return f"CASE WHEN {role}::VARCHAR = 'nan' THEN NULL ELSE {role} END" if kind in {"FLOAT", "DOUBLE"} else role


def _whole_numbers(connection: Any, types: Mapping[str, str]) -> None:
    """Show floating-point columns as whole numbers where all are, else as text, and name the rows that miss nothing."""
    shown_as = []
    for role, kind in types.items():
        if kind not in {"FLOAT", "DOUBLE"}:
            shown_as.append(role)
            continue
        whole = f"trunc({role}) = {role} AND abs({role}) < 9007199254740992"  # beyond, neighbours share one float
        if connection.execute(f"SELECT bool_and({whole}) FROM raw").fetchone()[0]:  # noqa: S608
            shown_as.append(f"{role}::BIGINT AS {role}")
        else:
            shown_as.append(f"CASE WHEN {whole} THEN {role}::BIGINT::VARCHAR ELSE {role}::VARCHAR END AS {role}")
    present = " AND ".join(f"{role} IS NOT NULL" for role in ROLES)
    connection.execute(f"CREATE VIEW kept AS SELECT rowid AS row, {', '.join(shown_as)} FROM raw WHERE {present}")  # noqa: S608


def _dropped(connection: Any, paths: Sequence[Path], *, allow: bool) -> tuple[int, dict[str, int]]:
    """Count the rows, and those that miss a value by the first that is missing."""
    rows, *counts = connection.execute(
        "SELECT count(*), count(*) FILTER (item IS NULL), count(*) FILTER (item IS NOT NULL AND worker IS NULL), "
        "count(*) FILTER (item IS NOT NULL AND worker IS NOT NULL AND label IS NULL) FROM raw"
    ).fetchone()
    dropped = {f"missing {role}": count for role, count in zip(ROLES, counts, strict=True) if count}
    reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items())
    source = shown_file(paths[0].name) if len(paths) == 1 else f"{len(paths)} files"
    if sum(counts) == rows:
        why = f"all {rows} rows miss a value ({reasons})" if rows else "there are no rows"
        raise DataError(f"There were no labels found in {source}: {why}; check the file and the column names.")
    if sum(counts) * 2 > rows and not allow:
        raise DataError(
            f"More than half of the {rows} rows in {source} miss a value ({reasons}); check the file and the column names, "
            "or say --allow-drops."
        )
    return rows, dropped


def _number_workers(connection: Any) -> pa.Array:
    connection.execute(
        "CREATE TABLE workers AS SELECT worker, (row_number() OVER (ORDER BY first) - 1)::INTEGER AS code "
        "FROM (SELECT worker, min(row) AS first FROM kept GROUP BY worker)"
    )
    names = connection.sql("SELECT worker FROM workers ORDER BY code").to_arrow_table()["worker"].combine_chunks()
    return next(_without_nul(iter([pa.record_batch([names], ["worker"])]), "worker")).column(0)


def _number_classes(connection: Any, given: Sequence[str] | None) -> tuple[pa.Array, list[str]]:
    found = connection.sql(
        f"SELECT label, count(*) AS n FROM kept GROUP BY label ORDER BY min(row) LIMIT {MAX_CLASSES + 1}"  # noqa: S608
    ).to_arrow_table()
    if len(found) > MAX_CLASSES:
        several = connection.execute("SELECT approx_count_distinct(label) FROM kept").fetchone()[0]
        raise DataError(
            f"The label column holds about {several} different values, more than {MAX_CLASSES} classes. "
            "Is it free text or an id? Name the right column (--label-column)."
        )
    values = found["label"].combine_chunks()
    classes, codes, notes = arrange_classes(values, found["n"].to_numpy(), given)
    connection.register("coded", pa.table({"label": values, "code": pa.array(codes, pa.int16())}))
    connection.execute("CREATE TABLE classes AS SELECT * FROM coded")
    connection.unregister("coded")
    return classes, notes


def _known(connection: Any, classes: pa.Array, reading: Reading) -> tuple[Any, list[str], dict[str, int] | None]:
    """Match gold and truth: for each the first rows of the items that have one, in order, and their classes."""
    from crowdassay.io.files import read_truth  # noqa: PLC0415 - it is not needed without either

    nothing = (np.empty(0, np.int64), np.empty(0, np.int32))
    found, notes, counts = {"gold": nothing, "truth": nothing}, [], None
    for what in ("gold", "truth"):
        path = getattr(reading, what)
        if path is None:
            continue
        table = read_truth(path)
        connection.register("given", table)
        matched = "SELECT item::VARCHAR AS item, first FROM items"
        both = connection.sql(f"{matched} WHERE item::VARCHAR IN (SELECT item FROM given) ORDER BY first").to_arrow_table()  # noqa: S608
        if not len(both):  # one of them, for the message
            both = connection.sql(f"{matched} ORDER BY first LIMIT 1").to_arrow_table()
        connection.unregister("given")
        few = _items_only(both["item"].combine_chunks(), classes)
        if what == "gold":
            taken = take_gold(few, table)
            codes, notes = taken.gold, list(taken.report.notes)
        else:
            codes, counts = match_truth(few, table, what="truth")
        found[what] = (both["first"].to_numpy(), codes)
    return found, notes, counts


def _items_only(items: pa.Array, classes: pa.Array) -> Labels:
    empty = np.zeros(0, np.int32)
    starts, gold = np.zeros(len(items) + 1, np.int64), np.full(len(items), -1, np.int32)
    return Labels(starts, empty, empty.astype(np.int16), items, pa.array([], pa.string()), classes, gold)


def _order(classes: pa.Array, *, given: bool) -> str:
    natural = not is_text(classes.type) or _items_only(pa.nulls(0), classes).numeric
    return "given" if given else "natural" if natural else "alphabetical"


def _look_up(first: IntArray, rows: IntArray, codes: Any) -> Any:
    """Return the classes of items by their first rows, -1 where there is none."""
    if not len(rows):
        return np.full(len(first), -1)
    where = np.minimum(np.searchsorted(rows, first), len(rows) - 1)
    return np.where(rows[where] == first, codes[where], -1)


def _sorted(connection: Any) -> Any:
    return connection.sql(
        "SELECT i.first, w.code, c.code FROM kept k JOIN workers w USING (worker) JOIN classes c USING (label) "
        "JOIN items i USING (item) ORDER BY i.first, k.row"
    ).to_arrow_reader(STREAM)


def _without_nul(batches: Iterator[pa.RecordBatch] | Any, role: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        column = batch.column(0)
        if is_text(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
            bad = column.filter(pc.match_substring(column, "\0"))[0].as_py()
            raise DataError(f"The {role} {shown(bad)} holds a NUL byte; remove it or re-save the file as UTF-8.")
        yield batch
