"""Which labels are surer than which: bands of items, from the surest down, with the share of wrong labels expected in each.

What is expected in the bands adds up to the one estimate of the error (`crowdassay.planning.stop.estimate_error`): it is that
estimate, shared out among the items by how unsure their labels are. How much sure labels differ from unsure ones is not known
either, so that the limits of a band are wider than those of all labels, shared out, would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.labels.values import counted
from crowdassay.planning.stop import DOUBTS, LEAST_ERROR, Belief, Limit
from crowdassay.special import expit, logit

MOST_BANDS = 4
FEWEST_IN_BAND = 10  # items
FARTHEST_SHIFT = 60.0  # in logits: beyond it every label is right, or wrong
SHIFT_HALVINGS = 100  # of the interval that holds the shift, to the last bit
CHANCE = np.linspace(-2.5, 2.5, 7)  # standard deviations of a normal distribution, in few places
CHANCE_WEIGHT = np.exp(-(CHANCE**2) / 2) / np.exp(-(CHANCE**2) / 2).sum()


@dataclass(frozen=True)
class Band:
    """Items whose labels are about equally sure; those whose class is known are in none.

    Attributes
    ----------
    items : int
    least, most : float
        The probabilities of their labels lie above the first and up to the second.
    error, low, high : float
        The share of wrong labels among them that is expected, and between which limits it lies.
    """

    items: int
    least: float
    most: float
    error: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float | int]:
        """Return plain values for JSON."""
        return asdict(self)


def share_out(doubts: IntArray, share: float) -> FloatArray:
    r"""Return how probably a label is wrong at each level of doubt, (n_levels,), if this share of all labels is.

    .. math::  \operatorname{expit}(\delta + \operatorname{logit} d_j)

    with the one shift for all items that makes the mean over the items what it should be.

    >>> doubts = np.zeros(len(DOUBTS), np.int64)
    >>> doubts[[100, 200]] = 30, 10
    >>> wrong = share_out(doubts, 0.2)
    >>> round(float(wrong @ doubts), 9), bool(wrong[100] < wrong[200])
    (8.0, True)
    """
    total, low, high = share * doubts.sum(), -FARTHEST_SHIFT, FARTHEST_SHIFT
    for _ in range(SHIFT_HALVINGS):
        shift = (low + high) / 2
        low, high = (low, shift) if expit(shift + DOUBTS) @ doubts > total else (shift, high)
    wrong = expit(low + DOUBTS)
    return np.asarray(wrong * (total / (wrong @ doubts)))


def make_bands(limit: Limit, doubts: IntArray, belief: Belief) -> tuple[list[Band], int]:
    """Return bands of about equally many items, the surest first, and how many labels are likely right.

    A label is likely right if it is more probably right than wrong even where as many labels are wrong as the upper limit says:
    only such a label can be told from the toss of a coin. Bands of which the same would be said are one.

    Parameters
    ----------
    limit : Limit
        The estimated error.
    doubts : ndarray of int, shape (n_levels,)
        Items whose class is not known, one at least, as in `crowdassay.planning.stop.count_doubts`.
    belief : Belief
        What is believed of them: the error in the limits of each band.

    >>> from crowdassay.planning.stop import believe, count_doubts, estimate_error
    >>> doubt = np.repeat([0.02, 0.1, 0.45], [60, 20, 20])
    >>> doubts = count_doubts(doubt)
    >>> known = (100, doubt.sum(), doubts)
    >>> bands, likely_right = make_bands(estimate_error(*known), doubts, believe(*known))
    >>> [(band.items, round(band.error, 2)) for band in bands], likely_right
    ([(60, 0.02), (20, 0.1), (20, 0.45)], 60)
    """
    wrong, worst = (share_out(doubts, share / limit.unknown) for share in (limit.error, limit.high))
    likely_right = int(doubts[worst < 0.5].sum())
    cuts = _cuts(np.cumsum(doubts))
    place = 1
    while place < len(cuts) - 1:
        surer, other = (_band(doubts, wrong, belief, cuts[k], cuts[k + 1]) for k in (place - 1, place))
        if percent(surer.error) == percent(other.error):
            del cuts[place]
            place = max(place - 1, 1)
        else:
            place += 1
    return [_band(doubts, wrong, belief, first, end) for first, end in pairwise(cuts)], likely_right


def _cuts(below: IntArray) -> list[int]:
    """Return the levels at which bands begin, and the end: as near as can be to parts of equal size, none of them tiny."""
    n = int(below[-1])
    parts, cuts = min(MOST_BANDS, max(n // FEWEST_IN_BAND, 1)), [0]
    for part in range(1, parts):
        cut = int(np.abs(below - part * n / parts).argmin()) + 1
        before = int(below[cuts[-1] - 1]) if cuts[-1] else 0
        if min(below[cut - 1] - before, n - below[cut - 1]) >= n / (2 * parts):
            cuts.append(cut)
    return [*cuts, len(below)]


def _band(doubts: IntArray, wrong: FloatArray, belief: Belief, first: int, end: int) -> Band:
    """Return the band of the levels from ``first`` up to ``end``; ``wrong`` (n_levels,) is what is expected."""
    part = slice(first, end)
    items = int(doubts[part].sum())
    error = float(wrong[part] @ doubts[part] / items)
    mean = np.clip(belief.wrong[:, part] @ doubts[part] / items, LEAST_ERROR, 1 - LEAST_ERROR)
    # The share in so few items lies around the mean as a binomial one does; on the logit scale, where 1 keeps it finite.
    around = logit(mean)[:, None] + CHANCE / np.sqrt(items * mean * (1 - mean) + 1)[:, None]
    weight, share = np.outer(belief.weight, CHANCE_WEIGHT).ravel(), expit(around.ravel())
    order = np.argsort(share, kind="stable")
    below = np.cumsum(weight[order]) - weight[order] / 2
    low, high = np.interp([1 - belief.level, belief.level], below, share[order]).tolist()
    low = 0.0 if low * items < 0.5 else low  # less than half a label is none
    least = 0.0 if end == len(DOUBTS) else _edge(end)
    most = 1.0 if not first else _edge(first)
    return Band(items, least, most, error, min(low, error), max(high, error))


def _edge(level: int) -> float:
    """Return the probability of a label between a level and the one before it."""
    return 1 - float(expit((DOUBTS[level - 1] + DOUBTS[level]) / 2))


def percent(share: float) -> str:
    """Return a share as people say it.

    >>> [percent(share) for share in (0.0, 0.001, 0.034)]
    ['0%', 'under 1%', '3%']
    """
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def told_bands(bands: Sequence[Band]) -> str:
    """Return which labels are surer than which, in a sentence; nothing where there is one band or none.

    >>> told_bands([Band(300, 0.9, 1.0, 0.04, 0.02, 0.09), Band(290, 0.0, 0.9, 0.11, 0.05, 0.2)])
    'Expected to be wrong: 4% of the surest 300 labels, 11% of the other 290.'
    """
    if len(bands) < 2:
        return ""
    first, *middle, last = bands
    parts = [f"{percent(first.error)} of the surest {counted(first.items, 'label')}"]
    parts += [f"{percent(band.error)} of the next {band.items:,}" for band in middle]
    parts.append(f"{percent(last.error)} of the {'least sure' if middle else 'other'} {last.items:,}")
    return f"Expected to be wrong: {', '.join(parts)}."
