"""The recommended default: several models look at the labels, and real crowds have shown what labels are worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.engines.blocks import ItemSelection
from crowdassay.engines.sweeps import Blind
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator, match_workers
from crowdassay.labels.labels import Labels
from crowdassay.labels.values import as_text, listed
from crowdassay.models.assay.constants import Constants, default_constants
from crowdassay.read_options import READING_OPTIONS
from crowdassay.results.parameters import check_order
from crowdassay.solvers.assay.gold import check_known, contradiction, correct, read_gold, score_workers
from crowdassay.solvers.assay.members import fit_tables, make_pool
from crowdassay.solvers.assay.pool import ByPool, Pool, believed, predict_proba
from crowdassay.solvers.solution import Progress, Solution
from crowdassay.statistics import softmax

NOTICED = 0.1  # rise of the labels' correlation from which on the user is told
BELIEVED = 0.95  # probability that an answer of a worker to be believed is right


@dataclass(kw_only=True, eq=False, repr=False)
class Assay(Estimator):
    r"""Pool several models, and let an item's labels count for as many independent ones as real crowds have shown.

    .. math::  q_{jc} \propto \exp\Big\{f(n_j) \Big[t(n_j) \sum_i \sum_m w_m \log \tilde p_{im}(c, x_{ij})
               + w_v \log s_{jc}\Big]\Big\}, \qquad t(n) = \frac{1}{1 + r (n - 1)}

    The members m are Dawid and Skene's model and workers drawn from a learned population; :math:`\tilde p` lets some labels be
    slips, s is the smoothed vote share. With two classes there is a third member, in which each item may mislead workers in its
    own way; it counts as far as the labels speak for it. With more classes :math:`f(n) = \max(1, n / n_0)^g` makes many labels
    worth more than a few; with two it is 1. The weights, r, g and the share of slips are learned from real datasets
    and ship with the package. Known items correct the weights, the classes and the workers, the more the more there are.

    Parameters
    ----------
    ordered : bool
        Whether the classes are a scale, in class order. Then the mean class of an item lies nearer to that of its labels,
        precise workers counting more. Which class becomes the label is another choice: ``decide``.
    gold_workers : tuple of str
        Workers to be believed: their answers count as known classes that may be wrong once in twenty times.
    constants : Constants or None
        What was learned from other datasets; None takes what ships with the package.
    threads : int or None
        None takes all cores.

    Examples
    --------
    >>> data = (["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"])
    >>> Assay().fit(data).labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "assay"
    by_sums: ClassVar[bool] = True  # and of the labels of a few items

    ordered: bool = False
    gold_workers: tuple[str, ...] = ()
    constants: Constants | None = None
    threads: int | None = None

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Fit the members on any engine without looking at known classes, then let these correct what was found."""
        constants, nothing = self.constants or default_constants(), engine.gather(ItemSelection())
        if self.ordered:
            check_order(nothing)
        trust = self._trust(nothing)
        trusted = None if trust is None else ~np.isnan(trust)
        known = engine.gather(ItemSelection(known=True, workers=trusted))
        told = ItemSelection(known=True).take(known)
        blind: Engine = Blind(engine, told) if told.n_items else engine
        tables = fit_tables(blind, constants, ordered=self.ordered, progress=progress)
        pool = replace(make_pool(blind, tables, constants, ordered=self.ordered), trust=trust)
        gold_warning, scores, checked = "", None, None
        if known.n_items:
            target = softmax(believed(known, pool))
            target[known.gold >= 0] = np.eye(engine.n_classes)[known.gold[known.gold >= 0]]
            gold = read_gold(known, pool, target)
            gold_warning = contradiction(gold)
            checked = check_known(known, pool, target, constants, self.decide)
            pool = correct(pool, gold, constants)
            scores = score_workers(known, np.where(known.gold >= 0, known.gold, target.argmax(axis=1)))
        self.pool_ = pool
        weight = 0.0 if pool.items is None else pool.items.item_effect_weight
        notes = [gold_warning] if gold_warning else []
        if weight >= 0.1:
            notes.append(
                f"Some items seem to mislead most workers. That was taken into account, with a weight of {weight:.0%}."
            )
        if pool.correlation > constants.correlation + NOTICED and not known.n_items:
            notes.append(
                "The labels of an item hardly ever differ, less than in any real crowd, as if one answer had been copied. They "
                "count for little more than one; items of known class (--gold) would show what they are worth."
            )
        settings = {
            "ordered": pool.precision is not None or None,
            "gold_workers": list(self.gold_workers) or None,
            "item_effects": round(weight, 4),
            "correlation": pool.correlation,
        }
        return Solution(
            ByPool(pool), pool.tables, pool.offset, n_iter=tables.n_iter, settings=settings, confusion=tables.mean,
            known=scores, checked=checked, gold_warning=gold_warning, settled=constants.settled, spread=constants.spread,
            notes=tuple(notes),
        )  # fmt: skip

    def _trust(self, labels: Labels) -> FloatArray | None:
        """Return the log odds of answers of believed workers, (n_workers,), NaN for others; None without any."""
        names: Iterable[object] = self.gold_workers
        if isinstance(names, str) or not all(isinstance(name, str) for name in names):
            raise ParameterError(f"gold_workers must be names of workers, such as ('ann', 'bob'), not {self.gold_workers!r}.")
        if not self.gold_workers:
            return None
        workers = np.asarray(as_text(labels.workers))
        missing = sorted(set(self.gold_workers) - set(workers.tolist()))
        if missing:
            raise ParameterError(f"No label is by the gold {'worker' if len(missing) == 1 else 'workers'} {listed(missing)}.")
        odds = np.log(BELIEVED * max(labels.n_classes - 1, 1) / (1.0 - BELIEVED))
        return np.where(np.isin(workers, self.gold_workers), odds, np.nan)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        pool: Pool = self.pool_
        return predict_proba(labels, pool.of_workers(match_workers(self._fitted().labels, labels)))

    def _stranger(self) -> FloatArray:
        return np.asarray(self.pool_.stranger)


def aggregate(data: object, *, gold: object = None, **options: Any) -> Estimator:
    """Fit the recommended method and return it; its tables are `labels_`, `posterior_`, `workers_` and `items_`.

    Parameters
    ----------
    data : Labels, path, frame, or triple (items, workers, labels)
    gold : frame, mapping or path, optional
        Items whose class is known.
    **options
        Parameters of `Assay`, and how to read the labels, as for `crowdassay.as_labels`: ``item_column="task"`` and so on.

    Examples
    --------
    >>> fitted = aggregate((["a", "a", "a", "b"], ["x", "y", "z", "x"], ["no", "no", "yes", "yes"]))
    >>> fitted.labels_["label"].to_pylist()
    ['no', 'yes']
    """
    reading = {name: options.pop(name) for name in READING_OPTIONS if name in options}
    return Assay(**options).fit(data, gold=gold, **reading)
