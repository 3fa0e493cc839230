"""The passes over few labels that agreement is made of, in NumPy: the same sums as `crowdassay.engines.kernels.agreement`.

A judgement is what one worker says of one item: the weights of the classes, which add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.kernels.small import FEW_LABELS, FEW_MEETINGS, Codes, add_groups, meetings
from crowdassay.labels.labels import Labels

FEW_CELLS = 8_000_000  # labels times squared classes: the largest array here


def is_few(labels: Labels) -> bool:
    """Tell whether labels are few enough for these passes."""
    size = np.diff(labels.starts)
    met = int((size * (size - 1) // 2).sum()) * labels.n_classes
    return labels.n_labels <= FEW_LABELS and labels.n_labels * labels.n_classes**2 <= FEW_CELLS and met <= 4 * FEW_MEETINGS


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgements by item and worker.

    Attributes
    ----------
    labels : Labels
    weight : ndarray of shape (n_labels,)
        1 / (labels of that worker on that item).
    """

    labels: Labels
    weight: FloatArray

    @cached_property
    def pair(self) -> tuple[IntArray, IntArray]:
        """The pairs of item and worker, in order, and the pair of every label."""
        pairs, place = np.unique(self.labels.label_item * self.labels.n_workers + self.labels.worker, return_inverse=True)
        return pairs, place

    @cached_property
    def item(self) -> IntArray:
        """The item of every judgement."""
        return np.asarray(self.pair[0] // self.labels.n_workers)

    @cached_property
    def worker(self) -> IntArray:
        """The worker of every judgement."""
        return np.asarray(self.pair[0] % self.labels.n_workers)

    @cached_property
    def said(self) -> FloatArray:
        """The weight of each class in every judgement, shape (n_judgements, n_classes)."""
        size = len(self.pair[0]), self.labels.n_classes
        return _total(self.pair[1] * size[1] + self.labels.label, self.weight, size[0] * size[1]).reshape(size)

    @cached_property
    def votes(self) -> FloatArray:
        """Judgements by item and class, shape (n_items, n_classes)."""
        return add_groups(self.said, self.item, self.labels.n_items)

    @cached_property
    def raters(self) -> IntArray:
        """Workers of each item, shape (n_items,)."""
        return np.bincount(self.item, minlength=self.labels.n_items)


def _total(group: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Add up values by group, shape (size,)."""
    return np.asarray(np.bincount(group, values, size), np.float64)


def count_classes(labels: Labels, weight: FloatArray) -> tuple[IntArray, np.ndarray, FloatArray]:
    """Return the classes of each item and their weights, those of item j in ``first[j]:first[j + 1]``."""
    cells, place = np.unique(labels.label_item * labels.n_classes + labels.label, return_inverse=True)
    first = np.searchsorted(cells // labels.n_classes, np.arange(labels.n_items + 1))
    return np.asarray(first, np.int64), (cells % labels.n_classes).astype(np.int16), _total(place, weight, len(cells))


def add_items(
    judged: Judged, lot: IntArray, n_lots: int, x: FloatArray, *, nominal: bool, ranked: bool
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ``sums``, ``spread``, ``full`` and ``apart`` of `crowdassay.engines.kernels.agreement.add_items`."""
    said, some = judged.said, np.flatnonzero(judged.raters > 1)
    own = add_groups(said**2, judged.item, len(judged.raters))[some]
    within = 2.0 * np.bincount(judged.item, said @ x**2 - (said @ x) ** 2, len(judged.raters))[some]
    m, votes = judged.raters[some].astype(float), judged.votes[some]
    pairs, others = votes**2 - own, (m - 1)[:, None]
    parts = [pairs, votes * others, pairs / others, votes, pairs / (m[:, None] * others), votes / m[:, None]]
    sums = add_groups(np.stack(parts, axis=1), lot[some], n_lots)
    distance = 2.0 * (m * (votes @ x**2) - (votes @ x) ** 2) - within
    spread = _total(lot[some], distance / (m - 1), n_lots)
    apart = np.zeros(len(judged.raters))
    apart[some] = m * (m - 1) - pairs.sum(axis=1) if nominal else distance
    if not ranked:
        return sums, spread, np.zeros((0, said.shape[1], said.shape[1])), apart
    counted = judged.raters[judged.item] > 1
    share, alone = np.ones(len(judged.raters)), said[counted]
    share[some] = 1.0 / (m - 1)
    full = add_groups(votes[:, :, None] * votes[:, None, :] * share[some][:, None, None], lot[some], n_lots)
    each = share[judged.item[counted]][:, None, None] * alone[:, :, None] * alone[:, None, :]
    return sums, spread, full - add_groups(each, lot[judged.item[counted]], n_lots), apart


def compare_workers(
    judged: Judged, apart: FloatArray, x: FloatArray, margin: FloatArray, observed: float, *, nominal: bool
) -> FloatArray:
    """Compare each worker with the others on the same items; see `crowdassay.engines.kernels.agreement.compare_workers`."""
    size, kept = judged.labels.n_workers, np.flatnonzero(judged.raters[judged.item] > 1)
    said, item, who = judged.said[kept], judged.item[kept], judged.worker[kept]
    m, votes = judged.raters[item].astype(float), judged.votes[item]
    other = votes - said
    alike, total = (said * other).sum(axis=1), other @ x
    across = m - 1 - alike if nominal else (m - 1) * (said @ x**2) - 2.0 * (said @ x) * total + other @ x**2
    later = np.where(m > 2, (apart[item] - 2.0 * across) / np.maximum(m - 2, 1), 0.0)
    columns = (np.ones(len(m)), m - 1, alike / (m - 1), later - apart[item] / (m - 1))
    items, pairs, agreed, change = add_groups(np.column_stack(columns), who, size).T
    mine, theirs = add_groups(said, who, size), add_groups(other / (m - 1)[:, None], who, size)
    rest = np.maximum(margin - add_groups(np.where((m > 2)[:, None], said, votes), who, size), 0.0)
    left, n_left = observed + change, rest.sum(axis=1)
    apart_left = 2.0 * (n_left * (rest @ x**2) - (rest @ x) ** 2)
    expected = n_left**2 - (rest**2).sum(axis=1) if nominal else apart_left
    defined = (n_left > 1.5) & (expected > 1e-9 * n_left**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.where(defined, 1.0 - left * (n_left - 1.0) / np.where(defined, expected, 1.0), np.nan)
        return np.column_stack([items, pairs, agreed / items, (mine * theirs).sum(axis=1) / items**2, alpha])


def compare_pairs(
    starts: IntArray, worker: Codes, label: Codes, weight: FloatArray, n_workers: int, n_classes: int, least: int, shown: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return ``numbers``, ``slope``, ``high`` and ``low`` of `crowdassay.engines.kernels.agreement.compare_pairs`."""
    one, other = meetings(starts)
    apart = worker[one] != worker[other]
    one, other = one[apart], other[apart]
    swap = worker[one] > worker[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    order = np.lexsort((other, one, worker[one]))  # as a pass by worker meets them
    one, other = one[order], other[order]
    codes, first, pair = np.unique(
        worker[one].astype(np.int64) * n_workers + worker[other], return_index=True, return_inverse=True
    )
    both, same, size = weight[one] * weight[other], label[one] == label[other], len(codes)
    shared, agreed = np.bincount(pair, both, size), np.bincount(pair, both * same, size)
    mine, theirs = (
        np.bincount(pair * n_classes + label[side], both, size * n_classes).reshape(-1, n_classes) for side in (one, other)
    )
    chance = (mine * theirs).sum(axis=1) / np.maximum(shared, 1e-300) ** 2
    often = shared >= least - 0.5
    defined = often & (chance <= 1.0 - 1e-12)
    free = np.where(defined, 1.0 - chance, 1.0)
    rate = agreed / np.maximum(shared, 1e-300)
    kappa = (rate - chance) / free
    counts = [defined.sum(), (often & ~defined).sum(), (~often).sum()]
    numbers = np.array([*counts, shared[defined].sum(), (shared * kappa)[defined].sum()], float)
    known = np.flatnonzero(defined[pair])
    s, n, o = pair[known], one[known], other[known]
    more = (theirs[s, label[n]] + mine[s, label[o]]) / shared[s] - 2.0 * chance[s]
    bend = kappa[s] + ((same[known] - rate[s]) * free[s] - (1.0 - rate[s]) * more) / free[s] ** 2
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[n]
    slope = np.column_stack([_total(item, both[known] * part, len(starts) - 1) for part in (np.ones(len(known)), bend)])
    rows = np.column_stack([kappa, kappa, shared, rate, codes // n_workers, codes % n_workers])[defined]
    met = np.lexsort((first[defined], rows[:, 4]))
    ends = []
    for sign in (1.0, -1.0):
        key = sign * rows[met, 0]
        best = met[np.lexsort((-rows[met, 2], -key))[:shown]]
        ends.append(np.full((shown, 6), -np.inf))
        ends[-1][: len(best)] = rows[best]
        ends[-1][: len(best), 0] *= sign
    return numbers, slope, ends[0], ends[1]
