"""Fits: what ran when and how it ended, and the files of the last one that was done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from crowdassay.labels.databases.home import Session, now

WAITING, RUNNING = "waiting", "running"
DONE, FAILED, CANCELLED, INTERRUPTED = "done", "failed", "cancelled", "interrupted"


@dataclass(frozen=True)
class Fit:
    """A fit of all labels up to number ``upto``."""

    id: int
    state: str
    reason: str
    started: str
    ended: str | None
    upto: int
    message: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def ask_fit(session: Session, reason: str) -> Fit:
    """Write down that a fit is wanted."""
    stamp = now()
    session.run("INSERT INTO fits (state, reason, started, upto) VALUES (?, ?, ?, 0)", (WAITING, reason, stamp))
    newest = session.one("SELECT MAX(seq) FROM fits")
    assert newest is not None
    return Fit(int(newest[0]), WAITING, reason, stamp, None, 0, None)


def start_fit(session: Session, number: int, upto: int) -> Fit:
    """Write down that a fit begins, of all labels up to a number."""
    session.run("UPDATE fits SET state = ?, started = ?, upto = ? WHERE seq = ?", (RUNNING, now(), upto, number))
    fit = find_fit(session, number)
    assert fit is not None
    return fit


def end_fit(session: Session, number: int, state: str, message: str | None, parts: Mapping[str, bytes] | None = None) -> None:
    """Write down how a fit ended, with the files of one that was done; those of earlier fits are dropped."""
    session.run("UPDATE fits SET state = ?, ended = ?, message = ? WHERE seq = ?", (state, now(), message, number))
    if parts is not None:
        session.run("DELETE FROM fit_parts")
        session.run_many("INSERT INTO fit_parts VALUES (?, ?, ?)", [(number, name, data) for name, data in parts.items()])


def interrupt_fits(session: Session) -> int:
    """Say of fits that a dead server left running that they were interrupted."""
    sql = "UPDATE fits SET state = ?, ended = ?, message = ? WHERE state IN (?, ?)"
    return session.run(sql, (INTERRUPTED, now(), "The server ended before the fit did.", RUNNING, WAITING))


def list_fits(session: Session, limit: int) -> list[Fit]:
    """Return fits, the last first."""
    sql = "SELECT seq, state, reason, started, ended, upto, message FROM fits ORDER BY seq DESC LIMIT ?"
    return [Fit(*row) for row in session.rows(sql, (limit,))]


def find_fit(session: Session, number: int) -> Fit | None:
    """Return a fit by its number."""
    row = session.one("SELECT seq, state, reason, started, ended, upto, message FROM fits WHERE seq = ?", (number,))
    return None if row is None else Fit(*row)


def last_parts(session: Session) -> tuple[Fit, dict[str, bytes]] | None:
    """Return the last fit that was done, with its files; None where there is none yet."""
    parts = session.rows("SELECT fit, name, data FROM fit_parts")
    if not parts:
        return None
    fit = find_fit(session, int(parts[0][0]))
    return None if fit is None else (fit, {name: bytes(data) for _, name, data in parts})
