"""Who labels what next: pairs of item and worker by what they are expected to gain for their cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.planning.batch import one_batch
from crowdassay.planning.gain import expert_gain, label_gain
from crowdassay.planning.offer import EXPERT, Offer
from crowdassay.planning.state import State
from crowdassay.planning.trials import trials

SMALLEST_BATCH = 100  # labels


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
    def nothing(cls) -> Plan:
        """Return a plan without assignments."""
        none = np.empty(0, np.int64)
        return cls(none, none, none, np.empty(0), np.empty(0), np.empty(0, np.bool_))

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
    offer = offer or Offer.everyone(state)
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
        return replace(Plan.nothing(), notes=[*notes, _why_nothing(state, left, cheapest, max_per_item, least)])
    columns = list(zip(*rows, strict=True))
    if left >= cheapest - 1e-9:
        notes.append(f"{left:,.12g} of the budget is left: nobody can be asked about anything that is worth it.")
    batches, items, workers, costs, gains, trial = columns
    return Plan(
        np.array(batches, np.int64),
        np.array(items, np.int64),
        np.array(workers, np.int64),
        np.array(costs, np.float64),
        np.array(gains, np.float64),
        np.array(trial, np.bool_),
        notes,
    )


def _why_nothing(state: State, left: float, cheapest: float, max_per_item: int | None, least: float) -> str:
    """Say why nothing was assigned."""
    if left < cheapest - 1e-9:
        return f"A budget of {left:g} buys nothing: the cheapest label costs {cheapest:g}."
    if max_per_item is not None and not (~state.known & (state.n_labels < max_per_item)).any():
        return f"Every item has the {max_per_item} labels that it may have (--max-per-item)."
    if least > 0:
        return "No label is worth what it costs: each is expected to remove less of an error than it would pay for."
    return "Nobody can be asked about anything: those who are available have labelled it, or their labels would change nothing."


def check_plan(budget: float, max_per_item: int | None, batch_size: int | None) -> None:
    """Refuse what makes no sense."""
    if not np.isfinite(budget) or budget <= 0:
        raise ParameterError(f"The budget must be a positive number, not {budget:g}.")
    for name, value in (("max-per-item", max_per_item), ("batch-size", batch_size)):
        if value is not None and value < 1:
            raise ParameterError(f"--{name} must be at least 1, not {value}.")
