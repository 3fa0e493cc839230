"""A few settled items for workers of whom nothing is known."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import IntArray
from crowdassay.planning.offer import Offer
from crowdassay.planning.state import State

TRIAL = 5  # settled items that a worker who has not been seen is asked about
MOST_TRIALS = 0.2  # of the budget


def settled_items(state: State) -> IntArray:
    """Return known items and settled ones of several labels; where these are few, the surest twentieth of all."""
    several = state.known | (state.n_labels > 1)
    settled = np.flatnonzero(several & (state.probability >= state.settled))
    if len(settled) >= TRIAL:
        return settled
    surest = np.argsort(-np.where(several, state.probability, 0.0), kind="stable")
    return np.sort(surest[: min(int(several.sum()), max(TRIAL, len(surest) // 20))])


def trials(
    state: State, offer: Offer, budget: float, generator: np.random.Generator
) -> tuple[list[tuple[int, int, int, float, float, bool]], IntArray, float, dict[int, int], list[str]]:
    """Give workers who have not been seen a few items that others have settled.

    Returns rows of a plan, the labels pending on each item, the money left, each worker's capacity left, and notes.
    """
    capacity = {int(worker): int(size) for worker, size in zip(offer.workers, offer.capacity, strict=True)}
    pending = np.zeros(state.labels.n_items, np.int64)
    settled = settled_items(state)
    seen = state.n_seen
    new = [(int(w), float(c)) for w, c in zip(offer.workers, offer.cost, strict=True) if seen[w] == 0]
    rows: list[tuple[int, int, int, float, float, bool]] = []
    left, tried = budget, 0
    if not len(settled):
        new = []
    for worker, cost in new:
        room = int((MOST_TRIALS * budget - (budget - left)) / cost + 1e-9)
        size = min(TRIAL, capacity[worker], len(settled), room)
        if size < 1:
            break
        tried += 1
        for item in sorted(generator.choice(settled, size, replace=False).tolist()):
            rows.append((1, item, worker, cost, 0.0, True))
            pending[item] += 1
        capacity[worker] = 0  # asked for more once something is known of them
        left -= size * cost
    notes = []
    if tried:
        notes.append(
            f"Workers who have not been seen and get up to {TRIAL} settled items each, to get to know them: {tried:,}."
        )
    if waiting := len(new) - tried:
        notes.append(
            f"Workers who have not been seen and have to wait: {waiting:,}; getting to know them takes at most "
            f"{MOST_TRIALS:.0%} of a budget."
        )
    for worker, _ in new[tried:]:
        capacity[worker] = 0
    return rows, pending, left, capacity, notes
