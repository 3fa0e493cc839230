"""What clients send, value by value: each check returns what is stored, or says in a sentence why it cannot be taken."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TypeGuard

from crowdassay.errors import ParameterError

LONGEST_NAME = 10_000  # characters of a name, label or key
LONGEST_ITEM_TEXT = 100_000  # characters of an item's text or link
FIRST_ROUND, LAST_ROUND = 1, 1_000_000
LAST_SECOND = 7_258_118_400  # of the year 2199, since 1970
LONGEST_DURATION = 31_536_000  # seconds of a year
LONGEST_VALID = 36_500  # days of a token
TOKEN_ROLES = ("label", "read", "manage")
ROLE_WANTED = "Send {role, worker, name, days}: the role is label, read or manage, the others may be left out."


class BadRecordError(ParameterError):
    """A record that cannot be taken; the message says why."""


def as_name(value: object, role: str, longest: int = LONGEST_NAME) -> str:
    """Return a text, number or truth value as the text it is stored as; refuse anything else."""
    if isinstance(value, str):
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


def as_text(value: object, role: str) -> str:
    """Return the text of an item, which may be longer than a name."""
    return as_name(value, role, LONGEST_ITEM_TEXT)


def as_link(value: object, role: str) -> str:
    """Return the address of a page or picture on the web."""
    link = as_text(value, role)
    if not link.lower().startswith(("https://", "http://")):
        raise BadRecordError("A link begins with https:// or http://.")
    return link


def as_round(value: object, _role: str) -> int:
    """Return the number of a round."""
    if isinstance(value, bool) or not isinstance(value, int) or not FIRST_ROUND <= value <= LAST_ROUND:
        raise BadRecordError(f"The round is a whole number from {FIRST_ROUND} to {LAST_ROUND:,}.")
    return value


def as_role(value: object, _role: str) -> str:
    """Return the role of a token."""
    if value not in TOKEN_ROLES:
        raise BadRecordError(ROLE_WANTED)
    return str(value)


def as_time(value: object, _role: str = "time") -> str:
    """Return a time as UTC text that sorts; ISO 8601 (UTC where it names no zone), or seconds since 1970.

    >>> as_time("2026-03-01T12:00:00+02:00"), as_time(0)
    ('2026-03-01T10:00:00.000000+00:00', '1970-01-01T00:00:00.000000+00:00')
    """
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        elif _is_number(value) and 0 <= value < LAST_SECOND:
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise ValueError
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        raise BadRecordError("The time must be ISO 8601 text or seconds since 1970.") from None


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_seconds(value: object, _role: str) -> float:
    """Return a duration in seconds."""
    if not _is_number(value) or not 0 <= value <= LONGEST_DURATION:
        raise BadRecordError(f"The duration is a number of seconds from 0 to {LONGEST_DURATION:,}.")
    return float(value)


def as_days(value: object, _role: str) -> float:
    """Return for how many days a token is valid."""
    if not _is_number(value) or not 0 < value <= LONGEST_VALID:
        raise BadRecordError(f"The days are a number above 0 and up to {LONGEST_VALID:,}.")
    return float(value)
