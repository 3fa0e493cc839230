"""What people know: items with their text and link, truths, and decisions on disputed items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from crowdassay.labels.databases.home import Row, Session, digest, now
from crowdassay.service.store.records import Refused


@dataclass
class Counts:
    """What became of records that were sent."""

    added: int = 0
    known: int = 0
    refused: list[Refused] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Item:
    """An item to be labelled, with what a person needs to see."""

    item: str
    text: str | None = None
    link: str | None = None


def add_items(session: Session, given: Sequence[tuple[int, Item]]) -> Counts:
    """Add items; text or link that differ from what is stored replace it."""
    done = Counts()
    for _, one in given:
        key = digest(one.item)
        old = session.one("SELECT text, link FROM items WHERE item_hash = ?", (key,))
        if old is None:
            session.run(
                "INSERT INTO items (item_hash, item, text, link, added) VALUES (?, ?, ?, ?, ?)",
                (key, one.item, one.text, one.link, now()),
            )
            done.added += 1
        elif tuple(old) == (one.text, one.link) or (one.text is None and one.link is None):
            done.known += 1
            continue
        else:
            new = (old[0] if one.text is None else one.text, old[1] if one.link is None else one.link)
            session.run("UPDATE items SET text = ?, link = ? WHERE item_hash = ?", (*new, key))
            done.added += 1
        done.changed.append(one.item)
    return done


def find_item(session: Session, item: str) -> Item | None:
    """Return an item that was added by itself, None for one that is known by its labels only."""
    row = session.one("SELECT item, text, link FROM items WHERE item_hash = ?", (digest(item),))
    return None if row is None else Item(*row)


def item_names(session: Session) -> list[str]:
    """Return the names of the items that were added, in order."""
    return [str(row[0]) for row in session.rows("SELECT item FROM items ORDER BY seq")]


def add_truths(session: Session, given: Sequence[tuple[int, str, str]], *, source: str, replace: bool = False) -> Counts:
    """Add known classes as (place, item, label); one that contradicts a stored truth is refused, unless it may replace it."""
    done = Counts()
    for index, item, label in given:
        key = digest(item)
        old = session.one("SELECT label FROM truths WHERE item_hash = ?", (key,))
        if old is None:
            session.run(
                "INSERT INTO truths (item_hash, item, label, added, source) VALUES (?, ?, ?, ?, ?)",
                (key, item, label, now(), source),
            )
        elif old[0] == label:
            done.known += 1
            continue
        elif replace:
            session.run("UPDATE truths SET label = ?, added = ?, source = ? WHERE item_hash = ?", (label, now(), source, key))
        else:
            reason = f"The truth of this item is stored as '{str(old[0])[:80]}'; send replace=1 to change it."
            done.refused.append(Refused(index, reason))
            continue
        done.added += 1
        done.changed.append(item)
    return done


def decide_item(session: Session, item: str, label: str, *, source: str) -> int:
    """Write down what a person decided on an item; return the number of the decision."""
    session.run("INSERT INTO decisions (item, label, added, source) VALUES (?, ?, ?, ?)", (item, label, now(), source))
    newest = session.one("SELECT MAX(seq) FROM decisions")
    assert newest is not None
    return int(newest[0])


def undo_decision(session: Session, number: int) -> str | None:
    """Take a decision back; return its item, None where there is no such decision that stands."""
    decision = session.one("SELECT item FROM decisions WHERE seq = ? AND undone IS NULL", (number,))
    if decision is None:
        return None
    session.run("UPDATE decisions SET undone = ? WHERE seq = ?", (now(), number))
    return str(decision[0])


def known_classes(session: Session) -> dict[str, tuple[str, str]]:
    """Return item: (label, 'decision' or 'truth'); the last decision that stands goes before a truth."""
    classes = {item: (label, "truth") for item, label in session.rows("SELECT item, label FROM truths")}
    for item, label in session.rows("SELECT item, label FROM decisions WHERE undone IS NULL ORDER BY seq"):
        classes[item] = (label, "decision")
    return classes


def known_class(session: Session, item: str) -> tuple[str, str] | None:
    """Return the label of one item and where it is from, None where nobody knows."""
    sql = "SELECT label FROM decisions WHERE item = ? AND undone IS NULL ORDER BY seq DESC LIMIT 1"
    if (row := session.one(sql, (item,))) is not None:
        return str(row[0]), "decision"
    row = session.one("SELECT label FROM truths WHERE item_hash = ?", (digest(item),))
    return None if row is None else (str(row[0]), "truth")


def list_decisions(session: Session, limit: int) -> list[Row]:
    """Return (number, item, label, time, who, when undone), the last first."""
    sql = "SELECT seq, item, label, added, source, undone FROM decisions ORDER BY seq DESC LIMIT ?"
    return session.rows(sql, (limit,))
