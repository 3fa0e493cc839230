"""The classes of a job, where its owner has fixed them: no label, truth or decision of another is taken then."""

from __future__ import annotations

import json
from collections.abc import Sequence

from crowdassay.errors import ParameterError
from crowdassay.labels.databases.home import Session
from crowdassay.labels.values import no_such
from crowdassay.service.store.history import log


def fixed_classes(session: Session) -> tuple[str, ...]:
    """Return the classes that the owner has fixed, in their order; none where any class may be given."""
    row = session.one("SELECT value FROM crowdassay_meta WHERE name = 'classes'")
    return () if row is None else tuple(json.loads(row[0]))


def fix_classes(session: Session, classes: Sequence[str], *, source: str) -> None:
    """Fix the classes, or let any be given again (none); refused while labels or truths of other classes are stored."""
    if len(set(classes)) != len(classes) or len(classes) == 1:
        raise ParameterError("Name two classes or more, each once; none lets any class be given.")
    given = ", ".join("?" * len(classes))
    for table in ("labels", "truths") if classes else ():
        other = session.one(f"SELECT label, item FROM {table} WHERE label NOT IN ({given}) LIMIT 1", classes)  # noqa: S608
        if other is not None:
            raise ParameterError(f"A label '{other[0][:80]}' is stored, of item '{other[1][:80]}'; name its class, too.")
    session.run("DELETE FROM crowdassay_meta WHERE name = 'classes'")
    if classes:
        session.run("INSERT INTO crowdassay_meta VALUES ('classes', ?)", (json.dumps(list(classes), ensure_ascii=False),))
    log(session, source, "classes fixed", classes=list(classes))


def not_among(classes: Sequence[str], label: str) -> str | None:
    """Return why a label is not taken, None if it is.

    >>> not_among(("duck", "goose"), "dukc")
    "There is no class 'dukc'; did you mean 'duck'? The classes are duck, goose."
    >>> not_among((), "dukc"), not_among(("duck", "goose"), "duck")
    (None, None)
    """
    return None if not classes or label in classes else no_such("class", label, classes)
