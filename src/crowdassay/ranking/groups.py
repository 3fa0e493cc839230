"""A ranking for each group of comparisons besides that of all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from crowdassay.ranking.bradley_terry import BradleyTerry
from crowdassay.ranking.tables import ranking_table

LEAST_IN_GROUP = 20  # comparisons below which a group gets no ranking of its own


def rankings_by_group(model: BradleyTerry) -> list[tuple[str, pa.Table]]:
    """Return each group's name and ranking; groups with hardly any comparisons have none, which becomes a note of the model."""
    pairs = model._fitted()
    if pairs.group is None or pairs.groups is None:
        return []
    rankings = []
    for g, name in enumerate(pairs.groups.to_pylist()):
        part = pairs.only(pairs.group == g)
        if part.n_pairs < LEAST_IN_GROUP:
            model.notes_.append(f"The group '{name}' has only {part.n_pairs} comparisons, so no ranking of its own.")
            continue
        used, codes = np.unique(np.concatenate([part.left, part.right]), return_inverse=True)
        part = dataclasses.replace(
            part, left=codes[: part.n_pairs], right=codes[part.n_pairs :], items=pairs.items.take(used), group=None,
            groups=None, notes=(), dropped={},
        )  # fmt: skip
        rankings.append((str(name), ranking_table(dataclasses.replace(model).fit(part))))
    return rankings
