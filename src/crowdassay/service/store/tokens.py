"""Tokens that were handed out, by what their bearers may do; only digests are stored."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.service.store.records import HandedOutToken, NewToken, insert, newest, select


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a request is from: a role, for ``label`` perhaps one worker only, and a name for the records."""

    role: str
    worker: str | None
    name: str


def hand_out(session: Session, wanted: NewToken) -> tuple[int, str]:
    """Make a token; return its number and the token itself, which cannot be shown again."""
    token = secrets.token_urlsafe(24)
    insert(
        session, HandedOutToken, token_hash=digest(token), role=wanted.role, worker=wanted.worker, note=wanted.note or "",
        added=now(),
    )  # fmt: skip
    return newest(session, HandedOutToken), token


def find_identity(session: Session, token: str) -> Identity | None:
    """Return whose token this is, None if it is nobody's (any more)."""
    found = select(session, HandedOutToken, "WHERE token_hash = ? AND revoked IS NULL", (digest(token),))
    return Identity(found[0].role, found[0].worker, f"token {found[0].id}") if found else None


def revoke(session: Session, number: int) -> bool:
    """Take a token back; return whether there was one."""
    return session.run("UPDATE tokens SET revoked = ? WHERE seq = ? AND revoked IS NULL", (now(), number)) > 0


def list_tokens(session: Session) -> list[HandedOutToken]:
    """Return the tokens that were handed out, in order."""
    return select(session, HandedOutToken, "ORDER BY seq")
