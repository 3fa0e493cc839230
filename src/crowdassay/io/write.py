"""Write tables and JSON so that a file is either the old one or the new one, never half of it."""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crowdassay.errors import FileError, ParameterError
from crowdassay.io.values import is_text, shown, shown_file

# OWASP: spreadsheets run cells that begin so. A plain number, such as the class -1, is harmless and stays as it is.
FORMULA = r"^[=+\-@\t\r\x00]"
NUMBER = r"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"
CHUNK_ROWS = 1 << 14


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
        stream.write(_lines([pa.array([name]) for name in table.column_names], raw))
        for batch in table.to_batches(max_chunksize=CHUNK_ROWS):
            stream.write(_lines(batch.columns, raw))


def write_json(obj: Any, path: str | Path) -> None:
    """Write a value as JSON atomically: indented, UTF-8, NaN and infinities as null."""
    text = json.dumps(_finite(obj), indent=2, ensure_ascii=False, allow_nan=False)
    with _replacing(Path(path)) as stream:
        stream.write(text.encode("utf-8") + b"\n")


def write_bytes(data: bytes, path: Path) -> None:
    """Write bytes to a file, which is either the old one or the new one."""
    with _replacing(Path(path)) as stream:
        stream.write(data)


def check_writable(folder: str | Path) -> None:
    """Raise `FileError` if results could not be written to a folder, which may not exist yet; leave nothing behind."""
    folder = Path(folder)
    there = next(place for place in (folder, *folder.absolute().parents) if os.path.lexists(place))
    if not there.is_dir():
        raise FileError(f"{shown_file(there)} is a file, so results cannot go into {shown_file(folder)}; name another folder.")
    trial = there / f".crowdassay-{secrets.token_hex(8)}"
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise FileError(f"Nothing can be written to {shown_file(there)} ({reason}); name another folder.") from None


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise FileError(
            f"{shown_file(path)} could not be written ({reason}); free some space or name another folder."
        ) from error
    finally:
        with suppress(OSError):  # it may never have been made
            temporary.unlink()


def _lines(columns: list[pa.Array], raw: bool) -> bytes:
    cells = [_cells(column, raw) for column in columns]
    lines = pc.binary_join_element_wise(*cells, ",", null_handling="replace", null_replacement="")
    ended = pc.binary_join_element_wise(lines, "\n", "")
    # The texts of an Arrow column lie one after the other in one buffer: that is the file.
    _, offsets, text = ended.buffers()
    edges = np.frombuffer(offsets, np.int32)[[ended.offset, ended.offset + len(ended)]]
    return bytes(text[int(edges[0]) : int(edges[1])])


def _cells(column: pa.Array, raw: bool) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    text = column.cast(pa.string())
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), None, text)
    if not is_text(column.type):
        return text
    if not raw:
        risky = pc.and_not(pc.match_substring_regex(text, FORMULA), pc.match_substring_regex(text, NUMBER))
        text = pc.if_else(risky, pc.binary_join_element_wise("'", text, ""), text)
    special = pc.or_(pc.match_substring_regex(text, '[",\r\n]'), pc.equal(text, ""))  # "" is text, nothing is null
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    return pc.if_else(special, quoted, text)


def _finite(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()  # NumPy arrays and scalars
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
