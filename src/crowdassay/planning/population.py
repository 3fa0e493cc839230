"""What public crowds have taught about errors: how far estimates are off, how errors fall, how many labels jobs took."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from crowdassay.models.assay.dependence import Dependence


@lru_cache(maxsize=1)
def population() -> dict[str, Any]:
    """Return what `benchmarks/learn_sizing.py` and `benchmarks/forecast.py` have learned."""
    return dict(json.loads((files("crowdassay.planning") / "population.json").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Law:
    """How the true error of a job lies around what the probabilities say, on the logit scale.

    Attributes
    ----------
    spread : float
        Scale of a Student distribution, such that 95 % of groups of public datasets stay below its upper limit.
    freedom : float
        Its degrees of freedom.
    groups : int
        Groups of datasets it was learned from.
    """

    spread: float
    freedom: float
    groups: int


def shipped_law() -> Law:
    """Return the law learned from public crowds."""
    learned = population()["limit"]
    return Law(**{name: learned[name] for name in Law.__dataclass_fields__})


def forecast_law() -> Dependence:
    """Return the law by which labels add up in forecasts, chosen by `benchmarks/forecast.py`.

    Which label is best depends on how far the method's probabilities will move, and so on the method's own law. How far the
    error will fall is another question: it falls faster than the method, which is careful, believes.
    """
    return Dependence(population()["forecast"]["overlap"])
