"""Number the ids of a million rows in order of appearance: our own tables against pyarrow's dictionary and DuckDB.

Prints a table for docs/performance.md; each figure is the best of three.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click
import duckdb
import numpy as np
import pyarrow as pa

from crowdassay.io.distinct import number_texts

CHUNK = 122_880  # rows that DuckDB hands over at a time
NUMBERED = """
    select n.code from (select x, row_number() over () as r from ids) rows
    join (select x, row_number() over (order by min(r)) - 1 as code from (select x, row_number() over () as r from ids)
          group by x) n using (x) order by r"""


def columns(rows: int) -> dict[str, pa.ChunkedArray]:
    """Return columns of ids: short and long texts and whole numbers, few different ones and many."""
    draws, made = np.random.default_rng(0), {}
    for distinct in (rows // 1000, 3 * rows // 10):
        codes = draws.integers(0, distinct, rows)
        vocabularies = {
            "short text": pa.array([f"w{n}" for n in range(distinct)]),
            "text of 200 bytes": pa.array([f"{n:0200d}" for n in range(distinct)]),
            "int64": pa.array(np.arange(distinct)),
        }
        for name, words in vocabularies.items():
            pieces = [words.take(pa.array(codes[first : first + CHUNK])) for first in range(0, rows, CHUNK)]
            made[f"{name}, {distinct:,} different"] = pa.chunked_array(pieces)
    return made


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
    for name, column in columns(rows).items():
        np.testing.assert_array_equal(number_texts(column)[0], by_arrow(column))
        np.testing.assert_array_equal(by_arrow(column), by_duckdb(column))
        times = [seconds(call, column) for call in (number_texts, by_arrow, by_duckdb)]
        click.echo(f"| {name} | " + " | ".join(f"{one:.3f} s" for one in times) + " |")


if __name__ == "__main__":
    main()
