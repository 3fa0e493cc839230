"""Labels in the store: find, list and count them, and decide what becomes of those that are sent: new, known, in conflict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from crowdassay.labels.databases.home import Row, Session, shortened
from crowdassay.service.store.checks import FIRST_ROUND
from crowdassay.service.store.records import Received, Refused, SentLabel, StoredLabel, find, newest, number, select

VALUES_IN_A_QUERY = 500
LABELS_READ_AT_A_TIME = 20_000
MADE = "~"  # how keys begin that are made; none that is given does, so that nobody can take the key of another's label


def find_earlier(session: Session, sent: Iterable[SentLabel]) -> EarlierLabels:
    """Return the stored labels that have a key, or an item and worker, of those sent."""
    pairs = {(one.item, one.worker) for one in sent}
    keys = {shortened(one.key) for one in sent if one.key is not None}
    stored = {one.seq: one for one in _labels_with(session, "item", {i for i, _ in pairs}) if (one.item, one.worker) in pairs}
    stored |= {one.seq: one for one in _labels_with(session, "key_short", keys)}
    return EarlierLabels(stored[seq] for seq in sorted(stored))


def labels_of(session: Session, items: Iterable[str]) -> list[StoredLabel]:
    """Return the labels of some items, in the order in which they came."""
    return sorted(_labels_with(session, "item", set(items)), key=lambda one: one.seq)


def labelled_by(session: Session, worker: str, items: Iterable[str]) -> set[str]:
    """Return which of some items a worker has labelled."""
    return {one.item for one in _labels_with(session, "item", set(items), "AND worker = ?", worker)}


def find_label(session: Session, key: str) -> StoredLabel | None:
    """Return the label with a key, None without any."""
    return find(session, StoredLabel, "WHERE key_short = ?", (shortened(key),))


def find_place(session: Session, after: str) -> int:
    """Return the number of the label with a key, or of a `place`, or the number itself; 0 for ``''``.

    Raise `KeyError` if there is none.
    """
    if not after:
        return 0
    if (label := find_label(session, after)) is not None:
        return label.seq
    digits = after.removeprefix(MADE)
    if digits.isascii() and digits.isdigit() and len(digits) < 19:
        return int(digits)
    raise KeyError(after)


def place(label: StoredLabel) -> str:
    """Return a label's place in the order of arrival, to go on after; it holds when the label is removed, as its key does not.

    >>> place(StoredLabel("k", "i1", "ann", "yes", 1, None, seq=7))  # no key looks like this
    '~7'
    """
    return f"{MADE}{label.seq}"


def list_labels(session: Session, seq: int, limit: int) -> list[StoredLabel]:
    """Return labels with a greater number, in the order in which they came."""
    return select(session, StoredLabel, "WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))


def labels_since(session: Session, seq: int, upto: int | None = None) -> Iterator[list[Row]]:
    """Yield blocks of (seq, item, worker, label, time, duration) with a greater number, in order; none beyond ``upto``."""
    while True:
        block = session.rows(
            "SELECT seq, item, worker, label, time, duration FROM labels WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (seq, (1 << 62) if upto is None else upto, LABELS_READ_AT_A_TIME),
        )
        if not block:
            return
        yield block
        seq = block[-1][0]


def count_labels(session: Session) -> tuple[int, int]:
    """Return the number of labels and the number of the last one."""
    return number(session, "SELECT COUNT(*) FROM labels"), last_seq(session)


def last_seq(session: Session) -> int:
    """Return the number of the last label, also of one that was removed; 0 without any. No number is given twice."""
    return max(newest(session, StoredLabel), number(session, "SELECT COALESCE(MAX(label), 0) FROM corrections"))


def count_by_worker(session: Session) -> dict[str, int]:
    """Return how many labels each worker has given."""
    return {worker: int(count) for worker, count in session.rows("SELECT worker, COUNT(*) FROM labels GROUP BY worker")}


def _labels_with(session: Session, column: str, values: set[Any], rest: str = "", *more: str) -> Iterator[StoredLabel]:
    """Yield the labels that have one of some values in a column, a few hundred values at a time."""
    wanted = sorted(values)
    for first in range(0, len(wanted), VALUES_IN_A_QUERY):
        part = wanted[first : first + VALUES_IN_A_QUERY]
        where = f"WHERE {column} IN ({', '.join('?' * len(part))}) {rest}"
        yield from select(session, StoredLabel, where, (*part, *more))


@dataclass
class BatchOutcome:
    """What to do: labels to insert, labels to change (the stored one as it will be, and what it was), and what to answer."""

    insert: list[StoredLabel] = field(default_factory=list)
    change: list[tuple[StoredLabel, str]] = field(default_factory=list)
    received: Received = field(default_factory=Received)


class EarlierLabels:
    """The stored labels that a batch may meet; those of the batch are added as it is decided.

    They are found by key, and by item and worker.
    """

    def __init__(self, stored: Iterable[StoredLabel]) -> None:
        self._by_key: dict[str, StoredLabel] = {}
        self.by_pair: dict[tuple[str, str], list[StoredLabel]] = {}
        for one in stored:
            self.add(one)

    def add(self, one: StoredLabel) -> None:
        """Add a label."""
        self.by_pair.setdefault((one.item, one.worker), []).append(one)
        self._by_key[one.key] = one

    def find(self, one: SentLabel) -> StoredLabel | None:
        """Return the label that has the key of one that was sent or, where that has none, its round; None without any."""
        if one.key is not None:
            return self._by_key.get(one.key)
        return next(
            (old for old in self.by_pair.get((one.item, one.worker), ()) if is_made(old) and old.round == one.round), None
        )


def decide(sent: Sequence[tuple[int, SentLabel]], earlier: EarlierLabels, repeats: str) -> BatchOutcome:
    """Decide on labels in the order in which they were sent.

    A label is known if its key is stored with the same item, worker and label; without a key, if the worker has given the
    item this label before (in that round, where one is named). What repeats a worker and item otherwise follows ``repeats``:
    keep both, keep the first, keep the last (by time where both have one), or refuse. A key never stands for two labels.
    """
    outcome = BatchOutcome()
    received = outcome.received
    for index, one in sent:
        before = earlier.by_pair.get((one.item, one.worker), [])
        if (same := earlier.find(one)) is not None:
            if (same.item, same.worker) != (one.item, one.worker):
                reason = f"The key is that of another label (item '{same.item[:80]}', worker '{same.worker[:80]}')."
                received.refused.append(Refused(index, reason, one.key))
            elif same.label == one.label:
                received.known += 1
            else:
                _conflict(index, one, same, repeats, outcome, keyed=True)
        elif one.key is None and one.round is None and any(old.label == one.label for old in before):
            received.known += 1
        elif before and repeats != "keep":
            if before[-1].label == one.label:
                received.known += 1
            else:
                _conflict(index, one, before[-1], repeats, outcome, keyed=False)
        else:
            turn = one.round or max((old.round for old in before), default=FIRST_ROUND - 1) + 1
            made = made_key(one.item, one.worker, turn)
            if one.key is not None and one.key.startswith(MADE) and one.key != made:
                reason = f"Keys that begin with {MADE} are made for labels without one; give another."
                received.refused.append(Refused(index, reason, one.key))
                continue
            new = StoredLabel(one.key or made, one.item, one.worker, one.label, turn, one.time, one.duration)
            earlier.add(new)
            outcome.insert.append(new)
            received.added += 1
    return outcome


def made_key(item: str, worker: str, turn: int) -> str:
    r"""Return the key of a label that came without one.

    >>> made_key("a|b", "ann", 1)
    '~a\\|b|ann|1'
    """
    return MADE + "|".join([*(name.replace("\\", "\\\\").replace("|", "\\|") for name in (item, worker)), str(turn)])


def is_made(label: StoredLabel) -> bool:
    """Return whether the key of a label was made; older stores made them without a mark."""
    made = made_key(label.item, label.worker, label.round)
    return label.key in {made, made.removeprefix(MADE)}


def _conflict(index: int, one: SentLabel, old: StoredLabel, repeats: str, outcome: BatchOutcome, *, keyed: bool) -> None:
    if repeats == "last":
        if one.time is not None and old.time is not None and one.time < old.time:
            reason = f"A later label by this worker, '{old.label[:80]}', is stored already."
            outcome.received.refused.append(Refused(index, reason, one.key))
            return
        if old.seq:
            new = StoredLabel(old.key, old.item, old.worker, one.label, old.round, one.time, one.duration, old.seq)
            outcome.change.append((new, old.label))
        old.label, old.time, old.duration = one.label, one.time, one.duration  # one of this batch is inserted as it is now
        outcome.received.added += 1
        return
    what = "this key" if keyed else "this worker and item"
    why = {
        "keep": "send it with another key",
        "first": "the first is kept (--repeats first)",
        "error": "a worker labels an item once (--repeats error)",
    }[repeats]
    outcome.received.refused.append(Refused(index, f"Another label, '{old.label[:80]}', is stored for {what}; {why}.", one.key))
