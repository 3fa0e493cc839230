"""The tables of a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from crowdassay.arrays import FloatArray
from crowdassay.ranking import apart
from crowdassay.ranking.linked import find_parts
from crowdassay.ranking.outcomes import LEFT, RIGHT, TIE

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry


def ranking_table(model: BradleyTerry) -> pa.Table:
    """Return a row for each item, best first."""
    pairs, score, covariance = model._fitted(), model.scores_, model._covariance
    n = pairs.n_items
    error = np.sqrt(np.maximum(covariance if covariance.ndim == 1 else np.diag(covariance), 0.0))
    reach = float(ndtri(0.5 + model.confidence / 2)) * error
    order = np.argsort(-score, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(1, n + 1)
    best, worst, group = rank, rank, [""] * n
    if covariance.ndim == 2 and n <= apart.MOST_ITEMS_COMPARED:
        above = apart.better(score, covariance, 1 - model.confidence)
        best, worst = apart.rank_ranges(above)
        group = apart.groups_alike(score, above)
    left, right = (
        [np.bincount(side[pairs.outcome == outcome], minlength=n) for outcome in (LEFT, RIGHT, TIE)]
        for side in (pairs.left, pairs.right)
    )
    wins, losses, ties = left[LEFT] + right[RIGHT], left[RIGHT] + right[LEFT], left[TIE] + right[TIE]
    table = pa.table(
        {
            "item": pairs.items,
            "rank": rank,
            "best_rank": best,
            "worst_rank": worst,
            "score": score,
            "standard_error": error,
            "low": score - reach,
            "high": score + reach,
            "group": group,
            "win_rate": model._beats(score),
            "comparisons": wins + losses + ties,
            "wins": wins,
            "losses": losses,
            "ties": ties,
            "part": find_parts(pairs),
        }
    )
    return table.take(pa.array(order))


def workers_table(model: BradleyTerry) -> pa.Table:
    """Return a row for each worker who compared anything."""
    pairs, fit = model._fitted(), model._fit
    count = np.bincount(pairs.worker[pairs.worker >= 0], minlength=len(pairs.workers))
    unknown = np.full((len(pairs.workers), 2), np.nan)
    effects, spread = (fit.effects, np.sqrt(fit.spread)) if model._effects else (unknown, unknown)
    table = pa.table(
        {
            "worker": pairs.workers,
            "comparisons": count,
            "reliability": np.exp(effects[:, 0]),
            "reliability_low": np.exp(effects[:, 0] - 1.96 * spread[:, 0]),
            "reliability_high": np.exp(effects[:, 0] + 1.96 * spread[:, 0]),
            "left_bias": effects[:, 1],
            "left_bias_error": spread[:, 1],
            "agreement": agreement(model),
        }
    )
    return table.take(pa.array(np.flatnonzero(count)))


def agreement(model: BradleyTerry) -> FloatArray:
    """Return the share of each worker's choices that went to the higher score, ties left out; shape (n_workers,)."""
    pairs = model._fitted()
    rows = (pairs.worker >= 0) & (pairs.outcome != TIE)
    gap = model.scores_[pairs.left[rows]] - model.scores_[pairs.right[rows]]
    right = np.where(pairs.outcome[rows] == LEFT, gap > 0, gap < 0).astype(float)
    size = len(pairs.workers)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(pairs.worker[rows], right, size) / np.bincount(pairs.worker[rows], minlength=size)
