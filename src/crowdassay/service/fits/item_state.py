"""How items stand at this moment: labels, how probable they are, where they come from, and what changed since the last fit.

Nothing here takes a lock: `Job` holds one around every call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.findings.items import STANDINGS, ItemStanding, standing_of
from crowdassay.labels.record import class_values, decide_classes
from crowdassay.planning.bands import make_bands
from crowdassay.planning.stop import DOUBTS, believe, count_doubts, doubt_level, estimate_error
from crowdassay.service.fits.snapshot import Snapshot, predict_proba
from crowdassay.service.store.records import ItemRow

BEFORE_THE_FIRST_FIT = "No estimate of the error before the first fit."
Answers = Sequence[tuple[str, str]]  # the labels of an item as (worker, label)


@dataclass(frozen=True, slots=True)
class ItemState:
    """The label of an item, how probable, and how it stands.

    ``basis`` is ``fit`` (the last fit), ``update`` (labels since the fit, the workers as fitted), ``votes`` (no fit knows
    these labels' classes yet; vote shares, smoothed), ``truth`` or ``decision`` (a person knows), or ``nothing``.
    """

    label: str | None
    probability: float
    posterior: dict[str, float]
    standing: str
    n_labels: int
    basis: str

    def as_dict(self, item: str) -> dict[str, Any]:
        """Return plain values for JSON, as lists of items have them."""
        row = ItemRow(item, self.label, round(self.probability, 6), self.standing, self.n_labels, self.basis)
        return row._asdict()

    @property
    def open(self) -> bool:
        """Whether more labels, or a person, are needed."""
        return self.standing not in {"settled", "known"}


def from_fit(snapshot: Snapshot, place: int, *, whole: bool = True) -> ItemState:
    """Return what the fit found of an item; without the probabilities of all classes unless it is wanted ``whole``."""
    posterior = dict(zip(snapshot.classes, map(float, snapshot.posterior[place]), strict=True)) if whole else {}
    return ItemState(
        snapshot.classes[snapshot.code[place]],
        float(snapshot.probability[place]),
        posterior,
        STANDINGS[snapshot.standing[place]],
        int(snapshot.n_labels[place]),
        "fit",
    )


def from_votes(answers: Answers) -> ItemState:
    """Return smoothed vote shares, (n + 1) / (labels + classes), over the classes that were given and one more.

    >>> from_votes([("ann", "yes"), ("bob", "yes"), ("eve", "no")]).probability
    0.5
    """
    if not answers:
        return UNLABELLED
    votes = Counter(label for _, label in answers)
    ordered = sorted(votes, key=lambda name: (-votes[name], name))
    total = len(answers) + len(ordered) + 1  # somebody may still say something else
    posterior = {name: (votes[name] + 1) / total for name in ordered}
    tied = len(ordered) > 1 and votes[ordered[0]] == votes[ordered[1]]
    standing: str = "tied" if tied else "unidentifiable" if _by_one_worker(answers) else "open"
    return ItemState(ordered[0], posterior[ordered[0]], posterior, standing, len(answers), "votes")


def from_labels(snapshot: Snapshot | None, items: Sequence[Answers]) -> list[ItemState]:
    """Estimate items anew from all their labels: with the workers as fitted, by votes where there is no fit or a new class."""
    classes = set() if snapshot is None else set(snapshot.classes)
    fitted = [place for place, answers in enumerate(items) if answers and all(label in classes for _, label in answers)]
    states: dict[int, ItemState] = {}
    if snapshot is not None and fitted:
        states = dict(zip(fitted, _updated(snapshot, [items[place] for place in fitted]), strict=True))
    return [states.get(place) or from_votes(answers) for place, answers in enumerate(items)]


def _updated(snapshot: Snapshot, items: Sequence[Answers]) -> list[ItemState]:
    posterior = predict_proba(snapshot, items)
    result = snapshot.estimator.result_
    winners = decide_classes(posterior, result.decide, class_values(result.labels))
    tied, code = winners.sum(axis=1) > 1, winners.argmax(axis=1)
    best = posterior[np.arange(len(code)), code]
    # One worker's labels settle an item only where the fit knows that worker well.
    unidentifiable = np.array([_by_one_worker(answers) for answers in items]) & ~tied & (best < snapshot.settled)
    standing = standing_of(best, snapshot.settled, tied=tied, unidentifiable=unidentifiable)
    return [
        ItemState(
            snapshot.classes[code[place]],
            float(best[place]),
            dict(zip(snapshot.classes, map(float, posterior[place]), strict=True)),
            STANDINGS[standing[place]],
            len(answers),
            "update",
        )
        for place, answers in enumerate(items)
    ]


def _by_one_worker(answers: Answers) -> bool:
    return len({worker for worker, _ in answers}) < 2


def as_known(state: ItemState, label: str, basis: str) -> ItemState:
    """Return an item whose class a person knows."""
    posterior = {**dict.fromkeys(state.posterior, 0.0), label: 1.0}
    return ItemState(label, 1.0, posterior, "known", state.n_labels, basis)


UNLABELLED = ItemState(None, 0.0, {}, "open", 0, "nothing")


class RunningTotals:
    """Items by standing, and by how unsure their labels are; they change item by item.

    `crowdassay.findings.items.Totals` counts the same over all items at once.

    >>> totals = RunningTotals(None)
    >>> totals.put("a", from_votes([("ann", "yes"), ("bob", "yes")]))
    >>> totals.as_dict()["standings"]["open"]
    1
    """

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._snapshot = snapshot
        # From item to standing and probability, which is None where nothing is estimated; no pair for an item that is gone.
        self._own: dict[str, tuple[int, float | None] | None] = {}
        self._counts = [0] * len(STANDINGS)
        self._wrong, self._doubts = 0.0, np.zeros(len(DOUBTS), np.int64)
        if snapshot is not None:
            self._counts = np.bincount(snapshot.standing, minlength=len(STANDINGS)).tolist()
            doubt = 1 - snapshot.probability[snapshot.standing != ItemStanding.KNOWN]
            self._wrong, self._doubts = float(doubt.sum()), count_doubts(doubt)

    def put(self, item: str, state: ItemState) -> None:
        """Count an item as it stands now, instead of as before."""
        code = STANDINGS.index(state.standing)
        new = (code, state.probability if state.n_labels and code != ItemStanding.KNOWN else None)
        self.drop(item)
        self._add(new, 1)
        self._own[item] = new

    def drop(self, item: str) -> None:
        """Count an item no more."""
        old = self._own[item] if item in self._own else self._fitted(item)
        if old is not None:
            self._add(old, -1)
        self._own[item] = None

    def copy(self) -> RunningTotals:
        """Return what is counted now, to be summed up while items go on changing."""
        now = copy(self)
        now._counts, now._doubts = list(self._counts), self._doubts.copy()
        return now

    @property
    def standings(self) -> dict[str, int]:
        """How many items stand how."""
        return dict(zip(STANDINGS, self._counts, strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return items by standing, the expected number of errors with its interval, and how it is shared out (bands).

        Where there is no estimate, that is None, and there are no bands.
        """
        return {"standings": self.standings, "items": sum(self._counts), **self._errors()}

    def _errors(self) -> dict[str, Any]:
        """Return the number of wrong labels by the law that `aggregate` and `plan` go by, or why it is not estimated."""
        snapshot, n_items = self._snapshot, sum(self._counts)
        why = BEFORE_THE_FIRST_FIT if snapshot is None else snapshot.facts.get("why_no_error", "")
        if snapshot is None or why:
            return {"expected_errors": {"value": None, "low": None, "high": None, "why": why}, "bands": []}
        job = (max(n_items, 1), self._wrong, self._doubts, snapshot.estimator.result_.checked)
        at_random = snapshot.facts.get("at_random", False)
        found = estimate_error(*job, at_random=at_random)
        value, low, high = (round(share * n_items, 3) for share in (found.error, found.low, found.high))
        bands = make_bands(found, self._doubts, believe(*job, at_random=at_random))[0] if found.unknown else []
        errors = {"value": value, "low": low, "high": high, "why": ""}
        return {"expected_errors": errors, "bands": [band.as_dict() for band in bands]}

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
            self._doubts[int(doubt_level(np.array(1 - p)))] += sign


OpenRow = tuple[float, str, ItemState]  # probability, item and state


class Changes:
    """Items that are not as the last fit left them."""

    def __init__(
        self, snapshot: Snapshot | None, known: Mapping[str, tuple[str, str]], declared: Iterable[str], touched: Iterable[str]
    ) -> None:
        self.snapshot, self.totals = snapshot, RunningTotals(snapshot)
        self.known = dict(known)  # from item to the class that people know, and from where
        self.declared = dict.fromkeys(declared)  # items that were added by themselves
        self.undeclared: set[str] = set()  # items that were removed
        self.touched: dict[str, int] = {}  # from item to the version of the job at which it changed last
        self.pending: dict[str, None] = {}  # those of them that were not estimated since
        self.states: dict[str, ItemState] = {}  # how a changed item stood when it was estimated last
        self.open: dict[str, OpenRow] = {}  # the changed items that are not settled
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

    def undeclare(self, item: str, version: int) -> None:
        """Take note of an item that was removed; with its last label it is gone."""
        self.undeclared.add(item)
        self.declared.pop(item, None)
        self.known.pop(item, None)
        self.touch(item, version)

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
        if self.states.get(item) is UNLABELLED and item not in self.declared and item not in self.known:
            self.totals.drop(item)  # its last label was taken back
            self.open.pop(item, None)
            return
        state = self.with_known(item, self._by_labels(item))
        self.totals.put(item, state)
        if state.open:
            self.open[item] = (state.probability, item, state)
        else:
            self.open.pop(item, None)
