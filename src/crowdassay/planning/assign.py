"""Who labels what next: pairs of item and worker by what they gain for their cost, batch by batch; trials for strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.planning.gain import expert_gain, gain_by, information, label_gain
from crowdassay.planning.prices import EXPERT, Offer, make_offer
from crowdassay.planning.state import State

SMALLEST_BATCH = 100  # labels
WORKERS_LOOKED_AT = 64  # workers looked at in a batch, the most informative for their cost
WIDER = 3  # items looked at for each label of a batch
TRIAL = 5  # settled items that a worker who has not been seen is asked about
MOST_TRIALS = 0.2  # of the budget

Assignment = tuple[int, int, int, float, float, bool]
"""One row of a `Plan`."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Assignments in the order in which they are worth their cost, shape (n,) each.

    Attributes
    ----------
    batch : ndarray of int
        From 1. All labels of a batch can be given at the same time; but for trials, no item is in a batch twice.
    item, worker : ndarray of int
        Codes; the worker is -1 for an expert.
    cost, gain : ndarray
        Price, and expected fall of the error in items (or of the variance of a rate), see `label_gain`.
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

    @classmethod
    def of(cls, rows: Sequence[Assignment] = (), notes: Sequence[str] = ()) -> Plan:
        """Make a plan of assignments, or without any."""
        columns = list(zip(*rows, strict=True)) or [()] * 6
        batch, item, worker = (np.array(column, np.int64) for column in columns[:3])
        cost, gain = (np.array(column, np.float64) for column in columns[3:5])
        return cls(batch, item, worker, cost, gain, np.array(columns[5], np.bool_), list(notes))

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


