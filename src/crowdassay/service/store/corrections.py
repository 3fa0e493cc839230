"""What is taken back: labels and items that are removed, workers who are erased; and how those who read labels learn of it.

Whoever follows labels by their numbers follows `corrections_since`, too: a label that is gone, or not what it was, is not seen
among the labels that came later.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.service.store.history import log
from crowdassay.service.store.labels import find_label, labels_of, last_seq
from crowdassay.service.store.records import Correction, HandedOutToken, StoredLabel, insert, select
from crowdassay.service.store.tokens import name_of

ERASED = "erased"  # the kind of correction after which whatever was made of labels is given up
IN_PLACE_OF_A_NAME = "(erased)"
ANSWER_DETAILS = ("key", "label", "was", "now")  # of a line of the audit log on a label
NOBODYS_NAMES = frozenset({"owner", "anybody", "python"})  # who a label may be from without being a worker's name
SOURCES = (("labels", "source"), ("truths", "source"), ("decisions", "source"), ("audit", "who"))
MADE_KEY = re.compile(r"~?(?:[^|\\]|\\.)*\|((?:[^|\\]|\\.)*)\|\d+", re.DOTALL)


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


def erase_worker(session: Session, worker: str, *, source: str) -> Removed:
    """Remove all labels of a worker, and the name wherever it stands; return how much there was.

    Tokens for the worker are taken back. The stored fit goes, since it knows the worker; the next is made without.

    >>> import tempfile
    >>> from crowdassay.service.store.open import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/job.db")
    ...     _ = store.add([{"item": "i1", "worker": "ann", "label": "yes"}])
    ...     with store.home.write() as session:
    ...         [erase_worker(session, "ann", source="owner").labels for _ in range(2)]
    [1, 0]
    """
    last = last_seq(session)
    keys = {one.key for one in select(session, StoredLabel, "WHERE worker = ?", (worker,))}
    tokens = select(session, HandedOutToken, "WHERE worker = ?", (worker,))
    session.run("DELETE FROM labels WHERE worker = ?", (worker,))
    for one in tokens:  # not deleted, so that no other token gets its number
        sql = "UPDATE tokens SET worker = NULL, name = '', revoked = COALESCE(revoked, ?) WHERE seq = ?"
        session.run(sql, (now(), one.id))
        session.run("DELETE FROM sessions WHERE token = ?", (one.id,))
    others = len(tokens) + session.run("UPDATE corrections SET worker = NULL WHERE worker = ?", (worker,))
    others += _erase_sources(session, worker, tokens)
    others += _erase_lines(session, worker, keys, {one.id for one in tokens})
    done = Removed(len(keys), others)
    if done.anything:
        for message, seq in session.rows("SELECT message, seq FROM fits WHERE message IS NOT NULL"):
            if (named := f"'{worker}'") in message:
                session.run("UPDATE fits SET message = ? WHERE seq = ?", (message.replace(named, IN_PLACE_OF_A_NAME), seq))
        session.run("DELETE FROM fit_parts")
        insert(session, Correction, label=last, item="", worker=None, kind=ERASED)
        log(session, source, "worker erased", labels=done.labels)
    return done


def _erase_sources(session: Session, worker: str, tokens: list[HandedOutToken]) -> int:
    """Take the worker's name from the columns that say who sent something."""
    names = {name_of(one): name_of(one._replace(name="")) for one in tokens}
    names |= {} if worker in NOBODYS_NAMES else {worker: IN_PLACE_OF_A_NAME}
    return sum(
        session.run(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (new, old))  # noqa: S608 - names of this module
        for table, column in SOURCES
        for old, new in names.items()
    )


def _erase_lines(session: Session, worker: str, keys: set[str], tokens: set[int]) -> int:
    """Take the worker, and what the worker answered, from lines of the audit log."""
    changed = []
    for seq, text in session.rows("SELECT seq, detail FROM audit"):
        detail = json.loads(text)
        if detail.get("worker") == worker or detail.get("key") in keys or _made_for(detail.get("key"), worker):
            detail = {name: value for name, value in detail.items() if name not in ANSWER_DETAILS}
            detail["worker"] = IN_PLACE_OF_A_NAME
        if detail.get("token") in tokens and "name" in detail:
            detail["name"] = IN_PLACE_OF_A_NAME
        if detail != json.loads(text):
            changed.append((json.dumps(detail, ensure_ascii=False, sort_keys=True), seq))
    session.run_many("UPDATE audit SET detail = ? WHERE seq = ?", changed)
    return len(changed)


def _made_for(key: str | None, worker: str) -> bool:
    """Return whether a key was made for a label of a worker, as `made_key` does."""
    made = MADE_KEY.fullmatch(key or "")
    return made is not None and re.sub(r"\\(.)", r"\1", made.group(1), flags=re.DOTALL) == worker
