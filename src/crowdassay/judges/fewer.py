"""Which judges can be dropped without loss, the dearest for what they add first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.judges.answers import fit_answers
from crowdassay.judges.people import People
from crowdassay.judges.verdicts import Verdicts

LEAST_ITEMS_TO_ADVISE = 30  # people's items from which dropping is advised
FOLDS = 5
STRENGTHS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5)  # judges share mistakes, some panels more than others
BEARABLE = 0.02  # rise of the log-loss, with two standard errors, that is no loss


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


def judges_to_drop(verdicts: Verdicts, people: People, cost: FloatArray, generator: np.random.Generator) -> tuple[Dropped, ...]:
    """Drop judges one by one, each time the one that costs most for what it adds; empty where people saw too few items.

    What each answer means is learned on other folds of people's items, and the loss measured on the fold itself.

    Parameters
    ----------
    verdicts : Verdicts
    people : People
    cost : ndarray, shape (n_judges,)
        Cost of a verdict by each judge.
    generator : numpy.random.Generator
    """
    n, n_judges = len(people.item), len(verdicts.judges)
    known = seen_items(verdicts, people) >= LEAST_ITEMS_TO_ADVISE  # of others nothing can be said
    if known.sum() < 2 or len(np.unique(people.code)) < 2:
        return ()
    evidence = np.zeros((n, verdicts.n_classes, n_judges))
    fold = generator.permutation(np.arange(n) % FOLDS)
    for k in range(FOLDS):
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
            options.append((_upper(rise), i, rise))
        safe = [option for option in options if good and option[0] <= BEARABLE]
        # Of those that can be spared for certain the dearest; else the one that adds least for its cost.
        _, judge, rise = (
            min(safe, key=lambda option: (-cost[option[1]], option[0], option[1]))
            if safe
            else min(options, key=lambda option: (option[0] / cost[option[1]], option[1]))
        )
        kept.remove(judge)
        together = together - evidence[:, :, judge]
        mean, error = float(rise.mean()), float(rise.std(ddof=1) / np.sqrt(n))
        good = good and _upper(rise) <= BEARABLE
        gone = known.copy()
        gone[kept] = False
        saved = float(cost[gone].sum()) / total
        steps.append(Dropped(judge, mean, error, saved, good))
    return tuple(steps)


def _upper(rise: FloatArray) -> float:
    """Return what the loss may rise by: its mean and two standard errors."""
    return float(rise.mean() + 2 * rise.std(ddof=1) / np.sqrt(len(rise)))


def seen_items(verdicts: Verdicts, people: People) -> IntArray:
    """Return how many items each judge has in common with people, shape (n_judges,)."""
    shared = np.isin(verdicts.item, people.item)
    cells = np.unique(np.stack([verdicts.judge[shared], verdicts.item[shared]]), axis=1)
    return np.bincount(cells[0], minlength=len(verdicts.judges))


def _losses(together: FloatArray, prior: FloatArray, share: FloatArray) -> FloatArray:
    """Return the log-loss of each item, shape (n,), with the judges counted at whatever strength suits them best."""
    by_strength = []
    for strength in STRENGTHS:
        logits = strength * together + prior
        top = logits.max(axis=1)
        by_strength.append(top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - (share * logits).sum(axis=1))
    return min(by_strength, key=lambda losses: float(losses.mean()))
