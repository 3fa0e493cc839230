"""Message passing between items and workers, for two classes: by Karger, Oh and Shah, and belief propagation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from crowdassay.arrays import FloatArray
from crowdassay.engines.base import Engine
from crowdassay.engines.confusion import confusion_tables
from crowdassay.errors import ParameterError
from crowdassay.estimators.base import Estimator
from crowdassay.estimators.two_classes import (
    item_scores,
    label_gold,
    label_signs,
    log_odds_scale,
    log_odds_tables,
    two_columns,
)
from crowdassay.labels.labels import Labels
from crowdassay.labels.signatures import Signatures, ranks
from crowdassay.results.parameters import check_least, check_run, check_whole
from crowdassay.solvers.em import EPSILON
from crowdassay.solvers.solution import Progress, Solution, found

LEAST_PSEUDOCOUNT, MOST_PSEUDOCOUNT = 1e-15, 10_000  # of the beta prior


@dataclass(kw_only=True, eq=False, repr=False)
class KOS(Estimator):
    r"""Pass messages between items and workers, each leaving out what it has from its receiver; two classes.

    .. math::  x_{j \to i} = \sum_{i' \ne i} A_{i'j}\, y_{i' \to j}, \qquad
               y_{i \to j} = \sum_{j' \ne j} A_{ij'}\, x_{j' \to i}, \qquad
               \hat t_j = \operatorname{sign} \sum_i A_{ij}\, y_{i \to j}

    with labels :math:`A_{ij} = \pm 1` and first messages :math:`y_{i \to j} \sim N(1, 1)`. Belief propagation in the limit
    of a Beta(e, e) prior with vanishing e. Known items send what the surest message of any other item would be, and the first
    messages of workers who labelled some lie around their record there.

    The probability is logistic in the score that the label is the sign of, with the scale of `log_odds_scale`.

    Parameters
    ----------
    max_iter : int
        How often both kinds of messages are sent. The messages are a power iteration and settle geometrically: after ten
        rounds most labels are final. Where a few workers give most labels, more rounds let them decide alone.
    seed : int
        Of the first messages.

    References
    ----------
    D. R. Karger, S. Oh, D. Shah. Iterative learning for reliable crowdsourcing systems. 2011.

    Examples
    --------
    >>> from crowdassay import simulate
    >>> labels, truth = simulate(np.random.default_rng(3), n_classes=2)
    >>> bool((KOS().fit(labels).result_.code == truth).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "kos"

    max_iter: int = 10
    seed: int = 0

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Pass messages for the rounds asked for."""
        check_whole(max_iter=self.max_iter)
        labels = self._local(engine).labels
        signs = label_signs(labels, self.method)
        known = label_gold(labels, signs)
        messages = first_messages(labels, known, np.random.default_rng(self.seed))
        for _ in range(self.max_iter):
            heard = hear_items(labels, signs, known, messages)
            sums = np.bincount(labels.worker, weights=heard, minlength=labels.n_workers).astype(np.float64)
            messages = sums[labels.worker] - heard
            size = float(np.sqrt((messages**2).mean()))
            if size > 0:  # only ratios matter, and they would grow without end
                messages, sums = messages / size, sums / size
        scores = item_scores(labels, signs * messages)
        scale = log_odds_scale(scores, messages)
        posterior = two_columns(labels, scale * scores)
        return Solution(
            found(labels, posterior),
            log_odds_tables(scale * sums),
            n_iter=self.max_iter,
            settings={"max_iter": self.max_iter, "seed": self.seed},
            confusion=confusion_tables(labels, posterior)[0],
        )


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

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> BeliefPropagation().fit(labels).labels_["label"].to_pylist()
    [0, 1, 0]
    """

    method: ClassVar[str] = "belief-propagation"

    a: float = 2.0
    b: float = 1.0
    max_iter: int = 100
    tol: float = 1e-4

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Pass messages until no probability changes."""
        check_run(self.max_iter, self.tol)
        check_least(LEAST_PSEUDOCOUNT, a=self.a, b=self.b)
        if max(self.a, self.b) > MOST_PSEUDOCOUNT:
            raise ParameterError(
                f"a and b must be at most {MOST_PSEUDOCOUNT:,}: a prior as strong as that leaves labels nothing to say."
            )
        labels = self._local(engine).labels
        signs = label_signs(labels, self.method)
        known = label_gold(labels, signs)
        nodes, log_weights = beta_quadrature(self.a, self.b, int(np.bincount(labels.worker).max()))
        messages = np.ones(labels.n_labels)  # everyone as likely right: the first beliefs are the votes
        belief, posterior = np.zeros(labels.n_workers), np.full((labels.n_items, 2), 0.5)
        n_iter, change = 0, np.inf
        while n_iter < self.max_iter and change > self.tol:
            before = posterior.copy()
            messages, belief = hear_workers(labels, belief_messages(labels, signs, known, messages), nodes, log_weights)
            posterior = two_columns(labels, item_scores(labels, signs * messages))
            n_iter += 1
            change = float(np.abs(posterior - before).max()) if n_iter > 1 else np.inf
        return Solution(
            found(labels, posterior),
            log_odds_tables(belief),
            n_iter=n_iter,
            converged=change <= self.tol,
            settings={"a": self.a, "b": self.b},
            confusion=confusion_tables(labels, posterior)[0],
        )


def first_messages(labels: Labels, known: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Draw the workers' first messages (n_labels,), each belonging to how its item and worker stand to the others.

    They lie around 1, or around the worker's record on known items with one right answer more.
    """
    record, count = (np.bincount(labels.worker, weights=w, minlength=labels.n_workers) for w in (known, np.abs(known)))
    drawn = generator.standard_normal(labels.n_labels)
    messages = np.asarray((1.0 + record) / (1.0 + count))[labels.worker]
    return messages + drawn[ranks(Signatures.of(labels).labels)]


def hear_items(labels: Labels, signs: FloatArray, known: FloatArray, messages: FloatArray) -> FloatArray:
    r"""Return :math:`A_{ij} x_{j \to i}` for every label (n_labels,): how far its item, without it, agrees with it."""
    heard = signs * item_scores(labels, signs * messages)[labels.label_item] - messages
    surest = float(np.abs(heard[known == 0]).max(initial=0.0)) or 1.0
    return np.where(known == 0, heard, surest * known)


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


def belief_messages(labels: Labels, signs: FloatArray, known: FloatArray, messages: FloatArray) -> FloatArray:
    """Return the probability that each label (n_labels,) is right by its item's other labels, certain where known."""
    log_odds = signs * item_scores(labels, signs * messages)[labels.label_item] - messages
    return np.where(known == 0, scipy.special.expit(log_odds), 0.5 * (1.0 + known))


def hear_workers(
    labels: Labels, right: FloatArray, nodes: FloatArray, log_weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log odds that each label (n_labels,) is right by its worker's others, and each worker's (n_workers,) by all.

    ``right`` (n_labels,) holds the items' messages; nodes and log weights (n_nodes,) are those of `beta_quadrature`.
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
