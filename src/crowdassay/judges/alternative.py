"""May a judge replace a person? The alternative annotator test of Calderon, Reichart and Dror (2025).

Each person in turn is left out. On every item that the person and others saw, the judge and the person are scored by the share
of the others who said the same. The judge wins against a person if it is at least as good on enough more items, less a margin
that stands for people's cost, by a one-sided paired test (t from 30 items, Wilcoxon's below); p-values of all people are taken
together by the procedure of Benjamini and Yekutieli. The *winning rate* is the share of people the judge wins against; from
one half on it may replace a person. The *average advantage* is the mean share of items on which the judge is at least as good.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import ttest_1samp, wilcoxon

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.statistics import discoveries

MARGIN = 0.15  # between 0.1 (crowd workers) and 0.2 (experts)
LEVEL = 0.05
NORMAL = 30  # items from which the t test is taken
LEAST_ITEMS_OF_A_PERSON = 10  # items below which a person is left out of the test


@dataclass(frozen=True)
class Replacement:
    """Whether a judge may replace a person.

    Attributes
    ----------
    winning_rate, average_advantage : float
    people : int
        People the judge was compared with.
    passes : bool
    """

    winning_rate: float
    average_advantage: float
    people: int
    passes: bool


def may_replace(
    said: IntArray, judge: IntArray, margin: float = MARGIN, level: float = LEVEL, least: int = LEAST_ITEMS_OF_A_PERSON
) -> Replacement | None:
    """Test whether a judge may replace a person.

    Parameters
    ----------
    said : ndarray of int, shape (n, n_people)
        What people said, -1 where nothing.
    judge : ndarray of int, shape (n,)
        What the judge said, -1 where nothing.
    margin : float
        By how much people must be better to be worth their cost.
    level : float
        Of the false discoveries.
    least : int
        Items that a person must share with others and the judge.

    Returns
    -------
    Replacement or None
        None where no person shares enough items with another.
    """
    p_values, shares = [], []
    for person in range(said.shape[1]):
        others = np.delete(said, person, axis=1)
        rows = (said[:, person] >= 0) & (judge >= 0) & (others >= 0).any(axis=1)
        if rows.sum() < least:
            continue
        mine, its = _score(said[rows, person], others[rows]), _score(judge[rows], others[rows])
        wins, losses = (its >= mine).astype(float), (mine >= its).astype(float)
        shares.append(wins.mean())
        p_values.append(_p_value(losses - wins, margin))
    if not shares:
        return None
    rate = float(discoveries(np.array(p_values), np.ones(len(p_values), bool), level, dependent=True).mean())
    return Replacement(rate, float(np.mean(shares)), len(shares), rate >= 0.5)


def _score(answer: IntArray, others: IntArray) -> FloatArray:
    present = others >= 0
    return np.asarray(((others == answer[:, None]) & present).sum(axis=1) / present.sum(axis=1))


def _p_value(difference: FloatArray, margin: float) -> float:
    """Return the p-value for people being better by less than the margin."""
    if np.ptp(difference) == 0:
        return 0.0 if difference[0] < margin else 1.0
    if len(difference) >= NORMAL:
        return float(ttest_1samp(difference, margin, alternative="less").pvalue)
    return float(wilcoxon(difference - margin, alternative="less").pvalue)
