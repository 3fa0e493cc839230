"""What is no longer as the last fit left it: items with new labels or known classes, or without labels; and sums over all.

Nothing here takes a lock: `Job` holds one around every call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from crowdassay.models.assay.constants import default_constants
from crowdassay.service.web.judged import Judged, as_known, from_fit, from_votes
from crowdassay.service.web.snapshot import KNOWN, STANDING_NAMES, Snapshot

UNLABELLED = from_votes([])
CODES = {name: code for code, name in enumerate(STANDING_NAMES)}


class Sums:
    """Items by standing, and the expected number of wrong labels with its variance; they change item by item.

    >>> sums = Sums(None)
    >>> sums.put("a", from_votes([("ann", "yes"), ("bob", "yes")]))
    >>> sums.as_dict()["standings"]["open"]
    1
    """

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        self._own: dict[str, tuple[int, float | None]] = {}  # item: standing and probability, None where nothing is estimated
        self._counts = [0] * len(STANDING_NAMES)
        self._wrong, self._variance, self._estimated = 0.0, 0.0, 0
        if snapshot is not None:
            self._counts = np.bincount(snapshot.standing, minlength=len(STANDING_NAMES)).tolist()
            p = snapshot.probability[snapshot.standing != KNOWN]
            self._wrong, self._variance, self._estimated = float((1 - p).sum()), float((p * (1 - p)).sum()), len(p)

    def put(self, item: str, judged: Judged) -> None:
        """Count an item as it is believed to be now, instead of as before."""
        code = CODES[judged.standing]
        new = (code, judged.probability if judged.n_labels and code != KNOWN else None)
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
            "standings": dict(zip(STANDING_NAMES, self._counts, strict=True)),
            "items": sum(self._counts),
            "expected_errors": {"value": round(wrong, 3), "low": round(low, 3), "high": round(high, 3)},
        }

    def _fitted(self, item: str) -> tuple[int, float | None] | None:
        snapshot = self._snapshot
        if snapshot is None or (place := snapshot.index.get(item)) is None:
            return None
        code = int(snapshot.standing[place])
        return code, None if code == KNOWN else float(snapshot.probability[place])

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
        Of these, items that were not judged since; its values say nothing.
    judged : dict
        What was believed of a changed item when it was judged last.
    open : dict
        From changed item that is not settled to (probability, item, what is believed of it).
    known : dict
        From item to the class that people know, and from where.
    declared : dict
        Items that were added by themselves.
    sums : Sums
    """

    def __init__(
        self, snapshot: Snapshot | None, known: Mapping[str, tuple[str, str]], declared: Iterable[str], touched: Iterable[str]
    ) -> None:
        self.snapshot, self.sums = snapshot, Sums(snapshot)
        self.known, self.declared = dict(known), dict.fromkeys(declared)
        self.touched: dict[str, int] = {}
        self.pending: dict[str, None] = {}
        self.judged: dict[str, Judged] = {}
        self.open: dict[str, tuple[float, str, Judged]] = {}
        for item in touched:
            self.touch(item, 0)
        for item in self.known:
            self._put(item)
        for item in self.declared:
            self._put_if_new(item)

    def touch(self, item: str, version: int) -> None:
        """Take an item as changed; it counts as it was until it is judged."""
        if item not in self.touched:
            self._put(item)
        self.touched[item] = version
        self.pending[item] = None

    def settle(self, items: Sequence[str], versions: Sequence[int | None], judged: Sequence[Judged]) -> None:
        """Keep what items were judged to be, unless they have changed meanwhile, when they are judged again."""
        for item, version, verdict in zip(items, versions, judged, strict=True):
            if version is not None:
                self.judged[item] = verdict
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

    def current(self, item: str) -> Judged | None:
        """Return what is believed of an item by all its labels; None where it must be judged first, or nobody knows of it."""
        if item in self.pending:
            return None
        judged = self._unknown(item)
        return None if judged is UNLABELLED else judged

    def believed(self, item: str) -> Judged:
        """Return what is believed of an item without judging it anew: if need be, what was believed before."""
        return self.with_known(item, self._unknown(item))

    def with_known(self, item: str, judged: Judged) -> Judged:
        """Return an item as judged, or as people know it to be."""
        known = self.known.get(item)
        return judged if known is None else as_known(judged, *known)

    def _unknown(self, item: str) -> Judged:
        judged, snapshot = self.judged.get(item), self.snapshot
        if judged is not None:
            return judged
        if snapshot is not None and (place := snapshot.index.get(item)) is not None:
            return from_fit(snapshot, place)
        return UNLABELLED

    def _put_if_new(self, item: str) -> None:
        if item not in self.touched and (self.snapshot is None or item not in self.snapshot.index):
            self._put(item)

    def _put(self, item: str) -> None:
        judged = self.believed(item)
        self.sums.put(item, judged)
        if judged.open:
            self.open[item] = (judged.probability, item, judged)
        else:
            self.open.pop(item, None)
