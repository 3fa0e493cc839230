"""Number the ids of a column in order of appearance: our own against pyarrow's dictionary and DuckDB.

    python benchmarks/ids.py [--rows 1e6,1e8] [--cap SECONDS]

Ours are tables over hashes, or pyarrow's dictionary by slices where few ids are long. Every contender has a process of its own
and numbers the same ids, made on the fly; making them is not timed. A column of more than a fifth of the memory comes in
batches of a million rows: each batch is numbered by itself, then all their different ids together, if memory holds these.
Up to ten million rows the best of three counts, beyond one run, and text alone. Prints a table for docs/performance.md: seconds
on the clock and, in brackets, of the processor, all threads together, which say more where others use the machine too.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.labels.distinct import number_texts
from crowdassay.memory import available_memory

BATCH = 1_000_000
REPEATED = 10_000_000  # rows up to which every contender runs three times
MOST_TEXT = 4e9  # bytes of different ids that all batches may have together
KINDS = {"short text": 8, "text of 200 bytes": 200, "int64": 8}  # and about how many bytes each takes
ROWS = "(select x, row_number() over () as r from ids)"
Numbered = tuple[Any, pa.Array]


def make(kind: str, rows: int, distinct: int) -> Iterator[pa.Array]:
    """Make ids, a batch after the other: draws of so many different ones."""
    words = spell(kind, pa.array(np.arange(distinct))) if distinct < BATCH else None  # to draw words is quicker than to spell
    for first in range(0, rows, BATCH):
        code = pa.array(np.random.default_rng(first).integers(0, distinct, min(BATCH, rows - first)))
        yield spell(kind, code) if words is None else words.take(code)


def spell(kind: str, code: pa.Array) -> pa.Array:
    """Return numbers as ids of a kind."""
    if kind == "short text":
        return pc.binary_join_element_wise("w", code.cast(pa.string()), "")
    return code if kind == "int64" else pc.utf8_lpad(code.cast(pa.string()), KINDS[kind], "0")


def by_arrow(column: pa.ChunkedArray) -> Numbered:
    """Number with pyarrow."""
    chunks = column.dictionary_encode().chunks
    return np.concatenate([chunk.indices.to_numpy() for chunk in chunks]), chunks[-1].dictionary


def by_duckdb(column: pa.ChunkedArray) -> Numbered:
    """Number with DuckDB."""
    settings = {"memory_limit": "8GB", "temp_directory": tempfile.gettempdir()}
    with duckdb.connect(config=settings) as connection:
        connection.register("ids", pa.table({"x": column}))
        numbers = f"select x, row_number() over (order by min(r)) - 1 as code from {ROWS} group by x"
        connection.execute(f"create temp table numbers as {numbers}")
        codes = connection.sql(f"select code from {ROWS} join numbers using (x) order by r").to_arrow_table()["code"]
        return codes.to_numpy(), connection.sql("select x from numbers order by code").to_arrow_table()["x"].combine_chunks()


CONTENDERS: dict[str, Callable[[pa.ChunkedArray], Numbered]] = {
    "ours": number_texts,
    "pyarrow": by_arrow,
    "DuckDB": by_duckdb,
}


def clock() -> Any:
    """Return the time on the clock and that of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def whole(number: Callable[[pa.ChunkedArray], Numbered], kind: str, rows: int, distinct: int) -> tuple[list[float], int]:
    """Number a column that is in memory; return the seconds it took and a mark that equal codes share."""
    column, found = pa.chunked_array(list(make(kind, rows, distinct))), []
    for _ in range(3 if rows <= REPEATED else 1):
        start = clock()
        codes = number(column)[0]
        found.append((clock() - start).tolist())
    return min(found), mark(codes, 0)


def in_batches(number: Callable[[pa.ChunkedArray], Numbered], kind: str, rows: int, distinct: int) -> tuple[list[float], int]:
    """Number batch after batch, then all their different ids together; return the same."""
    codes, words, seconds = [], [], np.zeros(2)
    for batch in make(kind, rows, distinct):
        start = clock()
        found = number(pa.chunked_array([batch]))
        seconds += clock() - start
        codes.append(found[0].astype(np.int32))
        words.append(found[1])
    start = clock()
    together = number(pa.chunked_array(words))[0]
    edges, marks = np.cumsum([0, *map(len, words)]), 0
    for place, part in enumerate(codes):
        codes[place] = together[edges[place] :][part]
    seconds += clock() - start
    for place, part in enumerate(codes):
        marks += mark(part, place * BATCH)
    return seconds.tolist(), marks % (1 << 64)


def mark(codes: Any, first: int) -> int:
    """Return a number that depends on every code and its row."""
    place = np.arange(first + 1, first + len(codes) + 1, dtype=np.uint64)
    return int((codes.astype(np.uint64) * (place * np.uint64(0x9E3779B97F4A7C15))).sum(dtype=np.uint64))


def one(contender: str, kind: str, rows: int, distinct: int, cap: int, *, batches: bool) -> tuple[str, int | None]:
    """Run one contender in a process of its own; return the seconds, or that it took longer, and its mark."""
    command = [sys.executable, __file__, "--one", json.dumps([contender, kind, rows, distinct, batches])]
    try:
        done = subprocess.run(
            command, check=True, capture_output=True, text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cap, cap + 1)),
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        return f"more than ({cap})" if error.returncode in {-signal.SIGXCPU, -signal.SIGKILL} else "failed", None
    (seconds, worked), marked = json.loads(done.stdout)
    return f"{seconds:.3g} ({worked:.3g})", marked


@click.command()
@click.option("--rows", default="1e6,1e8", show_default=True, help="Numbers of rows.")
@click.option("--cap", default=240, show_default=True, help="Processor seconds, with making ids, that a contender may take.")
@click.option("--one", "only", hidden=True)
def main(rows: str, cap: int, only: str | None) -> None:
    """Print the table."""
    if only is not None:
        contender, kind, size, distinct, batches = json.loads(only)
        click.echo(json.dumps((in_batches if batches else whole)(CONTENDERS[contender], kind, size, distinct)))
        return
    click.echo("| rows | ids | " + " | ".join(CONTENDERS) + " |\n|---|---|" + "---|" * len(CONTENDERS))
    room = (available_memory() or 8e9) / 5
    for size in (int(float(text)) for text in rows.split(",")):
        for kind, width in KINDS.items():
            if kind == "int64" and size > REPEATED:
                continue
            batches = size * (width + 8) > room
            for distinct in (size // 1000, 3 * size // 10):
                if batches and min(distinct, BATCH) * width * (size // BATCH) > MOST_TEXT:
                    continue
                found = [one(name, kind, size, distinct, cap, batches=batches) for name in CONTENDERS]
                marks = {marked for _, marked in found if marked is not None}
                if len(marks) > 1:
                    raise click.ClickException(f"The contenders number {kind} differently.")
                title = f"{kind}, {distinct:,} different{', in batches' if batches else ''}"
                click.echo(f"| {size:,} | {title} | " + " | ".join(text for text, _ in found) + " |")


if __name__ == "__main__":
    main()
