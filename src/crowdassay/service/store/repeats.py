"""What becomes of labels that are sent: new, known, in conflict. Pure: earlier labels in, an outcome out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from crowdassay.service.store.records import FIRST_ROUND, Received, Refused, SentLabel, StoredLabel


@dataclass
class BatchOutcome:
    """What to do: labels to insert, labels to change (the stored one as it will be, and what it was), and what to answer."""

    insert: list[StoredLabel] = field(default_factory=list)
    change: list[tuple[StoredLabel, str]] = field(default_factory=list)
    received: Received = field(default_factory=Received)


class EarlierLabels:
    """The stored labels that a batch may meet, by key and by item and worker; those of the batch are added as it is decided."""

    def __init__(self, stored: Iterable[StoredLabel]) -> None:
        self.by_key: dict[str, StoredLabel] = {}
        self.by_pair: dict[tuple[str, str], list[StoredLabel]] = {}
        for one in stored:
            self.add(one)

    def add(self, one: StoredLabel) -> None:
        """Add a label, once."""
        if one.key not in self.by_key:
            self.by_key[one.key] = one
            self.by_pair.setdefault((one.item, one.worker), []).append(one)


def decide(sent: Sequence[tuple[int, SentLabel]], earlier: EarlierLabels, repeats: str) -> BatchOutcome:
    """Decide on labels in the order in which they were sent.

    A label is known if its key is stored with the same item, worker and label; without a key, if the worker has given the
    item this label before (in that round, where one is named). What repeats a worker and item otherwise follows ``repeats``:
    keep both, keep the first, keep the last (by time where both have one), or refuse. A key never stands for two labels.
    """
    outcome = BatchOutcome()
    for index, one in sent:
        _decide_one(index, one, earlier, repeats, outcome)
    return outcome


def _decide_one(index: int, one: SentLabel, earlier: EarlierLabels, repeats: str, outcome: BatchOutcome) -> None:
    before = earlier.by_pair.get((one.item, one.worker), [])
    key = one.key
    if key is None and one.round is not None:
        key = made_key(one.item, one.worker, one.round)
    if key is not None and (same := earlier.by_key.get(key)) is not None:
        if (same.item, same.worker) != (one.item, one.worker):
            reason = f"The key is that of another label (item '{same.item[:80]}', worker '{same.worker[:80]}')."
            outcome.received.refused.append(Refused(index, reason, one.key))
        elif same.label == one.label:
            outcome.received.known += 1
        else:
            _conflict(index, one, same, repeats, outcome, keyed=True)
        return
    if key is None and any(old.label == one.label for old in before):
        outcome.received.known += 1
    elif before and repeats != "keep":
        last = before[-1]
        if last.label == one.label:
            outcome.received.known += 1
        else:
            _conflict(index, one, last, repeats, outcome, keyed=False)
    else:
        turn = one.round or max((old.round for old in before), default=FIRST_ROUND - 1) + 1
        key = key or _free_key(one, turn, earlier)
        new = StoredLabel(key, one.item, one.worker, one.label, turn, one.time)
        earlier.add(new)
        outcome.insert.append(new)
        outcome.received.added += 1


def made_key(item: str, worker: str, turn: int) -> str:
    r"""Return the key of a label that came without one.

    >>> made_key("a|b", "ann", 1)
    'a\\|b|ann|1'
    """
    return "|".join([*(name.replace("\\", "\\\\").replace("|", "\\|") for name in (item, worker)), str(turn)])


def _free_key(one: SentLabel, turn: int, earlier: EarlierLabels) -> str:
    key = made_key(one.item, one.worker, turn)
    while key in earlier.by_key:  # somebody gave that key to another label
        key += "'"
    return key


def _conflict(index: int, one: SentLabel, old: StoredLabel, repeats: str, outcome: BatchOutcome, *, keyed: bool) -> None:
    if repeats == "last":
        if one.time is not None and old.time is not None and one.time < old.time:
            reason = f"A later label by this worker, '{old.label[:80]}', is stored already."
            outcome.received.refused.append(Refused(index, reason, one.key))
            return
        if old.seq:
            new = StoredLabel(old.key, old.item, old.worker, one.label, old.round, one.time, old.seq)
            outcome.change.append((new, old.label))
        old.label, old.time = one.label, one.time  # one of this batch is inserted as it is now
        outcome.received.added += 1
        return
    what = "this key" if keyed else "this worker and item"
    why = {
        "keep": "send it with another key",
        "first": "the first is kept (--repeats first)",
        "error": "a worker labels an item once (--repeats error)",
    }[repeats]
    outcome.received.refused.append(Refused(index, f"Another label, '{old.label[:80]}', is stored for {what}; {why}.", one.key))
