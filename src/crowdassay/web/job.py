"""The job as reads see it, in memory: the last fit, and items that have changed since."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from crowdassay.store.decide import Plan
from crowdassay.store.home import Session
from crowdassay.store.known import item_names, known_classes
from crowdassay.store.labels import by_items, count_by_worker, count_labels, last_seq, since
from crowdassay.store.store import Store
from crowdassay.web.judged import Judged, as_known, from_fit, from_labels, from_votes
from crowdassay.web.snapshot import KNOWN, STANDING_NAMES, Snapshot

FEED = 40  # labels that the page shows running by
AT_ONCE = 500  # items judged at a time


class Job:
    """What is known at this moment. Reads take no lock that a writer or a fit holds for long.

    Attributes
    ----------
    snapshot : Snapshot or None
        The last fit; replaced as a whole.
    version : int
        Rises with every change, so that pages know when to look again.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.snapshot: Snapshot | None = None
        self.version = 0
        self.told: Callable[[], None] = lambda: None
        self.feed: deque[dict[str, Any]] = deque(maxlen=FEED)
        self.changed_at = time.monotonic()
        self._lock = threading.Lock()
        self._touched: dict[str, int] = {}  # item: version of its last change since the fit
        self._judged: dict[str, tuple[int, Judged]] = {}
        self._following = threading.Lock()  # held while labels are taken note of, so that each is counted once
        self._sums: tuple[int, float, dict[str, Any]] | None = None
        with store.home.read() as session:
            self.n_labels, self.seq = count_labels(session)
            self.workers = count_by_worker(session)
            self.known = known_classes(session)
            self.declared = dict.fromkeys(item_names(session))

    def labels_added(self, plans: Iterable[Plan], before: int, after: int) -> None:
        """Take note of labels that this server stored: the last label had the number ``before``, and has ``after`` now."""
        with self._following:
            alone = before == self.seq
            with self._lock:
                self.version += 1
                for plan in plans:
                    for one, _ in plan.change:
                        self._touched[one.item] = self.version
                    for one in plan.insert if alone else ():
                        self._note(one.item, one.worker, one.label)
                self.seq = after if alone else self.seq
            if not alone:  # others write to this store too
                self._absorb()
        self._changed()

    def catch_up(self) -> None:
        """Take note of labels that others stored; cheap where there are none."""
        with self._following:
            if self._absorb():
                self._changed()

    def _absorb(self) -> bool:
        with self.store.home.read() as session:
            if last_seq(session) == self.seq:
                return False
            for block in since(session, self.seq):
                with self._lock:
                    self.version += 1
                    for seq, item, worker, label in block:
                        self._note(item, worker, label)
                        self.seq = seq
        return True

    def _note(self, item: str, worker: str, label: str) -> None:
        self.n_labels += 1
        self.workers[worker] = self.workers.get(worker, 0) + 1
        self._touched[item] = self.version
        self.feed.appendleft({"item": item, "worker": worker, "label": label})

    def known_changed(self, known: dict[str, tuple[str, str] | None]) -> None:
        """Take note of what people know of items; None where they know nothing any more."""
        with self._lock:
            self.version += 1
            for item, found in known.items():
                if found is None:
                    self.known.pop(item, None)
                    self._touched[item] = self.version  # the fit took it for known
                else:
                    self.known[item] = found
        self._changed()

    def items_added(self, items: Iterable[str]) -> None:
        """Take note of items that were added without labels."""
        with self._lock:
            self.version += 1
            self.declared.update(dict.fromkeys(items))
        self._changed()

    def replace_fit(self, snapshot: Snapshot) -> None:
        """Go over to a new fit; items with labels that it has not seen are judged again, by it."""
        with self.store.home.read() as session:
            late = {row[1] for block in since(session, snapshot.upto) for row in block}
        with self._lock:
            self.version += 1
            self.snapshot = snapshot
            self._touched = dict.fromkeys(late, self.version)
            self._judged = {}
        self._changed()

    def current(self, item: str, session: Session | None = None) -> Judged | None:
        """Return what is believed of an item, None if nobody knows of it."""
        found = self._seen(item)
        if found is None and item in self._touched:
            self._judge([item], session)
            found = self._seen(item)
        if found is None:
            if item not in self.declared and item not in self.known:
                return None
            found = from_votes([])
        if (known := self.known.get(item)) is not None:
            return as_known(found, *known)
        return found

    def judge_pending(self) -> int:
        """Judge some of the items that have changed; return how many are left."""
        pending = self.pending()
        for first in range(0, min(len(pending), 10 * AT_ONCE), AT_ONCE):
            self._judge(pending[first : first + AT_ONCE])
        return max(0, len(pending) - 10 * AT_ONCE)

    def pending(self) -> list[str]:
        """Return items that have changed and were not judged since."""
        with self._lock:
            return [
                item
                for item, version in self._touched.items()
                if (found := self._judged.get(item)) is None or found[0] != version
            ]

    def touched(self) -> list[str]:
        """Return items with changes that the fit does not know."""
        with self._lock:
            return list(self._touched)

    def names(self) -> Iterator[str]:
        """Yield every item once: those of the fit, then those that came later, then those without labels."""
        snapshot = self.snapshot
        index = {} if snapshot is None else snapshot.index
        yield from index
        late = self.touched()
        yield from (item for item in late if item not in index)
        seen = set(late)
        yield from (item for item in list(self.declared) if item not in index and item not in seen)

    def open_items(self, most: int) -> list[tuple[str, Judged]]:
        """Return items that are not settled, the least sure first."""
        snapshot, touched = self.snapshot, set(self.touched())
        found: list[tuple[float, str, Judged]] = []
        for item in touched | (set(self.declared) - touched):
            if snapshot is not None and item in snapshot.index and item not in touched:
                continue
            if item in self.known:
                continue
            judged = self.current(item)
            if judged is not None and judged.open:
                found.append((judged.probability, item, judged))
        found.sort(key=lambda row: (row[0], row[1]))
        if snapshot is not None:
            taken = 0
            for place in snapshot.order:
                item = snapshot.names[place]
                if item in touched or item in self.known:
                    continue
                found.append((float(snapshot.probability[place]), item, from_fit(snapshot, int(place))))
                taken += 1
                if taken >= most:
                    break
            found.sort(key=lambda row: (row[0], row[1]))
        return [(item, judged) for _, item, judged in found[:most]]

    def sums(self) -> dict[str, Any]:
        """Return items by standing, and the expected number of errors with its 95 % interval; cached while that takes long."""
        version, started = self.version, time.monotonic()
        if self._sums is not None and (self._sums[0] == version or started < self._sums[1]):
            return self._sums[2]
        found = self._add_up()
        took = time.monotonic() - started
        self._sums = (version, started + 10 * took if took > 0.05 else started, found)
        return found

    def _add_up(self) -> dict[str, Any]:
        snapshot, known = self.snapshot, dict(self.known)
        index = {} if snapshot is None else snapshot.index
        others = {*self.touched(), *known, *(item for item in list(self.declared) if item not in index)}
        counts = np.zeros(len(STANDING_NAMES), np.int64)
        wrong = spread = 0.0
        if snapshot is not None:
            rows = np.ones(len(snapshot.names), bool)
            rows[[index[item] for item in others if item in index]] = False
            counts += np.bincount(snapshot.standing[rows], minlength=len(counts))
            p = snapshot.probability[rows & (snapshot.standing != KNOWN)]
            wrong, spread = float((1 - p).sum()), float((p * (1 - p)).sum())
        for item in others:
            judged = self.current(item)
            if judged is None:
                continue
            counts[STANDING_NAMES.index(judged.standing)] += 1
            if judged.n_labels and judged.standing != STANDING_NAMES[KNOWN]:
                wrong += 1 - judged.probability
                spread += judged.probability * (1 - judged.probability)
        margin = 1.96 * spread**0.5
        return {
            "standings": dict(zip(STANDING_NAMES, map(int, counts), strict=True)),
            "items": int(counts.sum()),
            "expected_errors": {
                "value": round(wrong, 3), "low": round(max(0.0, wrong - margin), 3), "high": round(wrong + margin, 3),
            },
        }  # fmt: skip

    def _seen(self, item: str) -> Judged | None:
        with self._lock:
            version, found = self._touched.get(item), self._judged.get(item)
            snapshot = self.snapshot
        if version is not None:
            return found[1] if found is not None and found[0] == version else None
        if snapshot is not None and (place := snapshot.index.get(item)) is not None:
            return from_fit(snapshot, place)
        return None

    def _judge(self, items: list[str], session: Session | None = None) -> None:
        with self._lock:
            versions = {item: self._touched[item] for item in items if item in self._touched}
            snapshot = self.snapshot
        if session is None:
            with self.store.home.read() as own:
                stored = by_items(own, items)
        else:
            stored = by_items(session, items)
        said: dict[str, list[tuple[str, str]]] = {item: [] for item in items}
        for one in stored:
            said[one.item].append((one.worker, one.label))
        judged = from_labels(snapshot, [said[item] for item in items])
        with self._lock:
            if snapshot is self.snapshot:
                found = zip(items, judged, strict=True)
                self._judged.update({item: (versions[item], one) for item, one in found if item in versions})

    def announce(self) -> None:
        """Say that something has changed that is no label, such as the state of a fit."""
        self.told()

    def _changed(self) -> None:
        self.changed_at = time.monotonic()
        self.told()
