"""The job as reads see it, in memory: the last fit, and items that have changed since; and the thread that keeps it so."""

from __future__ import annotations

import gc
import heapq
import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

import numpy as np

from crowdassay.labels.databases.home import Session
from crowdassay.service.fits.item_state import UNLABELLED, Changes, ItemState, OpenRow, RunningTotals, from_fit, from_labels
from crowdassay.service.fits.snapshot import Snapshot
from crowdassay.service.store.corrections import ERASED, corrections_since, erased_since
from crowdassay.service.store.labels import BatchOutcome, count_by_worker, count_labels, labels_of, labels_since, last_seq
from crowdassay.service.store.open import Store
from crowdassay.service.store.records import Correction, WorkerRow, newest
from crowdassay.service.store.truths import fixed_classes, item_names, known_classes

LABELS_IN_THE_FEED = 40  # labels that the page shows running by
ITEMS_LOOKED_UP_AT_ONCE = 200  # items estimated at a time: longer, and requests would have to wait
MOST_ESTIMATED = 5000  # items estimated before the thread that follows looks for other things to do
FOLLOWER_PAUSE = 0.5  # seconds at least between two looks at the store
FOLLOWER_REST = 4  # times as long as a look took: requests have four fifths of the time to themselves
FEW_CHANGED_ITEMS = 1000  # changed items up to which everything is made anew for each read,
MANY_LABELS, FEW_CHANGED_OF_MANY = 100_000, 100  # and of a job with so many labels, where reads are not to wait

LOG = logging.getLogger("crowdassay.service")


