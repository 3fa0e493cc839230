"""Whether a worker's answers have to do with the class: tests against the other workers, with false discoveries controlled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.engines.kernels.passes import compare_with_others
from crowdassay.labels.labels import Labels
from crowdassay.special import ndtr
from crowdassay.statistics import discoveries

ANSWERS_TO_JUDGE = 5  # answers from which on something is said of a worker, an item or a class
FALSE_VERDICTS = 0.05  # of false discoveries among the workers flagged
NOT_ESTIMABLE, TOO_FEW = "not estimable", "too few labels"
ADVERSARY, SPAMMER, WEAK, INFORMATIVE, UNCLEAR = "adversary", "spammer", "weak", "informative", "unclear"


@dataclass(frozen=True, eq=False)
class Agreements:
    r"""How far each worker agrees with the others, beside what chance and a typical worker would; shape (n_workers,) each.

    .. math::  T_i = \sum_n q_n(x_n)

    sums over the worker's items the weight that the others give the worker's answer. By chance means the same answers dealt
    out over the same items at random (mean and variance of that permutation are exact); typical means answers by the crowd's
    table. Halfway lies a worker who answers half by chance and half as is typical.

    Attributes
    ----------
    compared : ndarray
        Items on which there is something to compare with.
    agreed, chance, typical : ndarray
        T and its mean by chance and for a typical worker.
    chance_variance, halfway_variance : ndarray
    """

    compared: FloatArray
    agreed: FloatArray
    chance: FloatArray
    typical: FloatArray
    chance_variance: FloatArray
    halfway_variance: FloatArray

    @property
    def above_chance(self) -> FloatArray:
        """Agreement above chance in standard deviations, 0 where a worker's answers leave no room for any."""
        return np.asarray((self.agreed - self.chance) / np.sqrt(np.maximum(self.chance_variance, 1e-12)))

    @property
    def above_halfway(self) -> FloatArray:
        """Agreement above halfway between chance and typical in standard deviations."""
        middle = (self.chance + self.typical) / 2
        return np.asarray((self.agreed - middle) / np.sqrt(np.maximum(self.halfway_variance, 1e-12)))


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""What workers are compared with.

    With tables and a class prior the others' class weights are

    .. math::  q_{ij}(c) \propto \pi_c \prod_{i' \neq i} p_{i'}(c, x_{i'j}),

    without they are vote shares; one-hot where the class is known.

    Attributes
    ----------
    answers : ndarray of int, shape (n_workers, n_classes)
        How often each worker gives which answer, over all labels that count.
    crowd : ndarray of shape (n_classes, n_classes)
        The table of a typical worker.
    log_p : ndarray of shape (n_workers, n_classes, n_classes) or None
    log_prior : ndarray of shape (n_classes,) or None
    """

    answers: IntArray
    crowd: FloatArray
    log_p: FloatArray | None = None
    log_prior: FloatArray | None = None

    def add_up(self, labels: Labels, counted: BoolArray) -> FloatArray:
        """Return the sums that a tally is made of, over the labels that count (n_labels,): (n_workers, 5 + 2 n_classes)."""
        habit = self.answers / np.maximum(self.answers.sum(axis=1, keepdims=True), 1)
        log_prior = np.zeros(labels.n_classes) if self.log_prior is None else self.log_prior
        return np.column_stack(compare_with_others(labels, counted, self.log_p, log_prior, habit, self.crowd))

    def tally(self, sums: FloatArray) -> Agreements:
        """Return what the sums of all labels say."""
        agreed, chance, typical, squares, halfway = sums[:, :5].T
        first, second = np.split(sums[:, 5:], 2, axis=1)
        n = self.answers.sum(axis=1)
        own = (self.answers * first**2).sum(axis=1) / np.maximum(n, 1)
        spread = (self.answers * second).sum(axis=1) - n * squares - own + chance**2
        variance = np.maximum(spread, 0.0) / np.maximum(n - 1, 1)
        return Agreements(n.astype(np.float64), agreed, chance, typical, variance, halfway)


def count_answers(labels: Labels, counted: BoolArray) -> IntArray:
    """Count how often each worker gives which answer, over the labels that count (n_labels,): (n_workers, n_classes)."""
    cells = labels.worker[counted].astype(np.int64) * labels.n_classes + labels.label[counted]
    return np.bincount(cells, minlength=labels.n_workers * labels.n_classes).reshape(labels.n_workers, labels.n_classes)


def beyond_chance(votes: Agreements) -> float:
    """Return how far all workers together agree above chance, in standard deviations; every pair is seen from both sides."""
    variance = 2 * votes.chance_variance.sum()
    return 0.0 if variance <= 0 else float((votes.agreed - votes.chance).sum() / np.sqrt(variance))


def give_verdicts(agreements: Agreements, estimable: BoolArray) -> list[str]:
    """Return a verdict for every worker.

    adversary: agrees less than by chance. spammer: agrees less than halfway between chance and typical, and not
    significantly more than by chance. weak: less than halfway, yet more than by chance. informative: more than by chance.
    unclear: none of these can be shown. Each of the three tests is one-sided with a false discovery rate of 5 %.
    """
    judged = estimable & (agreements.compared >= ANSWERS_TO_JUDGE)
    room = judged & (agreements.chance_variance > 1e-9)
    against = discoveries(ndtr(agreements.above_chance), room, FALSE_VERDICTS)
    better = discoveries(ndtr(-agreements.above_chance), room, FALSE_VERDICTS)
    below = discoveries(ndtr(agreements.above_halfway), judged & (agreements.halfway_variance > 1e-9), FALSE_VERDICTS)
    chancy = agreements.above_chance < 1.645
    names = np.full(len(judged), UNCLEAR, dtype=object)
    names[better] = INFORMATIVE
    names[below] = WEAK
    names[below & chancy] = SPAMMER
    names[against] = ADVERSARY
    names[~judged] = TOO_FEW
    names[~estimable] = NOT_ESTIMABLE
    return list(names)
