"""How wrong a job is, by one law for all who say it: the estimated error and limits that real datasets have held to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.models.assay.dependence import Dependence
from crowdassay.special import expit, logit

CONFIDENCE = 0.95
GRID = np.linspace(-9.0, 6.0, 601)  # logits of the error
COARSE = GRID[::6]
SHIFTS = np.linspace(-40.0, 40.0, 161)
SLOPES = np.exp(np.linspace(-1.4, 1.4, 5))
SLOPE_SPREAD = 0.7  # standard deviation of its logarithm: a factor of two either way is nothing unusual
DOUBTS = np.linspace(-9.2, 4.6, 277)  # logits of one less the probability of a label: items are counted by the nearest
LEAST_ERROR = 1e-4  # an error below it is not told from it
FEWEST_LABELS_PER_ITEM = 1.4  # per item, from which on the law was learned: with fewer nobody can be compared
KNOWN_TRIED = (10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000)
CLOSE_LIMIT = 1.5  # upper limit over estimate that enough known items come to
# What a known item counts for: all are checked by pools that have learned from the others, so that their errors go together.
# The first is learned with each group left out (`python benchmarks/expert.py`), the second half of it, rounded down.
KNOWN_WORTH, CHOSEN_WORTH = 0.7, 0.3  # items drawn at random, and others
NEXT_ANSWERS = 25  # an expert's answers that are looked ahead


@lru_cache(maxsize=1)
def population() -> dict[str, Any]:
    """Return what `benchmarks/learn_sizing.py` and `benchmarks/forecast.py` have learned."""
    return dict(json.loads((files("crowdassay.planning") / "population.json").read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Law:
    """How the true error of a job lies around what the probabilities say, on the logit scale.

    Attributes
    ----------
    spread : float
        Scale of a Student distribution, such that 95 % of groups of public datasets stay below its upper limit.
    freedom : float
        Its degrees of freedom.
    groups : int
        Groups of datasets it was learned from.
    """

    spread: float
    freedom: float
    groups: int


def shipped_law() -> Law:
    """Return the law learned from public crowds."""
    learned = population()["limit"]
    return Law(**{name: learned[name] for name in Law.__dataclass_fields__})


def forecast_law() -> Dependence:
    """Return the law by which labels add up in forecasts, chosen by `benchmarks/forecast.py`.

    Which label is best depends on how far the method's probabilities will move, and so on the method's own law. How far the
    error will fall is another question: it falls faster than the method, which is careful, believes.
    """
    return Dependence(population()["forecast"]["overlap"])


@dataclass(frozen=True)
class Limit:
    """The estimated error of a job and its limits, as shares of all items; those whose class is known are right.

    Attributes
    ----------
    error, low, high : float
        Share of items with a wrong label: the median of what is believed, and what it stays above and below with 95 %
        confidence each.
    raw : float
        What the probabilities alone say of the items that are not known: one less their mean.
    known, wrong : int
        Items of known class that were checked, and how many of them were labelled wrong before their class was told.
    known_doubt : float
        The median of one less the probability of their labels, before their class was told.
    unknown : float
        Share of all items whose class is not known.
    at_random : bool
        Whether the known items were drawn at random, so that they stand for all.
    """

    error: float
    low: float
    high: float
    raw: float
    known: int = 0
    wrong: int = 0
    known_doubt: float = 0.0
    unknown: float = 1.0
    at_random: bool = False

    @property
    def factor(self) -> float:
        """By how much the error is expected to exceed what the probabilities say; so much less, or more, do labels gain."""
        return self.error / max(self.raw * self.unknown, 1e-9) if self.unknown else 1.0

    def says(self, target: float | None = None) -> str:
        """Return a sentence: stop or go on.

        >>> Limit(0.048, 0.04, 0.056, 0.04).says(0.06)
        'stop: estimated error 4.8 %, upper limit 5.6 % (target 6.0 %)'
        """
        facts = f"estimated error {100 * self.error:.1f} %, upper limit {100 * self.high:.1f} %"
        if target is None:
            return facts
        return f"{'stop' if self.high <= target else 'go on'}: {facts} (target {100 * target:.1f} %)"


def estimate_error(
    n_items: int,
    wrong: float,
    doubts: IntArray,
    checked: IntArray | FloatArray | None = None,
    law: Law | None = None,
    *,
    at_random: bool = False,
) -> Limit:
    """Return the error of a job: the one estimate that is printed, drawn, written, planned with and served.

    Parameters
    ----------
    n_items : int
    wrong : float
        The sum, over the items whose class is not known, of one less the probability of the label.
    doubts : ndarray of int, shape (n_levels,)
        These items by that doubt, see `count_doubts`.
    checked : ndarray of int, shape (n_levels, 2), optional
        Known items by the doubt of a fit that had not been told their classes: labelled right, and wrong.
    law : Law, optional
        That of public crowds by default.
    at_random : bool
        Whether the known items were drawn at random; others count for less, as they may not be like the rest.

    >>> doubts = count_doubts(np.full(400, 0.05))
    >>> found = estimate_error(400, 20.0, doubts)
    >>> round(found.error, 3), found.low < found.error < found.high
    (0.05, True)
    """
    n_unknown = int(doubts.sum())
    if checked is None:
        checked = np.zeros((len(DOUBTS), 2), np.int64)
    if not n_unknown:
        return Limit(0.0, 0.0, 0.0, 0.0, int(checked.sum()), int(checked[:, 1].sum()), unknown=0.0)
    raw = min(max(wrong, 0.0) / n_unknown, 1.0)
    found = limit_from_items(raw, doubts, law or shipped_law(), checked, at_random=at_random)
    return _of_all(found, n_unknown / n_items, at_random)


def foretell(
    n_items: int,
    wrong: float,
    doubts: IntArray,
    checked: IntArray | None = None,
    more: int = NEXT_ANSWERS,
    law: Law | None = None,
    *,
    at_random: bool = False,
) -> Limit:
    """Return what `estimate_error` may be expected to say after ``more`` answers of an expert to items drawn at random.

    They are taken to be right and wrong as those before them or, where there are none, as estimated: the interval narrows and
    its middle stays. The parameters are those of `estimate_error`.

    >>> doubts = count_doubts(np.full(400, 0.05))
    >>> now, then = estimate_error(400, 20.0, doubts), foretell(400, 20.0, doubts)
    >>> now.low < then.low < then.high < now.high
    True
    """
    now = estimate_error(n_items, wrong, doubts, checked, law, at_random=at_random)
    more = min(more, int(doubts.sum()))
    if not more:
        return now
    worth = KNOWN_WORTH if at_random or not now.known else CHOSEN_WORTH
    before = np.zeros((len(DOUBTS), 2)) if checked is None else worth / KNOWN_WORTH * checked
    rate = np.clip(now.error / now.unknown, LEAST_ERROR, 1 - LEAST_ERROR)
    level = expit(np.interp(_logit(rate), *_job(doubts)) + DOUBTS)
    drawn = (more / doubts.sum() * doubts)[:, None] * np.column_stack([1 - level, level])
    then = estimate_error(n_items, wrong, doubts, before + drawn, law, at_random=True)
    left = max(1 - more / int(doubts.sum()), 0.0)
    return replace(then, error=left * then.error, low=left * then.low, high=left * then.high, unknown=left * then.unknown)


def _of_all(found: Limit, share: float, at_random: bool) -> Limit:
    """Return limits of the items whose class is not known as shares of all items."""
    limits = {name: share * getattr(found, name) for name in ("error", "low", "high")}
    return replace(found, **limits, unknown=share, at_random=at_random and found.known > 0)


def _job(doubts: IntArray, slope: float = 1.0) -> tuple[FloatArray, FloatArray]:
    """Return the logit of a job's error for each shift of its items' doubts, and the shifts: both (n_shifts,)."""
    there = np.flatnonzero(doubts)
    job = expit(SHIFTS[:, None] + slope * DOUBTS[there]) @ doubts[there] / doubts.sum()
    return _logit(job, 1e-15), SHIFTS


def doubt_level(doubt: FloatArray) -> IntArray:
    """Return the place among `DOUBTS` of one less the probability of labels, of its shape."""
    step = (DOUBTS[-1] - DOUBTS[0]) / (len(DOUBTS) - 1)
    return np.clip(np.rint((_logit(doubt) - DOUBTS[0]) / step), 0, len(DOUBTS) - 1).astype(np.int64)


def count_doubts(doubt: FloatArray) -> IntArray:
    """Count items by one less the probability of their labels, shape (n_levels,): counts of several blocks can be added.

    >>> int(count_doubts(np.array([0.0, 0.5, 0.5]))[184])
    2
    """
    return np.bincount(doubt_level(doubt), minlength=len(DOUBTS))


def limit_of(raw: float, law: Law, *, wrong: int = 0, known: int = 0, confidence: float = CONFIDENCE) -> Limit:
    """Return the error and its limits, from the estimated error of the items and from known items drawn at random.

    What is believed before looking at known items is the law's Student distribution; the known items, of which ``wrong`` were
    labelled wrong by a fit that had not been told their classes, weigh it by their binomial likelihood, each for `KNOWN_WORTH`.

    >>> law = Law(0.5, 30.0, 31)
    >>> unchecked, checked = limit_of(0.05, law), limit_of(0.05, law, wrong=5, known=100)
    >>> unchecked.high > checked.high > 0.05
    True
    """
    errors = expit(GRID)
    likelihood = wrong * np.log(errors) + (known - wrong) * np.log1p(-errors)
    return _limit(raw, law, KNOWN_WORTH * likelihood, wrong, known, confidence)


def limit_from_items(
    raw: float,
    doubts: IntArray,
    law: Law,
    checked: IntArray | FloatArray,
    *,
    confidence: float = CONFIDENCE,
    at_random: bool = False,
) -> Limit:
    r"""Return the error and its limits, where known items need not be like the others.

    Experts are asked about the least sure items, which are wrong more often than others. So each known item is compared with
    what was expected of it: items are taken to be wrong with probability

    .. math::  \operatorname{expit}(\delta + s \operatorname{logit} d_j)

    with one shift and one slope for the whole job; the slope, how much hard items differ from easy ones, is averaged over. For
    items drawn at random that is a post-stratified estimate: it holds whatever the shape, and is narrower than a binomial one.

    Parameters
    ----------
    raw : float
        The mean, over the items whose class is not known, of one less the probability of the label.
    doubts : ndarray of int, shape (n_levels,)
        These items by that doubt.
    law : Law
    checked : ndarray of int, shape (n_levels, 2)
        Known items by the doubt of a fit that had not been told their classes: labelled right, and wrong.
    at_random : bool
        Whether they were drawn at random.

    Examples
    --------
    Twenty hard items, half of them wrong as expected, do not make the job look worse; twenty ordinary ones would.

    >>> law, doubts = Law(0.5, 30.0, 31), count_doubts(np.full(400, 0.05))
    >>> def half_wrong(doubt):
    ...     return np.column_stack([count_doubts(np.full(10, doubt))] * 2)
    >>> bool(limit_from_items(0.05, doubts, law, half_wrong(0.5)).error < 0.06)
    True
    >>> bool(limit_from_items(0.05, doubts, law, half_wrong(0.05), at_random=True).error > 0.1)
    True
    """
    known, wrong = int(checked.sum()), int(checked[:, 1].sum())
    if not known:
        return _limit(raw, law, np.zeros(len(GRID)), 0, 0, confidence)
    likelihood = _compare(doubts, checked, at_random=at_random)[1]
    smooth = np.interp(GRID, COARSE, np.logaddexp.reduce(likelihood, axis=0))
    middle = np.searchsorted(np.cumsum(checked.sum(axis=1)), known / 2)
    return replace(_limit(raw, law, smooth, wrong, known, confidence), known_doubt=float(expit(DOUBTS[middle])))


def _compare(doubts: IntArray, checked: IntArray | FloatArray, *, at_random: bool) -> tuple[FloatArray, FloatArray]:
    """Return the shift of the doubts that makes each error of `COARSE` that of the job, and how likely it is beside a slope.

    Shape (n_slopes, n_errors) each: the log-likelihood of the known items, and the logarithm of what is believed of the slope.
    """
    seen, worth = np.flatnonzero(checked.any(axis=1)), KNOWN_WORTH if at_random else CHOSEN_WORTH
    shifts = np.array([np.interp(COARSE, *_job(doubts, slope)) for slope in SLOPES])
    logits = shifts[..., None] + SLOPES[:, None, None] * DOUBTS[seen]
    said = -np.logaddexp(0.0, logits) @ checked[seen, 0] - np.logaddexp(0.0, -logits) @ checked[seen, 1]
    return shifts, worth * said - 0.5 * (np.log(SLOPES) / SLOPE_SPREAD)[:, None] ** 2


@dataclass(frozen=True, eq=False)
class Belief:
    """What is believed of the items of a job: how probably labels are wrong, by their doubt, and how likely that is.

    Attributes
    ----------
    wrong : ndarray of shape (n_beliefs, n_levels)
    weight : ndarray of shape (n_beliefs,)
        Their sum is 1.
    level : float
        Of the limits, either side, as those of `Limit`.
    """

    wrong: FloatArray
    weight: FloatArray
    level: float


def believe(
    n_items: int,
    wrong: float,
    doubts: IntArray,
    checked: IntArray | FloatArray | None = None,
    law: Law | None = None,
    *,
    at_random: bool = False,
) -> Belief:
    """Return what is believed of items that are not known, of which `estimate_error` tells the whole; its parameters.

    >>> doubts = count_doubts(np.repeat([0.01, 0.3], 50))
    >>> belief = believe(100, 15.5, doubts)
    >>> sure, unsure = (belief.weight @ belief.wrong)[np.flatnonzero(doubts)]
    >>> bool(0 < sure < unsure < 0.5)
    True
    """
    law = law or shipped_law()
    raw = min(max(wrong, 0.0) / max(int(doubts.sum()), 1), 1.0)
    checked = np.zeros((len(DOUBTS), 2), np.int64) if checked is None else checked
    shifts, likelihood = _compare(doubts, checked, at_random=at_random)
    logs = likelihood + _student(COARSE, raw, law)
    weight = np.exp(logs - logs.max()).ravel()
    logits = shifts[..., None] + SLOPES[:, None, None] * DOUBTS
    level = with_caution(CONFIDENCE, law.groups)
    return Belief(expit(logits).reshape(-1, len(DOUBTS)), weight / weight.sum(), level)


def _student(grid: FloatArray, raw: float, law: Law) -> FloatArray:
    """Return the logarithm, but for a constant, of what is believed of errors (logits) before known items are looked at."""
    away = (grid - float(_logit(np.float64(raw)))) / law.spread
    return -(law.freedom + 1) / 2 * np.log1p(away**2 / law.freedom)


def _limit(raw: float, law: Law, likelihood: FloatArray, wrong: int, known: int, confidence: float) -> Limit:
    """Weigh the law's distribution by the likelihood (of GRID) of what known items have shown."""
    logs = _student(GRID, raw, law) + likelihood
    weights = np.exp(logs - logs.max())
    below = (np.cumsum(weights) - weights / 2) / weights.sum()
    level = with_caution(confidence, law.groups)
    low, middle, high = expit(np.interp([1 - level, 0.5, level], below, GRID)).tolist()
    return Limit(middle, low, high, raw, known, wrong)


