"""Which items are most worth another label: the one list behind `--next`, `plan` and a server's next item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, IntArray
from crowdassay.planning.curve import labels_needed, look_further
from crowdassay.planning.gain import expert_gain, label_gain
from crowdassay.planning.state import State


@dataclass(frozen=True)
class Worth:
    """An item, what an expert and what a further label would gain.

    Attributes
    ----------
    item : int
    expert : float
        Expected number of errors that knowing the class would remove: one less the probability of the label.
    rate : float
        Expected number of errors that a label of a typical worker would remove.
    labels : int or None
        Further labels by typical workers until the expected probability of the label is 0.95; None if more than 25.
    """

    item: int
    expert: float
    rate: float
    labels: int | None


def rank_items(
    state: State, items: IntArray, *, worker: int | None = None, rate: int | None = None, size: int | None = None
) -> IntArray:
    """Return items by what one more label gains, the most first, equals as given; of one worker, or of a typical one.

    With ``size``, only the first ones.
    """
    gain = np.round(label_gain(state, items, None if worker is None else np.array([worker]), rate=rate), 9)
    size = len(items) if size is None else min(size, len(items))
    if 0 < size < len(items):  # sorting all takes longer than all else
        near = np.flatnonzero(gain >= np.partition(gain, -size)[-size])
        items, gain = items[near], gain[near]
    unsure = np.round(expert_gain(state, items, rate=rate), 9)
    return items[np.lexsort((-unsure, -gain))[:size]]


def next_items(
    state: State,
    size: int = 1,
    *,
    worker: int | None = None,
    allowed: BoolArray | None = None,
    max_per_item: int | None = None,
    rate: int | None = None,
) -> IntArray:
    """Return the codes of the items to label next, the most worthwhile first.

    Parameters
    ----------
    state : State
    size : int
        How many.
    worker : int, optional
        Who asks: items that the worker, or a copy of the worker, has labelled are left out.
    allowed : ndarray of bool, shape (n_items,), optional
        Items that may be given out, for example those that nobody is working on.
    max_per_item : int, optional
        Labels that an item may have.
    rate : int, optional
        A class whose share is to be known, instead of the error.

    Examples
    --------
    >>> from crowdassay import MajorityVote
    >>> data = (list("aaabbb"), list("xyzxyz"), [0, 1, 0, 1, 1, 1])
    >>> next_items(State.of(MajorityVote().fit(data).result_), 1).tolist()
    [0]
    """
    free = ~state.known
    if allowed is not None:
        free &= allowed
    if max_per_item is not None:
        free &= state.n_labels < max_per_item
    if worker is not None:
        same = [worker, *state.copies[state.copies[:, 0] == worker, 1], *state.copies[state.copies[:, 1] == worker, 0]]
        free[state.labels.label_item[np.isin(state.labels.worker, same)]] = False
    return rank_items(state, np.flatnonzero(free), worker=worker, rate=rate, size=size)


def worth_of(state: State, items: IntArray) -> list[Worth]:
    """Return what labels and an expert would gain on some items, in the order of `rank_items`."""
    ranked = rank_items(state, items)
    gain, unsure = label_gain(state, ranked), expert_gain(state, ranked)
    needed = labels_needed(look_further(state, ranked), state.settled)
    return [Worth(int(item), float(unsure[n]), float(gain[n]), needed[n]) for n, item in enumerate(ranked)]
