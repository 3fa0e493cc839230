"""Which items others are to be told of: those that a fit, or a person, has settled, left in dispute or opened again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from crowdassay.findings.items import ItemStanding
from crowdassay.service.fits.item_state import UNLABELLED, ItemState, from_fit
from crowdassay.service.fits.snapshot import Snapshot
from crowdassay.service.store.records import DISPUTED, REOPENED, SETTLED, Notice

Told = Mapping[str, tuple[str, str | None]]  # from item to its kind and label when it was told of last


def find_notices(
    snapshot: Snapshot | None, known: Mapping[str, tuple[str, str]], told: Told, current: Callable[[str], ItemState | None]
) -> Iterator[Notice]:
    """Yield what has changed since it was told last.

    An item is settled by the fit, or by a person; it is disputed where its labels differ and the fit leaves it open. One that
    was settled and is open again, though nobody disagrees, is reopened. Between fits nothing changes but by persons.

    Parameters
    ----------
    snapshot : Snapshot or None
        The last fit.
    known : mapping
        From item to the class that people know, and from where.
    told : mapping
    current : callable
        Returns how an item stands; asked of items that people know, which the fit may not.
    """
    for item, (label, basis) in known.items():
        if told.get(item) != (SETTLED, label):
            state = current(item) or UNLABELLED
            yield Notice(item, SETTLED, label, 1.0, state.n_labels, basis)
    if snapshot is None:
        return
    settled, disputed = snapshot.standing == ItemStanding.SETTLED, _differ(snapshot)
    for place, item in enumerate(snapshot.names):
        # What was known when the fit began and is not any more is told of after the next.
        if item in known or snapshot.standing[place] == ItemStanding.KNOWN:
            continue
        before = told.get(item)
        if settled[place]:
            kind = SETTLED
        elif disputed[place]:
            kind = DISPUTED
        elif before is None:
            continue
        else:
            kind = REOPENED
        state = from_fit(snapshot, place, whole=False)
        if before is None or before[0] != kind or (kind == SETTLED and before[1] != state.label):
            yield Notice(item, kind, state.label, state.probability, state.n_labels, state.basis)


def _differ(snapshot: Snapshot) -> np.ndarray:
    """Return for every item whether its labels differ, shape (n_items,)."""
    labels = snapshot.estimator.result_.labels
    first, last = (reduce.reduceat(labels.label, labels.starts[:-1]) for reduce in (np.minimum, np.maximum))
    return np.asarray((first != last) & (snapshot.n_labels > 1))
