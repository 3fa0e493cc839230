"""What is taken back: labels and items that are removed, workers who are erased; and how those who read labels learn of it.

Whoever follows labels by their numbers follows `corrections_since`, too: a label that is gone, or not what it was, is not seen
among the labels that came later.
"""

from __future__ import annotations

from typing import NamedTuple

from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.service.store.history import log
from crowdassay.service.store.labels import find_label, labels_of
from crowdassay.service.store.records import Correction, StoredLabel, insert, newest, select

ERASED = "erased"  # the kind of correction after which whatever was made of labels is given up


class Removed(NamedTuple):
    """How much was removed of an item or a worker."""

    labels: int
    others: int
    """Texts, truths, decisions and tokens."""

    @property
    def anything(self) -> bool:
        """Whether there was anything to remove."""
        return self.labels + self.others > 0


def note_correction(session: Session, label: StoredLabel, kind: str) -> None:
    """Store that a label is not what it was, for whoever has read it."""
    insert(session, Correction, label=label.seq, item=label.item, worker=label.worker, kind=kind)


def corrections_since(session: Session, number: int) -> list[Correction]:
    """Return the corrections after a number, in order."""
    return select(session, Correction, "WHERE seq > ? ORDER BY seq", (number,))


def last_correction(session: Session) -> int:
    """Return the number of the last correction, 0 without any."""
    return newest(session, Correction)


def erased_since(session: Session, number: int) -> bool:
    """Return whether a worker was erased after a correction: whatever was made of the labels before then is given up."""
    return session.one("SELECT 1 FROM corrections WHERE seq > ? AND kind = 'erased'", (number,)) is not None


def remove_label(session: Session, key: str, *, source: str) -> bool:
    """Remove the label with a key; return False where there is none (any more).

    >>> import tempfile
    >>> from crowdassay.service.store.open import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/job.db")
    ...     _ = store.add([{"item": "i1", "worker": "ann", "label": "yes", "key": "k"}])
    ...     with store.home.write() as session:
    ...         [remove_label(session, "k", source="python") for _ in range(2)]
    [True, False]
    """
    label = find_label(session, key)
    if label is None:
        return False
    _remove(session, [label])
    log(session, source, "label removed", key=label.key, item=label.item, worker=label.worker, label=label.label)
    return True


def remove_item(session: Session, item: str, *, source: str) -> Removed:
    """Remove an item: its labels, text and truth, and undo decisions on it; return how much there was."""
    labels = labels_of(session, [item])
    _remove(session, labels)
    others = sum(session.run(f"DELETE FROM {table} WHERE item_hash = ?", (digest(item),)) for table in ("items", "truths"))  # noqa: S608 - names of this module
    # Not deleted: the number of a decision is not to be given again, since it can be undone by it.
    others += session.run("UPDATE decisions SET undone = ? WHERE item = ? AND undone IS NULL", (now(), item))
    session.run("DELETE FROM notices WHERE item_hash = ? AND sent IS NULL", (digest(item),))  # nobody is told of it any more
    done = Removed(len(labels), others)
    if done.anything:
        log(session, source, "item removed", item=item, labels=done.labels)
    return done


def _remove(session: Session, labels: list[StoredLabel]) -> None:
    for label in labels:
        session.run("DELETE FROM labels WHERE seq = ?", (label.seq,))
        note_correction(session, label, "removed")
