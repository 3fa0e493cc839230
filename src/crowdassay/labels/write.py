"""Write tables and JSON so that a file is either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
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
RISKY = (b"=", b"+", b"-", b"@", b"\t", b"\r", b"\n", b"\0", b"\xef\xbc")
# Where a spreadsheet separates by other signs than commas, what follows these would be a cell of its own.
SPECIAL = b'",\r\n;\t'
NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
CHUNK_ROWS, AT_ONCE = 1 << 14, 32


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
        if format == "parquet":
            import pyarrow.parquet as pq  # noqa: PLC0415 - slow to load, seldom needed

            pq.write_table(table, stream)
            return
        stream.write(csv_lines([pa.array([name]) for name in table.column_names], raw))
        for lines in csv_pieces(table, raw):
            stream.write(lines)


def csv_pieces(table: pa.Table, raw: bool) -> Iterator[bytes]:
    """Yield the rows of a table as CSV, made on all cores."""
    batches = table.to_batches(max_chunksize=CHUNK_ROWS)
    with ThreadPoolExecutor(available_cores()) as pool:
        for first in range(0, len(batches), AT_ONCE):  # a few at a time, to save memory
            yield from pool.map(lambda batch: csv_lines(batch.columns, raw), batches[first : first + AT_ONCE])


def write_json(obj: Any, path: str | Path) -> None:
    """Write a value as JSON atomically: indented, UTF-8, NaN and infinities as null."""
    text = json.dumps(finite(obj), indent=2, ensure_ascii=False, allow_nan=False)
    with _replacing(Path(path)) as stream:
        stream.write(text.encode("utf-8") + b"\n")


def write_bytes(data: bytes, path: Path) -> None:
    """Write bytes to a file, which is either the old one or the new one."""
    with _replacing(Path(path)) as stream:
        stream.write(data)


def check_writable(folder: str | Path) -> None:
    """Raise `FileError` if results could not be written to a folder, which may not exist yet; leave nothing behind."""
    folder = Path(folder)
    try:
        os.lstat(folder)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else error
        raise FileError(f"{shown(folder)} cannot be a folder for results ({reason}); name another.") from None
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise FileError(f"{shown_file(there)} is a file, so results cannot go into {shown_file(folder)}; name another folder.")
    trial = there / f".crowdassay-{secrets.token_hex(8)}"
    try:
        with trial.open("xb") as stream:  # a full disk lets a file be made and then takes nothing
            stream.write(bytes(4096))
        trial.unlink()
    except OSError as error:
        with suppress(OSError):
            trial.unlink()
        reason = os.strerror(error.errno or 0)
        raise FileError(f"Nothing can be written to {shown_file(there)} ({reason}); name another folder.") from None


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
    if not raw and any(mark in data for mark in RISKY):
        risky = pc.and_not(pc.match_substring_regex(text, FORMULA), pc.match_substring_regex(text, NUMBER))
        text = pc.if_else(risky, pc.binary_join_element_wise("'", text, ""), text)
    if not any(mark in data for mark in SPECIAL) and pc.min(pc.binary_length(text)).as_py() != 0:
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
