"""Which items a worker should label next: those on which the worker's label gains most, as far as the last fit knows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.labels.labels import Labels
from crowdassay.labels.values import counted
from crowdassay.service.fits.item_state import ItemState
from crowdassay.service.fits.snapshot import Snapshot

OPEN_ITEMS_RANKED = (300, 10_000, 1 << 40)  # the least sure first; more only if the worker has labelled all of these
LEASE_SECONDS = 300.0  # seconds during which an item that was handed out goes to nobody else, while there are others


class Leases:
    """What was handed out to whom and when, so that two workers are not sent to the same item at once."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, float]] = {}

    def free(self, item: str, worker: str) -> bool:
        """Return whether an item is not in somebody else's hands."""
        held = self._held.get(item)
        return held is None or held[0] == worker or held[1] < time.monotonic()

    def forget(self, worker: str) -> None:
        """Take back whatever a worker has in hand."""
        self._held = {item: held for item, held in self._held.items() if held[0] != worker}

    def hand_out(self, item: str, worker: str) -> None:
        """Give an item to a worker for a while."""
        now = time.monotonic()
        if len(self._held) > 100_000:
            self._held = {name: held for name, held in self._held.items() if held[1] >= now}
        self._held[item] = (worker, now + LEASE_SECONDS)


def next_items(
    snapshot: Snapshot | None, items: Sequence[tuple[str, ItemState]], leases: Leases, worker: str, n: int, labelled: set[str]
) -> list[dict[str, Any]]:
    """Return up to n items for a worker, each with a reason: those on which a label by this worker gains most.

    ``items`` are open, the least sure first, which is also their order before the first fit; ``labelled`` are those that the
    worker has labelled. What is in others' hands comes last.
    """
    ready = [(item, state) for item, state in items if item not in labelled]
    if snapshot is not None and len(snapshot.classes) > 1 and ready:
        ready = [ready[place] for place in rank(snapshot, [state for _, state in ready], worker)]
    ready.sort(key=lambda row: not leases.free(row[0], worker))  # stable: the order stays otherwise
    for item, _ in ready[:n]:
        leases.hand_out(item, worker)
    return [{**state.as_dict(item), "why": reason(state)} for item, state in ready[:n]]


def rank(snapshot: Snapshot, states: Sequence[ItemState], worker: str) -> list[int]:
    """Return the places of items by what a label of this worker is expected to gain, as `crowdassay plan` does it."""
    from crowdassay.planning.gain import rank_items  # noqa: PLC0415
    from crowdassay.planning.state import State  # noqa: PLC0415

    prior = np.exp(snapshot.plan["log_prior"])
    posterior = np.tile(prior / prior.sum(), (len(states), 1))  # of items without labels, or with labels new to the fit
    for place, one in enumerate(states):
        if one.posterior and all(name in one.posterior for name in snapshot.classes):
            posterior[place] = [one.posterior[name] for name in snapshot.classes]
    counts = np.array([one.n_labels for one in states], np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)])
    # Who gave the labels has been looked at already; here only their number counts.
    labels = Labels(
        starts, np.zeros(starts[-1], np.int32), np.zeros(starts[-1], np.int16), pa.nulls(len(states)), pa.array([worker]),
        pa.array(list(snapshot.classes)), np.full(len(states), -1, np.int32),
    )  # fmt: skip
    plan = snapshot.plan
    planned = State(posterior, plan["log_prior"], plan["tables"], plan["crowd"], labels, labels.workers)
    code = snapshot.workers.get(worker) if len(plan["tables"]) else None
    return rank_items(planned, np.arange(len(states)), worker=code).tolist()


def reason(state: ItemState) -> str:
    """Return why an item should be labelled."""
    if state.n_labels == 0:
        return "Nobody has labelled it yet."
    if state.standing == "tied":
        return f"Its {state.n_labels} labels are split evenly."
    if state.n_labels == 1:
        return "Only one worker has labelled it."
    return f"After {counted(state.n_labels, 'label')} its label has a probability of {state.probability:.2f}."
