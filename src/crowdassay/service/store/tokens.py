"""Tokens that were handed out, by what their holders may do; only digests are stored."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from crowdassay.labels.databases.home import Row, Session, digest, now

LABEL, READ, MANAGE = ROLES = ("label", "read", "manage")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who a request is from: a role, for ``label`` perhaps one worker only, and a name for the records."""

    role: str
    worker: str | None
    name: str


def hand_out(session: Session, role: str, worker: str | None, note: str) -> tuple[int, str]:
    """Make a token; return its number and the token itself, which cannot be shown again."""
    token = secrets.token_urlsafe(24)
    session.run(
        "INSERT INTO tokens (token_hash, role, worker, note, added) VALUES (?, ?, ?, ?, ?)",
        (digest(token), role, worker, note, now()),
    )
    newest = session.one("SELECT MAX(seq) FROM tokens")
    assert newest is not None
    return int(newest[0]), token


def find_holder(session: Session, token: str) -> Holder | None:
    """Return who holds a token, None if nobody does (any more)."""
    holder = session.one("SELECT seq, role, worker FROM tokens WHERE token_hash = ? AND revoked IS NULL", (digest(token),))
    return None if holder is None else Holder(holder[1], holder[2], f"token {holder[0]}")


def revoke(session: Session, number: int) -> bool:
    """Take a token back; False where there is none."""
    return session.run("UPDATE tokens SET revoked = ? WHERE seq = ? AND revoked IS NULL", (now(), number)) > 0


def list_tokens(session: Session) -> list[Row]:
    """Return (number, role, worker, note, when handed out, when revoked)."""
    return session.rows("SELECT seq, role, worker, note, added, revoked FROM tokens ORDER BY seq")
