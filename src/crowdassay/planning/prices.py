"""Read who can be asked and what a label of theirs costs: small CSV files."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import DataError, FileError, ParameterError
from crowdassay.planning.state import State

DELIMITERS = ",;\t"
ENDLESS = int(np.iinfo(np.int64).max)
EXPERT = -1  # the code of an expert among workers


@dataclass(frozen=True)
class PriceList:
    """What files say of workers: names in order, the price and the capacity of those that have one."""

    names: list[str]
    cost: dict[str, float]
    capacity: dict[str, int]


def read_people(path: Path, *, need_cost: bool = False) -> PriceList:
    """Read a CSV file with a column ``worker`` and, if given, ``cost`` and ``capacity``."""
    rows, columns = _read(path)
    if "worker" not in columns:
        raise DataError(f"'{path}' has no column 'worker'; it has {', '.join(columns)}.")
    if need_cost and "cost" not in columns:
        raise DataError(f"'{path}' has no column 'cost'; it has {', '.join(columns)}.")
    people = PriceList([], {}, {})
    for number, row in enumerate(rows, 2):
        name = (row["worker"] or "").strip()
        if not name:
            raise DataError(f"'{path}', row {number}: the worker is empty.")
        if name in people.names:
            raise DataError(f"'{path}', row {number}: the worker '{name}' was named before; keep one row.")
        people.names.append(name)
        if "cost" in columns and (row["cost"] or "").strip():
            people.cost[name] = _number(path, number, "cost", row["cost"])
        if "capacity" in columns and (row["capacity"] or "").strip():
            people.capacity[name] = int(_number(path, number, "capacity", row["capacity"]))
    if not people.names:
        raise DataError(f"'{path}' names no worker.")
    return people


def make_offer(
    state: State,
    *,
    available: PriceList | None = None,
    prices: PriceList | None = None,
    label_cost: float = 1.0,
    expert: float | None = None,
) -> tuple[State, Offer, list[str]]:
    """Return the state with any workers who have not been seen, the offer, and notes.

    Without ``available`` all workers of the labels can be asked. A price stands in the file of prices, else in that of
    available workers, else it is ``label_cost``.
    """
    for name, value in (("--label-cost", label_cost), ("--expert-cost", expert)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise ParameterError(f"{name} must be a positive number, not {value:g}.")
    notes = []
    if available is not None:
        state = state.with_workers(available.names)
    text = [str(name) for name in state.workers.cast(pa.string()).to_pylist()]
    code = {name: n for n, name in enumerate(text)}
    names = text if available is None else available.names
    if prices is not None and (strangers := [name for name in prices.names if name not in code]):
        notes.append(f"Not among those who can be asked, but with a price: {len(strangers):,}, such as '{strangers[0]}'.")
    given = {**(available.cost if available else {}), **(prices.cost if prices else {})}
    if given and (missing := sum(name not in given for name in names)):
        notes.append(f"{missing:,} of {len(names):,} workers have no price of their own; their labels cost {label_cost:g}.")
    capacity = available.capacity if available else {}
    offer = Offer(
        np.array([code[name] for name in names], np.int64),
        np.array([given.get(name, label_cost) for name in names], np.float64),
        np.array([capacity.get(name, ENDLESS) for name in names], np.int64),
        expert,
    )
    return state, offer, notes


def _read(path: Path) -> tuple[list[dict[str, str | None]], list[str]]:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"'{path}' cannot be read ({reason}).") from None
    head = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=head.count)
    reader = csv.DictReader(text.splitlines(), delimiter=delimiter)
    columns = [(name or "").strip().lower() for name in reader.fieldnames or []]
    if not columns:
        raise DataError(f"'{path}' is empty; it needs a header with the column 'worker'.")
    reader.fieldnames = columns
    return list(reader), columns


def _number(path: Path, row: int, column: str, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise DataError(f"'{path}', row {row}: the {column} must be a positive number, not '{text}'.")
    if column == "capacity" and value != int(value):
        raise DataError(f"'{path}', row {row}: the capacity must be a whole number, not '{text}'.")
    return value


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
