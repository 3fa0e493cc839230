"""Read who can be asked and what a label of theirs costs: small tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, ParameterError
from crowdassay.labels.roles import ROLES, Role
from crowdassay.labels.study_columns import encode_numbers, read_columns
from crowdassay.labels.values import as_text, counted, number_of
from crowdassay.planning.state import State

CAPACITY = Role("capacity", None, ("capacity",), required=False, kind="number")
ENDLESS = int(np.iinfo(np.int64).max)
EXPERT = -1  # the code of an expert among workers


def read_people(path: Path, *, need_cost: bool = False) -> tuple[dict[str, int], dict[str, float]]:
    """Read a table with a column of workers and, if given, of what a label of theirs costs and of how many they will give.

    Returns how many labels each worker will give, without end where nothing is said, and the prices of those that have one.
    """
    if not path.exists() and number_of(str(path)) is not None:
        more = f"one price for every label is --label-cost {path}" if need_cost else "a row for each, with a column 'worker'"
        raise ParameterError(f"--{'cost' if need_cost else 'workers'} takes a file that names workers; {more}.")
    roles = (replace(ROLES["worker"], option=None), replace(ROLES["cost"], required=need_cost), CAPACITY)
    found = read_columns(path, roles, {}, "workers")
    capacity: dict[str, int] = {}
    costs: dict[str, float] = {}
    for number, cell in enumerate(as_text(found.table["worker"]).to_pylist(), 1):
        name = (cell or "").strip()
        if not name:
            raise DataError(f"The worker in data row {number} of '{path}' is empty.")
        if name in capacity:
            raise DataError(f"The worker '{name}' in data row {number} of '{path}' was named before; keep one row.")
        capacity[name] = ENDLESS
    for role in found.table.keys() - {"worker"}:
        numbers = encode_numbers(found.table[role], role, found.source).tolist()
        for number, value in enumerate(numbers, 1):
            if value <= 0 or (role == "capacity" and value % 1 > 0):
                kind = "positive number" if role == "cost" else "positive whole number"
                raise DataError(f"The {role} in data row {number} of '{path}' must be a {kind}, not {value:g}.")
        given = {name: value for name, value in zip(capacity, numbers, strict=True) if not math.isnan(value)}
        if role == "cost":
            costs.update(given)
        else:
            capacity.update({name: int(value) for name, value in given.items()})
    return capacity, costs


def make_offer(
    state: State,
    *,
    capacity: Mapping[str, int] | None = None,
    costs: Mapping[str, float] | None = None,
    label_cost: float = 1.0,
    expert: float | None = None,
) -> tuple[State, Offer, list[str]]:
    """Return the state with any workers who have not been seen, the offer, and notes.

    ``capacity`` says who can be asked and how many labels each will give; without it all workers of the labels can. Whoever has
    no price in ``costs`` is paid ``label_cost``.
    """
    for name, value in (("--label-cost", label_cost), ("--expert-cost", expert)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be a positive number, not {value:g}.")
    notes = []
    if capacity is not None:
        state = state.with_workers(list(capacity))
    text = [str(name) for name in state.workers.cast(pa.string()).to_pylist()]
    code = {name: n for n, name in enumerate(text)}
    capacity, costs = dict.fromkeys(text, ENDLESS) if capacity is None else capacity, costs or {}
    if strangers := [name for name in costs if name not in code]:
        notes.append(f"Not among those who can be asked, but with a price: {len(strangers):,}, such as '{strangers[0]}'.")
    if costs and (missing := sum(name not in costs for name in capacity)):
        notes.append(
            f"Of {counted(len(capacity), 'worker')}, {counted(missing, 'has', 'have')} no price of their own; such a label "
            f"costs {label_cost:g}."
        )
    offer = Offer(
        np.array([code[name] for name in capacity], np.int64),
        np.array([costs.get(name, label_cost) for name in capacity], np.float64),
        np.array(list(capacity.values()), np.int64),
        expert,
    )
    return state, offer, notes


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
