"""When to stop: the estimated error of a job, and an upper limit that real datasets have held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logit, logsumexp, stdtrit, xlog1py, xlogy

from crowdassay.arrays import BoolArray, FloatArray
from crowdassay.planning.population import Law

CONFIDENCE = 0.95
GRID_OF_KNOWN = (0, 20, 50, 100, 200)
GRID = np.linspace(-9.0, 6.0, 601)  # logits of the error
COARSE = GRID[::6]
SHIFTS = np.linspace(-40.0, 40.0, 161)
SLOPES = np.exp(np.linspace(-1.4, 1.4, 5))
SLOPE_SPREAD = 0.7  # standard deviation of its logarithm: a factor of two either way is nothing unusual
MOST_DOUBTS = 200  # items that stand for all
LEAST_ERROR = 1e-4  # an error below it is not told from it
FEWEST_LABELS_PER_ITEM = 1.4  # per item, from which on the law was learned: with fewer nobody can be compared
KNOWN_TRIED = (10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000)
CLOSE_LIMIT = 1.5  # upper limit over estimate that enough known items come to


@dataclass(frozen=True)
class Limit:
    """The estimated error of a job and its upper limit.

    Attributes
    ----------
    error, high : float
        Share of items with a wrong label: the median of what is believed, and what it stays below with 95 % confidence.
    raw : float
        What the probabilities alone say: one less their mean. Without known items that is the error, as `aggregate` says it.
    known, wrong : int
        Items of known class that were checked, and how many of them were labelled wrong before their class was told.
    """

    error: float
    high: float
    raw: float
    known: int
    wrong: int

    def says(self, target: float | None = None) -> str:
        """Return a sentence: stop or go on.

        >>> Limit(0.048, 0.056, 0.04, 0, 0).says(0.06)
        'stop: estimated error 4.8 %, upper limit 5.6 % (target 6.0 %)'
        """
        facts = f"estimated error {100 * self.error:.1f} %, upper limit {100 * self.high:.1f} %"
        if target is None:
            return facts
        return f"{'stop' if self.high <= target else 'go on'}: {facts} (target {100 * target:.1f} %)"


def limit_of(raw: float, law: Law, *, wrong: int = 0, known: int = 0, confidence: float = CONFIDENCE) -> Limit:
    """Return the error and its upper limit, from the estimated error of the items and from known items.

    What is believed before looking at known items is the law's Student distribution; the known items, of which ``wrong`` were
    labelled wrong by a fit that had not been told their classes, weigh it by their binomial likelihood.

    >>> law = Law(0.5, 30.0, 31)
    >>> unchecked, checked = limit_of(0.05, law), limit_of(0.05, law, wrong=5, known=100)
    >>> unchecked.high > checked.high > 0.05
    True
    """
    errors = expit(GRID)
    likelihood = xlogy(wrong, errors) + xlog1py(known - wrong, -errors)
    return _limit(raw, law, likelihood, wrong, known, confidence)


def limit_from_items(
    doubt: FloatArray, law: Law, checked: FloatArray, wrong: BoolArray, *, confidence: float = CONFIDENCE
) -> Limit:
    r"""Return the error and its upper limit, where known items need not be like the others.

    Experts are asked about the least sure items, which are wrong more often than others. So each known item is compared with
    what was expected of it: items are taken to be wrong with probability

    .. math::  \operatorname{expit}(\delta + s \operatorname{logit} d_j)

    with one shift and one slope for the whole job; the slope, how much hard items differ from easy ones, is averaged over.

    Parameters
    ----------
    doubt : ndarray of shape (n,)
        One less the probability of the label, of the items whose class is not known.
    law : Law
    checked : ndarray of shape (n_known,)
        The same of known items, by a fit that had not been told their classes; see `crowdassay.planning.plan.check_known`.
    wrong : ndarray of bool, shape (n_known,)
        Whether that fit got them wrong.

    Examples
    --------
    Twenty hard items, half of them wrong as expected, do not make the job look worse; twenty ordinary ones would.

    >>> law, doubt, wrong = Law(0.5, 30.0, 31), np.full(400, 0.05), np.arange(20) < 10
    >>> bool(limit_from_items(doubt, law, np.full(20, 0.5), wrong).error < 0.06)
    True
    >>> bool(limit_from_items(doubt, law, np.full(20, 0.05), wrong).error > 0.1)
    True
    """
    raw = float(doubt.mean())
    some = np.sort(doubt)[np.linspace(0, len(doubt) - 1, min(len(doubt), MOST_DOUBTS)).astype(np.int64)]
    likelihood = []
    for slope in SLOPES:
        job = expit(SHIFTS[:, None] + slope * _logit(some)).mean(axis=1)
        shift = np.interp(COARSE, logit(job), SHIFTS)
        turned = np.where(wrong, 1.0, -1.0) * (shift[:, None] + slope * _logit(checked))
        likelihood.append(log_expit(turned).sum(axis=1) - 0.5 * (np.log(slope) / SLOPE_SPREAD) ** 2)
    smooth = np.interp(GRID, COARSE, logsumexp(likelihood, axis=0))
    return _limit(raw, law, smooth, int(wrong.sum()), len(wrong), confidence)


def _limit(raw: float, law: Law, likelihood: FloatArray, wrong: int, known: int, confidence: float) -> Limit:
    """Weigh the law's distribution by the likelihood (of GRID) of what known items have shown."""
    away = (GRID - float(_logit(np.float64(raw)))) / law.spread
    student = -(law.freedom + 1) / 2 * np.log1p(away**2 / law.freedom)  # but for a constant
    weights = np.exp(student + likelihood - (student + likelihood).max())
    below = (np.cumsum(weights) - weights / 2) / weights.sum()
    middle, high = expit(np.interp([0.5, with_caution(confidence, law.groups)], below, GRID)).tolist()
    return Limit(middle, high, raw, known, wrong)


