"""What a client sends, checked: a record is taken as it is, or refused with a reason."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

LONGEST_NAME = 10_000  # characters of a name, label or key
LONGEST_TEXT = 100_000  # of an item's text or link
FIRST_ROUND, LAST_ROUND = 1, 1_000_000
FIELDS = frozenset({"item", "worker", "label", "key", "time", "round"})


class Given(NamedTuple):
    """A label as it was given; without a key it is known by item, worker and round. A tuple, as there are many."""

    item: str
    worker: str
    label: str
    key: str | None = None
    time: str | None = None
    round: int | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """What was not taken, and why: ``index`` is its place in what was sent, from 0."""

    index: int
    reason: str
    key: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        named = {} if self.key is None else {"key": self.key}
        return {"index": self.index, "reason": self.reason, **named}


class BadRecordError(ValueError):
    """A record that cannot be taken; the text says why."""


def parse_labels(values: Iterable[Any], first: int = 0) -> tuple[list[tuple[int, Given]], list[Refused]]:
    """Check records of {item, worker, label, key?, time?, round?}; return the good ones with their places, and the others.

    Places are counted from ``first``.

    >>> good, bad = parse_labels([{"item": 7, "worker": "ann", "label": True}, {"item": "", "worker": "ann", "label": "x"}])
    >>> good[0][1].item, good[0][1].label, bad[0].reason
    ('7', 'true', 'The item is empty.')
    """
    good, bad = [], []
    for index, value in enumerate(values, first):
        try:
            good.append((index, parse_label(value)))
        except BadRecordError as error:
            bad.append(Refused(index, str(error)))
    return good, bad


def parse_label(value: Any) -> Given:
    """Check one record; raise `BadRecordError` with a sentence if it is no label."""
    if not isinstance(value, dict):
        if isinstance(value, BadRecordError):  # a line that was no JSON
            raise value
        raise BadRecordError("A label is an object with item, worker and label.")
    if not FIELDS.issuperset(value):
        unknown = value.keys() - FIELDS
        name = sorted(map(str, unknown))[0][:50]
        raise BadRecordError(f"There is no field '{name}'; a label has item, worker, label, and may have key, time and round.")
    item, worker = as_name(value.get("item"), "item"), as_name(value.get("worker"), "worker")
    label = as_name(value.get("label"), "label")
    key = None if value.get("key") is None else as_name(value["key"], "key")
    turn = value.get("round")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or not FIRST_ROUND <= turn <= LAST_ROUND):
        raise BadRecordError(f"The round is a whole number from {FIRST_ROUND} to {LAST_ROUND:,}.")
    time = value.get("time")
    return Given(item, worker, label, key, None if time is None else as_time(time), turn)


def as_name(value: Any, role: str, longest: int = LONGEST_NAME) -> str:
    """Return a text, number or truth value as the text it is stored as; refuse anything else."""
    if isinstance(value, str):
        if value.isascii() and value.isprintable() and not value.isspace() and 0 < len(value) <= longest:
            return value  # nearly all are
        text = value
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int):
        text = str(value) if abs(value) < 10**30 else ""
    elif isinstance(value, float) and math.isfinite(value):
        text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    elif value is None:
        raise BadRecordError(f"The {role} is missing.")
    else:
        raise BadRecordError(f"The {role} must be text or a number.")
    if not text.strip():
        raise BadRecordError(f"The {role} is empty.")
    if len(text) > longest:
        raise BadRecordError(f"The {role} has {len(text):,} characters; at most {longest:,} are taken.")
    if "\0" in text:
        raise BadRecordError(f"The {role} holds a NUL character.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRecordError(f"The {role} is not valid text: it holds half of a surrogate pair.") from None
    return text


def as_time(value: Any) -> str | None:
    """Return a time as UTC text that sorts; ISO 8601 (UTC where it names no zone), or seconds since 1970.

    >>> as_time("2026-03-01T12:00:00+02:00"), as_time(0)
    ('2026-03-01T10:00:00.000000+00:00', '1970-01-01T00:00:00.000000+00:00')
    """
    if value is None:
        return None
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 7_258_118_400:
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise ValueError
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        raise BadRecordError("The time must be ISO 8601 text or seconds since 1970.") from None


def made_key(item: str, worker: str, turn: int) -> str:
    r"""Return the key of a label that came without one.

    >>> made_key("a|b", "ann", 1)
    'a\\|b|ann|1'
    """
    return "|".join([*(name.replace("\\", "\\\\").replace("|", "\\|") for name in (item, worker)), str(turn)])
