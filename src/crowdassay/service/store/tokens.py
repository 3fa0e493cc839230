"""Tokens that were handed out, by what their bearers may do, and the sessions of pages; only digests are stored."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.service.store.history import log
from crowdassay.service.store.records import HandedOutToken, NewToken, find, insert, select

SESSION_DAYS = 7  # after which a page asks for its token again


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a request is from: a role, for ``label`` perhaps one worker only, and a name for the records.

    ``token`` is the number of a token that was handed out, and ``expires`` when it ends, if it does.
    """

    role: str
    worker: str | None
    name: str
    token: int | None = None
    expires: str | None = None


OWNER = Identity("manage", None, "owner")  # who holds the token that the server was started with


def hand_out(session: Session, wanted: NewToken, *, source: str) -> tuple[HandedOutToken, str]:
    """Make a token; return what is stored of it and the token itself, which cannot be shown again."""
    token = secrets.token_urlsafe(24)
    end = None if wanted.days is None else _days_from_now(wanted.days)
    insert(
        session, HandedOutToken, token_hash=digest(token), role=wanted.role, worker=wanted.worker,
        name=wanted.name or wanted.worker or "", added=now(), expires=end,
    )  # fmt: skip
    (made,) = select(session, HandedOutToken, "ORDER BY seq DESC LIMIT 1")
    log(session, source, "token handed out", token=made.id, role=made.role, name=made.name, expires=made.expires)
    return made, token


def find_identity(session: Session, token: str) -> Identity | None:
    """Return whose token this is, None if it is nobody's (any more)."""
    return _identity(session, "token_hash = ?", (digest(token),))


def start_session(session: Session, identity: Identity, owner: str) -> tuple[str, str]:
    """Begin the session of a page; return what its cookie holds, and when it ends: with its token, at the latest.

    Sessions of the owner are found only together with the token that the server was started with.
    """
    key, end = secrets.token_urlsafe(24), _days_from_now(SESSION_DAYS)
    end = end if identity.expires is None else min(end, identity.expires)
    session.run("DELETE FROM sessions WHERE expires <= ?", (now(),))
    sql = "INSERT INTO sessions (session_hash, token, added, expires) VALUES (?, ?, ?, ?)"
    session.run(sql, (digest(key if identity.token else key + owner), identity.token, now(), end))
    log(session, identity.name, "session begun", expires=end)
    return key, end


def find_session(session: Session, key: str, owner: str) -> Identity | None:
    """Return whose session this is, None if it has ended, or its token has."""
    for value in (key, key + owner):
        row = session.one("SELECT token FROM sessions WHERE session_hash = ? AND expires > ?", (digest(value), now()))
        if row is not None:
            return OWNER if row[0] is None else _identity(session, "seq = ?", (row[0],))
    return None


def revoke(session: Session, number: int, *, source: str) -> bool:
    """Take a token back, and the sessions that began with it; return whether there was one."""
    done = session.run("UPDATE tokens SET revoked = ? WHERE seq = ? AND revoked IS NULL", (now(), number)) > 0
    if done:
        session.run("DELETE FROM sessions WHERE token = ?", (number,))
        log(session, source, "token taken back", token=number)
    return done


def list_tokens(session: Session) -> list[HandedOutToken]:
    """Return the tokens that were handed out, in order."""
    return select(session, HandedOutToken, "ORDER BY seq")


def _identity(session: Session, which: str, values: Sequence[Any]) -> Identity | None:
    valid = f"WHERE {which} AND revoked IS NULL AND (expires IS NULL OR expires > ?)"
    one = find(session, HandedOutToken, valid, (*values, now()))
    return None if one is None else Identity(one.role, one.worker, name_of(one), one.id, one.expires)


def name_of(token: HandedOutToken) -> str:
    """Return how records call whoever holds a token; with its number, so that nobody can take the name of another."""
    return f"{token.name} (token {token.id})" if token.name else f"token {token.id}"


def _days_from_now(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="microseconds")
