"""What happened to a job: fits, with the files of the last one that was done, and the audit log of who did what."""

from __future__ import annotations

import getpass
import json
from collections.abc import Mapping
from typing import Any

from crowdassay.labels.databases.home import Session, now
from crowdassay.service.store.records import FIT_STATES, FitRun, find, insert, select

WAITING, RUNNING, DONE, FAILED, CANCELLED, CUT_OFF = FIT_STATES


def ask_fit(session: Session, reason: str) -> FitRun:
    """Store that a fit is wanted."""
    insert(session, FitRun, state=WAITING, reason=reason, started=now(), upto=0)
    (asked,) = select(session, FitRun, "ORDER BY seq DESC LIMIT 1")
    return asked


def start_fit(session: Session, number: int, upto: int) -> FitRun:
    """Store that a fit begins, of all labels up to a number."""
    session.run("UPDATE fits SET state = ?, started = ?, upto = ? WHERE seq = ?", (RUNNING, now(), upto, number))
    (begun,) = select(session, FitRun, "WHERE seq = ?", (number,))
    return begun


def end_fit(session: Session, number: int, state: str, message: str | None, parts: Mapping[str, bytes] | None = None) -> None:
    """Store how a fit ended, with the files of one that was done; those of earlier fits are dropped."""
    session.run("UPDATE fits SET state = ?, ended = ?, message = ? WHERE seq = ?", (state, now(), message, number))
    if parts is not None:
        session.run("DELETE FROM fit_parts")
        session.run_many("INSERT INTO fit_parts VALUES (?, ?, ?)", [(number, name, data) for name, data in parts.items()])


def interrupt_fits(session: Session) -> int:
    """Mark the fits that a dead server left running as interrupted; return how many there were."""
    sql = "UPDATE fits SET state = ?, ended = ?, message = ? WHERE state IN (?, ?)"
    return session.run(sql, (CUT_OFF, now(), "The server ended before the fit did.", RUNNING, WAITING))


def list_fits(session: Session, limit: int) -> list[FitRun]:
    """Return fits, the last first."""
    return select(session, FitRun, "ORDER BY seq DESC LIMIT ?", (limit,))


def find_fit(session: Session, number: int) -> FitRun | None:
    """Return a fit by its number."""
    return find(session, FitRun, "WHERE seq = ?", (number,))


def last_parts(session: Session) -> tuple[FitRun, dict[str, bytes]] | None:
    """Return the last fit that was done, with its files; None where there is none yet."""
    parts = session.rows("SELECT fit, name, data FROM fit_parts")
    fit = find_fit(session, int(parts[0][0])) if parts else None
    return None if fit is None else (fit, {name: bytes(data) for _, name, data in parts})


def log(session: Session, who: str, action: str, **detail: object) -> None:
    """Add a line to the audit log, in the transaction of what it is about; labels themselves say who sent them."""
    text = json.dumps(detail, ensure_ascii=False, sort_keys=True)
    session.run("INSERT INTO audit (added, who, action, detail) VALUES (?, ?, ?, ?)", (now(), who, action, text))


def operator() -> str:
    """Return who runs a command on this machine, as the audit log names them."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError):  # a user without a name, as containers have them
        return "command line"


def read_log(session: Session, limit: int) -> list[dict[str, Any]]:
    """Return the last lines of the audit log, the last first."""
    rows = session.rows("SELECT added, who, action, detail FROM audit ORDER BY seq DESC LIMIT ?", (limit,))
    return [{"time": time, "who": who, "action": action, **json.loads(detail)} for time, who, action, detail in rows]
