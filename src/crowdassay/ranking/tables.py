"""The tables of a ranking, each column declared once, and the notes for its reader."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from crowdassay.arrays import FloatArray
from crowdassay.labels.values import counted
from crowdassay.notes import Note, kind_of
from crowdassay.ranking.design import find_parts
from crowdassay.ranking.intervals import ENOUGH_WORKERS, MOST_ITEMS_COMPARED, better, groups_alike, rank_ranges
from crowdassay.ranking.likelihood import MOST_PAIR_PARAMETERS
from crowdassay.ranking.pairs import LEFT, RIGHT, TIED
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
        Column("left_bias", format="signed", about="logits by which the worker favours the left side"),
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
    reach = float(ndtri(0.5 + model.confidence / 2)) * error
    order = np.argsort(-score, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(1, n + 1)
    best, worst, group = rank, rank, [""] * n
    if covariance.ndim == 2 and n <= MOST_ITEMS_COMPARED:
        above = better(score, covariance, 1 - model.confidence)
        best, worst = rank_ranges(above)
        group = groups_alike(score, above)
    left, right = (
        [np.bincount(side[pairs.outcome == outcome], minlength=n) for outcome in (LEFT, RIGHT, TIED)]
        for side in (pairs.left, pairs.right)
    )
    wins, losses, ties = left[LEFT] + right[RIGHT], left[RIGHT] + right[LEFT], left[TIED] + right[TIED]
    table = RANKING.fill(
        item=pairs.items, rank=rank, best_rank=best, worst_rank=worst, score=score, standard_error=error, low=score - reach,
        high=score + reach, group=group, win_rate=model._beats(score), comparisons=wins + losses + ties, wins=wins,
        losses=losses, ties=ties, part=find_parts(pairs),
    )  # fmt: skip
    return table.take(pa.array(order))


def workers_table(model: BradleyTerry) -> pa.Table:
    """Return a row for each worker who compared anything."""
    pairs, fit = model._fitted(), model._fit
    count = np.bincount(pairs.worker[pairs.worker >= 0], minlength=len(pairs.workers))
    unknown = np.full((len(pairs.workers), 2), np.nan)
    effects, spread = (fit.effects, np.sqrt(fit.spread)) if model._effects else (unknown, unknown)
    table = RANKED_WORKERS.fill(
        worker=pairs.workers,
        comparisons=count,
        reliability=np.exp(effects[:, 0]),
        reliability_low=np.exp(effects[:, 0] - 1.96 * spread[:, 0]),
        reliability_high=np.exp(effects[:, 0] + 1.96 * spread[:, 0]),
        left_bias=effects[:, 1],
        left_bias_error=spread[:, 1],
        agreement=agreement(model),
    )
    return table.take(pa.array(np.flatnonzero(count)))


def agreement(model: BradleyTerry) -> FloatArray:
    """Return the share of each worker's choices that went to the higher score, ties left out; shape (n_workers,)."""
    pairs = model._fitted()
    rows = (pairs.worker >= 0) & (pairs.outcome != TIED)
    gap = model.scores_[pairs.left[rows]] - model.scores_[pairs.right[rows]]
    right = np.where(pairs.outcome[rows] == LEFT, gap > 0, gap < 0).astype(float)
    size = len(pairs.workers)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.bincount(pairs.worker[rows], right, size) / np.bincount(pairs.worker[rows], minlength=size)


def rankings_by_group(model: BradleyTerry) -> list[tuple[str, pa.Table]]:
    """Return each group's name and ranking; groups with hardly any comparisons have none, which becomes a note of the model."""
    pairs = model._fitted()
    if pairs.group is None or pairs.groups is None:
        return []
    rankings = []
    for g, name in enumerate(pairs.groups.to_pylist()):
        part = pairs.only(pairs.group == g)
        if part.n_pairs < LEAST_IN_GROUP:
            model.notes_.append(Note(f"The group '{name}' has only {part.n_pairs} comparisons, so no ranking of its own."))
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
    return [Note(sentence, kind_of(sentence)) for sentence in (*_on_data(model), *_on_intervals(model))]


def _on_data(model: BradleyTerry) -> Iterator[str]:
    pairs = model._fitted()
    yield from pairs.notes
    for reason, count in pairs.dropped.items():
        yield f"{counted(count, 'row')} left out: {reason}."
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
        yield f"{many} have fewer than {FEW_COMPARISONS} comparisons; their place is a guess."
    used = len(np.unique(pairs.worker[pairs.worker >= 0]))
    unknown = int((pairs.worker < 0).sum())
    if used and unknown:
        yield f"{unknown:,} comparisons name no worker; they count as made by an average one."
    if model.reliability and used == 1:
        yield "There is one worker only, so that nothing can be said about reliability."


def _on_intervals(model: BradleyTerry) -> Iterator[str]:
    pairs = model._fitted()
    used = len(np.unique(pairs.worker[pairs.worker >= 0]))
    if model._few:
        yield (
            f"There are {counted(used, 'worker')}, and a sandwich over workers needs {ENOUGH_WORKERS}; intervals are those of "
            "the model."
        )
    elif used and not model._by_worker and model.intervals != "model":
        yield (
            f"There are {counted(used, 'worker')}, fewer than {ENOUGH_WORKERS}; intervals take comparisons as independent and "
            "say nothing about other workers."
        )
    if pairs.n_items + 2 > MOST_PAIR_PARAMETERS:
        yield (
            f"There are {pairs.n_items:,} items; intervals take the other scores as known and are a little too narrow, and "
            "groups are not looked for."
        )
    if model.position and abs(model.position_bias_) > CLEAR_SIDE:
        side = "left" if model.position_bias_ > 0 else "right"
        share = 1 / (1 + np.exp(-abs(model.position_bias_)))
        yield f"The {side} side is favoured: of two equals it wins {share:.0%} of decided comparisons. Scores allow for it."
    if not model.converged_:
        yield f"Not converged after {model.n_iter_} steps: the scores are usable but not final; raise --max-iter."
