"""The tables of a ranking, each column declared once, and the notes for its reader."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.special import stdtrit

from crowdassay.arrays import FloatArray
from crowdassay.labels.sides import LEFT, RIGHT, TIED
from crowdassay.labels.values import counted, listed, shown
from crowdassay.ranking.clusters import ENOUGH_CLUSTERS, apart
from crowdassay.ranking.intervals import MOST_ITEMS_COMPARED, better, find_degrees, groups_alike, rank_ranges
from crowdassay.ranking.likelihood import MOST_PAIR_PARAMETERS
from crowdassay.ranking.pairs import Pairs, find_parts
from crowdassay.tables import Column, TableOf

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

FEW_COMPARISONS = 10  # below which an item's place is called a guess
LEAST_IN_GROUP = 20  # comparisons below which a group gets no ranking of its own
CLEAR_SIDE = 0.2  # logits from which the advantage of a side is told

RANKING = TableOf(
    "ranking",
    (
        Column("item", format="name"),
        Column("rank", format="count"),
        Column("best_rank", "may be", "count", "the best rank that the item can have", to="worst_rank"),
        Column("worst_rank", format="count"),
        Column("score", format="number", about="in logits, mean zero: 1 more wins 73% of decided comparisons"),
        Column("standard_error", "error", "number"),
        Column("low", "interval", "number", to="high"),
        Column("high", format="number"),
        Column("group", about="items that share a letter cannot be told apart"),
        Column("win_rate", "beats average", "share", "the chance to beat an average item, a tie counting half"),
        Column("comparisons", format="count"),
        Column("wins", format="count"),
        Column("losses", format="count"),
        Column("ties", format="count"),
        Column("part", format="count", about="items of different parts were never linked by comparisons"),
    ),
)
RANKING_SHOWN = ("item", "rank", "best_rank", "score", "low", "group", "win_rate", "comparisons")
GROUP_RANKINGS = TableOf("groups", (Column("group_name", format="name"), *RANKING.columns))
RANKED_WORKERS = TableOf(
    "workers",
    (
        Column("worker", format="name"),
        Column("comparisons", format="count"),
        Column("reliability", format="number", about="1 is the average worker, 0 answers at random"),
        Column("reliability_low", format="number"),
        Column("reliability_high", format="number"),
        Column(
            "left_bias", format="signed", about="logits by which the worker favours the left side, what all favour included"
        ),
        Column("left_bias_error", "error", "number"),
        Column("agreement", "agrees with ranking", "share", "of choices that went to the higher score, ties left out"),
    ),
)
STYLES = TableOf(
    "style",
    (
        Column("style", format="name"),
        Column("effect", format="number", about="logits that one standard deviation more on the left is worth"),
        Column("standard_error", "error", "number"),
    ),
)
NEXT_PAIRS = TableOf(
    "next",
    (
        Column("left", "one", "name"),
        Column("right", "other", "name"),
        Column("order_may_be_wrong", format="share", about="the chance that the two stand in the wrong order"),
        Column("worth", format="precise", about="that chance times the information that a comparison would bring"),
    ),
)
WINS = TableOf("wins", (Column("item", format="name"),))


def ranking_table(model: BradleyTerry) -> pa.Table:
    """Return a row for each item, best first."""
    pairs, score, covariance = model._fitted(), model.scores_, model._covariance
    n = pairs.n_items
    error = np.sqrt(np.maximum(covariance if covariance.ndim == 1 else np.diag(covariance), 0.0))
    degrees = find_degrees(model)
    reach = stdtrit(degrees, 0.5 + model.confidence / 2) * error
    order = np.argsort(-np.round(score, 9), kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(1, n + 1)
    best, worst, group = rank, rank, [""] * n
    if covariance.ndim == 2 and n <= MOST_ITEMS_COMPARED:
        above = better(score, covariance, degrees, 1 - model.confidence)
        best, worst = rank_ranges(above)
        group = groups_alike(score, above)
    decided = [pairs.outcome == outcome for outcome in (LEFT, RIGHT, TIED)]
    left, right = (
        [np.bincount(side[rows], None if pairs.weight is None else pairs.weight[rows], n) for rows in decided]
        for side in (pairs.left, pairs.right)
    )
    sums = left[LEFT] + right[RIGHT], left[RIGHT] + right[LEFT], left[TIED] + right[TIED]
    wins, losses, ties, met = (np.rint(one).astype(np.int64) for one in (*sums, sums[0] + sums[1] + sums[2]))
    table = RANKING.fill(
        item=pairs.items, rank=rank, best_rank=best, worst_rank=worst, score=score, standard_error=error, low=score - reach,
        high=score + reach, group=group, win_rate=model._beats(score), comparisons=met, wins=wins,
        losses=losses, ties=ties, part=find_parts(pairs),
    )  # fmt: skip
    return table.take(pa.array(order))


def workers_table(model: BradleyTerry) -> pa.Table:
    """Return a row for each worker who compared anything."""
    pairs, fit = model._fitted(), model._fit
    named = pairs.worker >= 0
    weight = np.ones(int(named.sum())) if pairs.weight is None else pairs.weight[named]
    count = np.rint(np.bincount(pairs.worker[named], weight, len(pairs.workers))).astype(np.int64)
    unknown = np.full((len(pairs.workers), 2), np.nan)
    effects, spread = (fit.effects, np.sqrt(fit.spread)) if model._effects else (unknown, unknown)
    side, side_error = _own_sides(model) if model._effects else (unknown[:, 1], unknown[:, 1])
    table = RANKED_WORKERS.fill(
        worker=pairs.workers,
        comparisons=count,
        reliability=np.exp(effects[:, 0]),
        reliability_low=np.exp(effects[:, 0] - 1.96 * spread[:, 0]),
        reliability_high=np.exp(effects[:, 0] + 1.96 * spread[:, 0]),
        left_bias=side,
        left_bias_error=side_error,
        agreement=agreement(model),
    )
    return table.take(pa.array(np.flatnonzero(count)))


def _own_sides(model: BradleyTerry) -> tuple[FloatArray, FloatArray]:
    r"""Return by how much each worker favours the left side and its standard error, both (n_workers,); NaN where untold.

    What all favour and what is the worker's own are found together, so that the error is that of their sum:

    .. math::  \sigma_w^2 = (R_w^{-1})_{22} + (e_g - u_w)^\top V (e_g - u_w)

    where u is the column of :math:`L R^{-1}` for the worker's own side; see `crowdassay.ranking.clusters`.
    """
    fit, known, place = model._fit, model._identified.sided, model._fit.n_items
    variance = fit.spread[:, 1]
    if fit.information.ndim == 2:
        taken = -model._slopes.shared[:, 1::2].toarray()
        taken[place] += 1.0
        variance = model._slopes.inverse[:, 1, 1] + ((model._whole_covariance @ taken) * taken).sum(axis=0)
    side = fit.point[place] + fit.effects[:, 1]
    return np.where(known, side, np.nan), np.where(known, np.sqrt(np.maximum(variance, 0.0)), np.nan)


def agreement(model: BradleyTerry) -> FloatArray:
    """Return the share of each worker's choices that went to the higher score, ties left out; shape (n_workers,)."""
    pairs = model._fitted()
    rows = (pairs.worker >= 0) & (pairs.outcome != TIED)
    gap = model.scores_[pairs.left[rows]] - model.scores_[pairs.right[rows]]
    right = np.where(pairs.outcome[rows] == LEFT, gap > 0, gap < 0).astype(float)
    size, weight = len(pairs.workers), np.ones(len(right)) if pairs.weight is None else pairs.weight[rows]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(pairs.worker[rows], weight * right, size) / np.bincount(pairs.worker[rows], weight, size)


