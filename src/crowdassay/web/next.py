"""Which items a worker should label next. One function, to be replaced by a better policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from crowdassay.web.judged import Judged

LOOKED_AT = (300, 10_000, 1 << 40)  # open items, the least sure first; more only if the worker has labelled all of these
LEASE = 300.0  # seconds during which an item that was handed out goes to nobody else, while there are others


class Leases:
    """What was handed out to whom and when, so that two workers are not sent to the same item at once."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: dict[str, tuple[str, float]] = {}

    def free(self, item: str, worker: str) -> bool:
        """Tell whether an item is not in somebody else's hands."""
        held = self._held.get(item)
        return held is None or held[0] == worker or held[1] < self._clock()

    def hand_out(self, item: str, worker: str) -> None:
        """Give an item to a worker for a while."""
        now = self._clock()
        if len(self._held) > 100_000:
            self._held = {name: held for name, held in self._held.items() if held[1] >= now}
        self._held[item] = (worker, now + LEASE)


def next_items(
    items: Sequence[tuple[str, Judged]], leases: Leases, worker: str, n: int, labelled: set[str]
) -> list[dict[str, Any]]:
    """Return up to n items for a worker, each with a reason: the least sure that the worker has not labelled.

    ``items`` are open, the least sure first; ``labelled`` are those that the worker has labelled. What is in others' hands
    comes last.
    """
    ready = [(item, judged) for item, judged in items if item not in labelled]
    ready.sort(key=lambda row: not leases.free(row[0], worker))  # stable: the least sure stay first
    for item, _ in ready[:n]:
        leases.hand_out(item, worker)
    return [{**judged.as_dict(item), "why": reason(judged)} for item, judged in ready[:n]]


def reason(judged: Judged) -> str:
    """Say why an item should be labelled."""
    if judged.n_labels == 0:
        return "Nobody has labelled it yet."
    if judged.standing == "tied":
        return f"Its {judged.n_labels} labels are split evenly."
    if judged.n_labels == 1:
        return "Only one worker has labelled it."
    return f"After {judged.n_labels} labels its label has a probability of {judged.probability:.2f}."
