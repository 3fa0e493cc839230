"""From labels to what agreement is computed from: sums by lot of items, by worker and by pair of workers.

A judgement is what one worker says of one item: the weights of the classes, which add up to one. Several labels by one worker
on one item share one judgement. Arrays of a chunk of items have the classes first, and judgements or items side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.coefficients import AgreementSums, middle_ranks
from crowdassay.findings.sums import (
    Codes,
    Meetings,
    add_blocks,
    add_by,
    add_runs,
    item_ranges,
    number_pairs,
    order_of,
    runs_of,
)
from crowdassay.labels.labels import Labels

LEVELS = ("nominal", "ordinal", "interval")
MOST_RANKED_CLASSES = 300  # classes for which the table of coincidences of every lot is kept
LEAST_SHARED = 5  # items two workers must share for a kappa of their own
MOST_KAPPA_MEETINGS = 5_000_000  # pairs of labels on an item; with more, kappas are of a sample of items
PAIRS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Judgements:
    """The judgements of items [first, last).

    Attributes
    ----------
    item, worker : ndarray of int, shape (n,)
        Of every judgement, in the order of workers; items from 0 on.
    said : ndarray of shape (n_classes, n)
        The weight of each class in every judgement.
    votes : ndarray of shape (n_classes, n_items)
    raters : ndarray of shape (n_items,)
        Workers of every item.
    """

    item: IntArray
    worker: IntArray
    said: FloatArray
    votes: FloatArray
    raters: FloatArray

    @classmethod
    def of(cls, labels: Labels, first: int, last: int) -> Judgements:
        """Gather the labels of some items."""
        begin, end = labels.starts[[first, last]]
        item, worker = labels.label_item[begin:end] - first, labels.worker[begin:end].astype(np.int64)
        label, weight = labels.label[begin:end].astype(np.int64), labels.repeat_weight[begin:end]
        heads = np.flatnonzero(labels.first_judgements[begin:end])
        heads = heads[order_of(worker[heads], labels.n_workers)]
        size = len(heads)
        judgement = np.empty(len(item), np.int64)
        judgement[heads] = np.arange(size)
        if size < len(item):  # a label that repeats another belongs to the judgement of the first
            again = np.flatnonzero(weight < 1.0)
            _, first_of, pair = np.unique(
                item[again] * labels.n_workers + worker[again], return_index=True, return_inverse=True
            )
            judgement[again] = judgement[again[first_of]][pair]
        said = np.bincount(label * size + judgement, weight, labels.n_classes * size).reshape(-1, size)
        votes = np.bincount(label * (last - first) + item, weight, labels.n_classes * (last - first))
        raters = labels.workers_each[first:last].astype(np.float64)
        both = np.asarray(said, np.float64), np.asarray(votes, np.float64).reshape(labels.n_classes, -1)
        return cls(item[heads], worker[heads], *both, raters)


def chunks(labels: Labels, first: int, last: int) -> Iterator[tuple[slice, Judgements]]:
    """Yield the judgements of items [first, last), a chunk at a time, and which items they are."""
    for begin, end in item_ranges(labels, first, last):
        yield slice(begin, end), Judgements.of(labels, begin, end)


def positions(labels: Labels, level: str) -> FloatArray:
    """Return where each class lies on the scale, shape (n_classes,); zeros without one."""
    if level not in LEVELS:
        raise ParameterError(f"level must be 'nominal', 'ordinal' or 'interval', not {level!r}.")
    if level == "nominal":
        return np.zeros(labels.n_classes)
    if level == "ordinal":
        if labels.n_classes > MOST_RANKED_CLASSES:
            raise ParameterError(
                f"The ordinal level takes up to {MOST_RANKED_CLASSES} classes and these labels have {labels.n_classes}; "
                "if they are numbers, use the interval level."
            )
        shared = labels.workers_each[labels.label_item] > 1
        counts = np.bincount(labels.label, labels.repeat_weight * shared, labels.n_classes)
        return middle_ranks(counts.astype(np.float64))
    if not labels.numeric:
        raise DataError(
            "The interval level needs classes that are numbers, and these are "
            f"{', '.join(labels.class_names[:5])}; use the ordinal or the nominal level."
        )
    x = np.array([float(name) for name in labels.class_names])
    return x - x.mean()  # only differences matter, and small numbers keep their digits


def sum_lots(labels: Labels, level: str, x: FloatArray, lot: IntArray, n_lots: int) -> tuple[AgreementSums, FloatArray]:
    """Return the sums of every lot, and every item's distance summed over pairs of judgements, shape (n_items,)."""
    n_classes, ranked, apart = labels.n_classes, level == "ordinal", np.zeros(labels.n_items)

    def add(first: int, last: int, classes: FloatArray, spread: FloatArray, full: FloatArray) -> None:
        for items, chunk in chunks(labels, first, last):
            here, some = lot[items], np.flatnonzero(chunk.raters > 1)
            said, size, m = chunk.said, len(chunk.raters), chunk.raters[some]
            own = add_by(chunk.item, said**2, size)[:, some]
            within = 2.0 * np.bincount(chunk.item, x**2 @ said - (x @ said) ** 2, size)[some]
            votes = chunk.votes[:, some]
            same = votes**2 - own
            # Pairs that agree and pairs; the same over m - 1, and over m (m - 1): the rows of `AgreementSums.classes`.
            parts = (same, votes * (m - 1), same / (m - 1), votes, same / (m * (m - 1)), votes / m)
            for row, values in enumerate(parts):
                classes[row] += add_by(here[some], values, n_lots)
            distance = 2.0 * (m * (x**2 @ votes) - (x @ votes) ** 2) - within
            spread += np.bincount(here[some], distance / (m - 1), n_lots)
            apart[items][some] = m * (m - 1) - same.sum(axis=0) if level == "nominal" else distance
            if ranked:
                counted = chunk.raters[chunk.item] > 1
                for c in range(n_classes):
                    full[c] += add_by(here[some], votes[c] * votes / (m - 1), n_lots)
                    one_self = np.flatnonzero(counted & (said[c] > 0))  # a judgement is no pair with itself
                    item = chunk.item[one_self]
                    weights = said[c, one_self] * said.take(one_self, axis=1) / (chunk.raters[item] - 1)
                    full[c] -= add_by(here[item], weights, n_lots)

    shapes = [(6, n_classes, n_lots), (n_lots,), (n_classes if ranked else 0, n_classes, n_lots)]
    classes, spread, full = add_blocks(labels, add, shapes)
    coincidences = np.ascontiguousarray(np.moveaxis(full, -1, 0)) if ranked else None
    return AgreementSums(np.ascontiguousarray(np.moveaxis(classes, -1, 0)), spread, coincidences), apart


