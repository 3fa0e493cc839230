r"""Which judges make the same mistakes, which can be dropped without loss, and what the judges cost and save.

A judge's error on an item is 1 where it does not say what people say, less its mean over the items of that class, so that what
the truth explains is gone. With :math:`\bar r` the mean correlation of two judges' errors, a vote of :math:`k` judges is as
sure as one of

.. math:: k^* = \frac{k}{1 + (k - 1)\,\bar r}

independent ones: 1 where all make the same mistakes, :math:`k` where none do (Kish's effective number).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.errors import ParameterError
from crowdassay.judges.people import People
from crowdassay.judges.prediction import deal_folds, fit_answers
from crowdassay.judges.rates import Rates
from crowdassay.judges.verdicts import Verdicts
from crowdassay.labels.values import listed
from crowdassay.statistics import log_softmax

LEAST_COMMON_ITEMS = 10  # common items from which a correlation is looked at
ERR_ALIKE = 0.5  # correlation from which judges are said to make the same mistakes
LEAST_ITEMS_TO_GROUP = 20  # items from which judges are grouped
RESAMPLES = 200
LEAST_ITEMS_TO_ADVISE = 30  # people's items from which dropping is advised
LOSS_FOLDS = 5
STRENGTHS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5)  # judges share mistakes, some panels more than others
BEARABLE = 0.02  # rise of the log-loss, with two standard errors, that is no loss


@dataclass(frozen=True, eq=False)
class Likeness:
    """How alike judges err.

    Attributes
    ----------
    correlation : ndarray, shape (n_judges, n_judges)
        Of errors beyond the truth; NaN where two judges share too few items.
    worth : float
        Independent judges that the panel is worth; NaN where it cannot be told.
    low, high : float
        Limits of a 95 % interval of `worth`.
    judges : int
        Judges who share enough items with another, of whom this is said.
    clusters : tuple of tuple of int
        Judges who make the same mistakes, two or more together.
    """

    correlation: FloatArray
    worth: float
    low: float
    high: float
    judges: int
    clusters: tuple[tuple[int, ...], ...]


def find_likeness(
    reading: IntArray, truth: IntArray, generator: np.random.Generator, cluster: IntArray | None = None
) -> Likeness:
    """Compare the errors of judges, with a bootstrap over items, or over clusters (n,) of them.

    ``reading`` (n, n_judges) is the class that each judge speaks for, -1 where it said nothing, and ``truth`` (n,) what people
    say.
    """
    errors = beyond_truth(reading, truth)
    covariance, common = _covariance(errors)
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(spread, spread)
    # A judge that never errs errs with nobody.
    correlation = np.where(np.isfinite(correlation), np.clip(correlation, -1, 1), 0.0)
    np.fill_diagonal(correlation, 1.0)
    correlation[common < LEAST_COMMON_ITEMS] = np.nan
    worth = _worth(covariance, common)
    drawn = []
    if np.isfinite(worth):
        _, code = np.unique(np.arange(len(errors)) if cluster is None else cluster, return_inverse=True)
        order, ends = np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))
        members = np.split(order, ends[:-1])
        for _ in range(RESAMPLES):
            rows = np.concatenate([members[k] for k in generator.integers(len(members), size=len(members))])
            drawn.append(_worth(*_covariance(beyond_truth(reading[rows], truth[rows]))))
    kept = np.array(drawn)[np.isfinite(drawn)] if drawn else np.zeros(0)
    low, high = np.quantile(kept, [0.025, 0.975]) if len(kept) else (np.nan, np.nan)
    limits = min(float(low), worth), max(float(high), worth)
    return Likeness(correlation, worth, *limits, _n_compared(common), _clusters(correlation, common))


def beyond_truth(reading: IntArray, truth: IntArray) -> FloatArray:
    """Return errors less their mean by judge and class, shape (n, n_judges), NaN where a judge said nothing."""
    errors = np.where(reading < 0, np.nan, (reading != truth[:, None]).astype(float))
    for c in np.unique(truth):
        rows = truth == c
        seen = np.isfinite(errors[rows])
        total = np.where(seen, errors[rows], 0.0).sum(axis=0)
        errors[rows] -= total / np.maximum(seen.sum(axis=0), 1)
    return errors


def _covariance(errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    seen = np.isfinite(errors).astype(float)
    filled = np.where(seen > 0, errors, 0.0)
    common = seen.T @ seen
    return filled.T @ filled / np.maximum(common, 1), common


def _worth(covariance: FloatArray, common: FloatArray) -> float:
    if len(covariance) == 1:
        return 1.0
    k = _n_compared(common)
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    pairs = np.triu(common >= LEAST_COMMON_ITEMS, 1)
    could = np.outer(spread, spread)[pairs].sum()
    if not pairs.any():
        return float("nan")
    mean = float(covariance[pairs].sum() / could) if could > 0 else 0.0
    return float(k / (1 + (k - 1) * min(max(mean, 0.0), 1.0)))


def _n_compared(common: FloatArray) -> int:
    """Return how many judges share enough items with another; one who is alone counts."""
    shared = common >= LEAST_COMMON_ITEMS
    np.fill_diagonal(shared, False)
    return int(shared.any(axis=1).sum()) if len(common) > 1 else 1


def _clusters(correlation: FloatArray, common: FloatArray) -> tuple[tuple[int, ...], ...]:
    if len(correlation) < 2 or np.nanmax(common) < LEAST_ITEMS_TO_GROUP:
        return ()
    distance = 1 - np.nan_to_num(correlation, nan=0.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), "average")
    member = fcluster(tree, 1 - ERR_ALIKE, "distance")
    groups = [tuple(int(i) for i in np.flatnonzero(member == g)) for g in np.unique(member)]
    return tuple(sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group)))


@dataclass(frozen=True)
class Dropped:
    """One step of dropping judges.

    Attributes
    ----------
    judge : int
    loss : float
        Rise of the log-loss, against the whole panel, without this judge and all before it.
    error : float
        Its standard error.
    saved : float
        Cost of the judges dropped so far, as a share of all.
    bearable : bool
    """

    judge: int
    loss: float
    error: float
    saved: float
    bearable: bool


def judges_to_drop(
    verdicts: Verdicts,
    people: People,
    cost: FloatArray,
    generator: np.random.Generator,
    cluster: IntArray | None = None,
) -> tuple[Dropped, ...]:
    """Drop judges one by one, each time the one that costs most for what it adds; empty where people saw too few items.

    What each answer means is learned on other folds of people's items, and the loss measured on the fold itself. ``cost``
    (n_judges,) is that of a verdict by each judge; items of one ``cluster`` (n_items,) stay in one fold.
    """
    n, n_judges = len(people.item), len(verdicts.judges)
    shared = np.isin(verdicts.item, people.item)
    judge = np.unique(np.stack([verdicts.judge[shared], verdicts.item[shared]]), axis=1)[0]  # once for each item
    known = np.bincount(judge, minlength=n_judges) >= LEAST_ITEMS_TO_ADVISE  # of others nothing can be said
    if known.sum() < 2 or len(np.unique(people.code)) < 2:
        return ()
    evidence = np.zeros((n, verdicts.n_classes, n_judges))
    fold = deal_folds(people, LOSS_FOLDS, cluster, generator)
    for k in range(int(fold.max()) + 1):
        rest = fold != k
        panel = fit_answers(verdicts, people.item[rest], people.share[rest])
        evidence[~rest] = panel.evidence_of(people.item[~rest])
    prior = np.log((people.share.sum(axis=0) + 1) / (n + verdicts.n_classes))
    together = evidence.sum(axis=2)
    kept, whole, steps = np.flatnonzero(known).tolist(), _losses(together, prior, people.share), []
    good, total = True, float(cost.sum())
    while len(kept) > 1:
        options = []
        for i in kept:
            rise = _losses(together - evidence[:, :, i], prior, people.share) - whole
            mean, error = float(rise.mean()), float(rise.std(ddof=1) / np.sqrt(n))
            options.append((mean + 2 * error, i, mean, error))
        safe = [option for option in options if good and option[0] <= BEARABLE]
        # Of those that can be spared for certain the dearest; else the one that adds least for its cost.
        upper, out, mean, error = (
            min(safe, key=lambda option: (-cost[option[1]], option[0], option[1]))
            if safe
            else min(options, key=lambda option: (option[0] / cost[option[1]], option[1]))
        )
        kept.remove(out)
        together = together - evidence[:, :, out]
        good = good and upper <= BEARABLE
        gone = known.copy()
        gone[kept] = False
        saved = float(cost[gone].sum()) / total
        steps.append(Dropped(out, mean, error, saved, good))
    return tuple(steps)


def _losses(together: FloatArray, prior: FloatArray, share: FloatArray) -> FloatArray:
    """Return the log-loss of each item, shape (n,), with the judges counted at whatever strength suits them best."""
    by_strength = [-(share * log_softmax(strength * together + prior)).sum(axis=1) for strength in STRENGTHS]
    return min(by_strength, key=lambda losses: float(losses.mean()))


@dataclass(frozen=True)
class Spent:
    """What was paid, and what people alone would cost for as narrow an interval.

    Attributes
    ----------
    judges, people : float
        For all verdicts of each.
    alone : float
        For as many items seen by people as would give as narrow an interval without the judges.
    """

    judges: float
    people: float
    alone: float

    def as_dict(self) -> dict[str, float]:
        """Return plain values for JSON."""
        return {"judges": round(self.judges, 4), "people": round(self.people, 4), "people_alone": round(self.alone, 4)}


def judge_costs(cost: Mapping[str, float] | None, verdicts: Verdicts) -> FloatArray:
    """Return the cost of a verdict by each judge, shape (n_judges,); 1 for each where none are given."""
    if cost is None:
        return np.ones(len(verdicts.judges))
    if unknown := [name for name in cost if name not in (*verdicts.judges, *verdicts.people)]:
        raise ParameterError(
            f"Costs are given for {listed(unknown, 5)}, who gave no verdict here ({listed(verdicts.judges, 8)} did)."
        )
    if missing := [name for name in verdicts.judges if name not in cost]:
        raise ParameterError(f"No cost is given for {listed(missing, 5)}; every judge needs one.")
    costs = np.array([float(cost[name]) for name in cost])
    if not np.all(np.isfinite(costs) & (costs > 0)):
        raise ParameterError("Costs must be numbers above 0.")
    return np.array([float(cost[name]) for name in verdicts.judges])


def money_spent(cost: Mapping[str, float] | None, verdicts: Verdicts, rates: Rates, alone: Rates) -> Spent | None:
    """Return what was spent, and what people alone would cost; None where the costs of people are not given.

    ``rates`` and ``alone`` are the rates with the judges' help and without. Every person needs a cost, or none.
    """
    if cost is None or not any(name in cost for name in verdicts.people):
        return None
    if missing := [name for name in verdicts.people if name not in cost]:
        raise ParameterError(
            f"Costs are given for some people, and not for {listed(missing, 5)}; every person needs one, or none."
        )
    paid = float(np.array([float(cost[name]) for name in verdicts.people])[verdicts.person].sum())
    machine = float(judge_costs(cost, verdicts)[verdicts.judge].sum())
    return Spent(machine, paid, paid * judges_gain(rates, alone))


def judges_gain(rates: Rates, alone: Rates) -> float:
    """Return how many times as many items people alone would have to see for as narrow an interval: the class in the middle."""
    gains = sorted(one.effective / max(other.effective, 1e-9) for one, other in zip(rates, alone, strict=True))
    return max(float(gains[len(gains) // 2]), 1.0)
