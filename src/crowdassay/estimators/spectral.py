"""Dawid and Skene's model started from moments, by Zhang, Chen, Zhou and Jordan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import observed_counts
from crowdassay.errors import ParameterError
from crowdassay.estimators.dawid_skene import EMEstimator
from crowdassay.estimators.two_classes import name_ranks
from crowdassay.labels.labels import Labels
from crowdassay.results.parameters import check_number
from crowdassay.solvers.em import Trial
from crowdassay.solvers.m_steps import free_tables

LEAST_MOMENT = 0.01  # moments do not show an answer to be rarer than this, and EM would hardly leave a cell near zero
POWER_STEPS = 100
START_FROM_VOTES = (
    "The spectral start needs items with labels from three groups of workers, more of them than classes, and classes "
    "that their labels tell apart; without, EM began with the vote shares.",
)


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralDawidSkene(EMEstimator):
    r"""Estimate Dawid and Skene's confusion tables from third moments, then refine them by EM.

    Workers are split into three groups, whose vote shares :math:`z_1, z_2, z_3` on an item are independent given its class
    and have mean :math:`\mu_g^c` for class c. With :math:`z_1, z_2` mapped linearly to :math:`z_1', z_2'` of mean
    :math:`\mu_3^c`,

    .. math::  E[z_1' \otimes z_2'] = \sum_c w_c\, \mu_3^c \otimes \mu_3^c, \qquad
               E[z_1' \otimes z_2' \otimes z_3] = \sum_c w_c\, \mu_3^c \otimes \mu_3^c \otimes \mu_3^c

    Whitening by the first makes the second an orthogonal tensor, whose eigenvectors the power iteration finds. A class is
    given to each eigenvector so that groups are right as often as possible. Worker i's table then solves
    :math:`E[x_i \otimes z_g] = p_i^\top \operatorname{diag}(w)\, \mu_g^\top` for the groups g without the worker.

    Parameters
    ----------
    prior : {'uniform', 'estimated'}
        The class prior of EM.
    smoothing : float
        Added to every expected count in EM.
    restarts : int
        Random starts of each power iteration.
    max_iter : int
        Steps of EM.
    tol : float
        Relative change of the objective at which to stop.
    seed : int
        Of the power iterations' starts.
    threads : int or None
        None takes all cores.

    References
    ----------
    Y. Zhang, X. Chen, D. Zhou, M. I. Jordan. Spectral methods meet EM: a provably optimal algorithm for crowdsourcing. 2014.

    Examples
    --------
    >>> from crowdassay import simulate
    >>> labels, truth = simulate(np.random.default_rng(0))
    >>> fitted = SpectralDawidSkene(smoothing=0.1).fit(labels)
    >>> bool((fitted.result_.code == truth).mean() > 0.8)
    True
    """

    method: ClassVar[str] = "spectral-dawid-skene"

    prior: str = "uniform"
    smoothing: float = 0.0
    restarts: int = 20
    max_iter: int = 100
    tol: float = 1e-10
    seed: int = 0
    threads: int | None = None

    def _check(self) -> None:
        super()._check()
        check_number("smoothing", self.smoothing, 0)
        if not isinstance(self.restarts, int) or self.restarts < 1:
            raise ParameterError(f"restarts must be a whole number of at least 1, not {self.restarts!r}.")

    def _trials(self, engine: Engine) -> Sequence[Trial]:
        start = spectral_tables(self._local(engine).labels, np.random.default_rng(self.seed), self.restarts)
        settings = {"prior": self.prior, "smoothing": self.smoothing, "restarts": self.restarts, "seed": self.seed}
        if start is None:
            return [Trial(free_tables(self.smoothing), settings, notes=START_FROM_VOTES)]
        return [Trial(free_tables(self.smoothing), settings, np.log(start))]


def spectral_tables(labels: Labels, generator: np.random.Generator, restarts: int) -> FloatArray | None:
    """Return first confusion tables (n_workers, n_classes, n_classes), or None where the moments do not determine any."""
    group = split_workers(labels)
    shares = group_shares(labels, group)
    complete = shares.sum(axis=2).min(axis=0) > 0
    if complete.sum() <= labels.n_classes:
        return None
    views = shares[:, complete]
    means, weights = np.empty((3, labels.n_classes, labels.n_classes)), np.empty((3, labels.n_classes))
    for g in range(3):
        pair = group_means(views[(g + 1) % 3], views[(g + 2) % 3], views[g], generator, restarts)
        if pair is None:
            return None
        means[g], weights[g] = pair
    tables = np.empty((labels.n_workers, labels.n_classes, labels.n_classes))
    for g in range(3):
        others = [h for h in range(3) if h != g]
        moments = observed_counts(labels, shares[others].mean(axis=0)).transpose(0, 2, 1)  # by observed class, then share
        mixture = weights[others].mean(axis=0)[:, None] * means[others].mean(axis=0).T
        solved = (moments @ np.linalg.pinv(mixture)).transpose(0, 2, 1)
        tables[group == g] = solved[group == g]
    scale = tables.sum(axis=(1, 2), keepdims=True)  # moments are sums over the worker's labels
    tables = np.maximum(tables / np.where(scale > 0, scale, 1.0) * labels.n_classes, LEAST_MOMENT)
    return np.asarray(tables / tables.sum(axis=2, keepdims=True))


def split_workers(labels: Labels) -> IntArray:
    """Deal workers into groups 0, 1 and 2, the busiest first, so that groups are alike; shape (n_workers,)."""
    n_labels = np.bincount(labels.worker, minlength=labels.n_workers)
    group = np.empty(labels.n_workers, np.int64)
    group[np.lexsort((name_ranks(labels.workers), -n_labels))] = np.arange(labels.n_workers) % 3
    return group


def group_shares(labels: Labels, group: IntArray) -> FloatArray:
    """Return each group's vote shares on every item, zero where it gave no label; shape (3, n_items, n_classes)."""
    n_items, n_classes = labels.n_items, labels.n_classes
    cells = (group[labels.worker] * n_items + labels.label_item) * n_classes + labels.label
    votes = np.bincount(cells, minlength=3 * n_items * n_classes).reshape(3, n_items, n_classes)
    return votes / np.maximum(votes.sum(axis=2, keepdims=True), 1)


