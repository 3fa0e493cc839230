r"""Predict what people would say of every item: what each answer of each judge means, and a correction by people's labels.

Judge :math:`i` gives answer :math:`a` to an item of class :math:`c` with probability :math:`T_i(c, a)`: a table with more
answers than classes, so that scores, "unsure" and refusals all say something. The tables are those of Dawid and Skene, fitted
by EM with people's items held at what people said, each judge's shrunk to the table of all. Several answers of one judge to
one item share their mistakes: :math:`m` of them count as :math:`m / (1 + r(m - 1))` answers, and so do the :math:`m` judges of
an item in the probabilities handed back, with the :math:`r = 0.83` that real crowds have shown.

The judges' verdicts so give a probability :math:`p_{jc}` (by the default method where every answer is a class). On people's
labels it is corrected by a few numbers,

.. math:: q_{jc} \propto \exp\Big(\alpha \log p_{jc} + \beta_c + \sum_i w_i\, e_i(x_{ij}, c)\Big),

with :math:`e_i` 1 where judge :math:`i` names the class (or the log-probability of the answer), all shrunk towards
:math:`\alpha = 1, \beta = 0, w = 0`, so that few labels change little. Labels are dealt into folds; an item that people
saw is predicted from the other folds, other items by the mean of all (cross-prediction, Zrnic and Candès 2024).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.people import People
from crowdassay.judges.verdicts import Verdicts
from crowdassay.statistics import log_softmax, softmax

SHARED_MISTAKES = 0.83  # how far answers to one item share their mistakes
SHRINK = 5.0  # answers for each class that the table of all judges is worth in a judge's own
EVEN = 0.5  # answers that each cell of the table of all is given beforehand
EM_STEPS = 10
LEAST_WEIGHT_OF_PEOPLE = 0.5  # share of the other items' weight that people's items have together, at least
HEAVIEST = 10.0
CENTRE = 1.0  # of the weight of the panel's log-odds, which are tempered already
PENALTIES = (5.0, 1.0, 5.0)  # of that weight, of the classes and of the judges
LEAST_PANEL_PROBABILITY = 1e-6
CORRECTION_STEPS = 25
PREDICTION_FOLDS, MANY_SEEN = (10, 5), 100  # folds below and from this number of items that people saw


@dataclass(frozen=True, eq=False)
class Panel:
    """Probabilities of the classes by the judges alone, and what each judge's answer says for each class.

    Attributes
    ----------
    verdicts : Verdicts
    probability : ndarray, shape (n_items, n_classes)
    says : ndarray, shape (n_judges, n_answers, n_classes)
        Evidence of an answer for a class.
    """

    verdicts: Verdicts
    probability: FloatArray
    says: FloatArray

    @cached_property
    def evidence(self) -> FloatArray:
        """What each verdict says for each class, beside others by the same judge on the same item; (n_verdicts, n_classes)."""
        return np.asarray(self.says[self.verdicts.judge, self.verdicts.answer] * verdict_weights(self.verdicts)[:, None])

    def evidence_of(self, rows: IntArray) -> FloatArray:
        """Return what every judge says of some items, shape (n, n_classes, n_judges)."""
        place = np.full(len(self.probability), -1)
        place[rows] = np.arange(len(rows))
        at = place[self.verdicts.item]
        evidence = np.zeros((len(rows), len(self.says), self.says.shape[2]))
        np.add.at(evidence, (at[at >= 0], self.verdicts.judge[at >= 0]), self.evidence[at >= 0])
        return evidence.transpose(0, 2, 1)


def verdict_weights(verdicts: Verdicts) -> FloatArray:
    """Return what each verdict counts: m answers of one judge to one item as m / (1 + r (m - 1)) together."""
    cell = verdicts.item * max(len(verdicts.judges), 1) + verdicts.judge
    _, place, times = np.unique(cell, return_inverse=True, return_counts=True)
    return np.asarray((1 / (1 + SHARED_MISTAKES * (times - 1)))[place])


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
    item_weight = np.ones(n_items)
    item_weight[known] = min(max(1.0, LEAST_WEIGHT_OF_PEOPLE * (n_items - len(known)) / max(len(known), 1)), HEAVIEST)

    def tables(belief: FloatArray, only: FloatArray) -> FloatArray:
        values = (weight * only[verdicts.item])[:, None] * belief[verdicts.item]
        counts = _sums(cell, values, n_judges * n_answers).T.reshape(n_classes, n_judges, n_answers)
        pooled = counts.sum(axis=1) + EVEN
        pooled[:, :n_classes] += np.eye(n_classes)  # an answer that is a class speaks for it
        pooled /= pooled.sum(axis=1, keepdims=True)
        mine = counts + SHRINK * pooled[:, None]
        return np.asarray((mine / mine.sum(axis=2, keepdims=True)).transpose(1, 2, 0))  # judge, answer, class

    def support(table: FloatArray) -> FloatArray:
        return _sums(verdicts.item, np.log(table)[verdicts.judge, verdicts.answer] * weight[:, None], n_items)

    belief = np.tile(prior, (n_items, 1))
    belief[known] = share
    seen = np.zeros(n_items)
    seen[known] = 1.0
    table = tables(belief, seen)
    for _ in range(EM_STEPS):
        belief = softmax(support(table) + np.log(prior))
        belief[known] = share
        table = tables(belief, item_weight)
        prior = (belief * item_weight[:, None]).sum(axis=0) + 1
        prior /= prior.sum()
    judges = np.bincount(verdicts.item, weights=weight, minlength=n_items)
    temper = 1 / (1 + SHARED_MISTAKES * np.maximum(judges - 1, 0))
    logits = support(table) * temper[:, None] + np.log(prior)
    return Panel(verdicts, softmax(logits), np.log(table))


def make_panel(verdicts: Verdicts, known: IntArray, share: FloatArray, probability: FloatArray | None) -> Panel:
    """Return a panel with these probabilities, in which an answer speaks for its class; without, learn what answers mean."""
    if probability is None:
        return fit_answers(verdicts, known, share)
    return Panel(verdicts, probability, np.eye(verdicts.n_classes)[None].repeat(len(verdicts.judges), axis=0))


def _sums(code: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Return the sums of rows of values by their codes, shape (size, n_columns)."""
    return np.stack([np.bincount(code, column, size) for column in values.T], axis=1)


