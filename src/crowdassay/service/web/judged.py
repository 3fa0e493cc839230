"""What is believed of an item at this moment, and from what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.models.assay.constants import default_constants
from crowdassay.service.web.snapshot import KNOWN, OPEN, SETTLED, STANDING_NAMES, TIED, UNIDENTIFIABLE, Snapshot, judge

SURE = default_constants().settled  # probability from which an item counts as settled, as in the fits
SAME_PROBABILITY = 1e-9  # probabilities closer than this are the same
FIT, UPDATED, VOTES, NOTHING = "fit", "update", "votes", "nothing"
Said = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Judged:
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
        return {
            "item": item,
            "label": self.label,
            "probability": round(self.probability, 6),
            "standing": self.standing,
            "n_labels": self.n_labels,
            "basis": self.basis,
        }

    @property
    def open(self) -> bool:
        """Whether more labels, or a person, are needed."""
        return self.standing not in {"settled", "known"}


def from_fit(snapshot: Snapshot, place: int, *, whole: bool = True) -> Judged:
    """Return what the fit found of an item; without the probabilities of all classes unless it is wanted ``whole``."""
    posterior = dict(zip(snapshot.classes, map(float, snapshot.posterior[place]), strict=True)) if whole else {}
    return Judged(
        snapshot.classes[snapshot.code[place]],
        float(snapshot.probability[place]),
        posterior,
        STANDING_NAMES[snapshot.standing[place]],
        int(snapshot.n_labels[place]),
        FIT,
    )


def from_votes(said: Said) -> Judged:
    """Return smoothed vote shares, (n + 1) / (labels + classes), over the classes that were given and one more.

    >>> from_votes([("ann", "yes"), ("bob", "yes"), ("eve", "no")]).probability
    0.5
    """
    if not said:
        return Judged(None, 0.0, {}, "open", 0, NOTHING)
    votes = Counter(label for _, label in said)
    ordered = sorted(votes, key=lambda name: (-votes[name], name))
    total = len(said) + len(ordered) + 1  # somebody may still say something else
    posterior = {name: (votes[name] + 1) / total for name in ordered}
    tied = len(ordered) > 1 and votes[ordered[0]] == votes[ordered[1]]
    standing = "tied" if tied else STANDING_NAMES[UNIDENTIFIABLE] if len({who for who, _ in said}) < 2 else "open"
    return Judged(ordered[0], posterior[ordered[0]], posterior, standing, len(said), VOTES)


def from_labels(snapshot: Snapshot | None, items: Sequence[Said]) -> list[Judged]:
    """Judge items anew by all their labels: with the workers as fitted, by votes where there is no fit or a new class."""
    classes = set() if snapshot is None else set(snapshot.classes)
    fitted = [place for place, said in enumerate(items) if said and all(label in classes for _, label in said)]
    judged = {}
    if snapshot is not None and fitted:
        posterior = judge(snapshot, [items[place] for place in fitted])
        judged = {place: _decided(snapshot, row, items[place]) for place, row in zip(fitted, posterior, strict=True)}
    return [judged.get(place) or from_votes(said) for place, said in enumerate(items)]


def _decided(snapshot: Snapshot, row: np.ndarray, said: Said) -> Judged:
    best = float(row.max())
    winners = np.flatnonzero(row >= best - SAME_PROBABILITY)
    standing = TIED if len(winners) > 1 else SETTLED if best >= SURE else OPEN
    if len({who for who, _ in said}) < 2:
        standing = UNIDENTIFIABLE if standing == OPEN else standing
    posterior = dict(zip(snapshot.classes, map(float, row), strict=True))
    return Judged(snapshot.classes[winners[0]], best, posterior, STANDING_NAMES[standing], len(said), UPDATED)


def as_known(judged: Judged, label: str, basis: str) -> Judged:
    """Return an item whose class a person knows."""
    return Judged(
        label, 1.0, {**dict.fromkeys(judged.posterior, 0.0), label: 1.0}, STANDING_NAMES[KNOWN], judged.n_labels, basis
    )
