"""Who labels what next: pairs of item and worker by what they are expected to gain for their cost."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.planning.gain import expert_gain, label_gain
from crowdassay.planning.state import SETTLED, State

EXPERT = -1  # the code of an expert among workers
AT_ONCE = 64  # workers looked at in a batch, the most informative for their cost
WIDER = 3  # items looked at for each label of a batch
TRIAL = 5  # settled items that a worker who has not been seen is asked about
MOST_TRIALS = 0.2  # of the budget
LEAST_BATCH = 100


@dataclass(frozen=True, eq=False)
class Offer:
    """Who can be asked, at what price.

    Attributes
    ----------
    workers : ndarray of int, shape (n,)
        Codes into the workers of a `State`.
    cost : ndarray of shape (n,)
        Of one label.
    capacity : ndarray of int, shape (n,)
        Labels that each will still give.
    expert : float or None
        What it costs to know the class of an item for certain.
    """

    workers: IntArray
    cost: FloatArray
    capacity: IntArray
    expert: float | None = None

    @classmethod
    def everyone(cls, state: State, *, cost: float = 1.0, expert: float | None = None) -> Offer:
        """Offer all workers of a state at one price."""
        n = len(state.workers)
        return cls(np.arange(n), np.full(n, cost), np.full(n, np.iinfo(np.int64).max), expert)


@dataclass(frozen=True, eq=False)
class Plan:
    """Assignments in the order in which they are worth their cost, shape (n,) each.

    Attributes
    ----------
    batch : ndarray of int
        From 1. All labels of a batch can be given at the same time; no item is in a batch twice.
    item, worker : ndarray of int
        Codes; the worker is -1 for an expert.
    cost, gain : ndarray
        Price, and expected fall of the error in items (or of the variance of a rate, see `label_gain`).
    trial : ndarray of bool
        Whether it is to get to know the worker; nothing is gained for the item.
    notes : list of str
    """

    batch: IntArray
    item: IntArray
    worker: IntArray
    cost: FloatArray
    gain: FloatArray
    trial: BoolArray
    notes: list[str] = field(default_factory=list)

    def table(self, state: State) -> pa.Table:
        """Tabulate batch, item, worker, cost, gain and reason; an expert's rows have no worker."""
        expert = self.worker == EXPERT
        names = state.workers.take(pa.array(np.where(expert, 0, self.worker), mask=expert))
        reason = np.where(self.trial, "trial", np.where(expert, "expert", "label"))
        return pa.table(
            {
                "batch": self.batch,
                "item": state.labels.items.take(pa.array(self.item)),
                "worker": names,
                "cost": self.cost,
                "gain": self.gain,
                "reason": pa.array(reason.tolist(), pa.string()),
            }
        )


