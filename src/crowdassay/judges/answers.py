r"""What each answer of each judge means, learned from people's labels and from the panel itself.

Judge :math:`i` gives answer :math:`a` to an item of class :math:`c` with probability :math:`T_i(c, a)`: a table with more
answers than classes, so that scores, "unsure" and refusals all say something. The tables are those of Dawid and Skene, fitted
by EM with people's items held at what people said, each judge's shrunk to the table of all. Several answers of one judge to
one item share their mistakes: :math:`m` of them count as :math:`m / (1 + r(m - 1))` answers, and so do the :math:`m` judges of
an item in the probabilities handed back, with the :math:`r = 0.83` that real crowds have shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.verdicts import Verdicts

SHARED = 0.83  # how far answers to one item share their mistakes
SHRINK = 5.0  # answers for each class that the table of all judges is worth in a judge's own
EVEN = 0.5  # answers that each cell of the table of all is given beforehand
EM_STEPS = 10
PEOPLE = 0.5  # share of the other items' weight that people's items have together, at least
HEAVIEST = 10.0


@dataclass(frozen=True, eq=False)
class Panel:
    """Probabilities of the classes by the judges alone, and what each judge's answer says for each class.

    Attributes
    ----------
    probability : ndarray, shape (n_items, n_classes)
    says : ndarray, shape (n_judges, n_answers, n_classes)
        Evidence of an answer for a class.
    item, judge, answer : ndarray of int, shape (n_verdicts,)
    weight : ndarray, shape (n_verdicts,)
        What a verdict counts, beside others by the same judge on the same item.
    """

    probability: FloatArray
    says: FloatArray
    item: IntArray
    judge: IntArray
    answer: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, verdicts: Verdicts, probability: FloatArray, says: FloatArray) -> Panel:
        """Return a panel with these probabilities."""
        return cls(probability, says, verdicts.item, verdicts.judge, verdicts.answer, verdict_weights(verdicts))

    def weighted(self, weights: FloatArray) -> FloatArray:
        """Return what all judges say for each class of each item, each with its weight; shape (n_items, n_classes)."""
        values = self.says[self.judge, self.answer] * (self.weight * weights[self.judge])[:, None]
        return _by_item(self.item, values, len(self.probability))

    def evidence_of(self, rows: IntArray) -> FloatArray:
        """Return what every judge says of some items, shape (n, n_classes, n_judges)."""
        place = np.full(len(self.probability), -1)
        place[rows] = np.arange(len(rows))
        here = place[self.item] >= 0
        evidence = np.zeros((len(rows), len(self.says), self.says.shape[2]))
        values = self.says[self.judge[here], self.answer[here]] * self.weight[here][:, None]
        np.add.at(evidence, (place[self.item[here]], self.judge[here]), values)
        return evidence.transpose(0, 2, 1)


def verdict_weights(verdicts: Verdicts) -> FloatArray:
    """Return what each verdict counts: m answers of one judge to one item as m / (1 + r (m - 1)) together."""
    cell = verdicts.item * max(len(verdicts.judges), 1) + verdicts.judge
    _, place, times = np.unique(cell, return_inverse=True, return_counts=True)
    return np.asarray((1 / (1 + SHARED * (times - 1)))[place])


def fit_answers(verdicts: Verdicts, known: IntArray, share: FloatArray) -> Panel:
    """Learn what answers mean.

    Parameters
    ----------
    verdicts : Verdicts
    known : ndarray of int, shape (n,)
        Items that people saw.
    share : ndarray, shape (n, n_classes)
        What they said.

    Returns
    -------
    Panel
        Probabilities by the judges alone, for known items too; `says` is the log-probability of an answer, class by class.
    """
    n_items, n_classes, n_answers = verdicts.n_items, verdicts.n_classes, len(verdicts.answers)
    n_judges, weight = len(verdicts.judges), verdict_weights(verdicts)
    cell = verdicts.judge * n_answers + verdicts.answer
    prior = (share.sum(axis=0) + 1) / (share.sum() + n_classes)
    loud = np.ones(n_items)
    loud[known] = min(max(1.0, PEOPLE * (n_items - len(known)) / max(len(known), 1)), HEAVIEST)

    def tables(belief: FloatArray, only: FloatArray) -> FloatArray:
        counts = np.stack(
            [
                np.bincount(
                    cell, weights=weight * only[verdicts.item] * belief[verdicts.item, c], minlength=n_judges * n_answers
                )
                for c in range(n_classes)
            ]
        ).reshape(n_classes, n_judges, n_answers)
        pooled = counts.sum(axis=1) + EVEN
        pooled[:, :n_classes] += np.eye(n_classes)  # an answer that is a class speaks for it
        pooled /= pooled.sum(axis=1, keepdims=True)
        mine = counts + SHRINK * pooled[:, None]
        return np.asarray((mine / mine.sum(axis=2, keepdims=True)).transpose(1, 2, 0))  # judge, answer, class

    def support(table: FloatArray) -> FloatArray:
        return _by_item(verdicts.item, np.log(table)[verdicts.judge, verdicts.answer] * weight[:, None], n_items)

    belief = np.tile(prior, (n_items, 1))
    belief[known] = share
    seen = np.zeros(n_items)
    seen[known] = 1.0
    table = tables(belief, seen)
    for _ in range(EM_STEPS):
        belief = _normal(support(table) + np.log(prior))
        belief[known] = share
        table = tables(belief, loud)
        prior = (belief * loud[:, None]).sum(axis=0) + 1
        prior /= prior.sum()
    judges = np.bincount(verdicts.item, weights=weight, minlength=n_items)
    temper = 1 / (1 + SHARED * np.maximum(judges - 1, 0))
    logits = support(table) * temper[:, None] + np.log(prior)
    return Panel.of(verdicts, _normal(logits), np.log(table))


def _by_item(item: IntArray, values: FloatArray, n_items: int) -> FloatArray:
    return np.stack([np.bincount(item, weights=column, minlength=n_items) for column in values.T], axis=1)


def _normal(logits: FloatArray) -> FloatArray:
    chance = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(chance / chance.sum(axis=1, keepdims=True))
