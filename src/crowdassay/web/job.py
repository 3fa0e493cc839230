"""The job as reads see it, in memory: the last fit, and items that have changed since."""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from crowdassay.insight.totals import error_limits
from crowdassay.pool.constants import shipped
from crowdassay.store.decide import Plan
from crowdassay.store.home import Session
from crowdassay.store.known import item_names, known_classes
from crowdassay.store.labels import by_items, count_by_worker, count_labels, last_seq, since
from crowdassay.store.store import Store
from crowdassay.web.judged import Judged, as_known, from_fit, from_labels, from_votes
from crowdassay.web.snapshot import KNOWN, STANDING_NAMES, Snapshot

FEED = 40  # labels that the page shows running by
AT_ONCE = 500  # items judged at a time
FEW = 2000  # changed items up to which everything is made anew for each read


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
        self._kept: dict[str, tuple[int, Any]] = {}
        self._rest_until = 0.0
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
        late, seen = self._late(snapshot.upto)
        with self._following:  # nobody takes note of labels meanwhile, so that none is missed
            more, _ = self._late(seen)
            with self._lock:
                self.version += 1
                self.snapshot = snapshot
                undone = {item for item in snapshot.facts["known"] if item not in self.known}
                self._touched = dict.fromkeys(late | more | undone, self.version)
                self._judged, self._rest_until = {}, 0.0
        self._changed()

    def touch_all(self) -> None:
        """Take all items with labels as changed: there is no fit yet."""
        late, _ = self._late(0)
        with self._lock:
            self.version += 1
            self._touched = dict.fromkeys(late, self.version)

    def _late(self, seq: int) -> tuple[set[str], int]:
        """Return the items of labels after a number, and the number of the last of them."""
        found: set[str] = set()
        with self.store.home.read() as session:
            for block in since(session, seq):
                found.update(row[1] for row in block)
                seq = block[-1][0]
        return found, seq

    def current(self, item: str, session: Session | None = None) -> Judged | None:
        """Return what is believed of an item, None if nobody knows of it."""
        found = self._seen(item)
        if found is None and item in self._touched:
            found = self._judge([item], session)[0]
        if found is None:
            if item not in self.declared and item not in self.known:
                return None
            found = from_votes([])
        if (known := self.known.get(item)) is not None:
            return as_known(found, *known)
        return found

    def _believed(self, item: str) -> Judged:
        """Return what is believed of an item without judging it anew: if need be, what was believed before."""
        with self._lock:
            judged, snapshot = self._judged.get(item), self.snapshot
        if judged is not None:
            found = judged[1]
        elif snapshot is not None and (place := snapshot.index.get(item)) is not None:
            found = from_fit(snapshot, place)
        else:
            found = from_votes([])
        known = self.known.get(item)
        return found if known is None else as_known(found, *known)

    def _judge_few(self) -> None:
        """Judge all that has changed, unless that is so much that the thread which follows should do it."""
        if len(self._touched) <= FEW:
            self.judge_pending()

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

    def open_items(self, most: int, *, whole: bool = False) -> list[tuple[str, Judged]]:
        """Return items that are not settled, the least sure first; with the probabilities of all classes if ``whole``."""
        snapshot = self.snapshot
        late: list[tuple[float, str, Judged]] = self._cached("late", self._open_late)
        if snapshot is None:
            return [(item, judged) for _, item, judged in late[:most]]
        places = []
        for place in snapshot.order:
            item = snapshot.names[place]
            if item not in self._touched and item not in self.known:
                places.append(place)
                if len(places) == most:
                    break
        found = [
            (float(snapshot.probability[place]), snapshot.names[place], from_fit(snapshot, int(place), whole=whole))
            for place in places
        ]
        return [(item, judged) for _, item, judged in heapq.merge(late[:most], found, key=lambda row: row[:2])][:most]

    def sums(self) -> dict[str, Any]:
        """Return items by standing, and the expected number of errors with its 95 % interval."""
        found: dict[str, Any] = self._cached("sums", self._add_up)
        return found

    def refresh(self) -> None:
        """Bring up to date what is kept because it takes long, so that reads find it ready."""
        started = time.monotonic()
        if len(self._touched) <= FEW or started < self._rest_until:
            return
        for name, make in (("late", self._open_late), ("sums", self._add_up)):
            self._kept[name] = (self.version, make())
        self._rest_until = time.monotonic() + 5 * (time.monotonic() - started)

    def _cached(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what was made of this version; an older one where it takes long, as `refresh` makes it soon."""
        version, kept = self.version, self._kept.get(name)
        if kept is not None and (kept[0] == version or len(self._touched) > FEW):
            return kept[1]
        found = make()
        self._kept[name] = (version, found)
        return found

    def _open_late(self) -> list[tuple[float, str, Judged]]:
        """Return the open items that the last fit does not know as they are now, the least sure first."""
        snapshot = self.snapshot
        index = {} if snapshot is None else snapshot.index
        found = []
        self._judge_few()
        for item in {*self.touched(), *(item for item in list(self.declared) if item not in index)}:
            judged = None if item in self.known else self._believed(item)
            if judged is not None and judged.open:
                found.append((judged.probability, item, judged))
        return sorted(found, key=lambda row: row[:2])

    def _add_up(self) -> dict[str, Any]:
        snapshot, known = self.snapshot, dict(self.known)
        index = {} if snapshot is None else snapshot.index
        others = {*self.touched(), *known, *(item for item in list(self.declared) if item not in index)}
        counts = np.zeros(len(STANDING_NAMES), np.int64)
        wrong, variance, n_judged = 0.0, 0.0, 0
        self._judge_few()
        if snapshot is not None:
            rows = np.ones(len(snapshot.names), bool)
            rows[[index[item] for item in others if item in index]] = False
            counts += np.bincount(snapshot.standing[rows], minlength=len(counts))
            p = snapshot.probability[rows & (snapshot.standing != KNOWN)]
            wrong, variance, n_judged = float((1 - p).sum()), float((p * (1 - p)).sum()), len(p)
        for item in others:
            judged = self._believed(item)
            counts[STANDING_NAMES.index(judged.standing)] += 1
            if judged.n_labels and judged.standing != STANDING_NAMES[KNOWN]:
                wrong += 1 - judged.probability
                variance += judged.probability * (1 - judged.probability)
                n_judged += 1
        low, high = error_limits(wrong, variance, n_judged, shipped().spread)
        return {
            "standings": dict(zip(STANDING_NAMES, map(int, counts), strict=True)),
            "items": int(counts.sum()),
            "expected_errors": {"value": round(wrong, 3), "low": round(low, 3), "high": round(high, 3)},
        }

    def _seen(self, item: str) -> Judged | None:
        with self._lock:
            version, found = self._touched.get(item), self._judged.get(item)
            snapshot = self.snapshot
        if version is not None:
            return found[1] if found is not None and found[0] == version else None
        if snapshot is not None and (place := snapshot.index.get(item)) is not None:
            return from_fit(snapshot, place)
        return None

    def _judge(self, items: list[str], session: Session | None = None) -> list[Judged]:
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
        return judged

    def announce(self) -> None:
        """Say that something has changed that is no label, such as the state of a fit."""
        self.told()

    def _changed(self) -> None:
        self.changed_at = time.monotonic()
        self.told()
