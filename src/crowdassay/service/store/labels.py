"""Labels in the store: add, list, count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crowdassay.labels.databases.home import Session, now, shortened
from crowdassay.service.store.decide import Plan, Shelf, Stored, plan
from crowdassay.service.store.records import Given, made_key

COLUMNS = "seq, key, item, worker, round, label, time"
AT_ONCE = 500  # values in one query
ROWS_AT_A_TIME = 20_000


def add_labels(session: Session, given: Sequence[tuple[int, Given]], *, repeats: str, source: str, shelf: Shelf) -> Plan:
    """Add labels in a transaction of the writer; ``shelf`` holds the stored labels they may meet, see `find_met`."""
    done = plan(given, shelf, repeats)
    stamp = now()
    session.run_many(
        "INSERT INTO labels (key_short, key, item, worker, round, label, time, added, source) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (shortened(one.key), one.key, one.item, one.worker, one.round, one.label, one.time, stamp, source)
            for one in done.insert
        ],
    )
    for new, _ in done.change:
        session.run("UPDATE labels SET label = ?, time = ? WHERE seq = ?", (new.label, new.time, new.seq))
    return done


def find_met(session: Session, given: Iterable[Given]) -> Shelf:
    """Return the stored labels that have a key, or an item and worker, of those given."""
    pairs = {(one.item, one.worker) for one in given}
    keys = {one.key for one in given if one.key is not None}
    keys |= {made_key(one.item, one.worker, one.round) for one in given if one.round is not None}
    # A key that would be made may have been given to another label before.
    keys |= {made_key(one.item, one.worker, 1) for one in given if one.key is None}
    stored = {one.seq: one for one in by_items(session, {item for item, _ in pairs}) if (one.item, one.worker) in pairs}
    for part in _parts(sorted(map(shortened, keys))):
        for row in session.rows(f"SELECT {COLUMNS} FROM labels WHERE key_short IN ({_marks(part)})", part):  # noqa: S608
            one = Stored(*row)
            stored.setdefault(one.seq, one)
    return Shelf(stored[seq] for seq in sorted(stored))


def by_items(session: Session, items: Iterable[str]) -> list[Stored]:
    """Return the labels of some items, in the order in which they came."""
    stored: list[Stored] = []
    for part in _parts(sorted(set(items))):
        sql = f"SELECT {COLUMNS} FROM labels WHERE item IN ({_marks(part)})"  # noqa: S608
        stored += [Stored(*row) for row in session.rows(sql, part)]
    return sorted(stored, key=lambda one: one.seq)


def labelled_by(session: Session, worker: str, items: Iterable[str]) -> set[str]:
    """Return which of some items a worker has labelled."""
    labelled: set[str] = set()
    for part in _parts(sorted(set(items))):
        sql = f"SELECT item FROM labels WHERE item IN ({_marks(part)}) AND worker = ?"  # noqa: S608
        labelled.update(str(row[0]) for row in session.rows(sql, (*part, worker)))
    return labelled


def list_labels(session: Session, after: str, limit: int) -> list[Stored]:
    """Return labels in the order in which they came, those after the one with this key; all from the start for ``''``."""
    return list_from(session, find_place(session, after), limit)


def find_place(session: Session, after: str) -> int:
    """Return the number of the label with a key, or the number itself; 0 for ``''``. Raise `KeyError` if there is none."""
    if not after:
        return 0
    row = session.one("SELECT seq FROM labels WHERE key_short = ?", (shortened(after),))
    if row is not None:
        return int(row[0])
    if after.isascii() and after.isdigit() and len(after) < 19:  # a number in the order of arrival
        return int(after)
    raise KeyError(after)


def list_from(session: Session, seq: int, limit: int) -> list[Stored]:
    """Return labels with a greater number, in order."""
    sql = f"SELECT {COLUMNS} FROM labels WHERE seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
    return [Stored(*row) for row in session.rows(sql, (seq, limit))]


def since(session: Session, seq: int, upto: int | None = None) -> Iterator[list[Any]]:
    """Yield blocks of (seq, item, worker, label) with a greater number, in order; none beyond ``upto``."""
    while True:
        block = session.rows(
            "SELECT seq, item, worker, label FROM labels WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (seq, (1 << 62) if upto is None else upto, ROWS_AT_A_TIME),
        )
        if not block:
            return
        yield block
        seq = block[-1][0]


def count_labels(session: Session) -> tuple[int, int]:
    """Return the number of labels and the number of the last one."""
    counts = session.one("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM labels")
    assert counts is not None
    return int(counts[0]), int(counts[1])


def last_seq(session: Session) -> int:
    """Return the number of the last label, 0 without any."""
    newest = session.one("SELECT COALESCE(MAX(seq), 0) FROM labels")
    assert newest is not None
    return int(newest[0])


def count_by_worker(session: Session) -> dict[str, int]:
    """Return how many labels each worker has given."""
    return {worker: int(count) for worker, count in session.rows("SELECT worker, COUNT(*) FROM labels GROUP BY worker")}


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(values), AT_ONCE):
        yield values[first : first + AT_ONCE]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
