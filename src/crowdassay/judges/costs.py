"""What verdicts cost: judges' for dropping the dearest, and people's beside them for what the judges save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.judges.people import People
from crowdassay.judges.rates import Rates
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.values import listed


@dataclass(frozen=True)
class Spent:
    """What was paid, and what people alone would cost for as narrow an interval.

    Attributes
    ----------
    judges, people : float
        For all verdicts of each.
    alone : float
        For as many items seen by people as would give as narrow an interval without the judges.
    """

    judges: float
    people: float
    alone: float

    def as_dict(self) -> dict[str, float]:
        """Return plain values for JSON."""
        return {"judges": round(self.judges, 4), "people": round(self.people, 4), "people_alone": round(self.alone, 4)}


def judge_costs(cost: Mapping[str, float] | None, verdicts: Verdicts) -> FloatArray:
    """Return the cost of a verdict by each judge, shape (n_judges,); 1 for each where none are given."""
    if cost is None:
        return np.ones(len(verdicts.judges))
    if unknown := [name for name in cost if name not in (*verdicts.judges, *verdicts.people)]:
        raise ParameterError(
            f"Costs are given for {listed(unknown, 5)}, who gave no verdict here ({listed(verdicts.judges, 8)} did)."
        )
    if missing := [name for name in verdicts.judges if name not in cost]:
        raise ParameterError(f"No cost is given for {listed(missing, 5)}; every judge needs one.")
    costs = np.array([float(cost[name]) for name in cost])
    if not np.all(np.isfinite(costs) & (costs > 0)):
        raise ParameterError("Costs must be numbers above 0.")
    return np.array([float(cost[name]) for name in verdicts.judges])


def money_spent(
    cost: Mapping[str, float] | None, verdicts: Verdicts, people: People, rates: Rates, alone: Rates
) -> Spent | None:
    """Return what was spent; None where the costs of people are not given.

    Parameters
    ----------
    cost : mapping, optional
        Of a verdict by each judge and each person; every person needs one, or none.
    verdicts : Verdicts
    people : People
    rates, alone : list of Interval
        With the judges' help and without.
    """
    if cost is None or not any(name in cost for name in verdicts.people):
        return None
    if missing := [name for name in verdicts.people if name not in cost]:
        raise ParameterError(
            f"Costs are given for some people, and not for {listed(missing, 5)}; every person needs one, or none."
        )
    paid = float(np.array([float(cost[name]) for name in verdicts.people])[verdicts.person].sum())
    machine = float(judge_costs(cost, verdicts)[verdicts.judge].sum())
    return Spent(machine, paid, paid * judges_gain(rates, alone))


def judges_gain(rates: Rates, alone: Rates) -> float:
    """Return how many times as many items people alone would have to see for as narrow an interval: the class in the middle."""
    gains = sorted(one.effective / max(other.effective, 1e-9) for one, other in zip(rates, alone, strict=True))
    return max(float(gains[len(gains) // 2]), 1.0)


def as_money(spent: Spent | None) -> dict[str, Any] | None:
    """Return what was spent as plain values; None where it is not known."""
    return None if spent is None else spent.as_dict()
