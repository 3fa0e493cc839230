"""Workers' error tables as crowd-kit lays them out: by worker and observed label, a column for each true label."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.arrays import FloatArray
from crowdassay.compat.crowdkit_frames import Coded, pandas
from crowdassay.errors import ParameterError


def error_frame(coded: Coded, data: Any, counts: FloatArray, *, every: bool = False) -> Any:
    """Normalise counts (n_workers, true, observed) and lay them out, with rows for the pairs of worker and label that occur.

    ``every`` keeps the rows of all pairs.
    """
    kept = np.maximum(counts, np.finfo(float).eps)
    kept = kept / kept.sum(axis=2, keepdims=True)
    seen = pandas().MultiIndex.from_frame(data[["worker", "label"]].drop_duplicates())
    if every:
        seen = pandas().MultiIndex.from_product([coded.workers, coded.classes], names=["worker", "label"])
    worker = coded.workers.get_indexer(seen.get_level_values("worker"))
    label = coded.classes.get_indexer(seen.get_level_values("label"))
    return pandas().DataFrame(kept[worker, :, label], index=seen, columns=coded.classes)


def start_counts(coded: Coded, counts: FloatArray, initial: Any, strategy: str) -> FloatArray:
    """Return the counts (n_workers, true, observed) that EM starts from, given earlier errors.

    With 'addition' they are added to what the votes say, with 'assign' they replace it.
    """
    if strategy not in ("assign", "addition"):
        raise ParameterError(f"initial_error_strategy must be 'assign' or 'addition', not {strategy!r}.")
    if list(initial.index.names) != ["worker", "label"]:
        raise ParameterError(f"The index of initial_error must be worker and label, not {list(initial.index.names)}.")
    full = pandas().MultiIndex.from_product([coded.workers, coded.classes], names=["worker", "label"])
    earlier = initial.reindex(index=full, columns=coded.classes)
    if strategy == "assign":
        if earlier.isna().any(axis=None):
            raise ParameterError("With 'assign', initial_error must hold every worker and label of the data.")
        if (initial <= 1).all(axis=None) and not np.allclose(initial.groupby("worker").sum(), 1.0):
            raise ParameterError("The sum of each worker's error matrix in initial_error should be 1.0 for every true label.")
    table = earlier.fillna(0.0).to_numpy(dtype=float).reshape(len(coded.workers), len(coded.classes), -1).transpose(0, 2, 1)
    return table if strategy == "assign" else counts + table
