"""The passes that verdicts are made of: in NumPy where labels are few, else compiled. Only the latter load a compiler.

Which of the two depends on the labels alone, so the answer does not depend on what has been compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels import small
from crowdassay.labels.labels import Labels
from crowdassay.threads import available_cores, on_all_cores

MOST_BLOCKS, LEAST_BLOCK = 16, 100_000  # of items, and labels in each
MOST_SUMMED = 50_000_000  # numbers in the sums of all blocks


def share_out(labels: Labels) -> FloatArray:
    """Return each label's weight (n_labels,): 1 / (labels of that worker on that item)."""
    if labels.n_labels <= small.FEW_LABELS:
        return small.share_out(labels.starts, labels.worker, labels.n_workers)[0]
    from crowdassay.engines.kernels import agreement  # noqa: PLC0415  numba loads on first use

    weight, edges = np.empty(labels.n_labels), _cut(labels, MOST_BLOCKS)

    def some(edge: tuple[int, int]) -> None:
        starts = labels.starts[edge[0] : edge[1] + 1]
        rows, starts = slice(starts[0], starts[-1]), starts - starts[0]
        starts.flags.writeable = False  # as those of labels are, else the kernel is compiled again
        weight[rows] = agreement.share_out(starts, labels.worker[rows], labels.n_workers)[0]

    on_all_cores(some, edges)
    return weight


