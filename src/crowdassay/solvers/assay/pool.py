r"""Predict classes by a pool of models, a block of items at a time; everything a block needs has the size of the workers.

.. math::  q_{jc} \propto \exp\Big\{(1 - h_j)\, f(n_j) \Big[t(n_j) \big(\textstyle\sum_i A_i(c, x_{ij}) + o_c\big)
           + w_v \log s_{jc}\Big] + h_j w_e \log e_{jc} + b_c\Big\}, \qquad t(n) = \frac{1}{1 + r (n - 1)}

The table A_i adds up, weighted, the log probabilities of a worker's answers under each member; s is the smoothed vote share, e
the class probability of a model in which each item has an effect of its own, h how far that model is believed, and b what known
items say about a class. :math:`n\, t(n)` is the number of independent labels that n correlated ones are worth (Kish's design
effect with correlation r), where a label counts for one, and for less if its worker's answers say less of the class than usual.
With more than two classes, where there is no e, :math:`f(n) = \max(1, n / n_0)^g`: many labels are worth more than a few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Ability, local_engine
from crowdassay.engines.kernels.small import FEW_LABELS, add_items
from crowdassay.labels.join import slice_items
from crowdassay.labels.labels import Labels, with_known
from crowdassay.labels.record import find_winners
from crowdassay.models.assay.dependence import sharpening, worth
from crowdassay.solvers.solution import ItemPosterior
from crowdassay.statistics import softmax
from crowdassay.threads import on_all_cores

if TYPE_CHECKING:
    from scipy.sparse import csr_array

LEAST_PROBABILITY = 1e-4  # probability that the model with item effects gives a class at least
ITEMS_AT_ONCE = 1 << 14  # items predicted at a time
HALVINGS = 60  # halvings of the interval in which a mean is looked for


@dataclass(frozen=True, eq=False)
class ItemMember:
    """The member whose items have effects of their own, for two classes.

    Attributes
    ----------
    p : ndarray of shape (n_workers, n_classes, n_classes)
    log_prior : ndarray of shape (n_classes,)
    precision : float
    item_effect_weight : float
        How far the labels speak for effects, from 0 to 1.
    weight : float
    """

    p: FloatArray
    log_prior: FloatArray
    precision: float
    item_effect_weight: float
    weight: float

    def log_posterior(self, labels: Labels) -> FloatArray:
        """Return the logarithms of its class probabilities, (n_items, n_classes)."""
        engine = local_engine(without_gold(labels))
        effects = np.zeros((labels.n_items, labels.n_classes, labels.n_classes))
        integrated = engine.integrate(self.p, self.log_prior, anchor=0.0, precision=self.precision, effects=effects)
        return np.log(np.maximum(integrated.posterior, LEAST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class Pool:
    """All that is needed to predict the class of any item.

    Attributes
    ----------
    tables : ndarray of shape (n_workers, n_classes, n_classes)
        A: what an answer (last axis) adds to the logit of a class.
    stranger : ndarray of shape (n_classes, n_classes)
        The same for a worker never seen.
    offset : ndarray of shape (n_classes,)
        o: the class prior, weighted like the tables.
    bias : ndarray of shape (n_classes,)
    vote, correlation, many : float
    few, growth : float
        Of f, by which the logits of items with many labels grow; not with a growth of 0.
    label_weight : ndarray of shape (n_workers,)
        From 0 to 1, how much of a label each worker's label counts for: one that says nothing of the class, not at all.
    stranger_weight : float
        The same for a worker never seen.
    items : ItemMember or None
    precision : ndarray of shape (n_workers,) or None
        For ordered classes: the weight of a worker's label in the mean.
    scale : float
        For ordered classes: the share of the pool in the mean to report.
    trust : ndarray of shape (n_workers,) or None
        The log odds that count for an answer of workers who are believed; NaN for all others.
    """

    tables: FloatArray
    stranger: FloatArray
    offset: FloatArray
    bias: FloatArray
    vote: float
    correlation: float
    many: float
    label_weight: FloatArray
    stranger_weight: float
    items: ItemMember | None = None
    precision: FloatArray | None = None
    scale: float = 1.0
    trust: FloatArray | None = None
    few: float = 1.0
    growth: float = 0.0

    @property
    def law(self) -> tuple[float, ...]:
        """What labels are worth: the weight of the vote, the correlation, and from how many labels on logits grow, how fast."""
        return self.vote, self.correlation, self.few, self.growth

    def of_workers(self, code: IntArray) -> Pool:
        """Return the pool for other workers, (n_other,): their code here, or -1 for a stranger."""
        code = np.where(code < len(self.tables), code, -1)

        def rows(known: FloatArray, stranger: FloatArray | float) -> FloatArray:
            values = np.empty((len(code), *known.shape[1:]))
            values[:] = stranger
            values[code >= 0] = known[code[code >= 0]]
            return values

        items = self.items
        return replace(
            self,
            tables=rows(self.tables, self.stranger),
            label_weight=rows(self.label_weight, self.stranger_weight),
            items=None if items is None else replace(items, p=rows(items.p, items.p.mean(axis=0))),
            precision=None if self.precision is None else rows(self.precision, float(self.precision.mean())),
            trust=None if self.trust is None else rows(self.trust, np.nan),
        )


def without_gold(labels: Labels) -> Labels:
    """Return the same labels as if no class were known."""
    return labels.with_gold(np.full(labels.n_items, -1, np.int32))


def answers(labels: Labels, counted: FloatArray | None = None) -> csr_array:
    """Return which answers each item has, shape (n_items, n_workers * n_classes); ``counted`` (n_labels,) weighs the labels."""
    from scipy.sparse import csr_array  # noqa: PLC0415  slow to load

    ones = np.ones(labels.n_labels) if counted is None else counted
    return csr_array((ones, _cells(labels), labels.starts), shape=(labels.n_items, labels.n_workers * labels.n_classes))


def add_answers(labels: Labels, counted: FloatArray, table: FloatArray) -> FloatArray:
    """Add up, for each item, the rows of a table (n_workers * n_classes, ...) that its labels stand for, weighed."""
    if labels.n_labels > FEW_LABELS:
        return np.asarray(answers(labels, counted) @ table)
    rows = table[_cells(labels)]
    return add_items(rows * counted.reshape(-1, *[1] * (rows.ndim - 1)), labels.starts)


def _cells(labels: Labels) -> IntArray:
    return np.asarray(labels.worker * np.int64(labels.n_classes) + labels.label)


def parts(labels: Labels, pool: Pool) -> tuple[FloatArray, FloatArray]:
    """Return the logits by part, (n_items, n_classes, 3), and how much a worker's own answer counts, (n_items,).

    The parts are the workers' tables, the vote, and the model with item effects; the class bias and believed workers come on
    top of them.
    """
    counted, n_classes = ordinary(labels, pool), labels.n_classes
    votes = add_answers(labels, counted * pool.label_weight[labels.worker], np.tile(np.eye(n_classes), (labels.n_workers, 1)))
    n_labels = votes.sum(axis=1)
    evidence = np.empty((labels.n_items, n_classes, 3))
    factor = sharpening(n_labels, pool.few, pool.growth)
    share = factor * worth(n_labels, pool.correlation)
    given = add_answers(labels, counted, pool.tables.transpose(0, 2, 1).reshape(-1, n_classes))
    evidence[:, :, 0] = share[:, None] * (given + pool.offset)
    evidence[:, :, 1] = (pool.vote * factor)[:, None] * np.log((votes + 1.0 / n_classes) / (n_labels + 1.0)[:, None])
    evidence[:, :, 2] = 0.0
    if pool.items is not None:
        weight_here = pool.items.item_effect_weight * n_labels / (n_labels + pool.many)
        share = share * (1.0 - weight_here)
        evidence[:, :, :2] *= (1.0 - weight_here)[:, None, None]
        evidence[:, :, 2] = (pool.items.weight * weight_here)[:, None] * pool.items.log_posterior(labels)
    return evidence, share


def ordinary(labels: Labels, pool: Pool) -> FloatArray:
    """Mark the labels (n_labels,) of workers who are not believed by 1, the others by 0."""
    return np.ones(labels.n_labels) if pool.trust is None else np.isnan(pool.trust[labels.worker]).astype(float)


def believed(labels: Labels, pool: Pool) -> FloatArray:
    """Return what believed workers add to the logits, (n_items, n_classes)."""
    if pool.trust is None:
        return np.zeros((labels.n_items, labels.n_classes))
    eye = np.tile(np.eye(labels.n_classes), (labels.n_workers, 1))
    return add_answers(labels, np.nan_to_num(pool.trust)[labels.worker], eye)


def predict_proba(labels: Labels, pool: Pool, *, use_gold: bool = True) -> FloatArray:
    """Return the class probabilities of some items, (n_items, n_classes); known classes are certain if ``use_gold``.

    Items are predicted some at a time on all cores, so that what is held for them stays small; none depends on another.
    """
    if pool.items is not None or labels.n_items <= ITEMS_AT_ONCE:  # item effects have threads of their own
        return _posterior(labels, pool, use_gold)
    posterior = np.empty((labels.n_items, labels.n_classes))

    def some(first: int) -> None:
        posterior[first : first + ITEMS_AT_ONCE] = _posterior(slice_items(labels, first, first + ITEMS_AT_ONCE), pool, use_gold)

    on_all_cores(some, range(0, labels.n_items, ITEMS_AT_ONCE))
    return posterior


def _posterior(labels: Labels, pool: Pool, use_gold: bool) -> FloatArray:
    posterior = softmax(parts(labels, pool)[0].sum(axis=2) + pool.bias + believed(labels, pool))
    if pool.precision is not None:
        posterior = move_mean(posterior, blend(labels, posterior, pool))
    return with_known(posterior, labels.gold) if use_gold else posterior


@dataclass(frozen=True, eq=False)
class ByPool:
    """Predict items by a pool of models: what the default's solution carries."""

    pool: Pool

    def __call__(self, engine: Any) -> ItemPosterior:
        """Weigh every item's labels; where the engine can do that itself, and items have no effects, it does."""
        pool = self.pool
        if Ability.POOL in engine.can and pool.items is None and pool.precision is None and pool.trust is None:
            posterior, counts = engine.pool(pool.tables, pool.label_weight, pool.offset, pool.bias, pool.law)
            return ItemPosterior(posterior, find_winners(posterior), counts)
        posterior = predict_proba(engine.labels, pool)
        return ItemPosterior(posterior, find_winners(posterior), engine.tally(posterior))


