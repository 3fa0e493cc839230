"""What the default has learned from real datasets, shipped as a small file with its provenance."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from crowdassay.special import expit, logit

MOST_WRONG = 0.05  # of the labels that are called settled


@dataclass(frozen=True)
class Constants:
    r"""All numbers of the default that no single dataset can teach; `benchmarks/learn_default.py` learns them.

    Attributes
    ----------
    dawid_skene, population, vote, items : float
        Weights of the members in the pool.
    correlation : float
        The r of :math:`t(n) = 1 / (1 + r (n - 1))`: n labels of an item count for n t(n) independent ones.
    few, growth : float
        With more than two classes: labels of an item beyond which the logits grow, as :math:`(n / n_0)^g`.
    slip : float
        Share of labels that are taken to have nothing to do with the class when items are predicted.
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
    spread : float
        Standard deviation, between datasets, of the logit of the real error around the estimated one.
    """

    dawid_skene: float
    population: float
    vote: float
    items: float
    correlation: float
    few: float
    growth: float
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
    spread: float

    @property
    def settled(self) -> float:
        """Probability from which a label is called settled."""
        return settled_from(self.spread)

    def as_dict(self) -> dict[str, float]:
        """Return the numbers by name."""
        return asdict(self)


def settled_from(spread: float) -> float:
    r"""Return the least probability p at which a label is called settled, for a ``spread`` between datasets.

    .. math::  \operatorname{E}_z\, \operatorname{expit}\big(\operatorname{logit}(1 - p) + \sigma z\big) = 0.05, \qquad
               z \sim \operatorname{N}(0, 1)

    All probabilities of a dataset may be off together, by a shift that is known only by its spread; averaged over it, a label
    that is just settled is wrong with a probability of 5 %. Rounded up to a thousandth.

    >>> [round(settled_from(spread), 3) for spread in (0.0, 0.7)]
    [0.95, 0.96]
    """
    place = np.linspace(-9.0, 9.0, 181)
    weight = np.exp(-(place**2) / 2)
    weight /= weight.sum()
    p = np.arange(500, 1000) / 1000
    wrong = weight @ expit(logit(1 - p) + spread * place[:, None])
    return float(p[min(int(np.searchsorted(-wrong, -MOST_WRONG - 1e-9)), len(p) - 1)])


@cache
def default_constants() -> Constants:
    """Return the constants that ship with the package.

    >>> 0 < default_constants().correlation < 1
    True
    """
    shipped = json.loads(files("crowdassay.models.assay").joinpath("constants.json").read_text(encoding="utf-8"))
    return Constants(**shipped["constants"])