def compare_with_others(
    labels: Labels,
    counted: BoolArray,
    log_p: FloatArray | None,
    log_prior: FloatArray,
    habit: FloatArray,
    crowd: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up how each worker's labels agree with class weights that leave out the worker.

    Parameters
    ----------
    labels : Labels
    counted : ndarray of bool, shape (n_labels,)
    log_p : ndarray of shape (n_workers, n_classes, n_classes) or None
        Without, the class weights are vote shares.
    log_prior : ndarray of shape (n_classes,)
    habit : ndarray of shape (n_workers, n_classes)
    crowd : ndarray of shape (n_classes, n_classes)

    Returns
    -------
    sums : ndarray of shape (n_workers, 5)
    first, second : ndarray of shape (n_workers, n_classes)
        Each as `crowdassay.engines.kernels.others.compare_with_others` has it.
    """
    weight = share_out(labels)
    if labels.n_labels <= small.FEW_LABELS:
        return small.compare_with_others(labels, weight, counted, log_p, log_prior, habit, crowd)
    from crowdassay.engines.kernels import others  # noqa: PLC0415  numba loads on first use

    n_workers, n_classes = labels.n_workers, labels.n_classes
    tables = np.zeros((1, n_classes, n_classes)) if log_p is None else log_p

    def some(first: int, last: int, *sums: FloatArray) -> None:
        others.compare_with_others(
            labels.starts[first : last + 1], labels.worker, labels.label, weight, labels.gold[first:last], counted, tables,
            log_prior, log_p is None, habit, crowd, *sums,
        )  # fmt: skip

    sums, lead, square = _add_blocks(labels, some, [(n_workers, 5), (n_workers, n_classes), (n_workers, n_classes)])
    return sums, lead, square


def add_behaviour(
    labels: Labels,
    counted: BoolArray,
    log_p: FloatArray,
    log_prior: FloatArray,
    habit: FloatArray,
    crowd: FloatArray,
    share: float,
    posterior: FloatArray,
    bins: IntArray,
    n_bins: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Add up how each worker behaves beside a typical one: the four sums of `kernels.behaviour.add_behaviour`."""
    weight, size, n_classes = share_out(labels), labels.n_workers, labels.n_classes
    if labels.n_labels <= small.FEW_LABELS:
        return small.add_behaviour(
            labels, weight, counted, log_p, log_prior, habit, crowd, share, posterior, bins, n_bins
        )  # fmt: skip
    from crowdassay.engines.kernels import behaviour  # noqa: PLC0415  numba loads on first use

    def some(first: int, last: int, *sums: FloatArray) -> None:
        behaviour.add_behaviour(
            labels.starts[first : last + 1], labels.worker, labels.label, weight, labels.gold[first:last], counted, log_p,
            log_prior, habit, crowd, share, posterior[first:last], bins, *sums,
        )  # fmt: skip

    shapes = [(size, 9), (size, n_classes, n_classes, 3), (size, n_classes, 3), (size, n_bins, 5)]
    sums, cells, answers, paces = _add_blocks(labels, some, shapes)
    return sums, cells, answers, paces


def _add_blocks(labels: Labels, some: Callable[..., None], shapes: Sequence[tuple[int, ...]]) -> list[FloatArray]:
    """Call ``some(first item, last item, *sums)`` for blocks of items on all cores; return the sums of these shapes.

    Blocks are cut by the data alone, each has its own sums, and these are added in order, so that the number of threads changes
    nothing.
    """
    room = MOST_SUMMED // max(sum(int(np.prod(shape)) for shape in shapes), 1)

    def work(edge: tuple[int, int]) -> list[FloatArray]:
        sums = [np.zeros(shape) for shape in shapes]
        some(*edge, *sums)
        return sums

    with ThreadPoolExecutor(available_cores()) as pool:
        block_sums = pool.map(work, _cut(labels, min(MOST_BLOCKS, room)))
        total = next(block_sums)
        for block in block_sums:
            for mine, more in zip(total, block, strict=True):
                np.add(mine, more, out=mine)
    return total


def _cut(labels: Labels, most: int) -> list[tuple[int, int]]:
    """Cut the items into at most so many ranges of about equal numbers of labels, by the data alone."""
    n_blocks = max(1, min(most, labels.n_labels // LEAST_BLOCK))
    edges = np.searchsorted(labels.starts, np.linspace(0, labels.n_labels, n_blocks + 1)[1:-1])
    return list(pairwise(np.unique(np.concatenate([[0], edges, [labels.n_items]])).tolist()))


def compare_tables(
    item: small.Codes,
    worker: small.Codes,
    label: small.Codes,
    code: IntArray,
    tables: FloatArray,
    least: int,
    kept: int,
    edges: FloatArray,
) -> tuple[int, IntArray, FloatArray]:
    """Compare how often every two workers agree with how often their tables say they would.

    Parameters
    ----------
    item, worker, label : ndarray of int, shape (n_labels,)
        In the order of items.
    code : ndarray of int, shape (n_items,)
        The class of each item.
    tables : ndarray of shape (n_workers, n_classes, n_classes)
    least : int
        Common items below which a pair is left alone.
    kept : int
        Pairs that are returned, those of largest excess.
    edges : ndarray
        Of the histogram's bins.

    Returns
    -------
    n_pairs : int
        Pairs that were compared.
    histogram : ndarray of int, shape (len(edges) + 1,)
        Of their excess.
    rows : ndarray of shape (up to kept, 6)
        As `crowdassay.engines.kernels.pairs.compare_tables` has them, in no order.
    """
    n_workers, starts = len(tables), np.zeros(len(code) + 1, np.int64)
    np.cumsum(np.bincount(item, minlength=len(code)), out=starts[1:])
    size = np.diff(starts)
    if len(item) <= small.FEW_LABELS and (size * (size - 1) // 2).sum() <= small.FEW_MEETINGS:
        rows = small.compare_tables(starts, worker, label, code, tables, least)
        histogram = np.bincount(np.searchsorted(edges, rows[:, 0]), minlength=len(edges) + 1)
        return len(rows), histogram, rows[np.argsort(-rows[:, 0], kind="stable")[:kept]]
    from crowdassay.engines.kernels import agreement, pairs  # noqa: PLC0415  numba loads on first use

    met = np.bincount(worker, (size - 1)[item], n_workers)
    histogram, rows = np.zeros(len(edges) + 1, np.int64), np.full((kept, 6), -np.inf)
    by_worker, order = agreement.order_by_worker(worker, n_workers)
    n_pairs = pairs.compare_tables(
        starts, worker, label, code, order, by_worker, item, tables, least, int(min(n_workers, met.max() + 1)), edges,
        histogram, rows,
    )  # fmt: skip
    return int(n_pairs), histogram, rows[np.isfinite(rows[:, 0])]