def deal_folds(people: People, n_folds: int, cluster: IntArray | None, generator: np.random.Generator) -> IntArray:
    """Return a fold for each item that people saw, shape (n,); items of one cluster, (n_items,), stay together."""
    _, code = np.unique(people.item if cluster is None else cluster[people.item], return_inverse=True)
    count = int(code.max()) + 1
    return np.asarray(generator.permutation(np.arange(count) % min(n_folds, count))[code])


def predict_people(
    verdicts: Verdicts,
    people: People,
    panel: FloatArray | None,
    generator: np.random.Generator,
    cluster: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Predict what people would say of every item.

    Parameters
    ----------
    verdicts : Verdicts
    people : People
    panel : ndarray, shape (n_items, n_classes), optional
        The default's probability from the judges alone; None where answers are more than the classes, and tables of answers
        are learned from people in each fold.
    generator : numpy.random.Generator
        Deals the folds.
    cluster : ndarray of int, shape (n_items,), optional
        Items of one question, which stay in one fold.

    Returns
    -------
    panel : ndarray, shape (n_items, n_classes)
        What the panel alone claims.
    blind : ndarray, shape (n_items, n_classes)
        Predictions that have not seen people's labels of the item.
    """
    n = len(people.item)
    fold = deal_folds(people, PREDICTION_FOLDS[n >= MANY_SEEN], cluster, generator)
    n_folds = int(fold.max()) + 1
    whole = make_panel(verdicts, people.item, people.share, panel)
    blind, held = np.zeros_like(whole.probability), np.zeros((n, verdicts.n_classes))
    for k in range(n_folds):
        rest = fold != k
        part = whole if panel is not None else fit_answers(verdicts, people.item[rest], people.share[rest])
        corrected = _corrected(part, people, rest)
        held[~rest] = corrected[people.item[~rest]]
        blind += corrected / n_folds
    blind[people.item] = held
    return whole.probability, blind


def _corrected(panel: Panel, people: People, used: np.ndarray) -> FloatArray:
    """Return the probabilities of all items, corrected by what people said of some."""
    rows, verdicts = people.item[used], panel.verdicts
    odds = np.log(np.maximum(panel.probability, LEAST_PANEL_PROBABILITY))
    features = np.concatenate([odds[rows][:, :, None], panel.evidence_of(rows)], axis=2)
    weight, bias = fit_correction(features, people.share[used])
    said = _sums(verdicts.item, panel.evidence * weight[1:][verdicts.judge][:, None], verdicts.n_items)
    return softmax(weight[0] * odds + bias + said)


def fit_correction(features: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fit the few weights by Newton's method on the penalised likelihood.

    Parameters
    ----------
    features : ndarray, shape (n, n_classes, n_features)
        The panel's log-probability first.
    share : ndarray, shape (n, n_classes)

    Returns
    -------
    weight : ndarray, shape (n_features,)
    bias : ndarray, shape (n_classes,)
    """
    n, n_classes, n_features = features.shape
    every = np.concatenate([features, np.broadcast_to(np.eye(n_classes), (n, n_classes, n_classes))], axis=2)
    centre = np.zeros(n_features + n_classes)
    centre[0] = CENTRE
    penalty = np.repeat([PENALTIES[0], PENALTIES[2], PENALTIES[1]], [1, n_features - 1, n_classes])
    at = centre.copy()

    def loss(value: FloatArray) -> float:
        return float((penalty * (value - centre) ** 2).sum() / 2 - (share * log_softmax(every @ value)).sum())

    now = loss(at)
    for _ in range(CORRECTION_STEPS):
        chance = softmax(every @ at)
        mean = np.einsum("nk,nkq->nq", chance, every)
        gradient = mean.sum(axis=0) - np.einsum("nk,nkq->q", share, every) + penalty * (at - centre)
        curved = np.einsum("nk,nkq,nkr->qr", chance, every, every, optimize=True) - mean.T @ mean + np.diag(penalty)
        step = np.linalg.solve(curved, gradient)
        length = 1.0
        while (then := loss(at - length * step)) > now and length > 1e-4:
            length /= 2
        if now - then < 1e-9 * (1 + abs(now)):
            break
        at, now = at - length * step, then
    return at[:n_features], at[n_features:]
