"""`open_store`: a store by its path or URL, its tables made or brought up to date."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crowdassay.errors import ParameterError
from crowdassay.labels.databases.home import Home, Session
from crowdassay.labels.databases.postgres import PostgresHome
from crowdassay.labels.databases.sqlite import SqliteHome
from crowdassay.service.store.audit import log
from crowdassay.service.store.decide import POLICIES, Plan
from crowdassay.service.store.labels import add_labels, find_met
from crowdassay.service.store.records import Given, Refused, parse_labels
from crowdassay.service.store.schema import migrate


@dataclass
class Taken:
    """What became of labels that were sent."""

    added: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"added": self.added, "known": self.known, "refused": [one.as_dict() for one in self.refused]}


@dataclass(frozen=True)
class Batch:
    """Labels that came together from one sender; ``refused`` are those that were none."""

    given: list[tuple[int, Given]]
    refused: list[Refused]
    source: str


@dataclass(frozen=True)
class Store:
    """A labelling job in a database.

    Attributes
    ----------
    home : Home
        The database, with ``read()`` and ``write()`` for whatever else is asked of it.
    repeats : {'keep', 'first', 'last', 'error'}
        What to do when a worker labels an item again, and otherwise.
    """

    home: Home
    repeats: str = "keep"

    def add(self, values: Iterable[Any], *, source: str = "python") -> Taken:
        """Add labels, dictionaries of item, worker, label and perhaps key, time and round; durable when this returns.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = open_store(f"{folder}/job.db")
        ...     one = {"item": "i1", "worker": "ann", "label": "yes"}
        ...     store.add([one]).added, store.add([one]).known
        (1, 1)
        """
        good, bad = parse_labels(values)
        with self.home.write() as session:
            (done, _), *_ = self.take(session, [Batch(good, bad, source)])
        return done

    def take(self, session: Session, batches: list[Batch]) -> list[tuple[Taken, Plan]]:
        """Add several senders' labels in one transaction of the caller's."""
        shelf = find_met(session, [one for batch in batches for _, one in batch.given])
        taken = []
        for batch in batches:
            plan = add_labels(session, batch.given, repeats=self.repeats, source=batch.source, shelf=shelf)
            for new, was in plan.change:
                log(session, batch.source, "label replaced", key=new.key, was=was, now=new.label)
            refused = sorted([*batch.refused, *plan.refused], key=lambda one: one.index)
            taken.append((Taken(plan.added, plan.known, refused), plan))
        return taken

    def close(self) -> None:
        """Close the connections."""
        self.home.close()


def open_store(place: str | Path, *, repeats: str = "keep") -> Store:
    """Open a store: a file, ``sqlite:///file`` or ``postgresql://user@host/database``; a new one is made.

    Parameters
    ----------
    place : str or Path
    repeats : {'keep', 'first', 'last', 'error'}

    Raises
    ------
    DataError
        If something else is there, or the store is of a newer version.
    FileError
        If it cannot be opened or reached; the message holds no password.
    """
    if repeats not in POLICIES:
        raise ParameterError(f"repeats must be one of {', '.join(POLICIES)}, not '{repeats}'.")
    home = find_home(place)
    migrate(home)
    return Store(home, repeats)


def find_home(place: str | Path) -> Home:
    """Return the database that a path or URL names."""
    text = str(place)
    if not text or "\0" in text:
        raise ParameterError("The store is a file such as job.db, or postgresql://user@host/database.")
    if text.startswith(("postgresql://", "postgres://")):
        return PostgresHome(text)
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///")
    elif "://" in text:
        scheme = text.split("://", 1)[0]
        raise ParameterError(f"A store is a file or postgresql://user@host/database; '{scheme[:20]}' is no kind of store.")
    return SqliteHome(Path(text))
