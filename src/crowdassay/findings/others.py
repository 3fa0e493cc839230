"""Every label beside what the other workers say of its item: the pass over labels that verdicts are made of.

Labels are taken in chunks that fit into the processor's cache, in the order of their workers, so that sums by worker are sums
of runs. Arrays of a chunk have the classes first, and its labels side by side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.findings.sums import add_by, add_runs, item_ranges, order_of, runs_of
from crowdassay.labels.labels import Labels

NEGLIGIBLE = 1e-9  # class weights below are nothing to a verdict

# Rows of the sums of agreement; the sums of the class weights and of their squares follow.
AGREED, BY_CHANCE, TYPICAL, SQUARES, HALFWAY, WEIGHTS = range(6)
# Columns of what a worker does beside a worker at par; of a class and an answer; of a part of a worker's time.
LABELS, WRONG, AT_PAR, PAR_VARIANCE, PAR_TYPICAL, KNOWN_LABELS, KNOWN_WRONG, KNOWN_PAR, KNOWN_VARIANCE = range(9)
SEEN, EXPECTED, VARIANCE = range(3)
BIN_LABELS, BIN_RIGHT, BIN_WRONG, BIN_EXPECTED, BIN_VARIANCE = range(5)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Labels that count, ordered by worker and answer, with the class weights of their items by all other workers.

    Attributes
    ----------
    rows, item, worker, answer : ndarray of int, shape (n,)
        Which labels, and their codes.
    q : ndarray of shape (n_classes, n)
        Class weights, 0 where they are negligible.
    agreed : ndarray of shape (n,)
        The weight of the class that is the worker's answer.
    """

    rows: IntArray
    item: IntArray
    worker: IntArray
    answer: IntArray
    q: FloatArray
    agreed: FloatArray


class Others:
    r"""What all workers say of items, to be left out one worker at a time.

    .. math::  q_{ij}(c) \propto \pi_c \prod_{i' \neq i} p_{i'}(c, x_{i'j})

    Parameters
    ----------
    labels : Labels
    counted : ndarray of bool, shape (n_labels,)
        Labels to be compared.
    tables : ndarray of shape (n_workers, n_classes, n_classes) or None
        Every worker's p; without, class weights are vote shares.
    prior : ndarray of shape (n_classes,) or None
    """

    def __init__(self, labels: Labels, counted: BoolArray, tables: FloatArray | None, prior: FloatArray | None) -> None:
        self.labels, self.counted = labels, counted
        self.log_prior = None if prior is None else np.log(prior)[:, None]
        # By class, then by worker and answer: a label reads one column.
        self.log_p = None if tables is None else np.log(tables.transpose(1, 0, 2), order="C").reshape(labels.n_classes, -1)

    def chunks(self, first: int, last: int) -> Iterator[Chunk]:
        """Yield the labels that count of items [first, last), a chunk at a time."""
        labels, n_classes = self.labels, self.labels.n_classes
        for first_item, last_item in item_ranges(labels, first, last):
            begin, end = labels.starts[[first_item, last_item]]
            rows = np.flatnonzero(self.counted[begin:end])
            if not len(rows):
                continue
            worker, answer = labels.worker[begin:end].astype(np.int64), labels.label[begin:end].astype(np.int64)
            item = labels.label_item[begin:end] - first_item
            rows = rows[order_of(worker[rows] * n_classes + answer[rows], labels.n_workers * n_classes)]
            # A number for every pair of item and worker, where any of them has several labels.
            repeated = labels.repeat_weight[begin:end].min(initial=1.0) < 1.0
            pair = np.unique(item * labels.n_workers + worker, return_inverse=True)[1] if repeated else None
            q = self._leave_out(item, worker, answer, rows, pair, last_item - first_item)
            item, worker, answer = item[rows] + first_item, worker[rows], answer[rows]
            gold = labels.gold[item]
            known = np.flatnonzero(gold >= 0)
            q[:, known] = np.eye(n_classes)[:, gold[known]]
            q /= q.sum(axis=0)
            agreed = q[answer, np.arange(len(rows))]
            q[q <= NEGLIGIBLE] = 0.0
            yield Chunk(rows + begin, item, worker, answer, q, agreed)

    def _leave_out(
        self, item: IntArray, worker: IntArray, answer: IntArray, rows: IntArray, pair: IntArray | None, n_items: int
    ) -> FloatArray:
        """Return the class weights of the items of ``rows`` without their workers, not normalised: (n_classes, n_rows)."""
        n_classes = self.labels.n_classes
        if self.log_p is None:
            votes = np.bincount(item * n_classes + answer, minlength=n_items * n_classes).reshape(-1, n_classes)
            q: FloatArray = votes.T.astype(np.float64, order="C").take(item[rows], axis=1)
            if pair is None:
                q[answer[rows], np.arange(len(rows))] -= 1.0
                return q
            said = np.eye(n_classes).take(answer, axis=1)
        else:
            said = self.log_p.take(worker * n_classes + answer, axis=1)
            q = (add_by(item, said, n_items) + np.asarray(self.log_prior)).take(item[rows], axis=1)
        if pair is not None:  # all that a worker has said of the item is left out
            said = add_by(pair, said).take(pair, axis=1)
        q -= said.take(rows, axis=1)
        return q if self.log_p is None else np.asarray(np.exp(q - q.max(axis=0)))