class Job:
    """What is known at this moment. Reads take no lock that a writer or a fit holds for long."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.version = 0  # rises with every change, so that pages know when to look again
        self.feed: deque[dict[str, Any]] = deque(maxlen=LABELS_IN_THE_FEED)
        self.changed_at = time.monotonic()
        self._lock = threading.Lock()
        self._following = threading.Lock()  # held while labels are taken note of, so that each is counted once
        self._late: tuple[int, list[OpenRow]] = (-1, [])
        self._rest_until = 0.0
        with store.home.read() as session:
            self._load(session, ())

    def _load(self, session: Session, touched: Iterable[str]) -> None:
        """Begin with what is stored, without a fit."""
        self.n_labels, self.seq = count_labels(session)
        self.corrected = newest(session, Correction)
        self.workers = count_by_worker(session)
        self.classes = fixed_classes(session)
        self._changes = Changes(None, known_classes(session), item_names(session), touched)

    @property
    def snapshot(self) -> Snapshot | None:
        """The last fit; it is replaced as a whole."""
        return self._changes.snapshot

    @property
    def known(self) -> dict[str, tuple[str, str]]:
        """What people know: item to class, and from where."""
        return self._changes.known

    @property
    def about(self) -> Mapping[str, WorkerRow]:
        """What the last fit found of each worker, by name."""
        snapshot = self.snapshot
        return {} if snapshot is None else snapshot.about

    @property
    def n_unfitted(self) -> int:
        """How many labels came, were replaced or removed since the last fit began, about."""
        snapshot = self.snapshot
        fitted, corrected = (0, self.corrected) if snapshot is None else (int(snapshot.n_labels.sum()), snapshot.corrected)
        return max(self.n_labels - fitted, 0) + self.corrected - corrected

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock during a change that pages, and whoever decides on the next fit, are to hear of."""
        with self._lock:
            self.version += 1
            yield
        self.changed_at = time.monotonic()

    def labels_added(self, outcomes: Sequence[BatchOutcome], before: int, after: int) -> None:
        """Take note of labels that this server stored: the last label had the number ``before``, and has ``after`` now."""
        with self._following:
            alone = before == self.seq
            with self._changing():
                for one in (one for outcome in outcomes for one in outcome.insert if alone):
                    self._note(one.seq, one.item, one.worker, one.label)
                self.seq = after if alone else self.seq
            if not alone or any(outcome.change for outcome in outcomes):  # others write to this store too
                self._absorb()

    def catch_up(self) -> None:
        """Take note of labels that others stored, and of corrections; cheap where there are none."""
        with self._following:
            self._absorb()

    def _absorb(self) -> None:
        with self.store.home.read() as session:
            last, corrections = last_seq(session), corrections_since(session, self.corrected)
            if last == self.seq and not corrections:
                return
            if any(one.kind == ERASED for one in corrections):  # the fit knows who was erased, and so may all the rest
                items = {row[1] for block in labels_since(session, 0) for row in block}
                with self._changing():
                    self.feed.clear()
                    self._load(session, items)
                return
            with self._changing():
                for one in corrections:
                    self._correct(one)
            for block in labels_since(session, self.seq):
                with self._changing():
                    for seq, item, worker, label, *_ in block:
                        self._note(seq, item, worker, label)
            self.seq = last  # perhaps of a label that is gone already
            if not self.n_labels and self.snapshot is not None:  # nothing is left of what the fit speaks of
                with self._lock:
                    self._load(session, ())

    def _note(self, seq: int, item: str, worker: str, label: str) -> None:
        self.n_labels += 1
        self.workers[worker] = self.workers.get(worker, 0) + 1
        self._changes.touch(item, self.version)
        self.feed.appendleft({"seq": seq, "item": item, "worker": worker, "label": label})

    def _correct(self, one: Correction) -> None:
        """Forget a label as it was; one that was added and removed since the last look was never counted."""
        if one.kind == "removed" and one.label <= self.seq and one.worker is not None:
            self.n_labels -= 1
            self.workers[one.worker] -= 1
            if not self.workers[one.worker]:
                del self.workers[one.worker]
        self.corrected = one.id
        self._changes.touch(one.item, self.version)
        for row in [row for row in self.feed if row["seq"] == one.label]:
            self.feed.remove(row)

    def item_removed(self, item: str) -> None:
        """Take note of an item that nobody is to know of any more; `catch_up` takes note of its labels."""
        with self._changing():
            self._changes.undeclare(item, self.version)

    def known_changed(self, known: dict[str, tuple[str, str] | None]) -> None:
        """Take note of what people know of items; None where they know nothing any more."""
        with self._changing():
            for item, truth in known.items():
                self._changes.know(item, truth, self.version)

    def classes_fixed(self, classes: Sequence[str]) -> None:
        """Take note of the classes that the owner has fixed."""
        with self._changing():
            self.classes = tuple(classes)

    def items_added(self, items: Iterable[str]) -> None:
        """Take note of items that were added without labels."""
        with self._changing():
            for item in items:
                self._changes.declare(item)

    def replace_fit(self, snapshot: Snapshot) -> None:
        """Go over to a new fit; items with labels that it has not seen are estimated again, by it."""
        late, seen, corrected = self._items_after(snapshot.upto, snapshot.corrected)
        with self._lock:
            known, declared = dict(self.known), list(self._changes.declared)
        undone = {item for item in snapshot.facts["known"] if item not in known}
        fresh = Changes(snapshot, known, declared, late | undone)  # outside the locks: it takes a while
        rows = ordered(list(fresh.open.values()))
        with self._following:  # nobody takes note of labels meanwhile, so that none is missed
            more, _, last = self._items_after(seen, corrected)
            if last > snapshot.corrected:
                with self.store.home.read() as session:
                    if erased_since(session, snapshot.corrected):
                        return
            with self._changing():
                for item in more:
                    fresh.touch(item, self.version)
                for item in self.known.keys() | known.keys():  # a person may have been at work meanwhile
                    if self.known.get(item) != known.get(item):
                        fresh.know(item, self.known.get(item), self.version)
                later = islice(self._changes.declared, len(declared), None)
                for item in self._changes.undeclared and list(fresh.declared.keys() - self._changes.declared.keys()):
                    fresh.undeclare(item, self.version)
                for item in self._changes.declared if self._changes.undeclared else later:
                    fresh.declare(item)
                self._changes, self._late, self._rest_until = fresh, (-1, rows), 0.0
        # A snapshot goes when nobody refers to it any more. The search for garbage passes it by from now on: to look at all of
        # it would hold up every thread for a tenth of a second.
        gc.freeze()

    def touch_all(self) -> None:
        """Mark all items with labels as changed: there is no fit yet."""
        late, *_ = self._items_after(0, self.corrected)
        with self._changing():
            for item in late:
                self._changes.touch(item, self.version)
        self._late = (-1, self._order_open())

    def _items_after(self, seq: int, corrected: int) -> tuple[set[str], int, int]:
        """Return the items of labels and corrections after two numbers, and the numbers of the last of them."""
        items: set[str] = set()
        with self.store.home.read() as session:
            for block in labels_since(session, seq):
                items.update(row[1] for row in block)
                seq = block[-1][0]
            for one in corrections_since(session, corrected):
                corrected = one.id
                if one.kind != ERASED:
                    items.add(one.item)
        return items, seq, corrected

    def current(self, item: str, session: Session | None = None) -> ItemState | None:
        """Return how an item stands, None if nobody knows of it."""
        with self._lock:
            changes = self._changes
            state, pending = changes.current(item), item in changes.pending
        if pending:
            state = self._estimate([item], session)[0]
        if state is None or state is UNLABELLED:
            if item not in changes.declared and item not in changes.known:
                return None
            state = UNLABELLED
        return changes.with_known(item, state)

    def estimate_pending(self, most: int = MOST_ESTIMATED) -> None:
        """Estimate items that have changed since they were estimated last."""
        for _ in range(0, most, ITEMS_LOOKED_UP_AT_ONCE):
            with self._lock:
                items = list(islice(self._changes.pending, ITEMS_LOOKED_UP_AT_ONCE))
            if not items:
                return
            self._estimate(items)

    def _estimate_few(self) -> None:
        """Estimate all that has changed, unless that is so much that the thread which follows should do it."""
        few = FEW_CHANGED_ITEMS if self.n_labels <= MANY_LABELS else FEW_CHANGED_OF_MANY
        if len(self._changes.pending) <= few:
            self.estimate_pending(few)

    def names(self) -> Iterator[str]:
        """Yield every item once: those of the fit, then those that came later, then those without labels."""
        with self._lock:
            changes = self._changes
            later = dict.fromkeys((*changes.touched, *changes.declared))
        index = {} if changes.snapshot is None else changes.snapshot.index
        yield from index
        yield from (item for item in later if item not in index)

    def states(self) -> Iterator[tuple[str, ItemState]]:
        """Yield every item with how it stands, in the order of `names`."""
        yield from ((item, state) for item in self.names() if (state := self.current(item)) is not None)

    def open_items(self, most: int, *, whole: bool = False) -> list[tuple[str, ItemState]]:
        """Return items that are not settled, the least sure first; with the probabilities of all classes if ``whole``."""
        late, changes = self._open_late(), self._changes
        snapshot = changes.snapshot
        if snapshot is None:
            return [(item, state) for _, item, state in late[:most]]
        places = []
        for place in snapshot.order:
            item = snapshot.names[place]
            if item not in changes.touched and item not in changes.known:
                places.append(place)
                if len(places) == most:
                    break
        open_items = [
            (float(snapshot.probability[place]), snapshot.names[place], from_fit(snapshot, int(place), whole=whole))
            for place in places
        ]
        return [(item, state) for _, item, state in heapq.merge(late[:most], open_items, key=lambda row: row[:2])][:most]

    def _open_late(self) -> list[OpenRow]:
        """Return the open items that the last fit does not know as they are now, the least sure first.

        Where there are many it is a list that `refresh` made a moment ago.
        """
        kept, version = self._late, self.version
        if kept[0] != version and len(self._changes.open) <= FEW_CHANGED_ITEMS:
            self._estimate_few()
            self._late = kept = (version, self._order_open())
        return kept[1]

    def _order_open(self) -> list[OpenRow]:
        with self._lock:
            rows = list(self._changes.open.values())
        return ordered(rows)

    def totals(self) -> RunningTotals:
        """Return what is counted over all items at this moment."""
        self._estimate_few()
        with self._lock:
            return self._changes.totals.copy()

    def refresh(self) -> None:
        """Bring up to date what is kept because it takes long, so that reads find it ready."""
        started = time.monotonic()
        if len(self._changes.open) > FEW_CHANGED_ITEMS and started >= self._rest_until:
            self._late = (self.version, self._order_open())
            self._rest_until = time.monotonic() + 10 * (time.monotonic() - started)

    def _estimate(self, items: list[str], session: Session | None = None) -> list[ItemState]:
        with self._lock:
            changes = self._changes
            versions = [changes.touched.get(item) for item in items]
        with self.store.home.read() if session is None else nullcontext(session) as own:
            stored = labels_of(own, items)
        answers: dict[str, list[tuple[str, str]]] = {item: [] for item in items}
        for one in stored:
            answers[one.item].append((one.worker, one.label))
        states = from_labels(changes.snapshot, [answers[item] for item in items])
        with self._lock:
            changes.settle(items, versions, states)
        return states


def ordered(rows: list[OpenRow]) -> list[OpenRow]:
    """Return open items, the least sure first."""
    if len(rows) <= FEW_CHANGED_ITEMS:
        return sorted(rows, key=lambda row: row[:2])
    # Of many NumPy finds the order, without holding up other threads.
    return [rows[place] for place in np.argsort(np.array([row[0] for row in rows]), kind="stable")]


class Follower(threading.Thread):
    """A thread that keeps a job up to date: labels that others stored, items that have changed, lists that take long."""

    def __init__(self, job: Job) -> None:
        super().__init__(name="follower", daemon=True)
        self.job = job
        self._ended = threading.Event()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self.join(timeout=10)

    def run(self) -> None:
        """Look at the store again and again."""
        took = 0.0
        while not self._ended.wait(max(FOLLOWER_PAUSE, FOLLOWER_REST * took)):
            started = time.monotonic()
            try:
                self.job.catch_up()
                self.job.estimate_pending()
                self.job.refresh()
            except Exception:
                LOG.exception("following the store failed; it is tried again")  # the database may be away for a moment
            took = time.monotonic() - started