def _logit(share: FloatArray | np.float64) -> FloatArray:
    return np.asarray(logit(np.clip(share, LEAST_ERROR, 1 - LEAST_ERROR)))


def known_needed(
    limit: Limit, law: Law, *, target: float | None = None, most: int = KNOWN_TRIED[-1]
) -> tuple[int, float] | None:
    """Return how many further known items would bring the upper limit to a target, and to what; None if none up to ``most``.

    They are taken to be labelled as well as estimated. Without a target the limit is to be at most half above the estimate.

    >>> law = Law(0.5, 30.0, 31)
    >>> n, high = known_needed(limit_of(0.05, law), law, target=0.08)
    >>> n, high <= 0.08
    (200, True)
    """
    wanted = CLOSE_LIMIT * limit.error if target is None else target
    for more in KNOWN_TRIED:
        if more > most:
            break
        wrong = round((limit.known + more) * limit.error)  # those known by now may be harder or easier than others
        high = limit_of(limit.raw, law, wrong=wrong, known=limit.known + more).high
        if high <= wanted:
            return more, high
    return None


def fit_law(records: Sequence[dict[str, Any]], confidence: float = CONFIDENCE) -> Law:
    """Learn the law from records of ``group``, ``estimated``, ``error`` and ``items``; every group counts the same.

    The centre is what the probabilities say: with a bias and a slope the estimate was worse on groups left out. The
    spread is set by the weighted quantile of the residuals at the level of limits; the shape of the tail is Student's.
    """
    groups = [row["group"] for row in records]
    weight = np.array([1 / groups.count(group) for group in groups])
    x = np.array([logit(np.clip(row["estimated"], LEAST_ERROR, 1 - LEAST_ERROR)) for row in records])
    y = np.array([logit((row["error"] * row["items"] + 0.5) / (row["items"] + 1)) for row in records])
    residual = y - x
    n_groups = len(set(groups))
    order, level_of_limit = np.argsort(residual), with_caution(confidence, n_groups)
    level = np.cumsum(weight[order]) / n_groups
    place = min(int(np.searchsorted(level, level_of_limit)), len(order) - 1)
    freedom = float(max(n_groups - 1, 1))
    spread = float(residual[order[place]] / stdtrit(freedom, level_of_limit))
    return Law(round(spread, 4), freedom, n_groups)


def with_caution(confidence: float, n_groups: int) -> float:
    """Return the level of a limit that so few groups taught: one group's worth of caution added, as in conformal prediction.

    >>> round(with_caution(0.95, 40), 4)
    0.9737
    """
    return min(confidence * (1 + 1 / n_groups), (1 + confidence) / 2)
