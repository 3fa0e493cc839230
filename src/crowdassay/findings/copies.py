"""Workers who look like copies of one another: where one leaves the others, the other gives the same answer.

Who are both right where the others are wrong do so too; they are found as well, and told apart where that can be done.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.sums import Codes, Meetings, add_by, number_pairs
from crowdassay.labels.labels import Labels
from crowdassay.statistics import softmax, tail_of_sums

LEAST_LEFT = 3  # answers unlike the others' below which nothing could show that a pair are copies
LEAST_MATCHED = 0.7  # of the matches beyond expectation must be there; a copy has all, people who share a belief about half
FALSE_PAIR_RISK = 0.05  # of naming any innocent pair at all
HABIT_RISK = 0.0005  # of naming a pair that have the same habits
BOTH_RIGHT_RISK = 0.05  # of calling those copies who are right where the others are wrong
LEFT_RISK = 0.01  # of the matches alone, of a pair whom only all that they say shows
ROUNDS = 10  # of learning how right two workers are, if they are
OWN_ANSWERS = 2.0  # answers to the item itself that a worker's own table counts for
SHARED_READING = 0.8  # how alike others read an item: n answers tell of its class what n / (1 + 0.8 n) would
BORROWED_ANSWERS = 2.0  # answers of a typical worker in every worker's table
PAIRS_KEPT = 200  # the most suspicious ones
MOST_COPIES_MEETINGS = 50_000_000  # pairs of labels on an item that are looked at; items with most labels are left out first
MOST_ITEM_CELLS = 50_000_000  # items looked at, times classes
SURELY_NOT = 1e-300  # the probability of a class that an item is known not to have


@dataclass(frozen=True)
class Pair:
    """Two workers who leave the others together.

    Attributes
    ----------
    worker, other : int
        Codes.
    agreed : int
        Items on which both give the same answer, which is not what the others say.
    left, expected : tuple
        Items on which either leaves the others; and how often the other one was expected to give the same answer there.
    p : float
        Chance of so many, seen from the side where it is larger.
    both_right : float
        The same chance if both know the classes as well as what the others say allows.
    by_all : bool
        Whether only all their answers show them, and not those alone in which they leave the others.
    """

    worker: int
    other: int
    agreed: int
    left: tuple[int, int]
    expected: tuple[float, float]
    p: float
    both_right: float = 0.0
    by_all: bool = False

    @property
    def may_be_right(self) -> bool:
        """Whether both may just be right where they leave the others, so that neither need be a copy."""
        return self.by_all or self.both_right > BOTH_RIGHT_RISK

    def seen_from(self, worker: int) -> tuple[int, int, float]:
        """Return the other worker, how often the given one leaves the others, and how many matches were expected then."""
        side = int(worker != self.worker)
        return (self.other, self.worker)[side], self.left[side], self.expected[side]


def find_copies(
    labels: Labels, counts: FloatArray, tables: FloatArray | None, crowd: FloatArray, prior: FloatArray | None
) -> tuple[list[Pair], int]:
    r"""Return the pairs of workers that look like copies, the clearest first, and how many pairs were compared.

    What two workers have in common when they are right tells nothing: truth explains it. So only items count on which a worker
    *leaves the others*, whose class without the two is c. Then the other one gives the same answer x with probability

    .. math::  e = \frac{v_x + 2 \sum_c q_c\, p_j(c, x)}{v + 2},

    v of all other workers' answers to this very item, v_x of them x, and :math:`p_j` the other one's own table: an item that
    looks like x to many explains a match. The number of matches is a sum of independent chances, and must be too large from
    both sides for any of all pairs (Bonferroni). It must also be too large, p being 0.0005, and nearly all that could match, if
    every chance is the larger of e and what the other one's table alone says: two who answer x to everything are no copies.

    Where the others are often wrong, two who know better leave them together. See `Answers.both_right`.

    Who seldom leaves the others matches too seldom to be found so. Of a pair whose p is 0.01 and who are not just right, all
    items count on which not all agree, with the same chances and limits. They are shown, and nothing is said against them: two
    who know more of the items that are hard for the others agree there as well.

    Parameters
    ----------
    labels : Labels
    counts : ndarray of shape (n_workers, n_classes, n_classes)
        Expected labels of every worker by class and answer.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        Every worker's table, no cell of which is 0; without, nothing can be said.
    crowd : ndarray of shape (n_classes, n_classes)
        A typical worker's table.
    prior : ndarray of shape (n_classes,) or None
    """
    if tables is None or prior is None:
        return [], 0
    kept = telling(labels)
    if not kept.any():
        return [], 0
    answers = Answers(labels, kept, counts, tables, crowd, prior)
    rows, n_pairs = answers.compare()
    rows = rows[rows[:, 0] * n_pairs <= FALSE_PAIR_RISK]
    _, first = np.unique(rows[:, 1:3], axis=0, return_index=True)  # in the order of rows: by what they leave comes first
    pairs = [
        Pair(
            int(one), int(other), int(agreed), (int(left), int(right)), (float(mean), float(means)), float(p),
            answers.both_right(int(one), int(other)), bool(by_all),
        )
        for p, one, other, agreed, left, right, mean, means, by_all in rows[np.sort(first)]
    ]  # fmt: skip
    return [pair for pair in pairs if not pair.by_all or pair.both_right <= BOTH_RIGHT_RISK], n_pairs


def telling(labels: Labels) -> BoolArray:
    """Mark the labels (n_labels,) of items on which not all say the same, or not what is known: some may leave the others."""
    kept, item = labels.first_judgements, labels.label_item
    size = np.bincount(item[kept], minlength=labels.n_items)
    known = labels.gold >= 0
    said = np.where(known, labels.gold, labels.label[np.minimum(labels.starts[:-1], labels.n_labels - 1)])
    unlike = np.bincount(item[kept], labels.label[kept] != said[item[kept]], labels.n_items) > 0
    telling = unlike & ((size > 2) | (known & (size > 1)))
    by_size = np.flatnonzero(telling)
    by_size = by_size[np.argsort(size[by_size], kind="stable")][: MOST_ITEM_CELLS // labels.n_classes]
    meetings = np.cumsum(size[by_size] * (size[by_size] - 1) // 2)
    used = np.zeros(labels.n_items, bool)
    used[by_size[meetings <= MOST_COPIES_MEETINGS]] = True
    return np.asarray(kept & used[item])


class Answers:
    """Answers to the items that tell, with what is to be expected of every two workers; see `find_copies`."""

    def __init__(
        self, labels: Labels, kept: BoolArray, counts: FloatArray, tables: FloatArray, crowd: FloatArray, prior: FloatArray
    ) -> None:
        items, item = np.unique(labels.label_item[kept], return_inverse=True)
        self.n_workers, self.n_classes = tables.shape[:2]
        self.item, self.worker, self.label = item.astype(np.int32), labels.worker[kept], labels.label[kept]
        self.gold, self.size = labels.gold[items], np.bincount(item)
        # By worker and answer: a label reads one row.
        self.log_p = np.log(tables).transpose(0, 2, 1).reshape(-1, self.n_classes)
        self.counts, self.mass = counts.transpose(0, 2, 1).reshape(self.log_p.shape), counts.sum(axis=2)
        self.crowd, self.log_prior = crowd.T, np.log(prior)
        self.cell = (self.worker * self.n_classes + self.label).astype(np.int32)  # tables of more cells are not made
        self.votes = np.bincount(item * self.n_classes + self.label, minlength=len(items) * self.n_classes)
        self.votes = self.votes.reshape(-1, self.n_classes)
        self.log_class = self.log_prior + add_by(item, self.log_p[self.cell].T, len(items)).T
        self.weight = softmax(self.log_class)
        known = np.flatnonzero(self.gold >= 0)
        self.weight[known] = np.eye(self.n_classes)[self.gold[known]]
        self.log_typical = self.votes @ np.log(crowd).T
        # Without two labels an item has the same class if it leads by more than both can tell.
        self.first = np.where(self.gold >= 0, self.gold, self.log_class.argmax(axis=1))
        lead = np.partition(self.log_class, -2, axis=1)
        self.lead = np.where(self.gold >= 0, np.inf, lead[:, -1] - lead[:, -2])
        self.reach = np.ptp(self.log_p, axis=1)

    def compare(self) -> tuple[FloatArray, int]:
        """Return the most suspicious pairs and how many pairs were compared.

        A row: p, both workers, the matches, how often either leaves the others, the matches expected then, and whether only all
        items show them (9 columns).
        """
        starts = np.append(0, np.cumsum(self.size))
        n_pairs, rows = 0, np.empty((0, 9))
        for compared, found in Meetings(starts, self.worker, self.n_workers, self.n_classes).each(self._look):
            n_pairs += compared
            rows = np.concatenate([rows, found])
            rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0], rows[:, 8]))[:PAIRS_KEPT]]
        return rows, n_pairs

    def both_right(self, worker: int, other: int) -> float:
        """Return the chance of so many matches if the two know the classes as well as what the others say allows.

        Their tables are learned anew, beginning with ones that are right, and the others' stay as they are: if many others are
        wrong, two who know the class explain the labels as well as copies do, and if these are good, hardly.
        """
        mine, theirs = (np.flatnonzero(self.worker == code) for code in (worker, other))
        items, place, places = np.intersect1d(self.item[mine], self.item[theirs], return_indices=True)
        labels = mine[place], theirs[places]
        said, away = [self.label[label] for label in labels], [self.label[label] != self._without(*labels) for label in labels]
        by_others = self.log_class[items] - self.log_p[self.cell[labels[0]]] - self.log_p[self.cell[labels[1]]]
        known = np.flatnonzero(self.gold[items] >= 0)
        by_others[known] = np.log(np.maximum(self.weight[items[known]], SURELY_NOT))
        right = [np.eye(self.n_classes)[answer] + 1 / (self.n_classes * len(items)) for answer in said]
        for _ in range(ROUNDS):
            weight = softmax(by_others + np.log(right[0]) + np.log(right[1]))
            tables = [add_by(answer.astype(np.int64), weight.T, self.n_classes) + 1 / self.n_classes for answer in said]
            tables = [table / table.sum(axis=1, keepdims=True) for table in tables]
            right = [table[:, answer].T for table, answer in zip(tables, said, strict=True)]
        p = []
        for one, two in ((0, 1), (1, 0)):
            weight = softmax(by_others[away[one]] + np.log(right[one][away[one]]))
            chance = (weight * tables[two][:, said[one][away[one]]].T).sum(axis=1)
            matches = np.count_nonzero((said[0] == said[1])[away[one]])
            p.append(tail_of_sums(np.array([matches]), chance, np.zeros(len(chance), np.int64))[0])
        return float(max(p))

    def _look(self, one: IntArray, other: IntArray) -> tuple[int, FloatArray]:
        """Compare some pairs of labels: how many pairs of workers they are, and the suspicious ones."""
        met, said = (one, other), self._without(one, other)
        leaves, follows = self.label[one] != said, self.label[other] != said
        some = np.flatnonzero(leaves | follows)
        one, other, leaves, follows = one[some], other[some], leaves[some], follows[some]
        pair, number = number_pairs(self.worker[one], self.worker[other], self.n_workers)
        same = (self.label[one] == self.label[other]) & leaves
        agreed: FloatArray = np.bincount(number, same, len(pair)).astype(np.float64)
        sides = []
        for away, a, b in ((leaves, one, other), (follows, other, one)):
            group, (by_item, by_habit) = number[away], self._expected(a[away], b[away])
            either = np.maximum(by_item, by_habit)
            left, mean = np.bincount(group, minlength=len(pair)), np.bincount(group, either, len(pair))
            sides.append((group, by_item, either, left, mean))
        left, mean = (np.array([side[column] for side in sides]) for column in (3, 4))
        compared = left.max(axis=0) >= LEAST_LEFT
        share = ((agreed - mean) / np.maximum(left - mean, 1e-9)).min(axis=0)
        likely = np.flatnonzero(compared & (share >= LEAST_MATCHED))
        place = np.full(len(pair), -1)
        place[likely] = np.arange(len(likely))
        p, by_habit = np.zeros((2, len(likely)))
        for group, by_item, either, _, _ in sides:
            some = np.flatnonzero(place[group] >= 0)
            for worst, chance in ((p, by_item), (by_habit, either)):
                np.maximum(worst, tail_of_sums(agreed[likely], chance[some], place[group[some]]), out=worst)
        shown = (p <= FALSE_PAIR_RISK) & (by_habit <= HABIT_RISK)
        numbers = np.array([*divmod(pair[likely], self.n_workers), agreed[likely], *left[:, likely], *mean[:, likely]])
        seldom = np.flatnonzero(p <= LEFT_RISK)
        by_all, habit = self._by_all(*met, pair[likely[seldom]])
        also = habit <= HABIT_RISK
        rows = [
            np.vstack([p[shown], numbers[:, shown], np.zeros(shown.sum())]),
            np.vstack([by_all[also], numbers[:, seldom[also]], np.ones(also.sum())]),
        ]
        return int(compared.sum()), np.concatenate(rows, axis=1).T

    def _by_all(self, one: IntArray, other: IntArray, pairs: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the chance that pairs of workers agree on so many items, as others do and by habit; (n_pairs,) each."""
        key = self.worker[one].astype(np.int64) * self.n_workers + self.worker[other]
        some = np.flatnonzero(np.isin(key, pairs)) if len(pairs) else np.empty(0, np.intp)
        one, other, number = one[some], other[some], np.searchsorted(pairs, key[some])
        agreed: FloatArray = np.bincount(number, self.label[one] == self.label[other], len(pairs)).astype(np.float64)
        p, by_habit = np.zeros((2, len(pairs)))
        for a, b in ((one, other), (other, one)):
            by_item, own = self._expected(a, b)
            for worst, chance in ((p, by_item), (by_habit, np.maximum(by_item, own))):
                np.maximum(worst, tail_of_sums(agreed, chance, number), out=worst)
        return p, by_habit

    def _without(self, one: IntArray, other: IntArray) -> IntArray:
        """Return the class of the items by all others than the two workers, (n_pairs,)."""
        item = self.item[one]
        said = self.first[item]
        open_ = np.flatnonzero(self.lead[item] <= self.reach[self.cell[one]] + self.reach[self.cell[other]])
        log_class = self.log_class[item[open_]] - self.log_p[self.cell[one[open_]]] - self.log_p[self.cell[other[open_]]]
        said[open_] = log_class.argmax(axis=1)
        return said

    def _expected(self, one: IntArray, other: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the chance that the other worker answers what the one does: as others do, and by habit; (n_pairs,) each."""
        item, x, y = self.item[one], self.label[one], self.label[other]
        n, same = self.size[item] - 2.0, x == y
        log_typical = self.log_typical[item] - np.log(self.crowd[x]) - np.log(self.crowd[y])
        log_class = log_typical + np.log(self._own(self.worker[one], x, item, np.ones(len(x), bool)))
        q = softmax(self.log_prior + log_class / (1.0 + SHARED_READING * n)[:, None])
        known = np.flatnonzero(self.gold[item] >= 0)
        q[known] = self.weight[item[known]]
        table, sharp = (
            self._own(self.worker[other], x, item, same),
            softmax(self.log_class[item] - self.log_p[self.cell[other]]),
        )
        sharp[known] = q[known]
        own, by_tables = np.einsum("nc,nc->n", q, table), np.einsum("nc,nc->n", sharp, table)
        return (self.votes[item, x] - 1.0 - same + OWN_ANSWERS * own) / (n + OWN_ANSWERS), np.maximum(own, by_tables)

    def _own(self, worker: Codes, answer: Codes, item: Codes, given: BoolArray) -> FloatArray:
        """Return how likely a worker is to give an answer to each class (n, n_classes), by all items but this one."""
        weight = self.weight[item]
        times = self.counts[worker * self.n_classes + answer] - weight * given[:, None]
        typical = BORROWED_ANSWERS * self.crowd[answer]
        return np.asarray((np.maximum(times, 0.0) + typical) / (np.maximum(self.mass[worker] - weight, 0.0) + BORROWED_ANSWERS))
