"""What is no longer as the last fit left it: items with new labels or known classes, or without labels; and totals of all.

Nothing here takes a lock: `Job` holds one around every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from crowdassay.findings.items import STANDINGS, ItemStanding
from crowdassay.models.assay.constants import default_constants
from crowdassay.service.fits.item_state import ItemState, as_known, from_fit, from_votes
from crowdassay.service.fits.snapshot import Snapshot

UNLABELLED = from_votes([])


class RunningTotals:
    """Items by standing, and the expected number of wrong labels with its variance; they change item by item.

    `crowdassay.findings.totals.Totals` counts the same over all items at once.

    >>> totals = RunningTotals(None)
    >>> totals.put("a", from_votes([("ann", "yes"), ("bob", "yes")]))
    >>> totals.as_dict()["standings"]["open"]
    1
    """

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self._own: dict[str, tuple[int, float | None]] = {}  # item: standing and probability, None where nothing is estimated
        self._counts = [0] * len(STANDINGS)
        self._wrong, self._variance, self._estimated = 0.0, 0.0, 0
        if snapshot is not None:
            self._counts = np.bincount(snapshot.standing, minlength=len(STANDINGS)).tolist()
            p = snapshot.probability[snapshot.standing != ItemStanding.KNOWN]
            self._wrong, self._variance, self._estimated = float((1 - p).sum()), float((p * (1 - p)).sum()), len(p)

    def put(self, item: str, state: ItemState) -> None:
        """Count an item as it stands now, instead of as before."""
        code = STANDINGS.index(state.standing)
        new = (code, state.probability if state.n_labels and code != ItemStanding.KNOWN else None)
        old = self._own.get(item) or self._fitted(item)
        if old is not None:
            self._add(old, -1)
        self._add(new, 1)
        self._own[item] = new

    def as_dict(self) -> dict[str, Any]:
        """Return items by standing, and the expected number of errors with its interval."""
        from crowdassay.findings.totals import error_limits  # noqa: PLC0415 - slow to load, and a server is to be up at once

        wrong, variance = max(self._wrong, 0.0), max(self._variance, 0.0)  # differences may leave a little less than nothing
        low, high = error_limits(wrong, variance, self._estimated, default_constants().spread)
        return {
            "standings": dict(zip(STANDINGS, self._counts, strict=True)),
            "items": sum(self._counts),
            "expected_errors": {"value": round(wrong, 3), "low": round(low, 3), "high": round(high, 3)},
        }

    def _fitted(self, item: str) -> tuple[int, float | None] | None:
        snapshot = self._snapshot
        if snapshot is None or (place := snapshot.index.get(item)) is None:
            return None
        code = int(snapshot.standing[place])
        return code, None if code == ItemStanding.KNOWN else float(snapshot.probability[place])

    def _add(self, one: tuple[int, float | None], sign: int) -> None:
        code, p = one
        self._counts[code] += sign
        if p is not None:
            self._wrong += sign * (1 - p)
            self._variance += sign * p * (1 - p)
            self._estimated += sign


class Changes:
    """Items that are not as the last fit left them.

    Attributes
    ----------
    touched : dict
        From item to the version of the job at which it changed last.
    pending : dict
        Of these, items that were not estimated since; its values say nothing.
    states : dict
        How a changed item stood when it was estimated last.
    open : dict
        From changed item that is not settled to (probability, item, its state).
    known : dict
        From item to the class that people know, and from where.
    declared : dict
        Items that were added by themselves.
    totals : RunningTotals
    """

    def __init__(
        self, snapshot: Snapshot | None, known: Mapping[str, tuple[str, str]], declared: Iterable[str], touched: Iterable[str]
    ) -> None:
        self.snapshot, self.totals = snapshot, RunningTotals(snapshot)
        self.known, self.declared = dict(known), dict.fromkeys(declared)
        self.touched: dict[str, int] = {}
        self.pending: dict[str, None] = {}
        self.states: dict[str, ItemState] = {}
        self.open: dict[str, tuple[float, str, ItemState]] = {}
        for item in touched:
            self.touch(item, 0)
        for item in self.known:
            self._put(item)
        for item in self.declared:
            self._put_if_new(item)

    def touch(self, item: str, version: int) -> None:
        """Mark an item as changed; it counts as it was until it is estimated."""
        if item not in self.touched:
            self._put(item)
        self.touched[item] = version
        self.pending[item] = None

    def settle(self, items: Sequence[str], versions: Sequence[int | None], states: Sequence[ItemState]) -> None:
        """Keep the estimated states of items; those that have changed meanwhile stay pending."""
        for item, version, state in zip(items, versions, states, strict=True):
            if version is not None:
                self.states[item] = state
                self._put(item)
                if self.touched[item] == version:
                    self.pending.pop(item, None)

    def know(self, item: str, known: tuple[str, str] | None, version: int) -> None:
        """Take note of what people know of an item; None where they know nothing any more."""
        if known is None:
            self.known.pop(item, None)
            self.touch(item, version)  # the fit took it for known
        else:
            self.known[item] = known
        self._put(item)

    def declare(self, item: str) -> None:
        """Take note of an item that was added by itself."""
        self.declared[item] = None
        self._put_if_new(item)

    def current(self, item: str) -> ItemState | None:
        """Return how an item stands by all its labels; None where it must be estimated first, or nobody knows of it."""
        if item in self.pending:
            return None
        state = self._by_labels(item)
        return None if state is UNLABELLED else state

    def with_known(self, item: str, state: ItemState) -> ItemState:
        """Return an item as estimated, or as people know it to be."""
        known = self.known.get(item)
        return state if known is None else as_known(state, *known)

    def _by_labels(self, item: str) -> ItemState:
        state, snapshot = self.states.get(item), self.snapshot
        if state is not None:
            return state
        if snapshot is not None and (place := snapshot.index.get(item)) is not None:
            return from_fit(snapshot, place)
        return UNLABELLED

    def _put_if_new(self, item: str) -> None:
        if item not in self.touched and (self.snapshot is None or item not in self.snapshot.index):
            self._put(item)

    def _put(self, item: str) -> None:
        """Count an item as it stands as far as is known without estimating it anew."""
        state = self.with_known(item, self._by_labels(item))
        self.totals.put(item, state)
        if state.open:
            self.open[item] = (state.probability, item, state)
        else:
            self.open.pop(item, None)
