"""Every record of the service, declared once: what clients send, what the store keeps, and what answers hold.

A field has a name, a type and, where it needs them, a `Field` with the check of what a client sends, the column of the store
and a sentence. The checks (`reader`), the queries (`select`) and the OpenAPI document (`crowdassay.service.http.openapi`) are
derived from these declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_type_hints

from crowdassay.labels.databases.home import Session
from crowdassay.service.store.checks import (
    LONGEST_NAME,
    ROLE_WANTED,
    TOKEN_ROLES,
    BadRecordError,
    as_days,
    as_link,
    as_name,
    as_role,
    as_round,
    as_seconds,
    as_text,
    as_time,
)

R = TypeVar("R")
Check = Callable[[object, str], str | int | float]
ITEM_STANDINGS = ("open", "settled", "tied", "unidentifiable", "known")
CORRECTIONS = ("replaced", "removed", "erased")
SETTLED, DISPUTED, REOPENED = NOTICE_KINDS = ("settled", "disputed", "reopened")
FIT_STATES = ("waiting", "running", "done", "failed", "cancelled", "interrupted")


class Field(NamedTuple):
    """What else is declared of a field of a record."""

    check: Check = as_name  # of a client's value and the field's name: returns what to keep, or raises `BadRecordError`
    about: str = ""  # a sentence for the OpenAPI document
    column: str = ""  # of the store, where it has another name than the field
    values: tuple[str, ...] = ()  # all that it can be, where these are few


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
    duration: Annotated[float | None, Field(as_seconds, "Seconds that the worker took.")] = None


@dataclass(slots=True)
class StoredLabel:
    """A label in the store, or about to be: ``seq`` is 0 for one of this very batch."""

    key: str
    item: str
    worker: str
    label: str
    round: int
    time: str | None
    duration: float | None = None
    seq: int = 0

    def as_dict(self) -> dict[str, str | int | float | None]:
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


class StoredTruth(NamedTuple):
    """A truth in the store: by whom and when."""

    id: Annotated[int, Field(column="seq")]
    item: str
    label: str
    time: Annotated[str, Field(column="added")]
    who: Annotated[str, Field(column="source")]


class NewToken(NamedTuple):
    """A token to be handed out; one for labels may be for one worker only."""

    role: Annotated[str, Field(as_role, values=TOKEN_ROLES)]
    worker: str | None = None
    name: Annotated[str | None, Field(about="Of the person who holds it, for the audit log.")] = None
    days: Annotated[float | None, Field(as_days, "For how many days it is valid; without, until it is taken back.")] = None


class HandedOutToken(NamedTuple):
    """A token that was handed out, without the token itself."""

    id: Annotated[int, Field(column="seq")]
    role: Annotated[str, Field(values=TOKEN_ROLES)]
    worker: str | None
    name: str
    time: Annotated[str, Field(column="added")]
    expires: str | None
    revoked: str | None


class ItemDecision(NamedTuple):
    """What a person decided on a disputed item, and when it was undone."""

    id: Annotated[int, Field(column="seq")]
    item: str
    label: str
    time: Annotated[str, Field(column="added")]
    who: Annotated[str, Field(column="source")]
    undone: str | None


class Correction(NamedTuple):
    """What became of a stored label that others may have read; one row stands for all labels of a worker who was erased."""

    id: Annotated[int, Field(column="seq")]
    label: int  # its number; for a worker who was erased, the last number that was given until then
    item: str
    worker: str | None  # None once the worker was erased
    kind: Annotated[str, Field(values=CORRECTIONS)]


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
    standing: Annotated[str, Field(values=ITEM_STANDINGS)]
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


class Notice(NamedTuple):
    """What is to be told of an item; ``event`` rises with every change, ``event_id`` is the same however often it is sent."""

    item: str
    kind: Annotated[str, Field(values=NOTICE_KINDS)]
    label: str | None
    probability: float
    n_labels: int
    basis: str
    added: str = ""
    event: int = 0
    event_id: str = ""

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the event as it is sent."""
        return {
            "id": self.event_id, "type": f"item.{self.kind}", "time": self.added, "item": self.item, "label": self.label,
            "probability": round(self.probability, 6), "n_labels": self.n_labels, "basis": self.basis,
        }  # fmt: skip


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
    """What became of records that were sent."""

    added: int = 0  # stored, also in the place of others
    known: int = 0  # stored already
    refused: list[Refused] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)  # items that are not as they were

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"added": self.added, "known": self.known, "refused": [one.as_dict() for one in self.refused]}

    def add(self, later: Received) -> None:
        """Count what became of records that were sent later, too."""
        self.added, self.known = self.added + later.added, self.known + later.known
        self.refused += later.refused

    def refuse(self, more: Iterable[Refused]) -> Received:
        """Add records that were refused elsewhere, in the order in which all were sent; return this."""
        self.refused = sorted([*self.refused, *more], key=lambda one: one.index)
        return self


