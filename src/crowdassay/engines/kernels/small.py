"""Passes over few labels in NumPy: the same sums as the compiled kernels, without the wait for a compiler.

Which is used depends on the number of labels alone, `FEW_LABELS`, so the answer does not depend on what has been compiled.
Nothing here loads numba. Labels by class must fit into memory, which few do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels import columns as col
from crowdassay.labels.labels import Labels
from crowdassay.labels.votes import tally

Codes = NDArray[np.integer[Any]]

FEW_LABELS = 20_000  # up to here a pass takes milliseconds in NumPy, and compiling takes seconds
FEW_MEETINGS = 500_000  # pairs of labels on an item up to which all of them are listed


def add_items(values: FloatArray, starts: IntArray) -> FloatArray:
    """Add up the rows (n_labels, ...) of every item: (n_items, ...).

    >>> add_items(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 2, 3])).tolist()
    [3.0, 0.0, 4.0]
    """
    sums = np.zeros((len(starts) - 1, *values.shape[1:]))
    some = np.flatnonzero(starts[1:] > starts[:-1])
    if len(some):
        sums[some] = np.add.reduceat(values, starts[some], axis=0)
    return sums


def count(
    labels: Labels, log_p: FloatArray, log_prior: FloatArray, held: FloatArray | None = None
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Run the E-step of a model without an item block.

    Parameters
    ----------
    labels : Labels
    log_p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    held : ndarray of shape (n_items, n_classes), optional
        Class weights to hold; otherwise they are the posterior.

    Returns
    -------
    objective : float
    counts : ndarray of shape (n_workers, n_classes, n_classes)
    totals : ndarray of shape (n_classes,)
    weights : ndarray of shape (n_items, n_classes)
    """
    joint = add_items(log_p[labels.worker, :, labels.label], labels.starts) + log_prior
    top = joint.max(axis=1, keepdims=True)
    weights = np.exp(joint - top)
    total = weights.sum(axis=1, keepdims=True)
    weights /= total
    value = top[:, 0] + np.log(total[:, 0])
    if held is not None:
        weights = held.copy()
        value = (weights * (joint - np.log(np.where(weights > 0, weights, 1.0)))).sum(axis=1)
    known = np.flatnonzero(labels.gold >= 0)
    weights[known] = np.eye(labels.n_classes)[labels.gold[known]]
    value[known] = joint[known, labels.gold[known]]
    return float(value.sum()), tally(labels, weights), weights.sum(axis=0), weights


