"""Numbered objects in a record of JSON, each of which holds a label and may be an item of its own, such as six summaries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from crowdassay.errors import ColumnError
from crowdassay.labels.cells import BETWEEN_PARTS
from crowdassay.labels.formats.parse import as_list, as_name
from crowdassay.labels.formats.record import Annotations
from crowdassay.labels.formats.unnamed import are_labels, questions_in, worker_key
from crowdassay.labels.jsontext import flat
from crowdassay.labels.proposals import JUDGED_ANSWERS
from crowdassay.labels.roles import NUMBERED_WORKER, ROLES
from crowdassay.labels.values import listed, mapping, shown

WORKER_FILES = "say --worker-from-filename if every worker has a file named after them"
# What is numbered without being things of their own: questions, rounds, and labels of one thing.
NO_THINGS = frozenset({"q", "question", "criterion", "aspect", "dimension", "round", "pass", "attempt", "run"}) | (
    frozenset(ROLES["label"].words) - frozenset(JUDGED_ANSWERS)
)


def numbered_things(record: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the objects of a record whose keys differ by a number and which hold labels: they may be things of their own.

    Numbered questions, rounds, labels and workers are none.

    >>> numbered_things({"id": 1, "text 1": {"len": 3, "score": 5}, "text 2": {"len": 4, "score": 2}, "text 3": {"len": 1}})
    {'text 1': {'len': 3, 'score': 5}, 'text 2': {'len': 4, 'score': 2}}
    >>> [numbered_things({f"{name}{n}": {"score": n} for n in range(2)}) for name in ("q", "rater")]
    [{}, {}]
    """
    alike: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, value in record.items():
        stem = _unnumbered(name)
        if stem == name or not isinstance(value, dict) or NUMBERED_WORKER.fullmatch(name) or worker_key(value) is not None:
            continue
        if questions_in([value], None) and NO_THINGS.isdisjoint(re.findall(r"[a-z]+", stem.casefold())):
            alike.setdefault(stem, {})[name] = value
    several = [found for found in alike.values() if len(found) > 1]
    return several[0] if len(several) == 1 else {}


def labels_of_things(
    records: Sequence[Mapping[str, Any]], wanted: str | None
) -> tuple[list[dict[str, Mapping[str, Any]]], list[str]]:
    """Return the `numbered_things` of each record and their keys that hold labels; nothing where these are hardly labels."""
    things = [numbered_things(record) for record in records]
    inside = [thing for one in things for thing in one.values()]
    asked = [key for key in questions_in(inside, wanted) if are_labels([thing.get(key) for thing in inside])]
    return (things, asked) if asked else ([], [])


def add_things(
    rows: Annotations, records: Sequence[tuple[Any, Mapping[str, Any], Mapping[str, Mapping[str, Any]]]], asked: Sequence[str]
) -> None:
    """Add what is said of the numbered things in every record, each an item of its own: by whom the record may tell."""
    for name, record, things in records:
        who = worker_key(record)
        for key, thing in things.items():
            rows.columns |= (
                {"item": BETWEEN_PARTS.join((rows.columns["item"], _unnumbered(key)))} if not rows.annotations else {}
            )
            rows.columns |= {"worker": who} if who else {}
            item = f"{as_name(name)}{BETWEEN_PARTS}{key}"
            rows.add_text(item, thing.get("text"))
            rows.add(item, record[who] if who else None, {question: as_list(thing.get(question)) for question in asked})


def refuse_siblings(record: Any, name: str) -> None:
    """Raise `ColumnError` where the label is said of one of several numbered things, which may be items of their own.

    >>> refuse_siblings({"id": 1, "q1": {"score": 3}, "q2": {"score": 4}}, "q1.score")
    """
    if name.rpartition(".")[0] in (things := numbered_things(mapping(record))):
        raise ColumnError(
            f"Beside {shown(name)} there are {listed(_siblings(record, name))}.",
            ways=[
                if_items(listed(things, 2), "--from nested"),
                f"for {shown(name)} alone, name the item as well with --item-column",
            ],
        )


def siblings_said(record: Any, name: str) -> list[str]:
    """Return a sentence on values in numbered objects beside the one whose value is read, which are labels as well.

    >>> record = {"id": 1, **{f"summary {n}": {"text": "x", "score": n} for n in (1, 2, 3)}}
    >>> siblings_said(record, "summary 1.score")
    ["Further labels were not read: 'summary 2.score', 'summary 3.score'; give a table with a row for each of them."]
    >>> siblings_said(record, "id")
    []
    """
    others = _siblings(record, name)
    said = f"Further labels were not read: {listed(others)}; give a table with a row for each of them."
    return [said] if others else []


def _siblings(record: Any, name: str) -> list[str]:
    outer, _, last = name.rpartition(".")
    pattern = re.compile(r"\d+".join(map(re.escape, re.split(r"\d+", outer))) + re.escape(f".{last}"))
    return [other for other in flat(mapping(record)) if other != name and pattern.fullmatch(other)] if outer else []


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "*", name)


def if_items(things: str, way: str) -> str:
    """Return in which case numbered things are read, and how."""
    return f"if each of {things} is an item of its own, say {way}, and {WORKER_FILES}"
