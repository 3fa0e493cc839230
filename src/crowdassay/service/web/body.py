"""Read what was sent: a JSON list, one object, or NDJSON; record by record, so that other threads are not held up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from crowdassay.service.store.records import BadRecordError
from crowdassay.service.web.guard import RefusalError

BLANK = " \t\n\r"


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(parse_constant=_no_number)


def records(data: bytes, kind: str) -> Iterator[Any]:
    r"""Yield the records of a body: a JSON list, one object, or objects line by line, told by how it begins.

    A line that is no JSON is yielded as the error it is. A list that is no JSON raises `RefusalError` where that is seen.

    >>> list(records(b'[{"a": 1}, {"a": 2}]', "application/json"))
    [{'a': 1}, {'a': 2}]
    >>> list(records(b'{"a": 1}\n{"a": 2}', "application/json"))
    [{'a': 1}, {'a': 2}]
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusalError(422, f"The body is not UTF-8 (byte {error.start}).") from None
    start = _skip(text, 0)
    if start == len(text):
        raise RefusalError(422, "The body is empty; send a JSON list, or one JSON object on each line.")
    if text[start] == "[":
        return _list(text, start)
    if kind != "application/json":
        return _lines(text)
    value, end = _decode(text, start)
    return iter([value]) if _skip(text, end) == len(text) else _lines(text)


def _lines(text: str) -> Iterator[Any]:
    number, start = 0, 0
    while start < len(text):  # not all lines at once: a million would hold up everybody
        end = text.find("\n", start)
        line = text[start : None if end < 0 else end]
        number, start = number + 1, len(text) if end < 0 else end + 1
        if not line.strip(BLANK):
            continue
        try:
            yield DECODER.decode(line)
        except (ValueError, RecursionError):
            yield BadRecordError(f"Line {number} is not valid JSON.")


def _list(text: str, start: int) -> Iterator[Any]:
    place = _skip(text, start + 1)
    if text[place : place + 1] == "]":
        _end(text, place)
        return
    while True:
        value, end = _decode(text, place)
        yield value
        place = _skip(text, end)
        mark = text[place : place + 1]
        if mark == "]":
            _end(text, place)
            return
        if mark != ",":
            raise RefusalError(422, f"The body is not valid JSON: a comma or ] is missing at character {place + 1}.")
        place = _skip(text, place + 1)


def _decode(text: str, place: int) -> tuple[Any, int]:
    try:
        return DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise RefusalError(422, f"The body is not valid JSON at character {error.pos + 1}.") from None
    except (ValueError, RecursionError):
        raise RefusalError(422, f"The body is not valid JSON after character {place + 1}.") from None


def _end(text: str, place: int) -> None:
    if _skip(text, place + 1) != len(text):
        raise RefusalError(422, "There is something after the end of the JSON list.")


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in BLANK:
        place += 1
    return place