def share_out(starts: IntArray, workers: Codes, n_workers: int) -> tuple[FloatArray, IntArray]:
    """Return each label's weight, 1 / (labels of that worker on that item), and the number of workers of each item."""
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    pairs, pair, times = np.unique(item * n_workers + workers, return_inverse=True, return_counts=True)
    return 1.0 / times[pair], np.bincount(pairs // n_workers, minlength=len(starts) - 1)


def compare_with_others(
    labels: Labels,
    weight: FloatArray,
    counted: BoolArray,
    log_p: FloatArray | None,
    log_prior: FloatArray,
    habit: FloatArray,
    crowd: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Add up how each worker's labels agree with class weights that leave out the worker.

    See `crowdassay.engines.kernels.others.compare_with_others`; without ``log_p`` the class weights are vote shares.
    """
    n, q = _weigh_others(labels, weight, counted, log_p, log_prior)
    weighed, who = np.where(q > col.NEGLIGIBLE, q, 0.0), labels.worker[n]
    answer, by_habit = weighed @ crowd, habit[who]
    guess, usual = (by_habit * weighed).sum(axis=1), (answer * weighed).sum(axis=1)
    halfway = ((by_habit + answer) * weighed**2).sum(axis=1) / 2 - ((guess + usual) / 2) ** 2
    columns = (q[np.arange(len(n)), labels.label[n]], guess, usual, guess**2, halfway)
    parts = (np.column_stack(columns), weighed, weighed**2)
    sums, first, second = (add_groups(part, who, labels.n_workers) for part in parts)
    return sums, first, second


def add_behaviour(
    labels: Labels,
    weight: FloatArray,
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
    """Add up what the verdicts are made of; see `crowdassay.engines.kernels.behaviour.add_behaviour`."""
    n, q = _weigh_others(labels, weight, counted, log_p, log_prior)
    who, said, rows = labels.worker[n].astype(np.int64), labels.label[n], np.arange(len(n))
    n_workers, n_classes, item = labels.n_workers, labels.n_classes, labels.label_item[n]
    q, wrong = np.where(q > col.NEGLIGIBLE, q, 0.0), 1.0 - q[rows, said]
    usual = q @ crowd
    spread = usual * (1.0 - usual)
    chance = share * usual + (1.0 - share) * habit[who]
    mean = (chance * q).sum(axis=1)
    variance = (chance * q**2).sum(axis=1) - mean**2
    judged = np.column_stack([np.ones(len(n)), wrong, 1.0 - mean, variance, q @ np.diag(crowd)])
    known = judged[:, :4] * (labels.gold[item] >= 0)[:, None]
    sums = add_groups(np.column_stack([judged, known]), who, n_workers)
    answers = np.empty((n_workers, n_classes, 3))
    answers[:, :, col.SEEN] = np.bincount(who * n_classes + said, minlength=n_workers * n_classes).reshape(-1, n_classes)
    answers[:, :, col.EXPECTED] = add_groups(usual, who, n_workers)
    answers[:, :, col.VARIANCE] = add_groups(spread, who, n_workers)
    cells = np.zeros((n_workers, n_classes, n_classes, 3))
    for c in range(n_classes):  # of many classes an item can have only a few
        some = np.flatnonzero(q[:, c])
        w, i = q[some, c][:, None], who[some]
        cells[:, c, :, col.SEEN] = np.bincount(i * n_classes + said[some], w[:, 0], n_workers * n_classes).reshape(
            -1, n_classes
        )
        cells[:, c, :, col.EXPECTED] = add_groups(w * usual[some], i, n_workers)
        cells[:, c, :, col.VARIANCE] = add_groups(w**2 * spread[some], i, n_workers)
    some = np.flatnonzero(bins[n] >= 0) if len(bins) else rows[:0]
    own = np.einsum("nc,nck->nk", q[some], np.exp(log_p[who[some]]))
    mean = (own * q[some]).sum(axis=1)
    square = (own * q[some] ** 2).sum(axis=1)
    right = posterior[item[some], said[some]]
    pace = np.column_stack([np.ones(len(some)), right, wrong[some], 1.0 - mean, square - mean**2])
    place = who[some] * n_bins + bins[n[some]] if len(bins) else rows[:0]
    return sums, cells, answers, add_groups(pace, place, n_workers * n_bins).reshape(n_workers, n_bins, 5)


def add_groups(values: FloatArray, group: Codes, size: int) -> FloatArray:
    """Add up the rows (n_labels, ...) of each of ``size`` groups, given the group (n_labels,) of every row: (size, ...).

    >>> add_groups(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([1, 0, 1]), 3).tolist()
    [[3.0, 4.0], [6.0, 8.0], [0.0, 0.0]]
    """
    order = np.argsort(group, kind="stable")
    return add_items(values[order], np.append(0, np.cumsum(np.bincount(group, minlength=size))))


def _weigh_others(
    labels: Labels, weight: FloatArray, counted: BoolArray, log_p: FloatArray | None, log_prior: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return which labels count, and the class weights of their items without their worker (n_counted, n_classes)."""
    n_workers, n_classes, item = labels.n_workers, labels.n_classes, labels.label_item
    said = np.eye(n_classes)[labels.label] if log_p is None else log_p[labels.worker, :, labels.label]
    own, again = said.copy(), weight < 1.0
    if again.any():  # leave out all that a worker has said of the item
        _, pair = np.unique(item[again] * n_workers + labels.worker[again], return_inverse=True)
        own[again] = add_groups(said[again], pair, int(pair.max()) + 1)[pair]
    n = np.flatnonzero(counted)
    q = (add_items(said, labels.starts) + log_prior)[item[n]] - own[n]
    if log_p is not None:
        q = np.exp(q - q.max(axis=1, keepdims=True))
    known = labels.gold[item[n]] >= 0
    q[known] = np.eye(n_classes)[labels.gold[item[n[known]]]]
    q /= q.sum(axis=1, keepdims=True)
    return n, q


def compare_tables(
    starts: IntArray, workers: Codes, labels: Codes, code: IntArray, tables: FloatArray, least: int
) -> FloatArray:
    """Compare how often every two workers agree with how often their tables say they would.

    Returns a row for every pair with at least ``least`` common items: excess, common items, agreements, expected agreements,
    worker, worker; see `crowdassay.engines.kernels.pairs.compare_tables`.
    """
    n_workers, n_classes = tables.shape[:2]
    one, other = meetings(starts)
    item = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    low, high = np.minimum(workers[one], workers[other]), np.maximum(workers[one], workers[other])
    apart = low < high
    one, other, low, high = one[apart], other[apart], low[apart].astype(np.int64), high[apart].astype(np.int64)
    pairs, pair = np.unique(low * n_workers + high, return_inverse=True)
    if not len(pairs):
        return np.empty((0, 6))
    shared = np.bincount(pair * n_classes + code[item[one]], minlength=len(pairs) * n_classes).reshape(-1, n_classes)
    agreed = np.bincount(pair, labels[one] == labels[other], len(pairs))
    often = np.flatnonzero(shared.sum(axis=1) >= least)
    i, mate, shared, agreed = pairs[often] // n_workers, pairs[often] % n_workers, shared[often], agreed[often]
    same = np.einsum("pck,pck->pc", tables[i], tables[mate])
    expected, variance = (shared * same).sum(axis=1), (shared * same * (1.0 - same)).sum(axis=1)
    excess = (agreed - expected) / np.sqrt(variance + 1e-12)
    return np.column_stack([excess, shared.sum(axis=1), agreed, expected, i, mate])


def meetings(starts: IntArray) -> tuple[IntArray, IntArray]:
    """Return the labels of every pair on the same item, the earlier and the later."""
    sizes = np.diff(starts)
    after = np.repeat(starts[1:], sizes) - np.arange(starts[-1]) - 1  # labels of the same item that follow each label
    one = np.repeat(np.arange(starts[-1]), after)
    first = np.cumsum(after) - after
    return one, np.arange(len(one)) - first[one] + one + 1