def group_means(
    first: FloatArray, second: FloatArray, third: FloatArray, generator: np.random.Generator, restarts: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return the third group's mean shares by class (observed, true) and the class weights (n_classes,).

    All three are vote shares of shape (n_items, n_classes) on the same items.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  slow to load, seldom needed

    n_items = len(first)
    cross = first.T @ second / n_items
    onto = np.linalg.pinv(cross)
    z1 = first @ (third.T @ second / n_items @ onto).T
    z2 = second @ (third.T @ first / n_items @ onto.T).T
    pairs = z1.T @ z2 / n_items
    values, vectors = np.linalg.eigh(0.5 * (pairs + pairs.T))
    if not np.isfinite(values).all() or values[0] <= 1e-10 * values[-1]:
        return None
    whiten = (vectors / np.sqrt(values)) @ vectors.T
    unwhiten = (vectors * np.sqrt(values)) @ vectors.T
    tensor = np.einsum("na,nb,nc->abc", z1 @ whiten, z2 @ whiten, third @ whiten, optimize=True) / n_items
    scales, axes = decompose(symmetric(tensor), generator, restarts)
    columns = unwhiten @ axes * scales
    order = linear_sum_assignment(columns, maximize=True)[1]
    weights = 1.0 / np.maximum(scales[order], 1.0) ** 2  # a weight above one is noise
    means = np.maximum(columns[:, order], LEAST_MOMENT)
    return means / means.sum(axis=0), weights / weights.sum()


def symmetric(tensor: FloatArray) -> FloatArray:
    """Average a tensor over the orders of its three axes."""
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    return np.asarray(sum(tensor.transpose(order) for order in orders) / 6)


def decompose(tensor: FloatArray, generator: np.random.Generator, restarts: int) -> tuple[FloatArray, FloatArray]:
    r"""Write a symmetric tensor (n, n, n) as :math:`\sum_h s_h\, v_h \otimes v_h \otimes v_h` with orthonormal v, one by one.

    The power iteration :math:`v \leftarrow T(\cdot, v, v)` runs from all random starts at once; the end with the largest
    :math:`T(v, v, v)` is kept and taken away from the tensor.

    Returns
    -------
    scales : ndarray of shape (n,)
    axes : ndarray of shape (n, n)
        One v in each column.
    """
    n = len(tensor)
    rest, scales, axes = tensor.copy(), np.empty(n), np.empty((n, n))
    for h in range(n):
        v = generator.standard_normal((n, restarts))
        for _ in range(POWER_STEPS):
            v = np.einsum("abc,br,cr->ar", rest, v, v)
            v /= np.maximum(np.linalg.norm(v, axis=0), 1e-300)
        heights = np.einsum("abc,ar,br,cr->r", rest, v, v, v, optimize=True)
        best = int(heights.argmax())
        scales[h], axes[:, h] = heights[best], v[:, best]
        rest = rest - heights[best] * np.einsum("a,b,c->abc", v[:, best], v[:, best], v[:, best])
    return scales, axes
