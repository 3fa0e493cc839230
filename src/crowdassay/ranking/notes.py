"""What a user should know about a ranking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from crowdassay.labels.values import counted
from crowdassay.ranking.intervals import ENOUGH_WORKERS
from crowdassay.ranking.linked import find_parts
from crowdassay.ranking.problem import MOST_PARAMETERS

if TYPE_CHECKING:
    from crowdassay.ranking.bradley_terry import BradleyTerry

FEW_COMPARISONS = 10  # below which an item's place is called a guess


def notes(model: BradleyTerry) -> Iterator[str]:
    """Yield sentences about what was left out, what is not connected, and how far intervals can be trusted."""
    pairs, fit = model._fitted(), model._fit
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
    if pairs.n_items + 2 > MOST_PARAMETERS:
        yield (
            f"There are {pairs.n_items:,} items; intervals take the other scores as known and are a little too narrow, and "
            "groups are not looked for."
        )
    if model.position and abs(fit.point[pairs.n_items]) > 0.2:
        side = "left" if fit.point[pairs.n_items] > 0 else "right"
        share = 1 / (1 + np.exp(-abs(fit.point[pairs.n_items])))
        yield f"The {side} side is favoured: of two equals it wins {share:.0%} of decided comparisons. Scores allow for it."
    if not model.converged_:
        yield f"Not converged after {model.n_iter_} steps: the scores are usable but not final; raise --max-iter."
