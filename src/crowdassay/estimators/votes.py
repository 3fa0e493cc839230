"""Votes: plain, and weighted by skills, which are agreement with the majority, a step at a time or on known items."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from crowdassay.arrays import FloatArray, IntArray, row_sum
from crowdassay.engines.base import Engine
from crowdassay.estimators.base import Estimator, match_rows
from crowdassay.labels.labels import Labels, gold_votes, shares, with_known
from crowdassay.labels.record import find_winners
from crowdassay.results.parameters import check_least, check_run, check_whole
from crowdassay.solvers.assay.gold import score_workers
from crowdassay.solvers.solution import ByVotes, Progress, Solution, found


def weigh_votes(labels: Labels, skills: FloatArray) -> FloatArray:
    """Sum the skills (n_workers,) of those who chose each class of each item, shape (n_items, n_classes)."""
    cells = labels.label_item * labels.n_classes + labels.label
    total = np.bincount(cells, skills[labels.worker], labels.n_items * labels.n_classes)
    return total.reshape(labels.n_items, labels.n_classes).astype(np.float64)


def weighted_shares(labels: Labels, skills: FloatArray) -> FloatArray:
    """Return the share of every class in the weighted vote, (n_items, n_classes); plain votes where all weights are zero."""
    score = weigh_votes(labels, skills)
    total = score.sum(axis=1, keepdims=True)
    posterior = np.where(total > 0, score / np.where(total > 0, total, 1.0), shares(labels.votes()))
    return with_known(posterior, labels.gold)


def share_right(labels: Labels, truth: IntArray) -> FloatArray:
    """Return the share of each worker's labels that are the class (n_items,) of their item, NaN where none is known."""
    count, right = score_workers(labels, truth).T
    return np.where(count > 0, right / np.maximum(count, 1), np.nan)


def share_won(labels: Labels, posterior: FloatArray) -> FloatArray:
    """Return the share of each worker's labels that won their item, given class probabilities (n_items, n_classes).

    Of n classes that tie each has won 1 / n, so that nothing depends on the order of the classes. NaN without labels.
    """
    winners = find_winners(posterior)
    won = winners / row_sum(winners)[:, None]
    count = np.bincount(labels.worker, minlength=labels.n_workers)
    total = np.bincount(labels.worker, won[labels.label_item, labels.label], labels.n_workers)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