def _logit(share: FloatArray | np.float64, least: float = LEAST_ERROR) -> FloatArray:
    return logit(np.clip(share, least, 1 - least))


def known_needed(
    limit: Limit, law: Law, *, target: float | None = None, most: int = KNOWN_TRIED[-1]
) -> tuple[int, float] | None:
    """Return how many further known items would bring the upper limit to a target, and to what; None if none up to ``most``.

    They are taken to be labelled as well as estimated. Without a target the limit is to be at most half above the estimate.

    >>> law = Law(0.5, 30.0, 31)
    >>> n, high = known_needed(limit_of(0.05, law), law, target=0.08)
    >>> n, high <= 0.08
    (300, True)
    """
    if not limit.unknown:
        return None
    wanted = CLOSE_LIMIT * limit.error if target is None else target
    for more in KNOWN_TRIED:
        if more > most:
            break
        known = limit.known + more
        wrong = round(known * limit.error / limit.unknown)  # those known by now may be harder or easier than others
        high = limit.unknown * limit_of(limit.raw, law, wrong=wrong, known=known).high
        if high <= wanted:
            return more, high
    return None


def with_caution(confidence: float, n_groups: int) -> float:
    """Return the level of a limit that so few groups taught: one group's worth of caution added, as in conformal prediction.

    >>> round(with_caution(0.95, 40), 4)
    0.9737
    """
    return min(confidence * (1 + 1 / n_groups), (1 + confidence) / 2)
