"""Load a file into a store: whatever `aggregate` reads, all of it or nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from crowdassay.errors import DataError
from crowdassay.labels.databases.home import Session
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import as_text, counted
from crowdassay.service.store.history import log
from crowdassay.service.store.open import Batch, Store
from crowdassay.service.store.records import Received, Refused, Truth, read_all, read_item, read_label
from crowdassay.service.store.truths import add_items, add_truths, fixed_classes, not_among

LABELS_LOADED_AT_A_TIME = 20_000
LINK_STARTS = ("http://", "https://")


@dataclass(frozen=True)
class Loaded:
    """What a file brought: labels, items with a text and known classes; and what there was to say of reading it."""

    received: Received
    items: list[str]
    truths: list[str]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**self.received.as_dict(), "items": len(self.items), "truths": len(self.truths), "notes": list(self.notes)}


def load(session: Session, store: Store, labels: Labels, *, source: str, name: str) -> Loaded:
    """Add labels, the texts of their items and known classes in the transaction of the caller, which a `DataError` ends.

    A label that follows no rule of the store, such as one of another class than the fixed ones, refuses the file. One that is
    stored already is known, so that a file can be loaded again.
    """
    fixed, classes = fixed_classes(session), labels.class_names
    for given in classes:
        if (why := not_among(fixed, given)) is not None:
            raise DataError(f"Nothing of '{name}' was loaded. {why}")
    received, rows, first = Received(), label_rows(labels), 0
    while block := list(islice(rows, LABELS_LOADED_AT_A_TIME)):
        good, bad = read_all(block, read_label, first)
        _refuse(bad, name)
        (outcome,) = store.take(session, [Batch(good, [], source)])
        done = outcome.received
        if store.repeats == "error":
            _refuse(done.refused, name)
        received.add(done)
        first += len(block)
    good_items, bad = read_all(_texts(labels), read_item)
    _refuse(bad, name)
    items = add_items(session, good_items)
    names = as_text(labels.items).to_pylist()
    truths = [Truth(names[place], classes[labels.gold[place]]) for place in (labels.gold >= 0).nonzero()[0]]
    known = add_truths(session, list(enumerate(truths)), source=source)
    _refuse(known.refused, name)
    log(session, source, "file loaded", file=name, labels=received.added)
    return Loaded(received, items.changed, known.changed, tuple(labels.report.notes))


def label_rows(labels: Labels) -> Iterator[dict[str, Any]]:
    """Yield labels as clients send them; a time or duration that is not known is left out."""
    items, workers, classes = (as_text(names).to_pylist() for names in (labels.items, labels.workers, labels.classes))
    for place, (item, worker, label) in enumerate(zip(labels.label_item, labels.worker, labels.label, strict=True)):
        row = {"item": items[item], "worker": workers[worker], "label": classes[label]}
        for field, column in (("time", labels.time), ("duration", labels.duration)):
            if column is not None and math.isfinite(column[place]):
                row[field] = float(column[place])
        yield row


def _texts(labels: Labels) -> Iterator[dict[str, str]]:
    if labels.item_text is not None:
        for item, text in zip(as_text(labels.items).to_pylist(), as_text(labels.item_text).to_pylist(), strict=True):
            if text is not None and text.strip():
                yield {"item": item, "link" if text.lower().startswith(LINK_STARTS) else "text": text}


def _refuse(refused: Sequence[Refused], name: str) -> None:
    if refused:
        more = f" The same holds for {counted(len(refused) - 1, 'other row')}." if len(refused) > 1 else ""
        raise DataError(f"Nothing of '{name}' was loaded. {refused[0].reason}{more}")