def add_agreement(chunk: Chunk, habit: FloatArray, crowd: FloatArray, sums: FloatArray) -> None:
    """Add up how each worker's labels agree with the others' class weights.

    ``habit`` (n_classes, n_workers) holds the shares of a worker's answers, ``crowd`` (n_classes, n_classes) is a typical
    worker's table. Adds to ``sums`` (5 + 2 n_classes, n_workers): the weight of the worker's answer, its mean by habit and by
    the crowd's table, the square of the second, and the variance of a worker who answers half by either; then the class
    weights and their squares.
    """
    q, runs = chunk.q, runs_of(chunk.worker)
    by_habit, answer, squares = habit.take(chunk.worker, axis=1), crowd.T @ q, q * q
    guess, usual = np.einsum("kn,kn->n", by_habit, q), np.einsum("kn,kn->n", answer, q)
    halfway = np.einsum("kn,kn->n", by_habit + answer, squares) / 2 - ((guess + usual) / 2) ** 2
    add_runs(sums, chunk.worker, runs, [chunk.agreed, guess, usual, guess**2, halfway, *q, *squares])


def add_behaviour(
    chunk: Chunk, gold: NDArray[np.int32], habit: FloatArray, crowd: FloatArray, share: float,
    sums: FloatArray, cells: FloatArray, answers: FloatArray,
) -> None:  # fmt: skip
    """Add up what each worker does beside a typical one.

    Par is a worker who answers as is typical with probability ``share`` and by habit otherwise. Adds to ``sums``
    (9, n_workers): labels; the weight of classes other than the answer, its mean and its variance at par; the probability that
    a typical worker is right; and, on items of known class (``gold`` at least 0), labels, wrong ones, their mean and variance
    at par. To ``cells`` (3, n_workers, n_classes, n_classes): labels by class weight and answer, as seen, as a typical worker
    would give them, and the variance of the latter. To ``answers`` (3, n_workers, n_classes): the same without the class.
    """
    q, worker, answer = chunk.q, chunk.worker, chunk.answer
    runs, usual = runs_of(worker), crowd.T @ q
    spread = usual * (1.0 - usual)
    chance = (share * usual + (1.0 - share) * habit.take(worker, axis=1)) * q
    mean = chance.sum(axis=0)
    at_par = [np.ones(len(mean)), 1.0 - chunk.agreed, 1.0 - mean, np.einsum("kn,kn->n", chance, q) - mean**2]
    add_runs(sums, worker, runs, [*at_par, np.diag(crowd) @ q])
    known = np.flatnonzero(gold[chunk.item] >= 0)
    add_runs(sums[KNOWN_LABELS:], worker[known], runs_of(worker[known]), [column[known] for column in at_par])
    here, fine = worker[runs], runs_of(worker * len(q) + answer)
    answers[SEEN, worker[fine], answer[fine]] += np.diff(np.append(fine, len(worker)))
    answers[EXPECTED, here] += np.add.reduceat(usual, runs, axis=1).T
    answers[VARIANCE, here] += np.add.reduceat(spread, runs, axis=1).T
    cells[SEEN][worker[fine], :, answer[fine]] += np.add.reduceat(q, fine, axis=1).T
    for c, some in _where_possible(q):
        runs, weight = runs_of(worker[some]), q[c, some]
        here = worker[some][runs]
        cells[EXPECTED][here, c] += np.add.reduceat(weight * _columns(usual, some), runs, axis=1).T
        cells[VARIANCE][here, c] += np.add.reduceat(weight**2 * _columns(spread, some), runs, axis=1).T


def add_paces(chunk: Chunk, log_p: FloatArray, posterior: FloatArray, bins: IntArray, paces: FloatArray) -> None:
    """Add up what each worker does in each part of the worker's time.

    ``log_p`` is that of `Others`, ``posterior`` (n_items, n_classes), ``bins`` (n_labels,) the part of time in which each
    label was given, -1 where that is not known. Adds to ``paces`` (5, n_workers, n_bins): labels, right ones, the weight of
    classes other than the answer, and its mean and variance by the worker's own table.
    """
    q, worker, n_classes = chunk.q, chunk.worker, len(chunk.q)
    mean, square = np.zeros((2, len(worker)))
    for c, some in _where_possible(q):
        own = np.exp(log_p[c].reshape(-1, n_classes).take(worker[some], axis=0)) * q[c, some][:, None]
        weights = _columns(q, some)
        mean[some] += np.einsum("nk,kn->n", own, weights)
        square[some] += np.einsum("nk,kn->n", own, weights**2)
    right = posterior[chunk.item, chunk.answer]
    columns = (np.ones(len(worker)), right, 1.0 - chunk.agreed, 1.0 - mean, square - mean**2)
    timed = np.flatnonzero(bins[chunk.rows] >= 0)
    place = worker[timed] * paces.shape[2] + bins[chunk.rows[timed]]
    for pace, values in zip(paces, columns, strict=True):
        np.add.at(pace.reshape(-1), place, values[timed])


def _where_possible(q: FloatArray) -> Iterator[tuple[int, IntArray | slice]]:
    """Yield every class with the labels whose items may have it: of many classes an item can have only a few."""
    for c, weight in enumerate(q):
        some = np.flatnonzero(weight)
        if len(some):
            yield c, slice(None) if len(some) == len(weight) else some


def _columns(table: FloatArray, some: IntArray | slice) -> FloatArray:
    """Return some columns; `take` is several times quicker than an index."""
    return table[:, some] if isinstance(some, slice) else table.take(some, axis=1)
