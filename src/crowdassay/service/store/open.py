"""`open_store`: a store by its path or URL, its tables made, or brought up to date in numbered steps (``migrations``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.databases.home import Home, Session
from crowdassay.labels.databases.postgres import PostgresHome
from crowdassay.labels.databases.sqlite import SqliteHome
from crowdassay.read_options import REPEAT_POLICIES
from crowdassay.service.store.history import log
from crowdassay.service.store.labels import add_labels, find_earlier
from crowdassay.service.store.records import Received, Refused, SentLabel, read_all, read_label
from crowdassay.service.store.repeats import BatchOutcome


@dataclass(frozen=True)
class Batch:
    """Labels that came together from one sender; ``refused`` are those that were none."""

    sent: list[tuple[int, SentLabel]]
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

    def add(self, values: Iterable[Any], *, source: str = "python") -> Received:
        """Add labels, dictionaries of item, worker, label and perhaps key, time and round; durable when this returns.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = open_store(f"{folder}/job.db")
        ...     one = {"item": "i1", "worker": "ann", "label": "yes"}
        ...     store.add([one]).added, store.add([one]).known
        (1, 1)
        """
        good, bad = read_all(values, read_label)
        with self.home.write() as session:
            (outcome,) = self.take(session, [Batch(good, bad, source)])
        return outcome.received

    def take(self, session: Session, batches: list[Batch]) -> list[BatchOutcome]:
        """Add several senders' labels in one transaction of the caller's."""
        earlier = find_earlier(session, [one for batch in batches for _, one in batch.sent])
        outcomes = []
        for batch in batches:
            outcome = add_labels(session, batch.sent, repeats=self.repeats, source=batch.source, earlier=earlier)
            for new, was in outcome.change:
                log(session, batch.source, "label replaced", key=new.key, was=was, now=new.label)
            outcome.received.refuse(batch.refused)
            outcomes.append(outcome)
        return outcomes

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
    if repeats not in REPEAT_POLICIES:
        raise ParameterError(f"repeats must be one of {', '.join(REPEAT_POLICIES)}, not '{repeats}'.")
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


def migrate(home: Home) -> None:
    """Make the tables of a new store, or take the steps that an old one misses; all of them or none."""
    with home.read() as session:
        known = home.has_meta(session)
        if not known and home.has_tables(session):
            raise DataError(f"{home.name} holds tables that no store has; name another place for the store.")
        if known and _version(session, home) == len(steps()):
            return
    with home.write() as session:
        if not home.has_meta(session):  # another process may have been quicker
            session.run("CREATE TABLE crowdassay_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            session.run("INSERT INTO crowdassay_meta VALUES ('schema', '0')")
        for number in range(_version(session, home), len(steps())):
            for statement in steps()[number].format(**home.types).split(";"):
                if statement.strip():
                    session.run(statement)
        session.run("UPDATE crowdassay_meta SET value = ? WHERE name = 'schema'", (str(len(steps())),))


def steps() -> list[str]:
    """Return the SQL of every step, in order."""
    folder = files("crowdassay.service.store") / "migrations"
    names = sorted(path.name for path in folder.iterdir() if path.name.endswith(".sql"))
    return [(folder / name).read_text(encoding="utf-8") for name in names]


def _version(session: Session, home: Home) -> int:
    row = session.one("SELECT value FROM crowdassay_meta WHERE name = 'schema'")
    if row is None or not str(row[0]).isdigit():
        raise DataError(f"{home.name} does not say which version its tables are; restore it from a copy.")
    if int(row[0]) > len(steps()):
        raise DataError(
            f"The store {home.name} was written by a newer crowdassay (its tables are version {row[0]}, this one knows "
            f"{len(steps())}); upgrade crowdassay."
        )
    return int(row[0])
