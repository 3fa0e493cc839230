"""One batch of assignments: labels on different items, so that all can be given at the same time."""

from __future__ import annotations

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.planning.gain import expert_gain, gain_by, information
from crowdassay.planning.offer import EXPERT, Offer
from crowdassay.planning.state import State

AT_ONCE = 64  # workers looked at in a batch, the most informative for their cost
WIDER = 3  # items looked at for each label of a batch


def one_batch(
    state: State,
    offer: Offer,
    items: IntArray,
    size: int,
    money: float,
    *,
    typical: FloatArray,
    pending: IntArray,
    shrunk: FloatArray,
    capacity: dict[int, int],
    claimed: set[tuple[int, int]],
    max_per_item: int | None,
    rate: int | None,
    least: float,
) -> list[tuple[int, int, float, float]]:
    """Choose item, worker, cost and gain for up to ``size`` different items, those that gain most for their cost first.

    Items are looked at closely, worker by worker, where a label of a typical worker gains most; ``typical`` (n_items,) is that.
    """
    if not len(items):
        return []
    gain = shrunk[items] * typical[items]
    if offer.expert is not None:
        cheapest = offer.cost.min() if len(offer.cost) else np.inf
        gain = np.maximum(gain / cheapest, shrunk[items] * expert_gain(state, items, rate=rate) / offer.expert)
    keep = min(len(items), WIDER * size)
    items = np.sort(items[np.argpartition(-gain, keep - 1)[:keep]])
    who, prices = _askable(state, offer, capacity)
    closed = _taken(state, items, who, claimed)
    if max_per_item is not None:
        closed[state.n_labels[items] + pending[items] >= max_per_item] = True
    told = np.where(closed, 0.0, information(state, items[:, None], who, rate=rate, pending=pending))
    gains = shrunk[items][:, None] * gain_by(state, items[:, None], told, rate=rate)
    if offer.expert is not None:
        gains = np.column_stack([gains, shrunk[items] * expert_gain(state, items, rate=rate)])
        told = np.column_stack([told, gains[:, -1]])
        prices, who = np.append(prices, offer.expert), np.append(who, EXPERT)
    order = np.lexsort((-(told / prices).ravel(), -np.round((gains / prices).ravel(), 12)))  # nothing gained: what tells most
    return _take(order[told.ravel()[order] > 0], gains, items, who, prices, capacity, size, money, least)


def _take(
    order: IntArray, gains: FloatArray, items: IntArray, who: IntArray, prices: FloatArray,
    capacity: dict[int, int], size: int, money: float, least: float,
) -> list[tuple[int, int, float, float]]:  # fmt: skip
    """Walk through the pairs, the best first, and take those that are still free."""
    free, room = np.ones(len(items), np.bool_), dict(capacity)
    taken: list[tuple[int, int, float, float]] = []
    for place in order.tolist():
        row, column = divmod(place, gains.shape[1])
        if len(taken) == size:
            break
        if gains[row, column] < least * prices[column]:
            continue
        worker, price = int(who[column]), float(prices[column])
        if not free[row] or price > money + 1e-9 or (worker != EXPERT and room[worker] < 1):
            continue
        free[row] = False
        money -= price
        if worker != EXPERT:
            room[worker] -= 1
        taken.append((int(items[row]), worker, price, float(gains[row, column])))
    return taken


def _askable(state: State, offer: Offer, capacity: dict[int, int]) -> tuple[IntArray, FloatArray]:
    """Return the workers to look at and their prices: those with labels left to give, the most informative for their cost."""
    free = np.array([capacity[int(worker)] > 0 for worker in offer.workers], np.bool_)
    who, cost = offer.workers[free], np.maximum(offer.cost[free], 1e-9)
    if len(who) <= AT_ONCE:
        return who, cost
    prior = np.exp(state.log_prior)[:, None]
    tables = state.tables[who]
    answers = (prior * tables).sum(axis=1)
    bits = (prior * tables * np.log(np.maximum(tables, 1e-12) / np.maximum(answers[:, None, :], 1e-12))).sum(axis=(1, 2))
    best = np.argsort(-np.round(bits / cost, 12), kind="stable")[:AT_ONCE]
    return who[best], cost[best]


def _taken(state: State, items: IntArray, who: IntArray, claimed: set[tuple[int, int]]) -> BoolArray:
    """Mark pairs that must not be asked, shape (n, m): labelled or asked already, by the worker or a copy of the worker."""
    column = np.full(len(state.workers), -1)
    column[who] = np.arange(len(who))
    starts, sizes = state.labels.starts[items], state.n_labels[items]
    row = np.repeat(np.arange(len(items)), sizes)
    place = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(starts, sizes)
    worker = state.labels.worker[place].astype(np.int64)
    if claimed:
        where = {int(item): n for n, item in enumerate(items)}
        more = [(where[item], worker) for item, worker in claimed if item in where and worker != EXPERT]
        row = np.append(row, np.array([n for n, _ in more], np.int64))
        worker = np.append(worker, np.array([code for _, code in more], np.int64))
    taken = np.zeros((len(items), len(who)), np.bool_)
    for rows, codes in [(row, worker), *_copied(state, row, worker)]:
        seen = column[codes] >= 0
        taken[rows[seen], column[codes[seen]]] = True
    return taken


def _copied(state: State, row: IntArray, worker: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return the same rows with the copies of the workers in their place."""
    copied = []
    for one, other in np.concatenate([state.copies, state.copies[:, ::-1]]):
        same = worker == one
        copied.append((row[same], np.full(int(same.sum()), other)))
    return copied
