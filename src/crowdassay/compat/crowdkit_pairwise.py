"""crowd-kit's pairwise classes: BradleyTerry and NoisyBradleyTerry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.special import expit, log_expit

from crowdassay.arrays import BoolArray, FloatArray, IntArray
from crowdassay.compat.crowdkit_frames import pandas
from crowdassay.errors import DataError
from crowdassay.labels.values import shown
from crowdassay.solvers.lbfgs import minimise

if TYPE_CHECKING:
    import pandas as pd


def _coded(data: pd.DataFrame) -> tuple[IntArray, IntArray, BoolArray, pd.Index]:
    """Return winners and losers (n_pairs,), which was on the left (True), and the index of items."""
    pd = pandas()
    if not isinstance(data, pd.DataFrame):
        raise DataError(f"A pandas DataFrame of left, right and label is needed, not a {type(data).__name__}.")
    data = data[["left", "right", "label"]]
    if data.isna().any(axis=None):
        raise DataError("Some rows have no left, right or label; leave them out with data.dropna().")
    codes, items = pd.factorize(pd.concat([data["left"], data["right"]]), sort=True)
    left, right = codes[: len(data)], codes[len(data) :]
    label = items.get_indexer(data["label"]) if len(data) else np.empty(0, np.int64)
    bad = np.flatnonzero((label != left) & (label != right))
    if len(bad):
        value = data["label"].iloc[int(bad[0])]
        raise DataError(f"The label in row {int(bad[0]) + 1} is {shown(value)}, which is neither of the two compared.")
    first = label == left
    return np.where(first, left, right), np.where(first, right, left), first, items


@dataclass(eq=False)
class BradleyTerry:
    """Give each item a positive score whose share of the sum of two is its chance to win, by Hunter's MM algorithm."""

    n_iter: int
    tol: float = 1e-5

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit a frame of left, right and label (the winner)."""
        pd = pandas()
        winner, loser, _, items = _coded(data)
        self.loss_history_: list[float] = []
        if not len(items):
            self.scores_ = pd.Series([], dtype=float, name="agg_score")
            return self
        size = len(items)
        wins = np.zeros((size, size))
        np.add.at(wins, (winner, loser), 1)
        met, total = wins + wins.T, wins.sum(axis=1)
        p = np.full(size, 1.0 / size)
        for _ in range(self.n_iter):
            before = p
            both = before[:, None] + before[None, :]  # nothing for items without a win, which meet themselves or one another
            rate = np.divide(met, both, out=np.zeros_like(met), where=(met > 0) & (both > 0)).sum(axis=0)
            p = total / np.maximum(rate, 1e-300)
            p = p / p.sum()
            self.loss_history_.append(float(np.abs(p - before).sum()))
            if self.loss_history_[-1] < self.tol:
                break
        self.scores_ = pd.Series(p, index=items, name="agg_score")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Fit, and return the score of every item."""
        return self.fit(data).scores_


@dataclass(eq=False)
class NoisyBradleyTerry:
    """Model workers who follow the scores with a probability of their own (skill), and else a favourite side (bias)."""

    n_iter: int = 100
    tol: float = 1e-5
    regularization_ratio: float = 1e-5
    random_state: int = 0

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit a frame of worker, left, right and label (the winner)."""
        pd = pandas()
        winner, loser, first, items = _coded(data)
        worker, workers = pd.factorize(data["worker"])
        n_items, n_workers = len(items), len(workers)
        side = np.where(first, 1.0, -1.0)

        def negative(x: FloatArray) -> tuple[float, FloatArray]:
            score, bias, skill = np.split(x[1:], [n_items, n_items + n_workers])
            gap, favour, trust = score[winner] - score[loser], side * bias[worker], expit(skill[worker])
            by_score, by_side = expit(gap), expit(favour)
            chance = np.maximum(trust * by_score + (1 - trust) * by_side, 1e-300)
            off = score - x[0]
            value = np.log(chance).sum() + self.regularization_ratio * (log_expit(off) + log_expit(-off)).sum()
            weight = trust * by_score * (1 - by_score) / chance
            slope = np.bincount(winner, weight, n_items) - np.bincount(loser, weight, n_items)
            ridge = self.regularization_ratio * np.tanh(off / 2)
            by_bias = np.bincount(worker, (1 - trust) * side * by_side * (1 - by_side) / chance, n_workers)
            by_skill = np.bincount(worker, (by_score - by_side) * trust * (1 - trust) / chance, n_workers)
            return -value, -np.concatenate([[ridge.sum()], slope - ridge, by_bias, by_skill])

        start = np.random.default_rng(self.random_state).random(1 + n_items + 2 * n_workers)
        found = minimise(negative, start, maxiter=self.n_iter, ftol=self.tol)
        score, bias, skill = np.split(expit(found.point[1:]), [n_items, n_items + n_workers])
        self.scores_ = pd.Series(score, index=pd.Index(items, name="label"), name="agg_score")
        self.biases_ = pd.Series(bias, index=pd.Index(workers, name="worker"), name="bias")
        self.skills_ = pd.Series(skill, index=pd.Index(workers, name="worker"), name="skill")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Fit, and return the score of every item."""
        return self.fit(data).scores_