def plan(
    state: State,
    budget: float,
    *,
    offer: Offer | None = None,
    max_per_item: int | None = None,
    batch_size: int | None = None,
    rate: int | None = None,
    least: float = 0.0,
    seed: int = 0,
) -> Plan:
    """Spend a budget on labels where they are expected to gain most for their cost.

    Parameters
    ----------
    state : State
    budget : float
        Money, in the unit of the costs.
    offer : Offer, optional
        Who can be asked; by default all workers, a label at 1.
    max_per_item : int, optional
        Labels that an item may have, those given included.
    batch_size : int, optional
        Labels that are asked for at a time; by default a tenth of what the budget buys, at least 100.
    rate : int, optional
        Plan for the share of this class instead of the error.
    least : float
        Gain per cost below which nothing is asked.
    seed : int
        Decides which settled items a worker who has not been seen is asked about.

    Examples
    --------
    >>> from crowdassay import MajorityVote, simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=50)
    >>> state = State.of(MajorityVote().fit(labels).result_)
    >>> found = plan(state, 10)
    >>> len(found.item), float(found.cost.sum()), int(found.batch.max())
    (10, 10.0, 1)
    """
    check_plan(budget, max_per_item, batch_size)
    offer = offer or Offer.everyone(state)
    rows, pending, left, capacity, notes = trials(state, offer, budget, np.random.default_rng(seed))
    known = state.known
    done = known.copy()
    if len(offer.cost) == 0 and offer.expert is None:
        raise ParameterError("Nobody can be asked: there is neither a worker nor an expert.")
    cheapest = min([*offer.cost.tolist(), *([] if offer.expert is None else [offer.expert])])
    size = batch_size or max(LEAST_BATCH, int(np.ceil(left / max(cheapest, 1e-9) / 10)))
    claimed = {(item, worker) for _, item, worker, *_ in rows}
    shrunk = np.ones(state.labels.n_items)
    batch, first = 0, True
    while left >= cheapest - 1e-9:
        batch += 1
        open_items = np.flatnonzero(~done & (state.n_labels + pending < (max_per_item or np.iinfo(np.int64).max)))
        if offer.expert is not None:  # an expert may decide what has as many labels as it may have
            open_items = np.flatnonzero(~done)
        if first and rows:
            open_items = np.setdiff1d(open_items, [item for _, item, *_ in rows])
        chosen = one_batch(
            state, offer, open_items, min(size, int(left / cheapest + 1e-9)), left,
            pending=pending, shrunk=shrunk, capacity=capacity, claimed=claimed, max_per_item=max_per_item, rate=rate,
            least=least,
        )  # fmt: skip
        if not chosen:
            break
        before = expert_gain(state, np.array([item for item, *_ in chosen]), rate=rate)
        for (item, worker, cost, gain), uncertain in zip(chosen, before.tolist(), strict=True):
            rows.append((batch, item, worker, cost, gain, False))
            claimed.add((item, worker))
            left -= cost
            if worker == EXPERT:
                done[item] = True
                continue
            pending[item] += 1
            capacity[worker] -= 1
            shrunk[item] = max(shrunk[item] - gain / max(uncertain, 1e-12), 0.0)  # what the label is expected to leave
        first = False
    columns = list(zip(*rows, strict=True)) or [()] * 6
    if left >= cheapest - 1e-9 and not notes:
        notes.append(f"{left:g} of the budget is left: nobody can be asked about anything that is worth it.")
    kinds = (np.int64, np.int64, np.int64, np.float64, np.float64, np.bool_)
    return Plan(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)), notes)  # type: ignore[arg-type]


def one_batch(
    state: State,
    offer: Offer,
    items: IntArray,
    size: int,
    money: float,
    *,
    pending: IntArray,
    shrunk: FloatArray,
    capacity: dict[int, int],
    claimed: set[tuple[int, int]],
    max_per_item: int | None,
    rate: int | None,
    least: float,
) -> list[tuple[int, int, float, float]]:
    """Choose item, worker, cost and gain for up to ``size`` different items, those that gain most for their cost first."""
    if not len(items):
        return []
    gain = shrunk[items] * label_gain(state, items, rate=rate, pending=pending)
    if offer.expert is not None and len(offer.cost):
        gain = np.maximum(gain / offer.cost.min(), shrunk[items] * expert_gain(state, items, rate=rate) / offer.expert)
    keep = min(len(items), WIDER * size)
    top = np.argpartition(-gain, keep - 1)[:keep]
    items = items[np.sort(top[np.argsort(-gain[top], kind="stable")])]
    who, cost = _askable(state, offer, capacity)
    n, m = len(items), len(who)
    scores = np.empty((n, m + (offer.expert is not None)))
    gains = np.empty_like(scores)
    pairs = label_gain(state, np.repeat(items, m), np.tile(who, n), rate=rate, pending=pending).reshape(n, m)
    gains[:, :m] = shrunk[items][:, None] * pairs
    gains[:, :m][_taken(state, items, who, claimed)] = 0.0
    if max_per_item is not None:
        gains[state.n_labels[items] + pending[items] >= max_per_item, :m] = 0.0
    scores[:, :m] = gains[:, :m] / cost
    prices = cost
    if offer.expert is not None:
        gains[:, m] = shrunk[items] * expert_gain(state, items, rate=rate)
        scores[:, m] = gains[:, m] / offer.expert
        prices, who = np.append(cost, offer.expert), np.append(who, EXPERT)
    order = np.argsort(-np.round(scores.ravel(), 12), kind="stable")
    return _take(order, scores, gains, items, who, prices, capacity, size, money, least)


