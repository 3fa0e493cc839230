"""From labels to what agreement is computed from: sums by lot of items, by worker and by pair of workers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels import small_agreement
from crowdassay.engines.kernels.columns import MARGIN
from crowdassay.errors import DataError, ParameterError
from crowdassay.findings.coefficients import AgreementSums, middle_ranks
from crowdassay.labels.labels import Labels
from crowdassay.threads import available_cores, on_all_cores

LEVELS = ("nominal", "ordinal", "interval")
MOST_RANKED = 300  # classes for which the table of coincidences of every lot is kept
LEAST_SHARED = 5  # items two workers must share for a kappa of their own
MOST_MEETINGS = 5_000_000  # pairs of labels on an item; with more, pairs of workers are compared on a sample of items
MOST_HELD = 2_000_000  # workers times classes that a thread compares with the others at a time
PAIRS_SHOWN = 10


@dataclass(frozen=True, eq=False)
class Judgements:
    """Labels with the weight of each: several by one worker on one item share one judgement."""

    labels: Labels
    weight: FloatArray
    workers_each: IntArray
    first: IntArray
    classes: np.ndarray
    votes: FloatArray
    few: small_agreement.Judged | None = None

    @classmethod
    def of(cls, labels: Labels) -> Judgements:
        """Weigh and index the labels."""
        weight, workers_each = labels.repeat_weight, labels.workers_each
        if small_agreement.is_few(labels):
            classes = small_agreement.count_classes(labels, weight)
            return cls(labels, weight, workers_each, *classes, small_agreement.Judged(labels, weight))
        from crowdassay.engines.kernels import agreement as kernels  # noqa: PLC0415  numba loads on first use

        weight = weight.copy()
        return cls(labels, weight, workers_each, *kernels.count_classes(labels.starts, labels.label, weight, labels.n_classes))


def positions(judgements: Judgements, level: str) -> FloatArray:
    """Return where each class lies on the scale, shape (n_classes,); zeros without one."""
    labels = judgements.labels
    if level not in LEVELS:
        raise ParameterError(f"level must be 'nominal', 'ordinal' or 'interval', not {level!r}.")
    if level == "nominal":
        return np.zeros(labels.n_classes)
    if level == "ordinal":
        if labels.n_classes > MOST_RANKED:
            raise ParameterError(
                f"The ordinal level takes up to {MOST_RANKED} classes and these labels have {labels.n_classes}; "
                "if they are numbers, use the interval level."
            )
        shared = judgements.workers_each[labels.label_item] > 1
        counts = np.bincount(labels.label, judgements.weight * shared, labels.n_classes)
        return middle_ranks(counts.astype(np.float64))
    if not labels.numeric:
        raise DataError(
            "The interval level needs classes that are numbers, and these are "
            f"{', '.join(labels.class_names[:5])}; use the ordinal or the nominal level."
        )
    x = np.array([float(name) for name in labels.class_names])
    return x - x.mean()  # only differences matter, and small numbers keep their digits


def sum_lots(judgements: Judgements, level: str, x: FloatArray, lot: IntArray, n_lots: int) -> tuple[AgreementSums, FloatArray]:
    """Return the sums of every lot, and every item's distance summed over pairs of judgements, shape (n_items,)."""
    nominal, ranked = level == "nominal", level == "ordinal"
    if judgements.few is not None:
        sums, spread, full, apart = small_agreement.add_items(judgements.few, lot, n_lots, x, nominal=nominal, ranked=ranked)
        return AgreementSums(sums, spread, full if ranked else None), apart
    from crowdassay.engines.kernels import agreement as kernels  # noqa: PLC0415  numba loads on first use

    j, labels = judgements, judgements.labels
    sums, spread = np.zeros((n_lots, 6, labels.n_classes)), np.zeros(n_lots)
    full = np.zeros((n_lots if ranked else 0, labels.n_classes, labels.n_classes))
    apart = np.zeros(labels.n_items)
    kernels.add_items(
        labels.starts, labels.worker, labels.label, j.weight, j.workers_each, j.first, j.classes, j.votes, lot, x,
        nominal, sums, spread, full, apart,
    )  # fmt: skip
    return AgreementSums(sums, spread, full if ranked else None), apart


