"""`plan`: where a fitted job stands, what to label next, by whom, and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import row_max
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.record import Record
from crowdassay.planning.assign import Plan, assign, check_plan
from crowdassay.planning.gain import Curve, error_curve, label_gain
from crowdassay.planning.prices import ENDLESS, EXPERT, make_offer
from crowdassay.planning.state import State
from crowdassay.planning.stop import CONFIDENCE, Limit, known_needed, population, shipped_law


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan with all it rests on.

    Attributes
    ----------
    state : State
        Where the job stood.
    plan : Plan
        Who labels what; nothing where the upper limit of the error is within the target.
    standing : JobStanding
        How wrong the job is, with an upper limit, and the curve of the expected error.
    price : float
        Of a label, the mean over those who can be asked.
    target : float or None
    max_per_item : int or None
    notes : list of str

    Examples
    --------
    >>> from crowdassay import Assay, simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=50)
    >>> planned = plan(Assay().fit(labels), 5, label_cost=0.5)
    >>> planned.assignments().column_names
    ['batch', 'item', 'worker', 'cost', 'gain', 'reason']
    >>> planned.summary()["planned_labels"]
    10
    """

    state: State
    plan: Plan
    standing: JobStanding
    price: float
    target: float | None
    max_per_item: int | None
    notes: list[str]

    def assignments(self) -> pa.Table:
        """Tabulate batch, item, worker, cost, gain and reason; an expert's rows have no worker."""
        return self.plan.table(self.state)

    def decisions(self) -> pa.Table:
        """Tabulate what to do with every item: stop, label, expert, or wait."""
        return items_table(self.state, self.plan, max_per_item=self.max_per_item)

    def curve(self) -> list[dict[str, Any]]:
        """Return the expected error, and its upper limit, against further labels and what they cost."""
        return curve_records(self.standing, cost=self.price)

    def says(self) -> str:
        """Return a sentence: the estimated error and its upper limit; with a target whether to stop."""
        limit = self.standing.limit
        return "the error is unknown" if limit is None else limit.says(self.target)

    def summary(self) -> dict[str, Any]:
        """Return the plan in plain values: where the job stands, what is asked for, and what that is expected to bring."""
        state, made, limit, curve = self.state, self.plan, self.standing.limit, self.standing.curve
        expert = made.worker == EXPERT
        asked, unknown = int((~made.trial & ~expert).sum()), max(int((~state.known).sum()), 1)
        solved = float((1 - state.probability[made.item[expert]]).sum()) / state.labels.n_items
        left = float(np.interp(asked, curve.labels, curve.error))
        needed = None if self.target is None or limit is None else curve.labels_for(self.target)
        known = None if limit is None else known_needed(limit, shipped_law(), target=self.target, most=unknown)
        return {
            "items": state.labels.n_items,
            "labels": state.labels.n_labels,
            "items_settled": int(state.settled_items.sum()),
            "known_items": 0 if limit is None else limit.known,
            "known_items_wrong": 0 if limit is None else limit.wrong,
            "estimated_error": None if limit is None else limit.error,
            "lower_limit": None if limit is None else limit.low,
            "upper_limit": None if limit is None else limit.high,
            "target_error": self.target,
            "says": self.says(),
            "stop": self.target is not None and limit is not None and limit.high <= self.target,
            "known_items_advised": None if known is None else known[0],
            "upper_limit_with_these": None if known is None else known[1],
            "planned_labels": asked,
            "planned_trials": int(made.trial.sum()),
            "planned_experts": int(expert.sum()),
            "batches": int(made.batch.max(initial=0)),
            "spend": float(made.cost.sum()),
            "expected_error_after": None if limit is None else max(left - solved * limit.factor, 0.0),
            "labels_for_target": needed,
            "spend_for_target": None if needed is None else needed * self.price,
        }


