"""What the default has learned from real datasets, shipped as a small file with its provenance."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

FILE = "constants.json"


@dataclass(frozen=True)
class Constants:
    r"""All numbers of the default that no single dataset can teach; `benchmarks/learn_default.py` learns them.

    Attributes
    ----------
    dawid_skene, population, vote, items : float
        Weights of the members in the pool.
    correlation : float
        The r of :math:`t(n) = 1 / (1 + r (n - 1))`: n labels of an item count for n t(n) independent ones.
    slip : float
        Share of labels that are taken to have nothing to do with the class when items are judged.
    anchor : float
        Weight of the votes beside the class weights while the population is learned.
    hold : float
        The same while items' effects are learned: as large as it must be lest they find something else than the classes.
    belief, concentration : float
        Of the population: how alike true classes are, and how alike workers, beforehand.
    smoothing : float
        Added to every count of Dawid and Skene's model.
    many : float
        Labels of an item at which its own effect has half of its weight.
    ridge_pool, ridge_class, ridge_worker : float
        How strongly what known items teach is held back: the weights of the pool, a class, a worker.
    scale : float
        The share of a scale's mean that comes from the pool; the rest from the labels' weighted mean.
    settled : float
        Probability from which a label is called settled, so that at most 5 % of those are wrong.
    spread : float
        Standard deviation, between datasets, of the logit of the real error around the estimated one.
    """

    dawid_skene: float
    population: float
    vote: float
    items: float
    correlation: float
    slip: float
    anchor: float
    hold: float
    belief: float
    concentration: float
    smoothing: float
    many: float
    ridge_pool: float
    ridge_class: float
    ridge_worker: float
    scale: float
    settled: float
    spread: float

    def as_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


@cache
def read_file() -> dict[str, Any]:
    """Return the shipped file: ``constants``, and where they come from."""
    return dict(json.loads(files("crowdassay.pool").joinpath(FILE).read_text(encoding="utf-8")))


def shipped() -> Constants:
    """Return the constants that ship with the package.

    >>> 0 < shipped().correlation < 1
    True
    """
    return Constants(**read_file()["constants"])