def sum_workers(judgements: Judgements, total: AgreementSums, level: str, x: FloatArray, apart: FloatArray) -> FloatArray:
    """Return for each worker what `crowdassay.engines.kernels.agreement.compare_workers` finds, shape (n_workers, 5)."""
    j, labels = judgements, judgements.labels
    observed = float((apart[j.workers_each > 1] / (j.workers_each[j.workers_each > 1] - 1)).sum())
    margin, nominal = np.ascontiguousarray(total.classes[MARGIN]), level == "nominal"
    if j.few is not None:
        return small_agreement.compare_workers(j.few, apart, x, margin, observed, nominal=nominal)
    from crowdassay.engines.kernels import agreement as kernels  # noqa: PLC0415  numba loads on first use

    sums = np.empty((labels.n_workers, 5))
    each = min(
        -(-labels.n_workers // available_cores()), max(1, MOST_HELD // labels.n_classes)
    )  # every thread goes over all labels

    def compare(low: int) -> None:
        kernels.compare_workers(
            labels.starts, labels.worker, labels.label, j.weight, j.workers_each, j.first, j.classes, j.votes, apart, x,
            nominal, margin, observed, low, sums[low : low + each],
        )  # fmt: skip

    on_all_cores(compare, range(0, labels.n_workers, each))
    return sums


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


def sum_pairs(judgements: Judgements, generator: np.random.Generator) -> PairSums:
    """Compare every two workers who share items; on a sample of the items where there are too many pairs of labels."""
    j, labels = judgements, judgements.labels
    sizes = np.diff(labels.starts)
    used = j.workers_each > 1
    if (sizes * (sizes - 1) // 2).sum() > MOST_MEETINGS:
        drawn = generator.permutation(labels.n_items)
        used[drawn[np.cumsum(sizes[drawn] * (sizes[drawn] - 1) // 2) > MOST_MEETINGS]] = False
    # Only the labels of these items are looked at, so that they lie close together.
    kept, size = used[labels.label_item], sizes[used]
    worker, label, weight = labels.worker[kept], labels.label[kept], j.weight[kept]
    starts, item = np.append(0, np.cumsum(size)), np.repeat(np.arange(len(size)), size)
    if j.few is not None:
        sums = small_agreement.compare_pairs(
            starts, worker, label, weight, labels.n_workers, labels.n_classes, LEAST_SHARED, PAIRS_SHOWN
        )  # fmt: skip
        return _pair_sums(labels.n_items, used, *sums)
    from crowdassay.engines.kernels import agreement as kernels  # noqa: PLC0415  numba loads on first use

    others = np.bincount(worker, (size - 1)[item], labels.n_workers)
    slots = int(min(labels.n_workers, others.max(initial=0) + 1))
    numbers, each = np.zeros(5), np.zeros((len(size), 2))
    high, low = np.full((PAIRS_SHOWN, 6), -np.inf), np.full((PAIRS_SHOWN, 6), -np.inf)
    by_worker, order = kernels.order_by_worker(worker, labels.n_workers)
    kernels.compare_pairs(
        starts, worker, label, weight, by_worker, order, item, labels.n_classes,
        LEAST_SHARED, slots, numbers, each, high, low,
    )  # fmt: skip
    return _pair_sums(labels.n_items, used, numbers, each, high, low)


def _pair_sums(
    n_items: int, used: BoolArray, numbers: FloatArray, each: FloatArray, high: FloatArray, low: FloatArray
) -> PairSums:
    """Put together what a pass over pairs of workers has found on the items that were used."""
    slope = np.zeros((n_items, 2))
    slope[used] = each
    shown = min(int(numbers[0]), PAIRS_SHOWN)
    pairs, undefined, few = (int(count) for count in numbers[:3])
    return PairSums(pairs, undefined, few, float(numbers[3]), float(numbers[4]), slope, used, high[:shown, 1:], low[:shown, 1:])