def plan(
    fitted: Any,
    budget: float,
    *,
    target_error: float | None = None,
    workers: Iterable[str] | Mapping[str, int] | None = None,
    label_cost: float = 1.0,
    worker_costs: Mapping[str, float] | None = None,
    expert_cost: float | None = None,
    error_cost: float | None = None,
    max_per_item: int | None = None,
    batch_size: int | None = None,
    rate: str | None = None,
    seed: int = 0,
) -> Planned:
    """Plan what to label next, by whom, and say when to stop; the same as ``crowdassay plan``.

    Parameters
    ----------
    fitted : Estimator or Result
        A fitted method.
    budget : float
        Money to spend, in the unit of the costs.
    target_error : float, optional
        Nothing is planned once the upper limit of the error is at most this.
    workers : iterable of str, or mapping of str to int, optional
        Who can be asked; a mapping says how many labels each will still give. By default all who have given labels.
    label_cost : float
        Price of a label of whoever is not in ``worker_costs``.
    worker_costs : mapping of str to float, optional
        Price of a label of each worker.
    expert_cost : float, optional
        What it costs to know an item's class for certain; without, no expert is asked.
    error_cost : float, optional
        What a wrong label costs: nothing is asked for that is worth less.
    max_per_item : int, optional
        Labels that an item may have, those given included.
    batch_size : int, optional
        Labels that are asked for at a time.
    rate : str, optional
        Plan for the share of this class among the items instead of the error.
    seed : int

    Examples
    --------
    >>> from crowdassay import Assay, simulate
    >>> labels, _ = simulate(np.random.default_rng(0), n_items=50)
    >>> made = plan(Assay().fit(labels), 10)
    >>> made.assignments().num_rows, made.summary()["spend"]
    (10, 10.0)
    """
    check_numbers(budget, target_error, error_cost, max_per_item, batch_size)
    if not isinstance(fitted, Record) and not hasattr(fitted, "result_"):
        raise ParameterError("A plan is made for a fitted estimator, or for its result; call fit first.")
    result: Any = fitted if isinstance(fitted, Record) else fitted.result_
    state = State.of_result(result)
    capacity = None
    if workers is not None:
        pairs = workers.items() if isinstance(workers, Mapping) else ((name, ENDLESS) for name in workers)
        capacity = {str(name): int(size) for name, size in pairs}
    state, offer, notes = make_offer(state, capacity=capacity, costs=worker_costs, label_cost=label_cost, expert=expert_cost)
    names = state.labels.class_names
    if rate is not None and rate not in names:
        raise ParameterError(f"--rate takes one of the classes ({', '.join(names[:12])}), not '{rate}'.")
    code = None if rate is None else names.index(rate)
    standing = assess(state, result.insight.error, result.insight.why_no_error)
    made = Plan.of()
    if target_error is None or standing.limit is None or standing.limit.high > target_error:
        least = 0.0 if error_cost is None else 1 / error_cost
        made = assign(
            state, budget, offer=offer, max_per_item=max_per_item, batch_size=batch_size, rate=code, least=least, seed=seed
        )
    price = float(offer.cost.mean()) if len(offer.cost) else label_cost
    notes = [*notes, *standing.notes, *made.notes]
    return Planned(state, made, standing, price, target_error, max_per_item, notes)


def check_numbers(
    budget: float, target_error: float | None, error_cost: float | None, max_per_item: int | None, batch_size: int | None
) -> None:
    """Refuse what makes no sense."""
    check_plan(budget, max_per_item, batch_size)
    if target_error is not None and not 0 < target_error < 1:
        raise ParameterError(f"--target-error must lie between 0 and 1, such as 0.05, not {target_error:g}.")
    if error_cost is not None and not (np.isfinite(error_cost) and error_cost > 0):
        raise ParameterError(f"--error-cost must be a positive number, not {error_cost:g}.")


@dataclass(frozen=True, eq=False)
class JobStanding:
    """How wrong a job is now, and what more labels would bring.

    Attributes
    ----------
    limit : Limit or None
        The estimated error and its limits; None where there is no estimate, and a note says why.
    curve : Curve
    notes : list of str
    """

    limit: Limit | None
    curve: Curve
    notes: list[str]


def assess(state: State, error: Limit | None, why: str = "") -> JobStanding:
    """Draw the curve of a job whose error is known, and note what the limit does not hold for.

    Parameters
    ----------
    state : State
    error : Limit or None
        The estimated error and its limits; None where there is no estimate.
    why : str
        Why there is none.
    """
    notes, unknown = [why] if why else [], 1 - row_max(state.posterior[~state.known])
    if error is not None and error.known and len(unknown) and error.known_doubt > np.quantile(unknown, 0.75):
        held = population()["limit"]["coverage"]["held_of_replays"]["hardest"]
        notes.append(
            f"Most known items are harder than the others. Where only hard ones were known, the limit held in {held:.0%} of "
            f"replays, not {CONFIDENCE:.0%}; let an expert answer some items drawn at random."
        )
    return JobStanding(error, error_curve(state, factor=1.0 if error is None else error.factor), notes)


def curve_records(standing: JobStanding, *, cost: float = 1.0) -> list[dict[str, Any]]:
    """Return the curve for a chart: labels, spend, error and its upper limit, which keeps its distance in proportion."""
    curve, limit = standing.curve, standing.limit
    if limit is None:
        raise DataError(" ".join(standing.notes))
    above = limit.high / max(limit.error, 1e-9)
    return [
        {
            "labels": round(float(n), 1),
            "spend": round(float(n) * cost, 2),
            "error": round(float(error), 5),
            "high": round(min(float(error) * above, 1.0), 5),
        }
        for n, error in zip(curve.labels, curve.error, strict=True)
    ]


def items_table(state: State, plan: Plan, *, max_per_item: int | None = None) -> pa.Table:
    """Tabulate item, label, probability, n_labels, gain and what to do: stop, label, expert, or wait."""
    codes = np.where(state.known, state.labels.gold, state.posterior.argmax(axis=1))
    what = np.where(state.settled_items, "stop", "wait").astype(object)
    if max_per_item is not None:
        what[state.n_labels >= max_per_item] = "stop"
    real = ~plan.trial
    what[plan.item[real & (plan.worker != EXPERT)]] = "label"
    what[plan.item[real & (plan.worker == EXPERT)]] = "expert"
    gain = label_gain(state, np.arange(state.labels.n_items))
    return pa.table(
        {
            "item": state.labels.items,
            "label": state.labels.classes.take(pa.array(codes)),
            "probability": state.probability,
            "n_labels": state.n_labels,
            "gain": np.where(state.known, 0.0, gain),
            "decision": pa.array(what.tolist(), pa.string()),
        }
    )
