"""Annotations that another tool keeps and tells of: labels follow them, told late, twice or in any order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from crowdassay.labels.databases.home import Session, now, shortened
from crowdassay.service.store.corrections import remove_label
from crowdassay.service.store.labels import find_label
from crowdassay.service.store.open import Batch, Store
from crowdassay.service.store.records import Received, Refused, SentLabel


class Delivery(NamedTuple):
    """What a tool says of one of its annotations."""

    key: str  # of its label, the same in every delivery
    task: str  # what the annotation is about, by the tool's own number
    version: str  # a text that sorts by how new it is, empty where the tool does not say
    label: SentLabel | None  # None where it has none (any more)
    reason: str = ""  # why it has none, where the sender should know


@dataclass
class AnnotationOutcome(Received):
    """What became of deliveries: as of labels that are sent, and how many labels were removed."""

    removed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**super().as_dict(), "removed": self.removed}


def take_annotations(
    session: Session, store: Store, deliveries: Iterable[Delivery], *, source: str, first: int = 0
) -> AnnotationOutcome:
    """Make the labels of annotations what they are said to be; what is not newer than what is known changes nothing.

    Deliveries are counted from ``first``, for what is said of those that are refused.

    A label that is refused, because its class is none of the job's for instance, is looked at anew if it is told again.

    >>> import tempfile
    >>> from crowdassay.service.store.open import open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(f"{folder}/job.db")
    ...     first, later = (Delivery("a/1", "7", day, SentLabel("7", "ann", label, "a/1")) for day, label in ["1y", "2n"])
    ...     with store.home.write() as session:
    ...         [take_annotations(session, store, [one], source="t").added for one in (later, first, later)]
    [1, 0, 0]
    """
    done = AnnotationOutcome()
    for index, one in enumerate(deliveries, first):
        seen = session.one("SELECT version, deleted FROM annotations WHERE key_short = ?", (shortened(one.key),))
        if seen is not None and (seen[1] is not None or (one.version and one.version <= seen[0])):
            done.known += 1
            continue
        if _follow(session, store, index, one, done, source):
            _remember(session, one.key, one.task, one.version or ("" if seen is None else seen[0]))
    return done


def delete_annotations(session: Session, keys: Iterable[str], *, source: str) -> AnnotationOutcome:
    """Remove the labels of annotations for good: whatever is told of them later is out of date."""
    done = AnnotationOutcome()
    for key in keys:
        if remove_label(session, key, source=source):
            done.removed += 1
        else:
            done.known += 1
        _remember(session, key, "", "", deleted=now())
    return done


def annotations_of(session: Session, tasks: Iterable[str]) -> list[str]:
    """Return the keys of the annotations of some tasks, in the order in which they came."""
    found = [row for task in tasks for row in session.rows("SELECT seq, key FROM annotations WHERE task = ?", (task,))]
    return [str(key) for _, key in sorted(map(tuple, found))]


def _follow(session: Session, store: Store, index: int, one: Delivery, done: AnnotationOutcome, source: str) -> bool:
    """Store the label of an annotation as it is now; return whether that is dealt with."""
    stored = find_label(session, one.key)
    moved = one.label is None or (stored is not None and (stored.item, stored.worker) != (one.label.item, one.label.worker))
    if stored is not None and moved:
        done.removed += remove_label(session, one.key, source=source)
    if one.label is None:
        done.refuse([Refused(index, one.reason, one.key)] if one.reason else [])
        done.known += not one.reason and stored is None
        return True
    # An annotation's own label is replaced whatever the policy is; that of another annotation is a matter of the policy.
    (taken,) = store.take(session, [Batch([(index, one.label)], [], source, replace=stored is not None and not moved)])
    done.add(taken.received)
    return not taken.received.refused


def _remember(session: Session, key: str, task: str, version: str, deleted: str | None = None) -> None:
    values = (shortened(key), key, task, version, deleted)
    session.run(
        "INSERT INTO annotations (key_short, key, task, version, deleted) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key_short) "
        "DO UPDATE SET version = excluded.version, deleted = excluded.deleted",
        values,
    )