def _take(
    order: IntArray, scores: FloatArray, gains: FloatArray, items: IntArray, who: IntArray, prices: FloatArray,
    capacity: dict[int, int], size: int, money: float, least: float,
) -> list[tuple[int, int, float, float]]:  # fmt: skip
    """Walk through the pairs, the best first, and take those that are still free."""
    free, room = np.ones(len(items), np.bool_), dict(capacity)
    found: list[tuple[int, int, float, float]] = []
    for place in order.tolist():
        row, column = divmod(place, scores.shape[1])
        if scores[row, column] <= max(least, 0.0) or len(found) == size:
            break
        worker, price = int(who[column]), float(prices[column])
        if not free[row] or price > money + 1e-9 or (worker != EXPERT and room[worker] < 1):
            continue
        free[row] = False
        money -= price
        if worker != EXPERT:
            room[worker] -= 1
        found.append((int(items[row]), worker, price, float(gains[row, column])))
    return found


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
    found = np.zeros((len(items), len(who)), np.bool_)
    for rows, codes in [(row, worker), *_copied(state, row, worker)]:
        seen = column[codes] >= 0
        found[rows[seen], column[codes[seen]]] = True
    return found


def _copied(state: State, row: IntArray, worker: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return the same rows with the copies of the workers in their place."""
    found = []
    for one, other in np.concatenate([state.copies, state.copies[:, ::-1]]):
        same = worker == one
        found.append((row[same], np.full(int(same.sum()), other)))
    return found


def trials(
    state: State, offer: Offer, budget: float, generator: np.random.Generator
) -> tuple[list[tuple[int, int, int, float, float, bool]], IntArray, float, dict[int, int], list[str]]:
    """Give workers who have not been seen a few items that others have settled.

    Returns rows of a plan, the labels pending on each item, the money left, each worker's capacity left, and notes.
    """
    capacity = {int(worker): int(size) for worker, size in zip(offer.workers, offer.capacity, strict=True)}
    pending = np.zeros(state.labels.n_items, np.int64)
    settled = np.flatnonzero(state.known | ((state.probability >= SETTLED) & (state.n_labels > 1)))
    new = [(int(w), float(c)) for w, c in zip(offer.workers, offer.cost, strict=True) if state.n_seen[w] == 0]
    rows: list[tuple[int, int, int, float, float, bool]] = []
    left, tried = budget, 0
    if not len(settled):
        new = []
    for worker, cost in new:
        size = min(TRIAL, capacity[worker], len(settled))
        if budget - left + size * cost > MOST_TRIALS * budget + 1e-9:
            break
        tried += 1
        for item in sorted(generator.choice(settled, size, replace=False).tolist()):
            rows.append((1, item, worker, cost, 0.0, True))
            pending[item] += 1
        capacity[worker] = 0  # asked for more once something is known of them
        left -= size * cost
    notes = []
    if tried:
        notes.append(
            f"{tried:,} of {len(new):,} workers who have not been seen are asked about up to {TRIAL} settled items each, to get "
            "to know them."
        )
    for worker, _ in new[tried:]:
        capacity[worker] = 0
    return rows, pending, left, capacity, notes


def check_plan(budget: float, max_per_item: int | None, batch_size: int | None) -> None:
    """Refuse what makes no sense."""
    if not np.isfinite(budget) or budget <= 0:
        raise ParameterError(f"The budget must be a positive number, not {budget:g}.")
    for name, value in (("max-per-item", max_per_item), ("batch-size", batch_size)):
        if value is not None and value < 1:
            raise ParameterError(f"--{name} must be at least 1, not {value}.")
