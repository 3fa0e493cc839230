"""Write a table that comes in pieces to one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from crowdassay.labels.write import csv_lines, csv_pieces


class TableStream:
    """Append tables of the same columns to a CSV or Parquet file, in the manner of `crowdassay.labels.write.write_table`.

    Parameters
    ----------
    path : Path
    form : {'csv', 'parquet'}
    raw : bool
        Leave CSV cells that a spreadsheet would run as formulas as they are.
    """

    def __init__(self, path: Path, form: str, *, raw: bool = False) -> None:
        self.path, self.form, self.raw = path, form, raw
        self._file: Any = None

    def write(self, table: pa.Table) -> None:
        """Append a piece."""
        if self.form == "parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

            self._file = self._file or pq.ParquetWriter(self.path, table.schema)
            self._file.write_table(table)
            return
        if self._file is None:
            self._file = self.path.open("xb")
            self._file.write(csv_lines([pa.array([name]) for name in table.column_names], self.raw))
        for lines in csv_pieces(table, self.raw):
            self._file.write(lines)

    def close(self) -> None:
        """Finish the file."""
        if self._file is not None:
            self._file.close()
            with self.path.open("rb") as file:
                os.fsync(file.fileno())


@contextmanager
def table_streams(folder: Path, names: tuple[str, ...], form: str, *, raw: bool = False) -> Iterator[dict[str, TableStream]]:
    """Open a stream for each of some tables, and close them all in the end, even if closing one fails."""
    streams = {name: TableStream(folder / f"{name}.{form}", form, raw=raw) for name in names}
    with ExitStack() as stack:
        for stream in streams.values():
            stack.callback(stream.close)
        yield streams
