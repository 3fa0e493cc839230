"""Turn plain tables of text into Parquet, by our own reader and its checks, for engines that would read text carelessly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crowdassay.errors import DataError
from crowdassay.io.database import connect, heard, pattern_of, text
from crowdassay.io.encode import ROLES
from crowdassay.io.ingest_rows import find_source
from crowdassay.io.kinds import check_file
from crowdassay.io.source import Source
from crowdassay.io.transcode import utf8_copy
from crowdassay.io.values import shown, shown_file
from crowdassay.read_options import ReadOptions


def as_parquet(paths: Sequence[Path], folder: Path, options: ReadOptions) -> list[Path]:
    """Write item, worker and label of every file, as text, to a Parquet file of its own in a folder; return these in order.

    What is wrong with a file is said as by `crowdassay.read_labels`: bad quotes, rows too long or short, bytes that are no
    UTF-8, JSON that is broken, NUL.
    """
    written = []
    for number, path in enumerate(paths):
        copy, _ = utf8_copy(check_file(path)[0], folder)
        source = find_source(copy, options)
        target = folder / f"rows-{number:05}.parquet"
        if not _written_fast(source, target, folder):
            _write_slowly(source, target)
        source.seen.check_unchanged()
        _refuse_nul(target, path)
        written.append(target)
    return written


def _written_fast(source: Source, target: Path, folder: Path) -> bool:
    if source.query is None:
        return False
    with connect([source.seen.path], folder=folder) as connection:
        chosen = ", ".join(ROLES)
        # The path of our own file stands in the text, since COPY takes no parameter there.
        query = f"COPY (SELECT {chosen} FROM ({source.query})) TO {text(str(target))} (FORMAT parquet)"  # noqa: S608
        done = heard(partial(_copied, connection, query, {"path": pattern_of(source.seen.path)}))
    return bool(done and done[0])


def _copied(connection: Any, query: str, bound: dict[str, str]) -> Any:
    return connection.execute(query, bound).fetchall()[0]


def _write_slowly(source: Source, target: Path) -> None:
    schema = pa.schema([(role, source.types[role]) for role in ROLES])
    with pq.ParquetWriter(target, schema) as writer:
        for batch in source.slowly():
            writer.write_table(pa.Table.from_batches([batch]).select(list(ROLES)).cast(schema))


def _refuse_nul(target: Path, path: Path) -> None:
    for batch in pq.ParquetFile(target).iter_batches():
        for role in ROLES:
            column = batch.column(role)
            if pa.types.is_string(column.type) and pc.any(found := pc.match_substring(column, "\0")).as_py():
                bad = column.filter(found)[0].as_py()
                raise DataError(
                    f"The {role} {shown(bad)} in {shown_file(path.name)} holds a NUL byte; remove it or re-save the file."
                )
