"""Number the ids of a million rows, or --rows, in order of appearance: our own against pyarrow's dictionary and DuckDB.

Ours are tables over hashes, or pyarrow's dictionary by slices where few ids are long. What would fill the memory is left out.
Prints a table for docs/performance.md; each figure is the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.io.distinct import number_texts
from crowdassay.memory import available_memory

CHUNK = 122_880  # rows that DuckDB hands over at a time
NUMBERED = """
    select n.code from (select x, row_number() over () as r from ids) rows
    join (select x, row_number() over (order by min(r)) - 1 as code from (select x, row_number() over () as r from ids)
          group by x) n using (x) order by r"""


def columns(rows: int) -> Iterator[tuple[str, pa.ChunkedArray | None]]:
    """Make columns of ids one after the other: short and long texts and whole numbers, few different ones and many.

    None stands for one that takes more than a third of the memory there is.
    """
    draws, room = np.random.default_rng(0), (available_memory() or 8e9) / 3
    for distinct in (rows // 1000, 3 * rows // 10):
        codes = draws.integers(0, distinct, rows)
        for name, size in (("short text", 8), ("text of 200 bytes", 200), ("int64", 8)):
            title = f"{name}, {distinct:,} different"
            if (rows + distinct) * (size + 8) > room:
                yield title, None
                continue
            words = pa.array(np.arange(distinct))
            if size == 200:
                words = pc.utf8_lpad(words.cast(pa.string()), 200, "0")
            elif name == "short text":
                words = pc.binary_join_element_wise("w", words.cast(pa.string()), "")
            pieces = [words.take(pa.array(codes[first : first + CHUNK])) for first in range(0, rows, CHUNK)]
            yield title, pa.chunked_array(pieces)


def by_arrow(column: pa.ChunkedArray) -> Any:
    """Number with pyarrow."""
    return np.concatenate([chunk.indices.to_numpy() for chunk in column.dictionary_encode().chunks])


def by_duckdb(column: pa.ChunkedArray) -> Any:
    """Number with DuckDB."""
    with duckdb.connect() as connection:
        connection.register("ids", pa.table({"x": column}))
        return connection.sql(NUMBERED).to_arrow_table()["code"].to_numpy()


def seconds(call: Callable[[pa.ChunkedArray], Any], column: pa.ChunkedArray) -> float:
    """Return the best of three runs."""
    found = []
    for _ in range(3):
        start = time.perf_counter()
        call(column)
        found.append(time.perf_counter() - start)
    return min(found)


@click.command()
@click.option("--rows", default=1_000_000, show_default=True)
def main(rows: int) -> None:
    """Print the table."""
    click.echo("| ids | ours | pyarrow | DuckDB |\n|---|---|---|---|")
    for name, column in columns(rows):
        if column is None:
            click.echo(f"| {name} | more than a third of the memory here | | |")
            continue
        np.testing.assert_array_equal(number_texts(column)[0], by_arrow(column))
        np.testing.assert_array_equal(by_arrow(column), by_duckdb(column))
        times = [seconds(call, column) for call in (number_texts, by_arrow, by_duckdb)]
        click.echo(f"| {name} | " + " | ".join(f"{one:.3f} s" for one in times) + " |")


if __name__ == "__main__":
    main()
