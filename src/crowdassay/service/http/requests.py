"""What requests hold and how they are answered: records of a body, numbers of a query, JSON, and refusals.

A body is a JSON list, one object, or NDJSON; it is read record by record, so that other threads are not held up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NoReturn

from starlette.responses import Response

from crowdassay.service.store.checks import BadRecordError
from crowdassay.service.store.records import Received

READING = frozenset({"GET", "HEAD"})  # methods that change nothing
JSON_BLANKS = " \t\n\r"


class RefusalError(Exception):
    """A request that is answered with a status and a sentence instead of being passed on."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, dict(headers or {})
        if status in {408, 413}:  # the rest of a body that is not read would be taken for the next request
            self.headers["connection"] = "close"


def as_json(value: object, status: int = 200, **headers: str) -> Response:
    """Return an answer of JSON."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return Response(body, status, headers=headers, media_type="application/json")


def as_received(received: Received) -> Response:
    """Return an answer of what became of records; its status is 422 if all were refused."""
    refused = received.refused and not (received.added or received.known)
    return as_json(received.as_dict(), 422 if refused else 200)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


JSON_DECODER = json.JSONDecoder(parse_constant=_no_number)


def records_of(data: bytes, kind: str) -> Iterator[object]:
    r"""Yield the records of a body: a JSON list, one object, or objects line by line, told by how it begins.

    A line that is no JSON is yielded as the error it is. A list that is no JSON raises `RefusalError` where that is seen.

    >>> list(records_of(b'[{"a": 1}, {"a": 2}]', "application/json"))
    [{'a': 1}, {'a': 2}]
    >>> list(records_of(b'{"a": 1}\n{"a": 2}', "application/json"))
    [{'a': 1}, {'a': 2}]
    """
    text = text_of(data)
    start = _skip(text, 0)
    if start == len(text):
        raise RefusalError(422, "The body is empty; send a JSON list, or one JSON object on each line.")
    if text[start] == "[":
        return _list(text, start)
    if kind != "application/json":
        return _lines(text)
    value, end = _decode(text, start)
    return iter([value]) if _skip(text, end) == len(text) else _lines(text)


def text_of(data: bytes) -> str:
    """Return the text of a body."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RefusalError(422, f"The body is not UTF-8 (byte {error.start}).") from None


def _lines(text: str) -> Iterator[object]:
    number, start = 0, 0
    while start < len(text):  # not all lines at once: a million would hold up everybody
        end = text.find("\n", start)
        line = text[start : None if end < 0 else end]
        number, start = number + 1, len(text) if end < 0 else end + 1
        if not line.strip(JSON_BLANKS):
            continue
        try:
            yield JSON_DECODER.decode(line)
        except (ValueError, RecursionError):
            yield BadRecordError(f"Line {number} is not valid JSON.")


def _list(text: str, start: int) -> Iterator[object]:
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


def _decode(text: str, place: int) -> tuple[object, int]:
    try:
        return JSON_DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        raise RefusalError(422, f"The body is not valid JSON at character {error.pos + 1}.") from None
    except (ValueError, RecursionError):
        raise RefusalError(422, f"The body is not valid JSON after character {place + 1}.") from None


def _end(text: str, place: int) -> None:
    if _skip(text, place + 1) != len(text):
        raise RefusalError(422, "There is something after the end of the JSON list.")


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in JSON_BLANKS:
        place += 1
    return place