def blend(labels: Labels, posterior: FloatArray, pool: Pool) -> FloatArray:
    """Return the mean class (n_items,): between that of the pool and that of the labels, precise workers counting more."""
    assert pool.precision is not None
    own = posterior @ np.arange(labels.n_classes)
    weight = pool.precision[labels.worker]
    place = np.tile(np.arange(labels.n_classes, dtype=float), labels.n_workers)
    total, places = (add_answers(labels, weight, one) for one in (np.ones(len(place)), place))
    mean = np.where(total > 0, places / np.where(total > 0, total, 1.0), own)
    return np.asarray(pool.scale * own + (1.0 - pool.scale) * mean)


def move_mean(posterior: FloatArray, mean: FloatArray) -> FloatArray:
    r"""Return the probabilities nearest to a posterior whose mean class is given: :math:`q'_c \propto q_c e^{\lambda c}`.

    Nearest by the Kullback-Leibler divergence. A posterior that leaves no room for the mean stays as it is.

    >>> move_mean(np.array([[0.5, 0.3, 0.2]]), np.array([1.0])).round(3).tolist()
    [[0.339, 0.322, 0.339]]
    """
    place = np.arange(posterior.shape[1])
    log_q = np.log(np.maximum(posterior, 1e-300))
    low, high = np.full(len(mean), -50.0), np.full(len(mean), 50.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = softmax(log_q + middle[:, None] * place) @ place < mean
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return softmax(log_q + ((low + high) / 2)[:, None] * place)
