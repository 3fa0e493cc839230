"""JSON text: find out whether a file is whole, and say where it is broken."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NoReturn

from crowdassay.errors import DataError
from crowdassay.labels.raw import BOM, is_gzipped, opened, refuse_bad_bytes
from crowdassay.labels.values import shown_file


def check_whole(path: Path) -> None:
    """Refuse a JSON list that is cut off between two records, which DuckDB would take for complete."""
    with opened(path) as stream:
        start = stream.read(1 << 20)
        first = start.removeprefix(BOM).strip()[:1]
        last = start.rstrip()[-1:]
        while first == b"[" and (chunk := stream.read(1 << 20)):
            last = chunk.rstrip()[-1:] or last
    if first == b"[" and last != b"]":
        raise DataError(f"{shown_file(path.name)} is cut off: its list is not closed; export or download it again.")


@contextmanager
def good_lines(path: Path) -> Iterator[tuple[Path, list[int]]]:
    """Copy the lines that hold valid JSON to a file of the same name; yield it with the numbers of the others."""
    bad = []
    with tempfile.TemporaryDirectory() as folder, opened(path) as source:
        copy = Path(folder, path.with_suffix("").name if is_gzipped(path) else path.name)
        with copy.open("wb") as target:
            for number, line in enumerate(source, 1):
                if _fault(line.removeprefix(BOM)) is None:
                    target.write(line)
                elif line.strip():
                    bad.append(number)
        yield copy, bad


def explain(path: Path, by_line: bool, data: bytes | None = None) -> NoReturn:
    """Raise `DataError` saying where a file, or its bytes, are no valid JSON."""
    refuse_bad_bytes(path, data)
    remedy = "correct it, or export the file again"
    with opened(path) if data is None else nullcontext(io.BytesIO(data)) as stream:
        fault = None if by_line else _fault(stream.read().removeprefix(BOM))
        if by_line or (fault and fault[1].startswith("extra data")):  # records that follow each other without a list
            stream.seek(0)
            for number, line in enumerate(stream, 1):
                if line.strip() and (fault := _fault(line.removeprefix(BOM))):
                    fault = (number, fault[1])
                    break
    if fault:
        raise DataError(f"Line {fault[0]} of {shown_file(path.name)} is not valid JSON ({fault[1]}); {remedy}.")
    raise DataError(f"{shown_file(path.name)} could not be read as JSON records; it needs one object per label.")


def _fault(text: bytes) -> tuple[int, str] | None:
    try:
        json.dumps(json.loads(text, parse_constant=_refuse), ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        return error.lineno, error.msg[:1].lower() + error.msg[1:]
    except UnicodeEncodeError:
        return 1, "half of a surrogate pair"
    except (ValueError, RecursionError) as error:
        return 1, str(error)
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")
