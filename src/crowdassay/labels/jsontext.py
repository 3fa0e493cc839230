"""JSON text: its values in order, frames that are one object, and where a file is broken."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

from crowdassay.errors import DataError
from crowdassay.labels.raw import BOM, BYTES_AT_A_TIME, check_start, is_gzipped, opened, refuse_bad_bytes
from crowdassay.labels.values import shown_file

FIRST_RECORD_BYTES = (1 << 18, 1 << 28)  # in which the first record is looked for; one beyond the first is rare
GAP, GAP_IN_LIST = re.compile(r"\s*"), re.compile(r"[\s,]*")
# Numbers stay the text they are, so that ids of any length keep their digits.
EXACT_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=lambda _: None)


def json_values(text: str, decoder: json.JSONDecoder = EXACT_DECODER) -> Iterator[Any]:
    r"""Yield the JSON values of a text, whether in a list, on lines or one after the other; of a frame its rows.

    >>> list(json_values('[1, "a"]')), list(json_values('{"n": 1}\n{"n": 2}'))
    (['1', 'a'], [{'n': '1'}, {'n': '2'}])
    """
    position = _end(GAP, text, 0)
    in_list = text.startswith("[", position)
    position += in_list
    number = 0
    while True:
        position = _end(GAP_IN_LIST if in_list else GAP, text, position)
        if position == len(text) and in_list:
            raise ValueError("the list is not closed")
        if position == len(text) or (in_list and text[position] == "]"):
            return
        value, position = decoder.raw_decode(text, position)
        number += 1
        if number == 1 and not in_list and _end(GAP, text, position) == len(text):
            yield from rows_of_frame(value)
            return
        yield value


def first_value(path: Path) -> Any:
    """Return the first JSON value of a file, or the first row of a frame; None where there is none that is whole."""
    size = os.path.getsize(path)
    for limit in FIRST_RECORD_BYTES:
        with opened(path) as stream:
            raw = stream.read(limit)
        check_start(raw[:4], path)
        text = raw.decode("utf-8-sig", errors="replace").lstrip()
        try:
            in_list = text.startswith("[")
            value, end = EXACT_DECODER.raw_decode(text[in_list:].lstrip())
        except (ValueError, RecursionError):
            if len(raw) < limit or size < limit:
                return None
            continue
        alone = not in_list and not text[end:].strip() and len(raw) < limit
        return next(iter(rows_of_frame(value)), None) if alone else value
    return None


def rows_of_frame(value: object) -> Iterator[Any]:
    """Yield the rows of a frame that is one JSON object, column by column; any other value as it is.

    Known are columns of objects by row (pandas' default), columns as lists, and the orients ``split``, ``table`` and ``index``.

    >>> list(rows_of_frame({"item": {"0": "a", "1": "b"}, "label": {"0": "x", "1": "y"}}))
    [{'item': 'a', 'label': 'x'}, {'item': 'b', 'label': 'y'}]
    """
    if not isinstance(value, dict) or not value:
        yield value
        return
    if value.keys() in ({"columns", "index", "data"}, {"columns", "data"}) and _all_lists(value):
        names = [str(name) for name in value["columns"]]
        if all(isinstance(row, list) and len(row) == len(names) for row in value["data"]):
            for row in value["data"]:
                yield dict(zip(names, row, strict=True))
            return
    if {"schema", "data"} == value.keys() and isinstance(value["data"], list):
        yield from value["data"]
        return
    columns = list(value.values())
    if len(columns) > 1 and all(isinstance(column, dict) and column for column in columns):
        rows = list(columns[0])
        same = all(list(column) == rows for column in columns)
        if same and not any(isinstance(cell, dict | list) for column in columns for cell in column.values()):
            if all(row.isdigit() for row in rows):  # the index; otherwise a row each, as orient="index" has it
                for row in rows:
                    yield {name: column[row] for name, column in value.items()}
                return
            if all(name.isdigit() for name in value):
                yield from columns
                return
    flat = _all_lists(value) and not any(isinstance(cell, dict | list) for column in columns for cell in column)
    if len(columns) > 1 and flat and columns[0] and len({len(column) for column in columns}) == 1:
        for row in zip(*columns, strict=True):
            yield dict(zip(value, row, strict=True))
        return
    yield value


def only_list(value: object) -> list[dict[str, Any]]:
    """Return the only list of objects that an object holds; nothing where there is none, or several.

    >>> only_list({"by": "ann", "tags": ["u"], "items": [{"id": 1}]}), only_list({"a": [{"id": 1}], "b": [{"id": 2}]})
    ([{'id': 1}], [])
    """
    values = value.values() if isinstance(value, dict) else ()
    lists = [one for one in values if isinstance(one, list) and any(isinstance(inside, dict) for inside in one)]
    return lists[0] if len(lists) == 1 and all(isinstance(inside, dict) for inside in lists[0]) else []


def records_by_name(value: object) -> list[tuple[str, dict[str, Any]]]:
    """Return name and record where an object holds several with much the same keys, as a list would; nothing of any other.

    >>> records_by_name({"a": {"id": 1, "votes": [2, 3]}, "b": {"id": 2, "votes": [3]}})
    [('a', {'id': 1, 'votes': [2, 3]}), ('b', {'id': 2, 'votes': [3]})]
    >>> records_by_name({"settings": {"lang": "en"}, "item": {"id": 1}}), records_by_name({"votes": {"0": [2], "1": [3]}})
    ([], [])
    """
    if not isinstance(value, dict):
        return []
    records = list(value.values())
    if len(records) < 2 or not all(isinstance(record, dict) and record for record in records):
        return []
    counts = Counter(key for record in records for key in record)
    usual = {key for key, count in counts.items() if 2 * count > len(records)}
    alike = all(2 * len(usual & record.keys()) > max(len(usual), len(record)) for record in records)
    return list(zip(value, records, strict=True)) if alike and not all(map(str.isdigit, usual)) else []


def flat(record: dict[str, Any], depth: int = 4) -> dict[str, Any]:
    """Return a record and, beside its objects, the values in them under dotted names; its own names win.

    >>> flat({"id": 1, "verdict": {"correct": True, "by": {"rule": 2}}})
    {'id': 1, 'verdict': {'correct': True, 'by': {'rule': 2}}, 'verdict.correct': True, 'verdict.by.rule': 2}
    """
    found = dict(record)
    for name, value in record.items():
        if isinstance(value, dict) and depth:
            for key, inside in flat(value, depth - 1).items():
                if not isinstance(inside, dict):
                    found.setdefault(f"{name}.{key}", inside)
    return found


def _all_lists(value: dict[str, Any]) -> bool:
    return all(isinstance(part, list) for part in value.values())


def check_whole(path: Path) -> None:
    """Refuse a JSON list that is cut off between two records, which DuckDB would take for complete."""
    with opened(path) as stream:
        start = stream.read(BYTES_AT_A_TIME)
        first = start.removeprefix(BOM).strip()[:1]
        last = start.rstrip()[-1:]
        while first == b"[" and (chunk := stream.read(BYTES_AT_A_TIME)):
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
    except RecursionError:
        return 1, "lists or objects are nested too deeply"
    except ValueError as error:
        return 1, str(error)
    return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
