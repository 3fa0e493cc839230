"""Turn plain tables of text into Parquet, by our own reader and its checks, for engines that would read text carelessly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdassay.errors import DataError
from crowdassay.labels.databases.duck import connect, heard, pattern_of, quoted, text
from crowdassay.labels.ingest_rows import find_source
from crowdassay.labels.raw import check_file, utf8_copy
from crowdassay.labels.roles import ITEM_WORKER_LABEL
from crowdassay.labels.source import Source
from crowdassay.labels.values import shown, shown_file
from crowdassay.read_options import ReadOptions


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
        _refuse_nul(target, path, columns)
        written.append(target)
    return written, columns


def _written_fast(source: Source, target: Path, folder: Path, columns: Mapping[str, str]) -> bool:
    if source.query is None:
        return False
    with connect([source.probe.path], folder=folder) as connection:
        chosen = ", ".join(f"{role} AS {quoted(name)}" for role, name in columns.items())
        # The path of our own file stands in the text, since COPY takes no parameter there.
        query = f"COPY (SELECT {chosen} FROM ({source.query})) TO {text(str(target))} (FORMAT parquet)"  # noqa: S608
        done = heard(partial(_copied, connection, query, {"path": pattern_of(source.probe.path)}))
    return bool(done and done[0])


def _copied(connection: Any, query: str, bound: dict[str, str]) -> Any:
    return connection.execute(query, bound).fetchall()[0]


def _write_slowly(source: Source, target: Path, columns: Mapping[str, str]) -> None:
    schema = pa.schema([(name, source.types[role]) for role, name in columns.items()])
    with pq.ParquetWriter(target, schema) as writer:
        for batch in source.slowly():
            table = pa.Table.from_batches([batch]).select(list(columns)).rename_columns(list(columns.values()))
            writer.write_table(table.cast(schema))


def _refuse_nul(target: Path, path: Path, columns: Mapping[str, str]) -> None:
    for batch in pq.ParquetFile(target).iter_batches():
        for role, name in columns.items():
            column = batch.column(name)
            if pa.types.is_string(column.type) and pc.any(nul := pc.match_substring(column, "\0")).as_py():
                bad = column.filter(nul)[0].as_py()
                raise DataError(
                    f"The {role} {shown(bad)} in {shown_file(path.name)} holds a NUL byte; remove it or re-save the file."
                )