# By the names that they have in the OpenAPI document. What is None is left out of those that are sent, instead of being null.
SENT = {"Label": SentLabel, "NewItem": NewItem, "Truth": Truth, "NewToken": NewToken, "Refused": Refused}
ANSWERED = {
    "StoredLabel": StoredLabel, "Item": ItemRow, "Worker": WorkerRow, "Fit": FitRun, "Decision": ItemDecision,
    "Token": HandedOutToken, "StoredTruth": StoredTruth,
}  # fmt: skip


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
        found: list[str | int | float | None] = []
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
    "There is no field '{name}'; a label has item, worker, label, and may have key, time, duration and round.",
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


def read_classes(value: object) -> tuple[str, ...]:
    """Check the classes of a job: ``{"classes": [...]}``."""
    names = value.get("classes") if isinstance(value, dict) else None
    if not isinstance(names, list) or len(value) > 1:  # type: ignore[arg-type]
        raise BadRecordError("Send {classes: [...]}, the names in their order.")
    return tuple(as_name(name, "class") for name in names)


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
            bad.append(Refused(index, error.message))
    return good, bad


TABLE_OF: dict[type, str] = {
    StoredLabel: "labels",
    NewItem: "items",
    Truth: "truths",
    StoredTruth: "truths",
    ItemDecision: "decisions",
    Correction: "corrections",
    FitRun: "fits",
    HandedOutToken: "tokens",
    Notice: "notices",
}
COLUMNS_OF = {record: ", ".join(more.column or name for name, (_, more, _) in fields_of(record).items()) for record in TABLE_OF}


def select(session: Session, record: type[R], rest: str, values: Sequence[Any] = ()) -> list[R]:
    """Return records of the store; ``rest`` is the SQL that follows the table's name."""
    sql = f"SELECT {COLUMNS_OF[record]} FROM {TABLE_OF[record]} {rest}"  # noqa: S608 - names of this module
    return [record(*row) for row in session.rows(sql, values)]


def find(session: Session, record: type[R], rest: str, values: Sequence[Any] = ()) -> R | None:
    """Return the first record that `select` finds, None without any."""
    return next(iter(select(session, record, rest, values)), None)


def insert(session: Session, record: type, **values: object) -> None:
    """Add a row to the table of a record; values go by the names of columns."""
    insert_many(session, record, tuple(values), [tuple(values.values())])


def insert_many(
    session: Session, record: type, columns: Sequence[str], rows: Iterable[Sequence[Any]], conflict: str = ""
) -> None:
    """Add rows to the table of a record; ``conflict`` is the SQL that says what becomes of those that are there already."""
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO {TABLE_OF[record]} ({', '.join(columns)}) VALUES ({marks}) {conflict}"  # noqa: S608 - names of this module
    session.run_many(sql, rows)


def newest(session: Session, record: type) -> int:
    """Return the number of the last row in the table of a record, 0 without any; under the lock of a writer, its own."""
    return number(session, f"SELECT COALESCE(MAX(seq), 0) FROM {TABLE_OF[record]}")  # noqa: S608 - names of this module


def number(session: Session, sql: str) -> int:
    """Return the whole number that a query finds, such as a count."""
    row = session.one(sql)
    assert row is not None
    return int(row[0])
