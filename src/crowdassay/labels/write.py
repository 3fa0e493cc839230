"""Write tables and JSON so that a file is either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import FileError, ParameterError
from crowdassay.labels.folder import sync_folder
from crowdassay.labels.values import is_text, shown, shown_file
from crowdassay.threads import available_cores

# OWASP: spreadsheets run cells that begin so. A plain number, such as the class -1, is harmless and stays as it is.
# Spreadsheets take the full-width forms of these signs for the signs.
FORMULA = r"^[=+\-@\t\r\n\x00\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
FORMULA_STARTS = (b"=", b"+", b"-", b"@", b"\t", b"\r", b"\n", b"\0", b"\xef\xbc")
# Where a spreadsheet separates by other signs than commas, what follows these would be a cell of its own.
QUOTED_CHARACTERS = b'",\r\n;\t'
PLAIN_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
ROWS_IN_A_CHUNK, CHUNKS_AT_ONCE = 1 << 14, 32


def write_table(table: pa.Table, path: str | Path, format: str = "csv", *, raw: bool = False) -> None:  # noqa: A002
    """Write a table atomically, making its folder when needed.

    CSV is UTF-8 with a header, quoted only where needed; nulls and NaN are empty, booleans true and false.

    Parameters
    ----------
    table : pyarrow.Table
    path : str or Path
    format : {'csv', 'parquet'}
    raw : bool
        Leave CSV cells that a spreadsheet would run as formulas as they are; else an apostrophe goes before them.
    """
    if format not in {"csv", "parquet"}:
        raise ParameterError(f"format must be 'csv' or 'parquet', not {shown(format)}.")
    with _replacing(Path(path)) as stream:
        writer = TableWriter(stream, table.schema, format, raw=raw)
        writer.write(table)
        writer.close()


class TableWriter:
    """Write a table that comes in pieces of the same columns to an open file.

    Parameters
    ----------
    stream : binary file
    schema : pyarrow.Schema
    form : {'csv', 'parquet'}
    raw : bool
        As for `write_table`.
    """

    def __init__(self, stream: BinaryIO, schema: pa.Schema, form: str, *, raw: bool = False) -> None:
        self._stream, self._raw, self._parquet = stream, raw, None
        if form == "parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

            self._parquet = pq.ParquetWriter(stream, schema)
        else:
            stream.write(csv_lines([pa.array([name]) for name in schema.names], raw))

    def write(self, table: pa.Table) -> None:
        """Append a piece; CSV is made on all cores."""
        if self._parquet is not None:
            self._parquet.write_table(table)
            return
        batches = table.to_batches(max_chunksize=ROWS_IN_A_CHUNK)
        with ThreadPoolExecutor(available_cores()) as pool:
            for first in range(0, len(batches), CHUNKS_AT_ONCE):  # a few at a time, to save memory
                some = batches[first : first + CHUNKS_AT_ONCE]
                for lines in pool.map(lambda batch: csv_lines(batch.columns, self._raw), some):
                    self._stream.write(lines)

    def close(self) -> None:
        """Write what comes after the last piece; the file itself stays open."""
        if self._parquet is not None:
            self._parquet.close()


class TableFile:
    """A table in pieces of the same columns, in a file that is made when the first one comes.

    Parameters
    ----------
    path : Path
    form, raw
        As for `TableWriter`.
    """

    def __init__(self, path: Path, form: str, *, raw: bool = False) -> None:
        self.path, self.form, self.raw = path, form, raw
        self._stream: BinaryIO | None = None
        self._writer: TableWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Append a piece."""
        if self._writer is None:
            self._stream = self.path.open("xb")
            self._writer = TableWriter(self._stream, table.schema, self.form, raw=self.raw)
        self._writer.write(table)

    def close(self) -> None:
        """Finish the file, if there is one."""
        if self._stream is not None:
            with self._stream:
                if self._writer is not None:
                    self._writer.close()
                self._stream.flush()
                os.fsync(self._stream.fileno())


@contextmanager
def table_files(folder: Path, names: tuple[str, ...], form: str, *, raw: bool = False) -> Iterator[dict[str, TableFile]]:
    """Yield a file for each of some tables, and close them all in the end, even if closing one fails."""
    files = {name: TableFile(folder / f"{name}.{form}", form, raw=raw) for name in names}
    with ExitStack() as stack:
        for file in files.values():
            stack.callback(file.close)
        yield files


def write_json(obj: Any, path: str | Path) -> None:
    """Write a value as JSON atomically: indented, UTF-8, NaN and infinities as null."""
    text = json.dumps(finite(obj), indent=2, ensure_ascii=False, allow_nan=False)
    with _replacing(Path(path)) as stream:
        stream.write(text.encode("utf-8") + b"\n")


def write_bytes(data: bytes, path: Path) -> None:
    """Write bytes to a file, which is either the old one or the new one."""
    with _replacing(Path(path)) as stream:
        stream.write(data)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    if os.path.exists(path) and not os.path.isfile(path):  # to replace a device would break the machine
        raise FileError(f"{shown_file(path)} could not be written (it is a folder, a pipe or a device); name another file.")
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise FileError(
            f"{shown_file(path)} could not be written ({reason}); free some space or name another folder."
        ) from error
    finally:
        with suppress(OSError):  # it may never have been made
            temporary.unlink()


def csv_lines(columns: list[pa.Array], raw: bool) -> bytes:
    """Return rows of CSV, each with its line end."""
    cells = [_cells(column, raw) for column in columns]
    cells[-1] = pc.binary_join_element_wise(cells[-1].fill_null(""), "\n", "")
    return _bytes(pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement=""))


def _bytes(texts: pa.Array) -> bytes:
    """Return the texts of an Arrow column, which lie one after the other in one buffer."""
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, np.int32)[[texts.offset, texts.offset + len(texts)]]
    return bytes(data[int(edges[0]) : int(edges[1])]) if data else b""


def _cells(column: pa.Array, raw: bool) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), None, text)
    if not is_text(column.type):
        return text
    data = _bytes(text)  # most columns hold none of the characters that need care
    if not raw and any(mark in data for mark in FORMULA_STARTS):
        risky = pc.and_not(pc.match_substring_regex(text, FORMULA), pc.match_substring_regex(text, PLAIN_NUMBER))
        text = pc.if_else(risky, pc.binary_join_element_wise("'", text, ""), text)
    if not any(mark in data for mark in QUOTED_CHARACTERS) and pc.min(pc.binary_length(text)).as_py() != 0:
        return text
    special = pc.or_(pc.match_substring_regex(text, '[",\r\n;\t]'), pc.equal(text, ""))  # "" is text, nothing is null
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(special, quoted, text)


def finite(value: Any) -> Any:
    """Return plain values, in which numbers that are none are None."""
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy arrays and scalars
    if isinstance(value, dict):
        return {str(key): finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
