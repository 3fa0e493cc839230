"""What others are told of items: how each stood when it was told last, and what is still to be told."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.service.store.records import Notice, insert_many, number, select


def told_last(session: Session) -> dict[str, tuple[str, str | None]]:
    """Return for every item that others were, or are to be, told of what it is: its kind and label."""
    return {item: (kind, label) for item, kind, label in session.rows("SELECT item, kind, label FROM notices")}


def put_notices(session: Session, notices: Sequence[Notice]) -> None:
    """Store what is to be told; it takes the place of what was not told yet of the same items."""
    stamp, columns = now(), ("item_hash", *Notice._fields, "sent")
    stamped = [
        one._replace(added=stamp, event=event, event_id=f"evt_{secrets.token_hex(12)}")
        for event, one in enumerate(notices, number(session, "SELECT COALESCE(MAX(event), 0) + 1 FROM notices"))
    ]
    fresh = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    conflict = f"ON CONFLICT (item_hash) DO UPDATE SET {fresh}"
    insert_many(session, Notice, columns, [(digest(one.item), *one, None) for one in stamped], conflict)


def waiting_notices(session: Session, limit: int) -> list[Notice]:
    """Return what is to be told, in order."""
    return select(session, Notice, "WHERE sent IS NULL ORDER BY event LIMIT ?", (limit,))


def count_waiting(session: Session) -> int:
    """Return of how many items others are still to be told."""
    return number(session, "SELECT COUNT(*) FROM notices WHERE sent IS NULL")


def mark_sent(session: Session, notices: Sequence[Notice]) -> None:
    """Store what was told; items that have changed meanwhile are to be told of again."""
    session.run_many(
        "UPDATE notices SET sent = ? WHERE event = ? AND event_id = ?", [(now(), one.event, one.event_id) for one in notices]
    )
