"""Labels in the store: add, list, count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crowdassay.labels.databases.home import Row, Session, now, shortened
from crowdassay.service.store.records import SentLabel, StoredLabel, insert_many, newest, select
from crowdassay.service.store.repeats import BatchOutcome, EarlierLabels, decide, made_key

VALUES_IN_A_QUERY = 500
LABELS_READ_AT_A_TIME = 20_000
INSERTED = ("key_short", "key", "item", "worker", "round", "label", "time", "added", "source")


def add_labels(
    session: Session, sent: Sequence[tuple[int, SentLabel]], *, repeats: str, source: str, earlier: EarlierLabels
) -> BatchOutcome:
    """Add labels in a transaction of the writer; ``earlier`` holds the stored labels they may meet, see `find_earlier`."""
    outcome = decide(sent, earlier, repeats)
    stamp = now()
    rows = [
        (shortened(one.key), one.key, one.item, one.worker, one.round, one.label, one.time, stamp, source)
        for one in outcome.insert
    ]
    insert_many(session, StoredLabel, INSERTED, rows)
    for new, _ in outcome.change:
        session.run("UPDATE labels SET label = ?, time = ? WHERE seq = ?", (new.label, new.time, new.seq))
    return outcome


def find_earlier(session: Session, sent: Iterable[SentLabel]) -> EarlierLabels:
    """Return the stored labels that have a key, or an item and worker, of those sent."""
    pairs = {(one.item, one.worker) for one in sent}
    keys = {one.key for one in sent if one.key is not None}
    keys |= {made_key(one.item, one.worker, one.round) for one in sent if one.round is not None}
    # A key that would be made may have been given to another label before.
    keys |= {made_key(one.item, one.worker, 1) for one in sent if one.key is None}
    stored = {one.seq: one for one in labels_of(session, {item for item, _ in pairs}) if (one.item, one.worker) in pairs}
    for part in _parts(sorted(map(shortened, keys))):
        for one in select(session, StoredLabel, f"WHERE key_short IN ({_marks(part)})", part):
            stored.setdefault(one.seq, one)
    return EarlierLabels(stored[seq] for seq in sorted(stored))


def labels_of(session: Session, items: Iterable[str]) -> list[StoredLabel]:
    """Return the labels of some items, in the order in which they came."""
    stored: list[StoredLabel] = []
    for part in _parts(sorted(set(items))):
        stored += select(session, StoredLabel, f"WHERE item IN ({_marks(part)})", part)
    return sorted(stored, key=lambda one: one.seq)


def labelled_by(session: Session, worker: str, items: Iterable[str]) -> set[str]:
    """Return which of some items a worker has labelled."""
    labelled: set[str] = set()
    for part in _parts(sorted(set(items))):
        sql = f"SELECT item FROM labels WHERE item IN ({_marks(part)}) AND worker = ?"  # noqa: S608
        labelled.update(str(row[0]) for row in session.rows(sql, (*part, worker)))
    return labelled


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


def list_labels(session: Session, seq: int, limit: int) -> list[StoredLabel]:
    """Return labels with a greater number, in the order in which they came."""
    return select(session, StoredLabel, "WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))


def labels_since(session: Session, seq: int, upto: int | None = None) -> Iterator[list[Row]]:
    """Yield blocks of (seq, item, worker, label) with a greater number, in order; none beyond ``upto``."""
    while True:
        block = session.rows(
            "SELECT seq, item, worker, label FROM labels WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (seq, (1 << 62) if upto is None else upto, LABELS_READ_AT_A_TIME),
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
    return newest(session, StoredLabel)


def count_by_worker(session: Session) -> dict[str, int]:
    """Return how many labels each worker has given."""
    return {worker: int(count) for worker, count in session.rows("SELECT worker, COUNT(*) FROM labels GROUP BY worker")}


def _parts(values: list[Any]) -> Iterator[list[Any]]:
    for first in range(0, len(values), VALUES_IN_A_QUERY):
        yield values[first : first + VALUES_IN_A_QUERY]


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
