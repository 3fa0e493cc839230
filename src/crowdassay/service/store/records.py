"""Every record of the service, declared once: what clients send, what the store keeps, and what answers hold.

A field has a name, a type and, where it needs them, a `Field` with the check of what a client sends, the column of the store
and a sentence. The checks (`reader`), the queries (`select`) and the OpenAPI document (`crowdassay.service.http.openapi`) are
derived from these declarations.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

from crowdassay.labels.databases.home import Session

LONGEST_NAME = 10_000  # characters of a name, label or key
LONGEST_ITEM_TEXT = 100_000  # characters of an item's text or link
FIRST_ROUND, LAST_ROUND = 1, 1_000_000
LAST_SECOND = 7_258_118_400  # of the year 2199, since 1970

R = TypeVar("R")
Check = Callable[[object, str], str | int]
TOKEN_ROLES = ("label", "read", "manage")
ROLE_WANTED = "Send {role, worker, note}: the role is label, read or manage, the others may be left out."
FIT_STATES = ("waiting", "running", "done", "failed", "cancelled", "interrupted")


class BadRecordError(ValueError):
    """A record that cannot be taken; the text says why."""


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
        elif isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LAST_SECOND:
            moment = datetime.fromtimestamp(value, UTC)
        else:
            raise ValueError
        return moment.astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        raise BadRecordError("The time must be ISO 8601 text or seconds since 1970.") from None


class Field(NamedTuple):
    """What else is declared of a field of a record.

    Attributes
    ----------
    check : callable
        Takes what a client sent, and the field's name; returns the value to keep, or raises `BadRecordError`.
    about : str
        A sentence for the OpenAPI document.
    column : str
        The column of the store, where it has another name than the field.
    values : tuple of str
        All that it can be, where these are few.
    """

    check: Check = as_name
    about: str = ""
    column: str = ""
    values: tuple[str, ...] = ()


class SentLabel(NamedTuple):
    """A label as it was sent; without a key it is known by item, worker and round. A tuple, as there are many."""

    item: str
    worker: str
    label: str
    key: Annotated[
        str | None,
        Field(
            about="Sent again with the same key, a label is known and changes nothing. "
            "Without a key, item, worker and round are its key."
        ),
    ] = None
    round: Annotated[int | None, Field(as_round, "Which of several labels by this worker on this item.")] = None
    time: Annotated[str | None, Field(as_time, "ISO 8601, or seconds since 1970.")] = None


@dataclass(slots=True)
class StoredLabel:
    """A label in the store, or about to be: ``seq`` is 0 for one of this very batch."""

    key: str
    item: str
    worker: str
    label: str
    round: int
    time: str | None
    seq: int = 0

    def as_dict(self) -> dict[str, str | int | None]:
        """Return plain values for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class NewItem(NamedTuple):
    """An item to be labelled, with what a person needs to see."""

    item: str
    text: Annotated[str | None, Field(as_text)] = None
    link: Annotated[str | None, Field(as_link)] = None


class Truth(NamedTuple):
    """The class of an item as a person knows it."""

    item: str
    label: str


class NewToken(NamedTuple):
    """A token to be handed out; one for labels may be for one worker only."""

    role: Annotated[str, Field(as_role, values=TOKEN_ROLES)]
    worker: str | None = None
    note: str | None = None


class HandedOutToken(NamedTuple):
    """A token that was handed out, without the token itself."""

    id: Annotated[int, Field(column="seq")]
    role: Annotated[str, Field(values=TOKEN_ROLES)]
    worker: str | None
    note: str
    time: Annotated[str, Field(column="added")]
    revoked: str | None


class ItemDecision(NamedTuple):
    """What a person decided on a disputed item, and when it was undone."""

    id: Annotated[int, Field(column="seq")]
    item: str
    label: str
    time: Annotated[str, Field(column="added")]
    who: Annotated[str, Field(column="source")]
    undone: str | None


class FitRun(NamedTuple):
    """A fit of all labels up to number ``upto``: when it ran and how it ended."""

    id: Annotated[int, Field(column="seq")]
    state: Annotated[str, Field(values=FIT_STATES)]
    reason: str
    started: str
    ended: str | None
    upto: int
    message: str | None


class ItemRow(NamedTuple):
    """How an item stands, as lists show it; ``basis`` is where its label comes from."""

    item: str
    label: str | None
    probability: float
    standing: Annotated[str, Field(values=("open", "settled", "tied", "unidentifiable", "known"))]
    n_labels: int
    basis: Annotated[str, Field(values=("fit", "update", "votes", "truth", "decision", "nothing"))]