@dataclass(kw_only=True, eq=False, repr=False)
class MajorityVote(Estimator):
    r"""Take the class with the most labels; its share of the votes is the probability.

    .. math::  Q_{jc} = \frac1{n_j} \sum_i 1[x_{ij} = c]

    Votes are counted as integers. A tie goes to the first class in class order and is flagged. A worker's accuracy is the
    share of labels that agree with the majority, a tie counting in part.

    Examples
    --------
    >>> vote = MajorityVote().fit((["a", "a", "b"], ["x", "y", "x"], ["no", "no", "yes"]))
    >>> vote.labels_["label"].to_pylist()
    ['no', 'yes']
    """

    method: ClassVar[str] = "majority"
    by_sums: ClassVar[bool] = True

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Return what predicts items by their votes; there is nothing to fit."""
        return Solution(ByVotes(), log_prior=np.full(engine.n_classes, -np.log(engine.n_classes)), n_iter=1)

    def _predict_proba(self, labels: Labels) -> FloatArray:
        return shares(gold_votes(labels))


@dataclass(kw_only=True, eq=False, repr=False)
class WeightedVote(Estimator):
    """What the weighted votes share; a subclass says how skills are found, and `skills_` (n_workers,) holds them."""

    @abstractmethod
    def _weigh(self, labels: Labels) -> tuple[FloatArray, dict[str, Any]]:
        """Return the skills (n_workers,) and what else there is to say of the fit."""

    def solve(self, engine: Engine, progress: Progress | None = None, start: FloatArray | None = None) -> Solution:
        """Find the skills, and vote with them."""
        labels = self._local(engine).labels
        self.skills_, facts = self._weigh(labels)
        predict = found(labels, weighted_shares(labels, self.skills_))
        settings = {name: value for name, value in self.get_params().items() if name != "decide"}
        return Solution(predict, settings=settings, **({"n_iter": 1} | facts))

    def _predict_proba(self, labels: Labels) -> FloatArray:
        fitted = self._fitted().labels
        stranger = float(self.skills_[fitted.worker].mean())
        return weighted_shares(labels, match_rows(fitted, labels, self.skills_, stranger))


@dataclass(kw_only=True, eq=False, repr=False)
class Wawa(WeightedVote):
    r"""Weigh each worker's vote by how often the worker agrees with the majority ("worker agreement with aggregate").

    .. math::  w_i = \frac{1}{n_i} \sum_j 1[x_{ij} = \hat y_j], \qquad Q_{jc} \propto \sum_i w_i\, 1[x_{ij} = c]

    where :math:`\hat y_j` is the majority's class, the known one where there is one; several that tie share it.

    References
    ----------
    Appen. Calculating worker agreement with aggregate (Wawa). 2021.

    >>> vote = Wawa().fit((list("aaabbccc"), list("xyzxzxyz"), [0, 0, 1, 1, 0, 1, 1, 0]))
    >>> vote.labels_["label"].to_pylist()
    [0, 1, 1]
    """

    method: ClassVar[str] = "wawa"

    def _weigh(self, labels: Labels) -> tuple[FloatArray, dict[str, Any]]:
        return share_won(labels, shares(gold_votes(labels))), {}


@dataclass(kw_only=True, eq=False, repr=False)
class ZeroBasedSkill(WeightedVote):
    r"""Vote with weights, move each worker's weight towards the share of labels that won, and repeat.

    .. math::  w_i \leftarrow w_i + \rho_t \Big( \frac{1}{n_i} \sum_j 1[x_{ij} = \hat y_j(w)] - w_i \Big)

    from weights that are all alike. With the rate 1 of the first steps this is `Wawa` taken further, until labels and
    weights agree; later, smaller steps end cycles.

    Parameters
    ----------
    rate : float
        Of the first steps.
    rate_steps : int
        Steps after which the rate falls.
    rate_factor : float
        What it is multiplied by.
    max_iter : int
    tol : float
        Largest change of a weight at which to stop.

    References
    ----------
    Toloka. Crowd-Kit: the zero-based skill model. 2021.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> ZeroBasedSkill().fit(labels).skills_.round(2).tolist()
    [1.0, 1.0, 0.67]
    """

    method: ClassVar[str] = "zero-based-skill"

    rate: float = 1.0
    rate_steps: int = 20
    rate_factor: float = 0.5
    max_iter: int = 100
    tol: float = 1e-12

    def _weigh(self, labels: Labels) -> tuple[FloatArray, dict[str, Any]]:
        check_run(self.max_iter, self.tol)
        check_least(0, strictly=True, rate=self.rate, rate_factor=self.rate_factor)
        check_whole(rate_steps=self.rate_steps)
        skills, rate, n_iter, change = np.full(labels.n_workers, 1.0 / labels.n_classes), self.rate, 0, np.inf
        while n_iter < self.max_iter and change > self.tol:
            n_iter += 1
            if n_iter % self.rate_steps == 0:
                rate *= self.rate_factor
            step = rate * (self._won(labels, weighted_shares(labels, skills)) - skills)
            skills, change = skills + step, float(np.abs(step).max())
        return skills, {"n_iter": n_iter, "converged": change <= self.tol}

    def _won(self, labels: Labels, posterior: FloatArray) -> FloatArray:
        """Return the share of each worker's labels that won, (n_workers,)."""
        return share_won(labels, posterior)


@dataclass(kw_only=True, eq=False, repr=False)
class GoldMajority(WeightedVote):
    r"""Weigh each worker's vote by the share of right answers on items whose class is known.

    .. math::  w_i = \frac{\text{right answers of } i \text{ on known items}}{\text{answers of } i \text{ on known items}},
               \qquad Q_{jc} \propto \sum_i w_i\, 1[x_{ij} = c]

    A worker with no known item has the share of all workers together. Without any known item this is the majority vote.

    References
    ----------
    C. Callison-Burch. Fast, cheap, and creative: evaluating translation quality using Amazon's Mechanical Turk. 2009.

    Examples
    --------
    >>> labels = (list("aaabbbccc"), list("xyzxyzxyz"), [0, 0, 1, 1, 1, 1, 0, 0, 0])
    >>> GoldMajority().fit(labels, gold={"a": 1, "b": 1}).skills_.tolist()
    [0.5, 0.5, 1.0]
    """

    method: ClassVar[str] = "gold-majority"

    def _weigh(self, labels: Labels) -> tuple[FloatArray, dict[str, Any]]:
        truth = labels.gold.astype(np.int64)
        known = truth[labels.label_item] >= 0
        if not known.any():
            note = "No item with labels has a known class, so that this is the majority vote; give some with gold."
            return np.ones(labels.n_workers), {"notes": (note,)}
        pooled = float((labels.label[known] == truth[labels.label_item[known]]).mean())
        skills = share_right(labels, truth)
        return np.where(np.isnan(skills), pooled, skills), {}
