"""Belief propagation for the one-coin model with a beta prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.confusion import confusion_tables
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.binary import item_scores, label_gold, label_signs, log_odds_tables, two_columns
from crowdassay.estimators.tables import judge_by_tables
from crowdassay.labels.labels import Labels
from crowdassay.labels.record import find_winners
from crowdassay.results.parameters import check_number, check_run
from crowdassay.results.result import Result
from crowdassay.solvers.em import EPSILON
from crowdassay.solvers.outcome import Announce, Progress

SMALLEST, MOST = 1e-15, 10_000


@dataclass(kw_only=True, eq=False, repr=False)
class BeliefPropagation(Estimator):
    r"""Pass beliefs between items and workers of the one-coin model, accuracies integrated out; two classes.

    .. math::  p_i \sim \text{Beta}(a, b), \qquad
               m_{i \to j}(\text{right}) \propto \int p \prod_{j' \ne j} \big[ p\, \mu_{j' i} + (1 - p)(1 - \mu_{j' i}) \big]
               \text{Beta}(p; a, b)\, dp

    where :math:`\mu_{ji}` is the probability, by item j's other labels, that worker i is right on it; for "wrong" the first
    factor is 1 - p. The items send products of the messages from their other workers.

    Parameters
    ----------
    a, b : float
        The prior on every worker's accuracy. As both vanish the messages become those of `KOS`.
    max_iter : int
        Rounds of messages.
    tol : float
        Largest change of any item's probability at which to stop.

    References
    ----------
    Q. Liu, J. Peng, A. Ihler. Variational inference for crowdsourcing. 2012.
    """

    method: ClassVar[str] = "belief-propagation"

    a: float = 2.0
    b: float = 1.0
    max_iter: int = 100
    tol: float = 1e-4

    def _fit(self, labels: Labels, progress: Progress | None, announce: Announce | None) -> Result:
        check_run(self.max_iter, self.tol)
        check_number("a", self.a, SMALLEST)
        check_number("b", self.b, SMALLEST)
        if max(self.a, self.b) > MOST:
            raise ParameterError(f"a and b must be at most {MOST:,}: a prior as strong as that leaves labels nothing to say.")
        signs = label_signs(labels, self.method)
        known = label_gold(labels, signs)
        nodes, log_weights = beta_quadrature(self.a, self.b, int(np.bincount(labels.worker).max()))
        messages = np.ones(labels.n_labels)  # everyone as likely right: the first beliefs are the votes
        belief, posterior = np.zeros(labels.n_workers), np.full((labels.n_items, 2), 0.5)
        n_iter, change = 0, np.inf
        while n_iter < self.max_iter and change > self.tol:
            before = posterior.copy()
            messages, belief = hear_workers(labels, hear_items(labels, signs, known, messages), nodes, log_weights)
            posterior = two_columns(labels, item_scores(labels, signs * messages))
            n_iter += 1
            change = float(np.abs(posterior - before).max()) if n_iter > 1 else np.inf
        confusion, accuracy = confusion_tables(labels, posterior)
        return Result(
            labels,
            self.method,
            {"a": self.a, "b": self.b},
            posterior,
            find_winners(posterior),
            confusion,
            accuracy,
            sigma=log_odds_tables(belief),
            n_iter=n_iter,
            converged=change <= self.tol,
        )

    def _predict_proba(self, labels: Labels) -> FloatArray:
        label_signs(labels, self.method)
        return judge_by_tables(self._fitted(), labels)


def beta_quadrature(a: float, b: float, most: int) -> tuple[FloatArray, FloatArray]:
    r"""Return nodes p and log weights of Gauss-Jacobi quadrature under Beta(a, b) for workers with up to ``most`` labels.

    The rule takes care of the fraction in the prior's powers of p and 1 - p; what is whole in them is like labels given
    beforehand. With n of both, the integrand is a polynomial of degree n, and about a normal curve of deviation
    :math:`1 / \sqrt n` in the angle of :math:`p = (1 + \cos \theta) / 2`, in which the nodes are spaced evenly: one node for
    each deviation is plenty.
    """
    whole_a, whole_b = max(np.ceil(a - 1.0), 0.0), max(np.ceil(b - 1.0), 0.0)
    degree = int(most + whole_a + whole_b)
    n_nodes = min(degree // 2 + 1, int(np.pi * np.sqrt(degree)) + 16)
    x, weights = scipy.special.roots_jacobi(n_nodes, b - 1.0 - whole_b, a - 1.0 - whole_a)
    nodes = np.clip(0.5 * (1.0 + x), EPSILON, 1.0 - EPSILON)
    return nodes, np.log(weights) + whole_a * np.log(nodes) + whole_b * np.log1p(-nodes)


def hear_items(labels: Labels, signs: FloatArray, known: FloatArray, messages: FloatArray) -> FloatArray:
    """Return the probability that each label (n_labels,) is right by its item's other labels, certain where known."""
    log_odds = signs * item_scores(labels, signs * messages)[labels.label_item] - messages
    return np.where(known == 0, scipy.special.expit(log_odds), 0.5 * (1.0 + known))


def hear_workers(
    labels: Labels, right: FloatArray, nodes: FloatArray, log_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log odds that each label is right by its worker's other labels, and each worker's by all of them.

    Parameters
    ----------
    labels : Labels
    right : ndarray of shape (n_labels,)
        The items' messages.
    nodes, log_weights : ndarray of shape (n_nodes,)

    Returns
    -------
    messages : ndarray of shape (n_labels,)
    belief : ndarray of shape (n_workers,)
    """
    density = np.empty((len(nodes), labels.n_workers))
    for node, log_weight, row in zip(nodes, log_weights, density, strict=True):
        factor = (1.0 - node) + (2.0 * node - 1.0) * right
        row[:] = log_weight + np.bincount(labels.worker, weights=np.log(factor), minlength=labels.n_workers)
    density = np.exp(density - density.max(axis=0))
    yes, no = np.zeros(labels.n_labels), np.zeros(labels.n_labels)
    for node, row in zip(nodes, density, strict=True):
        without = row[labels.worker] / ((1.0 - node) + (2.0 * node - 1.0) * right)
        yes += node * without
        no += (1.0 - node) * without
    return np.log(yes / no), np.log((nodes @ density) / ((1.0 - nodes) @ density))