def assign(
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
    >>> found = assign(state, 10)
    >>> len(found.item), float(found.cost.sum()), int(found.batch.max())
    (10, 10.0, 1)
    """
    check_plan(budget, max_per_item, batch_size)
    offer = offer or make_offer(state)[1]
    rows, pending, left, capacity, notes = trials(state, offer, budget, np.random.default_rng(seed))
    known = state.known
    done = known.copy()
    if len(offer.cost) == 0 and offer.expert is None:
        raise ParameterError("Nobody can be asked: there is neither a worker nor an expert.")
    cheapest = min([*offer.cost.tolist(), *([] if offer.expert is None else [offer.expert])])
    size = batch_size or max(SMALLEST_BATCH, int(np.ceil(left / max(cheapest, 1e-9) / 10)))
    claimed = {(item, worker) for _, item, worker, *_ in rows}
    shrunk = np.ones(state.labels.n_items)
    typical = label_gain(state, np.arange(state.labels.n_items), rate=rate, pending=pending)
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
            typical=typical, pending=pending, shrunk=shrunk, capacity=capacity, claimed=claimed, max_per_item=max_per_item,
            rate=rate, least=least,
        )  # fmt: skip
        if not chosen:
            break
        touched = np.array([item for item, *_ in chosen], np.int64)
        before = expert_gain(state, touched, rate=rate)
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
        typical[touched] = label_gain(state, touched, rate=rate, pending=pending)
        first = False
    if not rows:
        return Plan.of(notes=[*notes, _why_nothing(state, left, cheapest, max_per_item, least)])
    if left >= cheapest - 1e-9:
        notes.append(f"{left:,.12g} of the budget is left: no label that anybody asked could still give is worth its price.")
    return Plan.of(rows, notes)


def _why_nothing(state: State, left: float, cheapest: float, max_per_item: int | None, least: float) -> str:
    """Return why nothing was assigned."""
    if left < cheapest - 1e-9:
        return f"A budget of {left:g} buys nothing: the cheapest label costs {cheapest:g}."
    if max_per_item is not None and not (~state.known & (state.n_labels < max_per_item)).any():
        return f"Every item has as many labels as --max-per-item allows ({max_per_item})."
    if least > 0:
        return "No label is worth what it costs: each is expected to remove less of an error than it would pay for."
    return "No label is worth asking for: whoever can be asked has labelled the open items already, or would change nothing."


def check_plan(budget: float, max_per_item: int | None, batch_size: int | None) -> None:
    """Refuse what makes no sense."""
    if not np.isfinite(budget) or budget <= 0:
        raise ParameterError(f"The budget must be a positive number, not {budget:g}.")
    for name, value in (("max-per-item", max_per_item), ("batch-size", batch_size)):
        if value is not None and value < 1:
            raise ParameterError(f"--{name} must be at least 1, not {value}.")


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
    room = dict(capacity)
    taken: dict[int, tuple[int, int, float, float]] = {}
    for place in order[told.ravel()[order] > 0].tolist():  # the best first
        if len(taken) == size:
            break
        row, column = divmod(place, gains.shape[1])
        worker, price, won = int(who[column]), float(prices[column]), float(gains[row, column])
        if row in taken or won < least * price or price > money + 1e-9 or (worker != EXPERT and room[worker] < 1):
            continue
        money -= price
        if worker != EXPERT:
            room[worker] -= 1
        taken[row] = (int(items[row]), worker, price, won)
    return list(taken.values())


def _askable(state: State, offer: Offer, capacity: dict[int, int]) -> tuple[IntArray, FloatArray]:
    """Return the workers to look at and their prices: those with labels left to give, the most informative for their cost."""
    free = np.array([capacity[int(worker)] > 0 for worker in offer.workers], np.bool_)
    who, cost = offer.workers[free], np.maximum(offer.cost[free], 1e-9)
    if len(who) <= WORKERS_LOOKED_AT:
        return who, cost
    prior = np.exp(state.log_prior)[:, None]
    tables = state.tables[who]
    answers = (prior * tables).sum(axis=1)
    bits = (prior * tables * np.log(np.maximum(tables, 1e-12) / np.maximum(answers[:, None, :], 1e-12))).sum(axis=(1, 2))
    best = np.argsort(-np.round(bits / cost, 12), kind="stable")[:WORKERS_LOOKED_AT]
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
    seen = column[worker] >= 0
    taken[row[seen], column[worker[seen]]] = True
    for one, other in np.concatenate([state.copies, state.copies[:, ::-1]]):
        if column[other] >= 0:
            taken[row[worker == one], column[other]] = True
    return taken


def settled_items(state: State) -> IntArray:
    """Return known items and settled ones of several labels; where these are few, the surest twentieth of all."""
    several = state.known | (state.n_labels > 1)
    settled = np.flatnonzero(several & (state.probability >= state.settled))
    if len(settled) >= TRIAL:
        return settled
    surest = np.argsort(-np.where(several, state.probability, 0.0), kind="stable")
    return np.sort(surest[: min(int(several.sum()), max(TRIAL, len(surest) // 20))])


def trials(
    state: State, offer: Offer, budget: float, generator: np.random.Generator
) -> tuple[list[Assignment], IntArray, float, dict[int, int], list[str]]:
    """Give workers who have not been seen a few items that others have settled.

    Returns rows of a plan, the labels pending on each item, the money left, each worker's capacity left, and notes.
    """
    capacity = {int(worker): int(size) for worker, size in zip(offer.workers, offer.capacity, strict=True)}
    pending = np.zeros(state.labels.n_items, np.int64)
    settled = settled_items(state)
    seen = np.bincount(state.labels.worker, minlength=len(state.workers))
    new = [(int(w), float(c)) for w, c in zip(offer.workers, offer.cost, strict=True) if seen[w] == 0]
    rows: list[Assignment] = []
    left, tried = budget, 0
    if not len(settled):
        new = []
    for worker, cost in new:
        room = int((MOST_TRIALS * budget - (budget - left)) / cost + 1e-9)
        size = min(TRIAL, capacity[worker], len(settled), room)
        if size < 1:
            break
        tried += 1
        for item in sorted(generator.choice(settled, size, replace=False).tolist()):
            rows.append((1, item, worker, cost, 0.0, True))
            pending[item] += 1
        left -= size * cost
    notes = []
    if tried:
        notes.append(
            f"Workers who have not been seen and get up to {TRIAL} settled items each, to get to know them: {tried:,}."
        )
    if waiting := len(new) - tried:
        notes.append(
            f"Workers who have not been seen and have to wait: {waiting:,}; getting to know them takes at most "
            f"{MOST_TRIALS:.0%} of a budget."
        )
    capacity.update((worker, 0) for worker, _ in new)  # asked for more once something is known of them
    return rows, pending, left, capacity, notes