class WorkerRow(NamedTuple):
    """What the last fit found of a worker; the defaults are those of a worker whom it could not estimate."""

    worker: str
    labels: int
    verdict: str
    accuracy: float | None = None
    low: float = 0.0
    high: float = 1.0
    action: Annotated[str, Field(values=("remove", "talk to", "retrain", "keep", "cannot tell"))] = "cannot tell"
    evidence: str = ""
    looks_like: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """What was not taken, and why: ``index`` is its place in what was sent, from 0."""

    index: int
    reason: str
    key: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a key that was not sent is left out."""
        named = {} if self.key is None else {"key": self.key}
        return {"index": self.index, "reason": self.reason, **named}


@dataclass
class Received:
    """What became of records that were sent.

    Attributes
    ----------
    added, known : int
        Records that were stored (also in the place of others), and records that were stored already.
    refused : list of Refused
    changed : list of str
        Items that are not as they were.
    """

    added: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"added": self.added, "known": self.known, "refused": [one.as_dict() for one in self.refused]}

    def refuse(self, more: Iterable[Refused]) -> Received:
        """Add records that were refused elsewhere, in the order in which all were sent; return this."""
        self.refused = sorted([*self.refused, *more], key=lambda one: one.index)
        return self


def fields_of(record: type) -> dict[str, tuple[Any, Field, bool]]:
    """Return for every field of a record its type, what else is declared of it, and whether it is always there."""
    hints = get_type_hints(record, include_extras=True)
    found = {}
    for name, parameter in inspect.signature(record).parameters.items():
        kind, *more = get_args(hints[name]) if hasattr(hints[name], "__metadata__") else (hints[name],)
        found[name] = (kind, more[0] if more else Field(), parameter.default is inspect.Parameter.empty)
    return found


def reader(record: type[R], shape: str, unknown: str | None = None) -> Callable[[object], R]:
    """Return a function that checks one value of JSON and makes a record of it, or raises `BadRecordError`.

    Parameters
    ----------
    record : NamedTuple class
    shape : str
        The sentence for what is no such record at all.
    unknown : str, optional
        The sentence for a field that does not exist, with ``{name}`` for its name; else it is ``shape``.
    """
    checks = [(name, more.check, needed, more.check is as_name) for name, (_, more, needed) in fields_of(record).items()]
    names = frozenset(fields_of(record))

    def read(value: object) -> R:
        if not isinstance(value, dict):
            raise value if isinstance(value, BadRecordError) else BadRecordError(shape)  # a line that was no JSON
        if not names.issuperset(value):
            name = min(map(str, value.keys() - names))[:50]
            raise BadRecordError((unknown or shape).replace("{name}", name))
        found: list[str | int | None] = []
        for name, check, needed, is_name in checks:
            given = value.get(name)
            if given is None and not needed:
                found.append(None)
            elif (  # nearly all names are plain; without a call for each, a bulk of labels takes a tenth less
                is_name
                and given.__class__ is str
                and given.isascii()
                and given.isprintable()
                and 0 < len(given) <= LONGEST_NAME
                and not given.isspace()
            ):
                found.append(given)
            else:
                found.append(check(given, name))
        return record(*found)

    return read


read_label = reader(
    SentLabel,
    "A label is an object with item, worker and label.",
    "There is no field '{name}'; a label has item, worker, label, and may have key, time and round.",
)
read_truth = reader(Truth, "A truth is an object with item and label.")
_read_item = reader(NewItem, "An item is an object with item, and perhaps text and link.")
_read_token = reader(NewToken, ROLE_WANTED)


def read_item(value: object) -> NewItem:
    """Check an item: an object, or its name alone."""
    return _read_item({"item": value} if isinstance(value, str | int) and not isinstance(value, bool) else value)


def read_token(value: object) -> NewToken:
    """Check what is wanted of a new token."""
    token = _read_token(value)
    if token.worker is not None and token.role != "label":
        raise BadRecordError("Only a token of the role label is for one worker.")
    return token


def read_all(
    values: Iterable[object], read: Callable[[object], R], first: int = 0
) -> tuple[list[tuple[int, R]], list[Refused]]:
    """Check records; return the good ones with their places, counted from ``first``, and the others with the reasons.

    >>> rows = [{"item": 7, "worker": "ann", "label": True}, {"item": "", "worker": "ann", "label": "x"}]
    >>> good, bad = read_all(rows, read_label)
    >>> good[0][1].item, good[0][1].label, bad[0].reason
    ('7', 'true', 'The item is empty.')
    """
    good, bad = [], []
    for index, value in enumerate(values, first):
        try:
            good.append((index, read(value)))
        except BadRecordError as error:
            bad.append(Refused(index, str(error)))
    return good, bad


TABLE_OF: dict[type, str] = {
    StoredLabel: "labels",
    NewItem: "items",
    Truth: "truths",
    ItemDecision: "decisions",
    FitRun: "fits",
    HandedOutToken: "tokens",
}
COLUMNS_OF = {record: ", ".join(more.column or name for name, (_, more, _) in fields_of(record).items()) for record in TABLE_OF}


def select(session: Session, record: type[R], rest: str, values: Sequence[Any] = ()) -> list[R]:
    """Return records of the store; ``rest`` is the SQL that follows the table's name."""
    sql = f"SELECT {COLUMNS_OF[record]} FROM {TABLE_OF[record]} {rest}"  # noqa: S608 - names of this module
    return [record(*row) for row in session.rows(sql, values)]


def insert(session: Session, record: type, **values: object) -> None:
    """Add a row to the table of a record; values go by the names of columns."""
    insert_many(session, record, tuple(values), [tuple(values.values())])


def insert_many(session: Session, record: type, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Add rows to the table of a record."""
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO {TABLE_OF[record]} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - names of this module
    session.run_many(sql, rows)


def newest(session: Session, record: type) -> int:
    """Return the number of the last row in the table of a record, 0 without any; under the lock of a writer, its own."""
    row = session.one(f"SELECT COALESCE(MAX(seq), 0) FROM {TABLE_OF[record]}")  # noqa: S608 - names of this module
    assert row is not None
    return int(row[0])
