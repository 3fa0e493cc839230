"""What becomes of labels that are sent: new, known, in conflict. Pure: stored labels in, a plan out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crowdassay.service.store.records import FIRST_ROUND, Given, Refused, made_key

POLICIES = ("keep", "first", "last", "error")


@dataclass(slots=True)
class Stored:
    """A label in the store, or about to be: ``seq`` is 0 for one of this very batch."""

    seq: int
    key: str
    item: str
    worker: str
    round: int
    label: str
    time: str | None


@dataclass
class Plan:
    """What to do: labels to insert, labels to change (the stored one as it will be, and what it was), and what to answer.

    Labels that take the place of others are counted as added.
    """

    insert: list[Stored] = field(default_factory=list)
    change: list[tuple[Stored, str]] = field(default_factory=list)
    added: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)


class Shelf:
    """The stored labels that a batch may meet, by key and by item and worker; grows as the batch is planned."""

    def __init__(self, stored: Iterable[Stored]) -> None:
        self.by_key: dict[str, Stored] = {}
        self.by_pair: dict[tuple[str, str], list[Stored]] = {}
        for one in stored:
            self.put(one)

    def put(self, one: Stored) -> None:
        """Add a label, once."""
        if one.key not in self.by_key:
            self.by_key[one.key] = one
            self.by_pair.setdefault((one.item, one.worker), []).append(one)


def plan(given: Sequence[tuple[int, Given]], shelf: Shelf, repeats: str) -> Plan:
    """Decide on labels in the order in which they were sent.

    A label is known if its key is stored with the same item, worker and label; without a key, if the worker has given the
    item this label before (in that round, where one is named). What repeats a worker and item otherwise follows ``repeats``:
    keep both, keep the first, keep the last (by time where both have one), or refuse. A key never stands for two labels.
    """
    done = Plan()
    for index, one in given:
        _decide(index, one, shelf, repeats, done)
    return done


def _decide(index: int, one: Given, shelf: Shelf, repeats: str, done: Plan) -> None:
    before = shelf.by_pair.get((one.item, one.worker), [])
    key = one.key
    if key is None and one.round is not None:
        key = made_key(one.item, one.worker, one.round)
    if key is not None and (same := shelf.by_key.get(key)) is not None:
        if (same.item, same.worker) != (one.item, one.worker):
            reason = f"The key is that of another label (item '{same.item[:80]}', worker '{same.worker[:80]}')."
            done.refused.append(Refused(index, reason, one.key))
        elif same.label == one.label:
            done.known += 1
        else:
            _conflict(index, one, same, repeats, done, keyed=True)
        return
    if key is None and any(old.label == one.label for old in before):
        done.known += 1
    elif before and repeats != "keep":
        last = before[-1]
        if last.label == one.label:
            done.known += 1
        else:
            _conflict(index, one, last, repeats, done, keyed=False)
    else:
        turn = one.round or max((old.round for old in before), default=FIRST_ROUND - 1) + 1
        key = key or _free_key(one, turn, shelf)
        new = Stored(0, key, one.item, one.worker, turn, one.label, one.time)
        shelf.put(new)
        done.insert.append(new)
        done.added += 1


def _free_key(one: Given, turn: int, shelf: Shelf) -> str:
    key = made_key(one.item, one.worker, turn)
    while key in shelf.by_key:  # somebody gave that key to another label
        key += "'"
    return key


def _conflict(index: int, one: Given, old: Stored, repeats: str, done: Plan, *, keyed: bool) -> None:
    if repeats == "last":
        if one.time is not None and old.time is not None and one.time < old.time:
            done.refused.append(
                Refused(index, f"A later label by this worker, '{old.label[:80]}', is stored already.", one.key)
            )
            return
        if old.seq:
            done.change.append((Stored(old.seq, old.key, old.item, old.worker, old.round, one.label, one.time), old.label))
        old.label, old.time = one.label, one.time  # one of this batch is inserted as it is now
        done.added += 1
        return
    what = "this key" if keyed else "this worker and item"
    why = {
        "keep": "send it with another key",
        "first": "the first is kept (--repeats first)",
        "error": "a worker labels an item once (--repeats error)",
    }[repeats]
    done.refused.append(Refused(index, f"Another label, '{old.label[:80]}', is stored for {what}; {why}.", one.key))
