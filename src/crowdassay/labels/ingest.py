"""Encode files that are larger than memory: DuckDB numbers the ids and sorts the labels by item, into a spool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import IntArray
from crowdassay.errors import ParameterError
from crowdassay.labels.assemble import check
from crowdassay.labels.cells import MISSING_COUNTS, missing_rows, refuse_nul
from crowdassay.labels.classes import arrange_classes, class_order, many_classes
from crowdassay.labels.databases.duck import connect
from crowdassay.labels.ingest_rows import find_source, load_rows, name_kept, time_expression
from crowdassay.labels.labels import Labels
from crowdassay.labels.pseudonyms import pseudonymise
from crowdassay.labels.raw import check_file, utf8_copy
from crowdassay.labels.repeats import AnyCodes, RepeatTotals, pair_name
from crowdassay.labels.report import (
    MAX_CLASSES,
    ImportReport,
    check_dropped,
    similar_workers,
    too_many_classes,
    vanished_items,
)
from crowdassay.labels.source import Source
from crowdassay.labels.spool import Spool, SpoolWriter, block_size
from crowdassay.labels.truth import match_truth, read_truth, take_gold
from crowdassay.memory import shown_size
from crowdassay.read_options import ReadOptions

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OWN_MEMORY = 350_000_000  # bytes that the interpreter and the libraries take before any label is read
LEAST_INGEST_MEMORY = 600_000_000  # bytes in all below which nothing can be promised
ROWS_DATABASE = "rows.duckdb"
ROWS_STREAMED = 1 << 18  # rows handed over at a time


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
    paths, said = zip(*(utf8_copy(check_file(path)[0], folder) for path in paths), strict=True)
    sources = [find_source(path, options) for path in paths]
    source = paths[0].name if len(paths) == 1 else f"{len(paths)} files"
    # DuckDB takes somewhat more than its limit.
    config = {"memory_limit": f"{(memory - OWN_MEMORY) * 2 // 3}B", "threads": threads, "temp_directory": str(folder / "sort")}
    with connect(paths, database=str(folder / ROWS_DATABASE), folder=folder, **config) as connection:
        spool = _spool_rows(connection, folder, sources, source, options, gold, truth)
    (folder / ROWS_DATABASE).unlink()  # what follows needs the space
    notes = tuple(note for part in said for note in part)
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
    kinds = load_rows(connection, sources, options)
    for one in sources:
        one.probe.check_unchanged()
    time_column = sources[0].columns["time"] if "time" in kinds else None
    name_kept(connection, kinds, None if time_column is None else time_expression(connection, source))
    rows_read, dropped = _count_dropped(connection)
    half = check_dropped(rows_read, dropped, source, allow=options.allow_drops or bool(options.missing))
    workers, notes = _number_workers(connection, options)
    classes, class_notes = _number_classes(connection, options.classes)
    connection.execute("CREATE TABLE items AS SELECT item, min(row) AS first FROM kept GROUP BY item")
    vanished = _vanished(connection) if dropped else 0
    known, gold_said, truth_counts = _known(connection, classes, gold, truth)
    writer, repeated = SpoolWriter(folder, len(workers), len(classes)), RepeatTotals(options.repeats, time_column)
    for block in item_blocks(_sorted(connection), block_size(len(workers), len(classes)), len(workers), repeated):
        codes = [_look_up(block.first, *known[what]) for what in ("gold", "truth")]
        writer.add(block.n_labels, block.worker, block.label, *codes)
    names = connection.sql("SELECT item FROM items ORDER BY first").to_arrow_reader(ROWS_STREAMED)
    writer.name(_without_nul(names, "item"), names.schema.types[0])
    spool = Spool(
        folder, workers, classes, writer.worker_counts, writer.class_counts, np.array(writer.sizes), ImportReport(),
        int(np.sum(known["gold"][1] >= 0)), truth_counts,
    )  # fmt: skip
    notes += [*half, *class_notes, *vanished_items(vanished), *similar_workers(workers)]
    notes += [*many_classes(classes, given=options.classes is not None), *_repeat_notes(repeated, spool), *gold_said]
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
        order=class_order(classes, given=options.classes is not None),
    )
    return replace(spool, report=report)


def _repeat_notes(repeated: RepeatTotals, spool: Spool) -> list[str]:
    return repeated.notes(lambda at: pair_name(spool.workers[at[2]].as_py(), spool.ids(at[0])[at[1]].as_py()))


def _count_dropped(connection: DuckDBPyConnection) -> tuple[int, dict[str, int]]:
    """Count the rows, and those that miss a value by the first that is missing."""
    counts = connection.sql(f"SELECT count(*) AS n_rows, {MISSING_COUNTS} FROM raw").to_arrow_table().to_pylist()[0]  # noqa: S608
    return counts["n_rows"], missing_rows(counts)


def _vanished(connection: DuckDBPyConnection) -> int:
    """Count the items that have rows but no label that counts."""
    every = connection.execute("SELECT count(DISTINCT item) FROM raw").fetchall()[0][0]
    left = connection.execute("SELECT count(*) FROM items").fetchall()[0][0]
    return int(every - left)


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
    connection.register("coded", pa.table({"label": values, "code": pa.array(codes, pa.int16())}))
    connection.execute("CREATE TABLE classes AS SELECT * FROM coded")
    connection.unregister("coded")
    return classes, notes


def _known(
    connection: DuckDBPyConnection, classes: pa.Array, gold: Path | None, truth: Path | None
) -> tuple[Any, list[str], dict[str, int] | None]:
    """Match gold and truth: for each the first rows of the items that have one, in order, and their classes."""
    nothing = (np.empty(0, np.int64), np.empty(0, np.int32))
    columns, notes, counts = {"gold": nothing, "truth": nothing}, [], None
    for what, path in (("gold", gold), ("truth", truth)):
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
        columns[what] = (both["first"].to_numpy(), codes)
    return columns, notes, counts


def _items_only(items: pa.Array, classes: pa.Array) -> Labels:
    empty = np.zeros(0, np.int32)
    starts, gold = np.zeros(len(items) + 1, np.int64), np.full(len(items), -1, np.int32)
    return Labels(starts, empty, empty.astype(np.int16), items, pa.array([], pa.string()), classes, gold)


def _look_up(first: IntArray, rows: IntArray, codes: Any) -> Any:
    """Return the classes of items by their first rows, -1 where there is none."""
    if not len(rows):
        return np.full(len(first), -1)
    where = np.minimum(np.searchsorted(rows, first), len(rows) - 1)
    return np.where(rows[where] == first, codes[where], -1)


def _sorted(connection: DuckDBPyConnection) -> Any:
    return connection.sql(
        "SELECT i.first, w.code, c.code, k.time FROM kept k JOIN workers w USING (worker) JOIN classes c USING (label) "
        "JOIN items i USING (item) ORDER BY i.first, k.row"
    ).to_arrow_reader(ROWS_STREAMED)


def _without_nul(batches: Iterator[pa.RecordBatch] | Any, role: str) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        refuse_nul(batch.column(0), role)
        yield batch


@dataclass(frozen=True, eq=False)
class SortedItems:
    """Some whole items: the row in which each first appears and its number of labels, then the labels' codes."""

    first: IntArray
    n_labels: IntArray
    worker: AnyCodes
    label: AnyCodes


def item_blocks(batches: Any, size: int, n_workers: int, repeated: RepeatTotals) -> Iterator[SortedItems]:
    """Yield blocks of at least ``size`` labels from batches of (item's first row, worker, label, time), sorted by the first."""
    held: list[tuple[Any, ...]] = []
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


def _block(columns: list[Any], number: int, n_workers: int, repeated: RepeatTotals) -> SortedItems:
    first, worker, label, time = columns
    begins = np.flatnonzero(np.append(True, first[1:] != first[:-1]))
    n_labels = np.diff(np.append(begins, len(first)))
    item = np.repeat(np.arange(len(begins)), n_labels)
    keep = repeated.add(number, item, worker, label, n_workers, time)
    if keep is not None:
        n_labels, worker, label = np.bincount(item[keep], minlength=len(begins)), worker[keep], label[keep]
    return SortedItems(first[begins], n_labels, worker, label)
