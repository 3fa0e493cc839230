"""Write tables and JSON so that a file is either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import FileError, ParameterError
from crowdassay.labels.folder import TABLE_FORMS, not_written, output_path, sync_folder
from crowdassay.labels.raw import BOM
from crowdassay.labels.values import is_text, shown, shown_file
from crowdassay.threads import available_cores

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetWriter

    from crowdassay.labels.sheets import SheetWriter

# OWASP: spreadsheets run cells that begin so. A plain number, such as the class -1, is harmless and stays as it is.
# Spreadsheets take the full-width forms of these signs for the signs.
FORMULA = r"^[=+\-@\t\r\n\x00\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"
FORMULA_STARTS = (b"=", b"+", b"-", b"@", b"\t", b"\r", b"\n", b"\0", b"\xef\xbc")
# Where a spreadsheet separates by other signs than commas, what follows these would be a cell of its own.
QUOTED_CHARACTERS = b'",\r\n;\t'
PLAIN_NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
ROWS_IN_A_CHUNK, CHUNKS_AT_ONCE = 1 << 14, 32


def write_table(
    table: pa.Table,
    path: str | Path,
    format: str = "csv",  # noqa: A002
    *,
    raw: bool = False,
    choices: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write a table atomically, making its folder when needed.

    CSV is UTF-8 with a header, quoted only where needed; nulls and NaN are empty, booleans true and false. For Excel, which
    takes other CSV for Windows-1252, it begins with a byte order mark.

    Parameters
    ----------
    table : pyarrow.Table
    path : str or Path
    format : {'csv', 'excel-csv', 'parquet', 'xlsx'}
    raw : bool
        Leave cells of CSV and XLSX that a spreadsheet would run as formulas as they are; else an apostrophe goes before them.
    choices : mapping, optional
        Texts to choose from in a column of XLSX, by its name.
    """
    if format not in TABLE_FORMS:
        raise ParameterError(f"format must be one of {', '.join(map(shown, TABLE_FORMS))}, not {shown(format)}.")
    with _replacing(output_path(path)) as temporary, closing(TableWriter(temporary, format, raw=raw)) as writer:
        writer.write(table)
        for name, texts in (choices or {}).items():
            writer.offer(table.column_names.index(name), texts)


class TableWriter:
    """Write a table that comes in pieces, as `write_table` would, to a file that is made when the first one comes."""

    def __init__(self, path: Path, form: str, *, raw: bool = False) -> None:
        self.path, self.form, self.raw = path, form, raw
        self._stream: BinaryIO | None = None
        self._parquet: ParquetWriter | None = None
        self._sheet: SheetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Append a piece; CSV is made on all cores."""
        if self.form == "xlsx":
            if self._sheet is None:
                from crowdassay.labels.sheets import SheetWriter  # noqa: PLC0415 - seldom needed

                header = _guarded(pa.array(table.schema.names, pa.string()), self.raw)
                self._sheet = SheetWriter(self.path, header.to_pylist())
            for batch in table.to_batches(max_chunksize=ROWS_IN_A_CHUNK):
                self._sheet.write([_guarded(column, self.raw) for column in batch.columns])
            return
        if self._stream is None:
            self._stream = self.path.open("xb")
            if self.form == "parquet":
                import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

                self._parquet = pq.ParquetWriter(self._stream, table.schema)
            else:
                self._stream.write(BOM if self.form == "excel-csv" else b"")
                self._stream.write(csv_lines([pa.array([name]) for name in table.schema.names], self.raw))
        if self._parquet is not None:
            self._parquet.write_table(table)
            return
        batches = table.to_batches(max_chunksize=ROWS_IN_A_CHUNK)
        with ThreadPoolExecutor(available_cores()) as pool:
            for first in range(0, len(batches), CHUNKS_AT_ONCE):  # a few at a time, to save memory
                some = batches[first : first + CHUNKS_AT_ONCE]
                for lines in pool.map(lambda batch: csv_lines(batch.columns, self.raw), some):
                    self._stream.write(lines)

    def offer(self, column: int, texts: Sequence[str]) -> None:
        """Offer texts to choose from to whoever fills in a column of XLSX; other files have no such thing."""
        if self._sheet is not None:
            self._sheet.offer(column, texts)

    def close(self) -> None:
        """Finish the file, if there is one, and have it written to disk."""
        if self._sheet is not None:
            self._sheet.close()
            with self.path.open("rb+") as stream:
                os.fsync(stream.fileno())
        if self._stream is not None:
            with self._stream:
                if self._parquet is not None:
                    self._parquet.close()
                self._stream.flush()
                os.fsync(self._stream.fileno())


@contextmanager
def table_files(folder: Path, names: tuple[str, ...], form: str, *, raw: bool = False) -> Iterator[dict[str, TableWriter]]:
    """Yield a file for each of some tables, and close them all in the end, even if closing one fails."""
    files = {name: TableWriter(folder / f"{name}.{TABLE_FORMS[form]}", form, raw=raw) for name in names}
    with ExitStack() as stack:
        for file in files.values():
            stack.callback(file.close)
        yield files


def write_json(obj: object, path: str | Path) -> None:
    """Write a value as JSON atomically: indented, UTF-8, NaN and infinities as null."""
    write_bytes(json.dumps(finite(obj), indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n", output_path(path))


def write_bytes(data: bytes, path: Path) -> None:
    """Write bytes to a file, which is either the old one or the new one."""
    with _replacing(path) as temporary, temporary.open("xb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield where to write a file that takes the place of ``path`` when all went well."""
    if os.path.exists(path) and not os.path.isfile(path):  # to replace a device would break the machine
        raise FileError(f"{shown_file(path)} could not be written (it is a folder, a pipe or a device); name another file.")
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise not_written(path, error) from error
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


def _guarded(column: pa.Array, raw: bool) -> pa.Array:
    """Return a column in which an apostrophe goes before texts that a spreadsheet would run, unless they stay as they are."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if raw or not is_text(column.type):
        return column
    text = column.cast(pa.string())
    data = _bytes(text)  # most columns hold none of the characters that need care
    if any(mark in data for mark in FORMULA_STARTS):
        risky = pc.and_not(pc.match_substring_regex(text, FORMULA), pc.match_substring_regex(text, PLAIN_NUMBER))
        text = pc.if_else(risky, pc.binary_join_element_wise("'", text, ""), text)
    return text


def unguarded(text: str) -> str:
    """Return a cell as it was before an apostrophe was put before it, because a spreadsheet would have run it.

    >>> unguarded("'=1+1"), unguarded("'tis"), unguarded("-5")
    ('=1+1', "'tis", '-5')
    """
    if not text.startswith("'"):
        return text
    inside = pa.array([text[1:]])
    return text[1:] if _guarded(inside, raw=False)[0].as_py() == text else text


def _cells(column: pa.Array, raw: bool) -> pa.Array:
    column = _guarded(column, raw)
    text = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), None, text)
    if not is_text(column.type):
        return text
    data = _bytes(text)
    if not any(mark in data for mark in QUOTED_CHARACTERS) and pc.min(pc.binary_length(text)).as_py() != 0:
        return text
    special = pc.or_(pc.match_substring_regex(text, '[",\r\n;\t]'), pc.equal(text, ""))  # "" is text, nothing is null
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(special, quoted, text)


def finite(value: object) -> Any:
    """Return plain values, in which numbers that are none are None."""
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy arrays and scalars
    if isinstance(value, dict):
        return {str(key): finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
