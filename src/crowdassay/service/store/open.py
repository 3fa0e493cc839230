"""`open_store`: a store by its path or URL, its tables made, or brought up to date in numbered steps (``migrations``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.databases.home import (
    POSTGRES_SCHEMES,
    SQLITE_START,
    STORE_TABLE,
    Home,
    PostgresHome,
    Session,
    SqliteHome,
    now,
    shortened,
)
from crowdassay.read_options import REPEAT_POLICIES
from crowdassay.service.store.corrections import note_correction
from crowdassay.service.store.history import log
from crowdassay.service.store.labels import BatchOutcome, decide, find_earlier, last_seq
from crowdassay.service.store.records import Received, Refused, SentLabel, StoredLabel, insert_many, read_all, read_label
from crowdassay.service.store.truths import fixed_classes, not_among

STORED_COLUMNS = ("seq", "key_short", "key", "item", "worker", "round", "label", "time", "duration", "added", "source")
OF_A_FILE = ("?table=", "&table=", "?query=", "&query=")  # parts of an address that name a table of somebody else's


@dataclass(frozen=True)
class Batch:
    """Labels that came together from one sender; ``refused`` are those that were none.

    With ``replace`` they take the place of other labels by the same workers on the same items, whatever is done else.
    """

    sent: list[tuple[int, SentLabel]]
    refused: list[Refused]
    source: str
    replace: bool = False


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
        """Add labels, dictionaries of item, worker, label and perhaps key, time, duration and round; durable when this returns.

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
        classes, last = fixed_classes(session), last_seq(session)
        outcomes = []
        for batch in batches:
            sent = [(index, one) for index, one in batch.sent if not_among(classes, one.label) is None]
            outcome, stamp = decide(sent, earlier, "last" if batch.replace else self.repeats), now()
            for one in outcome.insert:
                last += 1
                one.seq = last  # a later batch of this transaction may replace it
            rows = [
                (
                    one.seq, shortened(one.key), one.key, one.item, one.worker, one.round, one.label, one.time, one.duration,
                    stamp, batch.source,
                )
                for one in outcome.insert
            ]  # fmt: skip
            insert_many(session, StoredLabel, STORED_COLUMNS, rows)
            for new, was in outcome.change:
                values = (new.label, new.time, new.duration, new.seq)
                session.run("UPDATE labels SET label = ?, time = ?, duration = ? WHERE seq = ?", values)
                note_correction(session, new, "replaced")
                log(session, batch.source, "label replaced", key=new.key, worker=new.worker, was=was, now=new.label)
            why = ((index, one, not_among(classes, one.label)) for index, one in batch.sent)
            outcome.received.refuse(
                [*batch.refused, *(Refused(index, reason, one.key) for index, one, reason in why if reason)]
            )
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
    home.prepare()
    migrate(home)
    return Store(home, repeats)


def find_home(place: str | Path, *, shared: bool = False) -> Home:
    """Return the database that a path or URL names; of one that is ``shared`` not even the mode of its journal is changed."""
    text = str(place)
    if not text or "\0" in text:
        raise ParameterError("The store is a file such as job.db, or postgresql://user@host/database.")
    if text.startswith(POSTGRES_SCHEMES):
        return PostgresHome(text)
    if text.startswith("sqlite:///"):
        text = text.removeprefix("sqlite:///")
    elif "://" in text:
        scheme = text.split("://", 1)[0]
        raise ParameterError(f"A store is a file or postgresql://user@host/database; '{scheme[:20]}' is no kind of store.")
    return SqliteHome(Path(text), shared=shared)


def is_store(place: str) -> bool:
    """Return whether a path or URL is a job that `crowdassay serve` keeps; other databases are read as labels."""
    if any(part in place for part in OF_A_FILE):
        return False
    if place.startswith(POSTGRES_SCHEMES):
        home = find_home(place)
    else:
        path = Path(place.removeprefix("sqlite:///"))
        if not path.is_file() or "://" in str(path):
            return False
        with path.open("rb") as stream:
            if stream.read(len(SQLITE_START)) != SQLITE_START:
                return False
        home = SqliteHome(path, shared=True)  # nothing is written, not even the mode of its journal
    try:
        with home.read() as session:
            return STORE_TABLE in home.tables(session)
    finally:
        home.close()


def known_store(place: str) -> Home:
    """Return the database of a store that exists; of anything else none is made."""
    if not is_store(place):
        raise DataError(f"{find_home(place).name} is no store; name what `crowdassay serve` was given.")
    return find_home(place, shared=True)


def migrate(home: Home) -> None:
    """Make the tables of a new store, or take the steps that an old one misses; all of them or none."""
    with home.read() as session:
        tables = home.tables(session)
        known = STORE_TABLE in tables
        if not known and tables & {"labels", "items", "fits"}:
            raise DataError(f"{home.name} holds tables that no store has; name another place for the store.")
        if known and _version(session, home) == len(steps()):
            return
    with home.write() as session:
        if STORE_TABLE not in home.tables(session):  # another process may have been quicker
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
