"""What others are told of items: how each stood when it was told last, and what is still to be told."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from crowdassay.labels.databases.home import Session, digest, now

SETTLED, DISPUTED, REOPENED = NOTICE_KINDS = ("settled", "disputed", "reopened")
NOTICE_COLUMNS = ("item", "kind", "label", "probability", "n_labels", "basis", "added", "event", "event_id")


class Notice(NamedTuple):
    """What is to be told of an item; ``event`` rises with every change, ``event_id`` is the same however often it is sent."""

    item: str
    kind: str
    label: str | None
    probability: float
    n_labels: int
    basis: str
    added: str = ""
    event: int = 0
    event_id: str = ""

    def as_dict(self) -> dict[str, str | int | float | None]:
        """Return the event as it is sent."""
        return {
            "id": self.event_id, "type": f"item.{self.kind}", "time": self.added, "item": self.item, "label": self.label,
            "probability": round(self.probability, 6), "n_labels": self.n_labels, "basis": self.basis,
        }  # fmt: skip


def told_last(session: Session) -> dict[str, tuple[str, str | None]]:
    """Return for every item that others were, or are to be, told of what it is: its kind and label."""
    return {item: (kind, label) for item, kind, label in session.rows("SELECT item, kind, label FROM notices")}


def put_notices(session: Session, notices: Sequence[Notice]) -> None:
    """Store what is to be told; it takes the place of what was not told yet of the same items."""
    row = session.one("SELECT COALESCE(MAX(event), 0) FROM notices")
    assert row is not None
    stamp, columns = now(), ("item_hash", *NOTICE_COLUMNS, "sent")
    rows = [
        (digest(one.item), *one[: NOTICE_COLUMNS.index("added")], stamp, row[0] + place, f"evt_{secrets.token_hex(12)}", None)
        for place, one in enumerate(notices, 1)
    ]
    fresh = ", ".join(f"{name} = excluded.{name}" for name in columns[1:])
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT INTO notices ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT (item_hash) DO UPDATE SET {fresh}"  # noqa: S608
    session.run_many(sql, rows)


def waiting_notices(session: Session, limit: int) -> list[Notice]:
    """Return what is to be told, in order."""
    sql = f"SELECT {', '.join(NOTICE_COLUMNS)} FROM notices WHERE sent IS NULL ORDER BY event LIMIT ?"  # noqa: S608
    return [Notice(*row) for row in session.rows(sql, (limit,))]


def count_waiting(session: Session) -> int:
    """Return of how many items others are still to be told."""
    row = session.one("SELECT COUNT(*) FROM notices WHERE sent IS NULL")
    assert row is not None
    return int(row[0])


def mark_sent(session: Session, notices: Sequence[Notice]) -> None:
    """Store what was told; items that have changed meanwhile are to be told of again."""
    session.run_many(
        "UPDATE notices SET sent = ? WHERE event = ? AND event_id = ?", [(now(), one.event, one.event_id) for one in notices]
    )
