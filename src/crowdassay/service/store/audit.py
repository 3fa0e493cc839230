"""The audit log: who did what, when. Labels themselves say who sent them, so that they need no line here."""

from __future__ import annotations

import json
from typing import Any

from crowdassay.labels.databases.home import Session, now


def log(session: Session, who: str, action: str, **detail: Any) -> None:
    """Add a line, in the transaction of what it is about."""
    text = json.dumps(detail, ensure_ascii=False, sort_keys=True)
    session.run("INSERT INTO audit (added, who, action, detail) VALUES (?, ?, ?, ?)", (now(), who, action, text))


def read_log(session: Session, limit: int) -> list[dict[str, Any]]:
    """Return the last lines, the last first."""
    rows = session.rows("SELECT added, who, action, detail FROM audit ORDER BY seq DESC LIMIT ?", (limit,))
    return [{"time": time, "who": who, "action": action, **json.loads(detail)} for time, who, action, detail in rows]
