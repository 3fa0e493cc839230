"""What people know: items with their text and link, truths, decisions on disputed items, and the classes that are fixed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from crowdassay.errors import ParameterError
from crowdassay.labels.classes import missing_codes
from crowdassay.labels.databases.home import Session, digest, now
from crowdassay.labels.values import no_such, shown
from crowdassay.service.store.history import log
from crowdassay.service.store.records import (
    ItemDecision,
    NewItem,
    Received,
    Refused,
    StoredTruth,
    Truth,
    find,
    insert,
    newest,
    select,
)


def add_items(session: Session, sent: Sequence[tuple[int, NewItem]]) -> Received:
    """Add items; text or link that differ from what is stored replace it."""
    done = Received()
    for _, one in sent:
        key, old = digest(one.item), find_item(session, one.item)
        if old is None:
            insert(session, NewItem, item_hash=key, item=one.item, text=one.text, link=one.link, added=now())
        elif old == one or (one.text is None and one.link is None):
            done.known += 1
            continue
        else:
            new = (old.text if one.text is None else one.text, old.link if one.link is None else one.link)
            session.run("UPDATE items SET text = ?, link = ? WHERE item_hash = ?", (*new, key))
        done.added += 1
        done.changed.append(one.item)
    return done


def find_item(session: Session, item: str) -> NewItem | None:
    """Return an item that was added by itself, None for one that is known by its labels only."""
    return find(session, NewItem, "WHERE item_hash = ?", (digest(item),))


def item_names(session: Session) -> list[str]:
    """Return the names of the items that were added, in order."""
    return [str(row[0]) for row in session.rows("SELECT item FROM items ORDER BY seq")]


def add_truths(session: Session, sent: Sequence[tuple[int, Truth]], *, source: str, replace: bool = False) -> Received:
    """Add known classes; one that contradicts a stored truth is refused, unless it may replace it."""
    done, classes = Received(), fixed_classes(session)
    for index, (item, label) in sent:
        key, old = digest(item), find_truth(session, item)
        if (why := not_among(classes, label)) is not None:
            done.refused.append(Refused(index, why))
            continue
        if old is None:
            insert(session, Truth, item_hash=key, item=item, label=label, added=now(), source=source)
        elif old.label == label:
            done.known += 1
            continue
        elif replace:
            session.run("UPDATE truths SET label = ?, added = ?, source = ? WHERE item_hash = ?", (label, now(), source, key))
        else:
            reason = f"The truth of this item is stored as '{old.label[:80]}'; send replace=1 to change it."
            done.refused.append(Refused(index, reason))
            continue
        done.added += 1
        done.changed.append(item)
    if done.added:
        log(session, source, "truth added", items=done.added)
    return done


def remove_truth(session: Session, item: str, *, source: str) -> bool:
    """Take a truth back; return False where there is none."""
    removed = session.run("DELETE FROM truths WHERE item_hash = ?", (digest(item),)) > 0
    if removed:
        log(session, source, "truth removed", item=item)
    return removed


def list_truths(session: Session, after: int, limit: int) -> list[StoredTruth]:
    """Return truths with a greater number, in the order in which they came."""
    return select(session, StoredTruth, "WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))


def find_truth(session: Session, item: str) -> Truth | None:
    """Return the truth of an item, None where nobody knows it."""
    return find(session, Truth, "WHERE item_hash = ?", (digest(item),))


def decide_item(session: Session, item: str, label: str, *, source: str) -> int:
    """Store what a person decided on an item; return the number of the decision."""
    if (why := not_among(fixed_classes(session), label)) is not None:
        raise ParameterError(why)
    insert(session, ItemDecision, item=item, label=label, added=now(), source=source)
    number = newest(session, ItemDecision)
    log(session, source, "item settled", item=item, label=label, decision=number)
    return number


def undo_decision(session: Session, number: int, *, source: str) -> str | None:
    """Take a decision back; return its item, None where there is no such decision that stands."""
    standing = find(session, ItemDecision, "WHERE seq = ? AND undone IS NULL", (number,))
    if standing is None:
        return None
    session.run("UPDATE decisions SET undone = ? WHERE seq = ?", (now(), number))
    log(session, source, "decision undone", item=standing.item, decision=number)
    return standing.item


def list_decisions(session: Session, limit: int) -> list[ItemDecision]:
    """Return decisions, the last first."""
    return select(session, ItemDecision, "ORDER BY seq DESC LIMIT ?", (limit,))


def known_classes(session: Session) -> dict[str, tuple[str, str]]:
    """Return item: (label, 'decision' or 'truth'); the last decision that stands goes before a truth."""
    classes = {truth.item: (truth.label, "truth") for truth in select(session, Truth, "")}
    for decision in select(session, ItemDecision, "WHERE undone IS NULL ORDER BY seq"):
        classes[decision.item] = (decision.label, "decision")
    return classes


def known_class(session: Session, item: str) -> tuple[str, str] | None:
    """Return the label of one item and where it is from, None where nobody knows."""
    decided = find(session, ItemDecision, "WHERE item = ? AND undone IS NULL ORDER BY seq DESC LIMIT 1", (item,))
    if decided is not None:
        return decided.label, "decision"
    truth = find_truth(session, item)
    return None if truth is None else (truth.label, "truth")


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
    >>> not_among((), "NA")
    "The label 'NA' means that nobody answered: send none. If it is a class, fix the classes first."
    """
    if not classes and missing_codes([label, ""]):
        return f"The label {shown(label)} means that nobody answered: send none. If it is a class, fix the classes first."
    return None if not classes or label in classes else no_such("class", label, classes)