def rankings_by_group(model: BradleyTerry) -> list[tuple[str, pa.Table]]:
    """Return each group's name and ranking; groups with hardly any comparisons have none, which becomes a note of the model."""
    pairs = model._fitted()
    if pairs.group is None or pairs.groups is None:
        return []
    rankings = []
    for g, name in enumerate(pairs.groups.to_pylist()):
        part = pairs.only(pairs.group == g)
        if part.n_pairs < LEAST_IN_GROUP:
            model.notes_.append(f"The group '{name}' has only {counted(part.n_pairs, 'comparison')}, so no ranking of its own.")
            continue
        used, codes = np.unique(np.concatenate([part.left, part.right]), return_inverse=True)
        part = dataclasses.replace(
            part, left=codes[: part.n_pairs], right=codes[part.n_pairs :], items=pairs.items.take(used), group=None,
            groups=None, notes=(), dropped={},
        )  # fmt: skip
        rankings.append((str(name), ranking_table(dataclasses.replace(model).fit(part))))
    return rankings


def notes(model: BradleyTerry) -> list[str]:
    """Return sentences about what was left out, what is not connected, and how far intervals can be trusted."""
    pairs = model._fitted()
    left_out = (f"{counted(count, 'row')} left out: {reason}." for reason, count in pairs.dropped.items())
    return [*pairs.notes, *left_out, *_on_data(model), *_on_intervals(model)]


