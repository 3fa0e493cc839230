r"""What people said, item by item, and how often they err.

Where two people saw an item, their disagreement shows how often a person errs. With one error rate :math:`e` for all, and
errors spread evenly over the other classes, two labels of one item differ with probability

.. math:: d = 1 - (1 - e)^2 - e^2 / (K - 1),

which gives :math:`e`. A class that people name for a share :math:`v` of labels is then true for

.. math:: y = \frac{v - a}{1 - e - a}, \qquad a = \frac{e}{K - 1},

and so is every item's own share on average, whatever the number of people who saw it (Rogan and Gladen 1978).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.values import counted

LEAST_PAIRS = 20  # pairs of labels below which people's errors cannot be told from chance
WORST = 0.6  # of the error rate of a guess, beyond which correcting would only magnify chance


@dataclass(frozen=True, eq=False)
class People:
    """The items that people saw.

    Attributes
    ----------
    item : ndarray of int, shape (n,)
        Rising.
    share : ndarray, shape (n, n_classes)
        Share of an item's labels that name each class; of a known item 1 for its class.
    truth : ndarray, shape (n, n_classes)
        The same, corrected for people's errors: right on average, though not between 0 and 1. What an item adds to the error
        rate is in it, so that its variance is that of the corrected rate.
    noise : ndarray, shape (n, n_classes)
        Variance of `truth` about the real one.
    doubt : ndarray, shape (n, n_classes)
        Variance of the truth itself where people contradict one another, or themselves, and no error rate is known.
    slope : ndarray, shape (n, n_classes)
        How `truth` changes with the error rate.
    n_labels : int
        Labels by people, known items counted as one each.
    error, error_se : float
        How often a person errs and its standard error; 0 where it cannot be known.
    pairs : int
        Pairs of labels that two people gave to the same item.
    notes : tuple of str
    """

    item: IntArray
    share: FloatArray
    truth: FloatArray
    noise: FloatArray
    doubt: FloatArray
    slope: FloatArray
    n_labels: int
    error: float
    error_se: float
    pairs: int
    notes: tuple[str, ...]

    @property
    def code(self) -> IntArray:
        """The class that most people named, the first of several."""
        return np.asarray(self.share.argmax(axis=1))

    def place(self, n_items: int) -> IntArray:
        """Return the row of each item among those that people saw, shape (n_items,), -1 for the others."""
        place = np.full(n_items, -1)
        place[self.item] = np.arange(len(self.item))
        return place


def gather_people(verdicts: Verdicts) -> People:
    """Return what people said about the items that they saw."""
    n_classes = verdicts.n_classes
    counts = np.zeros((verdicts.n_items, n_classes))
    weight, conflicts = _label_weights(verdicts)
    np.add.at(counts, (verdicts.seen, verdicts.said), weight)
    known = verdicts.gold >= 0
    again = int(np.isin(verdicts.seen, np.flatnonzero(known)).sum())
    paired, differing = _pairs(counts)
    pairs = round(paired.sum())
    error, steep = error_rate(pairs, float(differing.sum()), n_classes)
    counts[known] = np.eye(n_classes)[verdicts.gold[known]]
    item = np.flatnonzero(counts.sum(axis=1) > 0)
    votes = counts[item].sum(axis=1, keepdims=True)
    share = counts[item] / votes
    notes = []
    if conflicts:
        notes.append(f"People contradict themselves on {counted(conflicts, 'item')}: each such label counts for half or less.")
    if again:
        notes.append(
            f"{counted(again, 'label')} by people on known items show how often people err, and count for nothing else."
        )
    worst = WORST * (1 - 1 / n_classes)
    if error > worst:
        notes.append(
            f"People agree hardly more than chance ({error:.0%} of their labels would be wrong), which no method can put "
            "right: their labels are taken as they are. Look at the question before the rate."
        )
        error = steep = 0.0
    elif not pairs and not known.any():
        notes.append(
            "No item was seen by two people, so that their own errors cannot be told; their labels count as the truth."
        )
    elif 0 < pairs < LEAST_PAIRS:
        notes.append(
            f"Only {counted(pairs, 'pair')} of people's labels can be compared, too few to tell how often people err; "
            "their labels count as the truth."
        )
    certain = known[item][:, None]
    wrong = error / (n_classes - 1)
    gain = 1 - error - wrong
    truth = np.where(certain, share, (share - wrong) / gain)
    noise = np.where(certain, 0.0, _noise(share, error, wrong) / (np.maximum(votes, 1) * gain**2))
    rise = n_classes / (n_classes - 1)  # what the denominator loses as the error grows
    slope = np.where(certain, 0.0, (rise * truth - 1 / (n_classes - 1)) / gain)
    error_se = 0.0
    if steep:
        # What each item adds to the error rate, beside what it adds to the rate: the two go together.
        influence = (differing - paired * differing.sum() / pairs)[item] * len(item) / pairs / steep
        truth = truth + slope.mean(axis=0) * influence[:, None]
        noise = noise + slope.mean(axis=0) ** 2 * (influence**2).mean()
        error_se = float(np.sqrt((influence**2).mean() / len(item))) if differing.any() else 1 / (pairs + 2) / steep
    n_labels = len(verdicts.seen) - again + int(known.sum())
    doubt = np.zeros_like(share) if error else share * (1 - share)
    return People(item, share, truth, noise, doubt, slope, n_labels, error, error_se, pairs, tuple(notes))


def error_rate(pairs: int, differing: float, n_classes: int) -> tuple[float, float]:
    """Return how often a person errs, and how fast the share of differing pairs rises with that; zeros for too few pairs.

    The pairs are of labels on the same item.

    >>> error, steep = error_rate(1000, 180, 2)  # 2 * 0.1 * 0.9 of pairs differ
    >>> round(error, 6), round(steep, 6)
    (0.1, 1.6)
    """
    if pairs < LEAST_PAIRS:
        return 0.0, 0.0
    rate, guess = differing / pairs, (n_classes - 1) / n_classes
    error = guess * (1 - np.sqrt(max(1 - rate / guess, 0.0)))
    return float(error), float(2 * np.sqrt(max(1 - rate / guess, 0.01)))


def _label_weights(verdicts: Verdicts) -> tuple[FloatArray, int]:
    """Return what each label counts, one for all of a person on an item, and on how many items people contradict themselves."""
    cell = verdicts.seen * max(len(verdicts.people), 1) + verdicts.person
    _, place, times = np.unique(cell, return_inverse=True, return_counts=True)
    answers = np.unique(place * verdicts.n_classes + verdicts.said) // verdicts.n_classes  # by cell, each answer once
    return (1 / times)[place], int((np.bincount(answers) > 1).sum())


def _pairs(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return for each item how many pairs of people saw it, and how many of these differ."""
    votes = counts.sum(axis=1)
    alike = (counts * np.maximum(counts - 1, 0)).sum(axis=1) / 2
    pairs = votes * np.maximum(votes - 1, 0) / 2
    return pairs, np.maximum(pairs - alike, 0)


def _noise(share: FloatArray, error: float, wrong: float) -> FloatArray:
    """Return the variance of one person's label about each class, where the share is taken for the chance of being true."""
    named = np.clip(share, 0, 1)
    return named * (1 - error) * error + (1 - named) * wrong * (1 - wrong)