def sum_workers(labels: Labels, margin: FloatArray, level: str, x: FloatArray, apart: FloatArray) -> FloatArray:
    """Compare each worker with the others on the same items; ``margin`` (n_classes,) are the labels of each class compared.

    Returns (n_workers, 5): shared items, pairs, mean share of the others who agree, the agreement expected by chance, and alpha
    of all labels but the worker's, NaN where undefined.
    """
    nominal, n_classes = level == "nominal", labels.n_classes

    def add(first: int, last: int, sums: FloatArray, mine: FloatArray, theirs: FloatArray, gone: FloatArray) -> None:
        for items, chunk in chunks(labels, first, last):
            kept = np.flatnonzero(chunk.raters[chunk.item] > 1)
            item, worker, said = chunk.item[kept], chunk.worker[kept], chunk.said.take(kept, axis=1)
            m, votes, distance = chunk.raters[item], chunk.votes.take(item, axis=1), apart[items][item]
            others, runs = votes - said, runs_of(worker)
            alike = np.einsum("kn,kn->n", said, others)
            across = (m - 1) * (x**2 @ said) - 2.0 * (x @ said) * (x @ others) + x**2 @ others
            across = m - 1 - alike if nominal else across
            later = np.where(m > 2, (distance - 2.0 * across) / np.maximum(m - 2, 1), 0.0)
            add_runs(sums, worker, runs, [np.ones(len(m)), m - 1, alike / (m - 1), later - distance / (m - 1)])
            add_runs(mine, worker, runs, said)
            add_runs(theirs, worker, runs, others / (m - 1))
            add_runs(gone, worker, runs, np.where(m > 2, said, votes))  # without the worker the other label stands alone

    shapes = [(4, labels.n_workers), *[(n_classes, labels.n_workers)] * 3]
    sums, mine, theirs, gone = add_blocks(labels, add, shapes)
    shared = labels.workers_each > 1
    observed = float((apart[shared] / (labels.workers_each[shared] - 1)).sum())
    items, pairs, agreed, change = sums
    rest = np.maximum(margin[:, None] - gone, 0.0)
    left, n_left = observed + change, rest.sum(axis=0)
    apart_left = 2.0 * (n_left * (x**2 @ rest) - (x @ rest) ** 2)
    expected = n_left**2 - (rest**2).sum(axis=0) if nominal else apart_left
    defined = (n_left > 1.5) & (expected > 1e-9 * n_left**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.where(defined, 1.0 - left * (n_left - 1.0) / np.where(defined, expected, 1.0), np.nan)
        by_chance = np.ascontiguousarray((mine * theirs).T).sum(axis=1) / items**2
        return np.column_stack([items, pairs, agreed / items, by_chance, alpha])


@dataclass(frozen=True, eq=False)
class PairSums:
    """Cohen's kappas of pairs of workers, summed.

    Attributes
    ----------
    pairs, undefined, few : int
        Pairs of workers with a kappa, with one class only, and with too few shared items.
    shared, weighted : float
        Sum over pairs of their shared items, and of these times kappa.
    slope : ndarray of shape (n_items, 2)
        Derivative of both by the weight of each item.
    used : ndarray of bool, shape (n_items,)
    most, least : ndarray of shape (up to 10, 5)
        Kappa, shared items, agreement and the two workers, of the pairs of highest and lowest kappa.
    """

    pairs: int
    undefined: int
    few: int
    shared: float
    weighted: float
    slope: FloatArray
    used: BoolArray
    most: FloatArray
    least: FloatArray


def sum_pairs(labels: Labels, generator: np.random.Generator) -> PairSums:
    """Compare every two workers who share items; on a sample of the items where there are too many pairs of labels."""
    sizes, used = np.diff(labels.starts), labels.workers_each > 1
    if (sizes * (sizes - 1) // 2).sum() > MOST_KAPPA_MEETINGS:
        drawn = generator.permutation(labels.n_items)
        used[drawn[np.cumsum(sizes[drawn] * (sizes[drawn] - 1) // 2) > MOST_KAPPA_MEETINGS]] = False
    # Only the labels of these items are looked at, so that they lie close together.
    kept, starts = used[labels.label_item], np.append(0, np.cumsum(sizes[used]))
    worker, label, weight = labels.worker[kept], labels.label[kept].astype(np.int64), labels.repeat_weight[kept]
    meet = Meetings(starts, worker, labels.n_workers, labels.n_classes)
    numbers, slope, rows = np.zeros(5), np.zeros((2, len(starts) - 1)), np.empty((0, 5))
    for more, slopes, found in meet.each(
        lambda one, other: _kappas(one, other, meet.item, worker, label, weight, labels.n_workers, labels.n_classes)
    ):
        numbers += more
        for row, (item, values) in enumerate(slopes):
            slope[row] += np.bincount(item, values, slope.shape[1])
        rows = _ends(np.concatenate([rows, found]))
    each = np.zeros((labels.n_items, 2))
    each[used] = slope.T
    pairs, undefined, few = (int(count) for count in numbers[:3])
    most, least = (rows[_ranked(rows, sign)[:PAIRS_SHOWN]] for sign in (1.0, -1.0))
    return PairSums(pairs, undefined, few, float(numbers[3]), float(numbers[4]), each, used, most, least)


def _kappas(
    one: IntArray, other: IntArray, item: Codes, worker: Codes, label: IntArray, weight: FloatArray,
    n_workers: int, n_classes: int,
) -> tuple[FloatArray, list[tuple[Codes, FloatArray]], FloatArray]:  # fmt: skip
    """Return the numbers, the slopes by item and the rows of `PairSums` for the pairs of labels of some workers."""
    codes, pair = number_pairs(worker[one], worker[other], n_workers)
    size, met = len(codes), np.empty(len(codes), np.int64)
    met[pair[::-1]] = np.arange(len(pair))[::-1]  # the first of each counts
    both, same = weight[one] * weight[other], label[one] == label[other]
    shared, agreed = np.bincount(pair, both, size), np.bincount(pair, both * same, size)
    said, answered = pair * n_classes + label[one], pair * n_classes + label[other]
    mine, theirs = (np.bincount(cell, both, size * n_classes).reshape(-1, n_classes) for cell in (said, answered))
    chance = (mine * theirs).sum(axis=1) / np.maximum(shared, 1e-300) ** 2
    often = shared >= LEAST_SHARED - 0.5
    defined = often & (chance <= 1.0 - 1e-12)
    free = np.where(defined, 1.0 - chance, np.inf)  # so that pairs without a kappa have no slope
    rate = agreed / np.maximum(shared, 1e-300)
    kappa = np.where(defined, (rate - chance) / free, 0.0)
    counts = [defined.sum(), (often & ~defined).sum(), (~often).sum()]
    numbers = np.array([*counts, shared[defined].sum(), (shared * kappa)[defined].sum()], float)
    # The derivative of shared items times kappa by the weight of an item, a sum over the meetings on it.
    level, agree, bend = kappa - (rate - 2.0 * (1.0 - rate) * chance / free) / free, 1.0 / free, (1.0 - rate) / free**2 / shared
    slope = level[pair] + same * agree[pair] - (bend[:, None] * theirs).ravel()[said] - (bend[:, None] * mine).ravel()[answered]
    slopes = [(item[one], both * defined[pair]), (item[one], both * slope)]
    rows = np.column_stack([kappa, shared, rate, codes // n_workers, codes % n_workers])[defined]
    return numbers, slopes, _ends(rows[np.lexsort((met[defined], rows[:, 3]))])


def _ranked(rows: FloatArray, sign: float) -> IntArray:
    """Return the order of rows by kappa, the highest or the lowest first, then by shared items, then as they were met."""
    return np.lexsort((-rows[:, 1], -sign * rows[:, 0]))


def _ends(rows: FloatArray) -> FloatArray:
    """Return the rows of highest and of lowest kappa, in the order they were met."""
    ends = [_ranked(rows, sign)[:PAIRS_SHOWN] for sign in (1.0, -1.0)]
    return rows[np.unique(np.concatenate(ends))]
