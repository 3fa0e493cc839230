"""Votes: counted, shared out, and mixed into what a model says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import FloatArray, row_sum
from crowdassay.data.labels import Labels
from crowdassay.threads import available_cores, work_on_each

BLOCK = 1 << 15  # items that a thread mixes at a time

Votes: TypeAlias = NDArray[np.integer[Any]]


def gold_votes(labels: Labels) -> Votes:
    """Count votes, with one vote and no other for items whose class is known; shape (n_items, n_classes)."""
    votes = labels.votes()
    known = np.flatnonzero(labels.gold >= 0)
    votes[known] = 0
    votes[known, labels.gold[known]] = 1
    return votes


def shares(votes: Votes) -> FloatArray:
    """Divide votes by their sum; an item without votes gets a uniform distribution."""
    total = row_sum(votes)
    found = votes / np.maximum(total, 1)[:, None]
    found[total == 0] = 1.0 / votes.shape[1]
    return found


def soften(posterior: FloatArray, labels: Labels, anchor: float, threads: int | None = None) -> FloatArray:
    r"""Return the probabilities to report, shape (n_items, n_classes): what the labels say by the model and by themselves.

    .. math::  (1 - a)\, Q_{jc} + a\, \frac{v_{jc} + 1 / K}{n_j + 1}

    with one vote more, split evenly, so that no class is impossible. Votes make a label less certain and never turn it: where
    they would, they count for half of what leads to a tie. Known classes stay certain.
    """
    votes, mixed = labels.votes(), np.empty_like(posterior)

    def mix(first: int) -> None:
        block = slice(first, first + BLOCK)
        own, found = posterior[block], mixed[block]
        np.add(votes[block], 1.0 / labels.n_classes, out=found)
        found /= (np.diff(labels.starts[first : first + BLOCK + 1]) + 1.0)[:, None]
        found -= own
        found *= anchor
        found += own
        turned = np.flatnonzero(found.argmax(axis=1) != own.argmax(axis=1))
        found[turned] = _short_of_a_tie(own[turned], found[turned])
        known = labels.gold[block] >= 0
        found[known] = own[known]

    with ThreadPoolExecutor(threads or available_cores()) as pool:
        work_on_each(pool, mix, range(0, labels.n_items, BLOCK))
    return mixed


def _short_of_a_tie(own: FloatArray, mixed: FloatArray) -> FloatArray:
    """Go from the model's own probabilities towards mixed ones (n, n_classes), half of the way to where a class draws level."""
    rows, best, change = np.arange(len(own)), own.argmax(axis=1), mixed - own
    lead, lost = own[rows, best][:, None] - own, change - change[rows, best][:, None]
    level = np.where(lost > 0, lead / np.where(lost > 0, lost, 1.0), 1.0).min(axis=1, initial=1.0)
    way = np.where(level > 0, 0.5 * level, 1.0)  # among the model's own ties the votes choose
    return np.asarray(own + way[:, None] * change)