def _on_data(model: BradleyTerry) -> Iterator[str]:
    pairs = model._fitted()
    parts = np.bincount(find_parts(pairs))
    if len(parts) > 1:
        largest = ", ".join(f"{size:,}" for size in np.sort(parts)[::-1][:4]) + (" ..." if len(parts) > 4 else "")
        yield (
            f"The items fall into {len(parts):,} parts of {largest} items that were "
            "never compared with one another. Only ranks within a part mean anything (column part)."
        )
    met = np.bincount(np.concatenate([pairs.left, pairs.right]), minlength=pairs.n_items)
    few = int((met < FEW_COMPARISONS).sum())
    if few:
        many = f"{few:,} of {counted(pairs.n_items, 'item')}"
        yield (
            f"{many} {'has' if few == 1 else 'have'} fewer than {FEW_COMPARISONS} comparisons; the rank of such an item is "
            "a guess."
        )
    used = len(np.unique(pairs.worker[pairs.worker >= 0]))
    unknown = int((pairs.worker < 0).sum())
    if used and unknown:
        yield (
            f"{counted(unknown, 'comparison names', 'comparisons name')} no worker; such a comparison counts as made by an "
            "average worker."
        )
    if model.reliability and used == 1:
        yield "There is one worker only, so that nothing can be said about reliability."


def _on_sides(model: BradleyTerry) -> Iterator[str]:
    """Yield what cannot be told from the scores."""
    pairs, known = model._fitted(), model._identified
    for name in np.array(pairs.styles, dtype=object)[~known.styles]:
        yield (
            f"The effect of the style {shown(name)} cannot be told from the scores, since it goes with what is compared; "
            "none is estimated."
        )
    if not (model.position and pairs.sides):
        return
    if not known.position:
        yield (
            f"An advantage of a side cannot be told from the scores{_always_there(pairs)}; none is estimated. Pairs that are "
            "compared in both orders would tell it."
        )
        return
    used = np.bincount(pairs.worker[pairs.worker >= 0], minlength=len(pairs.workers)) > 0
    lost = pairs.workers.filter(pa.array(used & ~known.sided)).to_pylist() if model._effects else []
    if lost:
        who = (
            f"the worker {shown(lost[0])} favours"
            if len(lost) == 1
            else f"{counted(len(lost), 'worker')} ({listed(lost, limit=3)}) favour"
        )
        yield (
            f"It cannot be told from the orders compared whether {who} a side more than others; the average worker's side "
            "is taken."
        )


def _always_there(pairs: Pairs) -> str:
    """Return which item is always on one side, where one takes part in every comparison."""
    for name, side in (("left", pairs.left), ("right", pairs.right)):
        if (side == side[0]).all():
            return f", since {shown(pairs.items[int(side[0])].as_py())} is always on the {name}"
    return ""


def _on_intervals(model: BradleyTerry) -> Iterator[str]:
    pairs = model._fitted()
    used = len(np.unique(pairs.worker[pairs.worker >= 0]))
    if used and not model._by_worker and model.intervals != "model":
        yield (
            f"With {counted(used, 'worker')}, fewer than {ENOUGH_CLUSTERS}, intervals say nothing about how other workers "
            "would answer."
        )
    if pairs.question is not None and model.intervals != "model":
        n_questions = len(np.unique(apart(pairs.question)))
        if n_questions < ENOUGH_CLUSTERS:
            yield (
                f"With {counted(n_questions, 'question')}, fewer than {ENOUGH_CLUSTERS}, intervals take the answers to "
                "one question as independent and are too narrow if they are alike."
            )
    if pairs.n_items + 2 > MOST_PAIR_PARAMETERS:
        yield (
            f"There are {pairs.n_items:,} items; intervals take the other scores as known and are a little too narrow, and "
            "groups are not looked for."
        )
    yield from _on_sides(model)
    if model.position and abs(model.position_bias_) > CLEAR_SIDE:
        side = "left" if model.position_bias_ > 0 else "right"
        share = 1 / (1 + np.exp(-abs(model.position_bias_)))
        yield f"The {side} side is favoured: of two equals it wins {share:.0%} of decided comparisons. Scores allow for it."
    if not model.converged_:
        yield f"Not converged after {model.n_iter_} steps: the scores are usable but not final; raise --max-iter."
