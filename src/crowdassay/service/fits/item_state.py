"""How an item stands at this moment: its label, how probable it is, and where it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.findings.items import STANDINGS, standing_of
from crowdassay.labels.record import find_winners
from crowdassay.models.assay.constants import default_constants
from crowdassay.service.fits.snapshot import Snapshot, predict_proba
from crowdassay.service.store.records import ItemRow

SURE = default_constants().settled  # probability from which an item counts as settled, as in the fits
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
        return ItemState(None, 0.0, {}, "open", 0, "nothing")
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
    winners = find_winners(posterior)
    best, tied, code = posterior.max(axis=1), winners.sum(axis=1) > 1, winners.argmax(axis=1)
    # One worker's labels settle an item only where the fit knows that worker well.
    unidentifiable = np.array([_by_one_worker(answers) for answers in items]) & ~tied & (best < SURE)
    standing = standing_of(best, SURE, tied=tied, unidentifiable=unidentifiable)
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
