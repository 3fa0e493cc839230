"""The tables of agreement: values, intervals, counts and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.findings.agreement_sums import LEAST_SHARED, PairSums
from crowdassay.findings.coefficients import MARGIN, AgreementSums, ratio
from crowdassay.labels.labels import Labels
from crowdassay.statistics import wilson

FEW_SHARED_ITEMS = 10  # shared items below which a worker's agreement says little
ALONE = "no item has labels by two workers"
ONE_CLASS = "all labels that can be compared are of one class"


def _column(values: Any) -> pa.Array:
    return pa.array(np.asarray(values, dtype=np.float64), from_pandas=True)  # NaN is missing


def overall_table(value: Any, limits: Any, counts: dict[str, int]) -> pa.Table:
    """Tabulate each measure with its interval, the counts used, and why it is undefined where it is."""
    names = ["agreement", "alpha", "fleiss_kappa", "cohen_kappa"]
    reasons: list[str | None] = []
    for name in names:
        defined = bool(np.isfinite(value[name][0]))
        if defined:
            reasons.append(None)
        elif counts["items_compared"] == 0:
            reasons.append(ALONE)
        elif name == "cohen_kappa" and not counts["worker_pairs_with_one_class"]:
            reasons.append(f"no two workers share {LEAST_SHARED} items")
        else:
            reasons.append(ONE_CLASS)
    cohen = [None, None, None, counts["worker_pairs"]]
    return pa.table(
        {
            "measure": names,
            "value": _column([value[name][0] for name in names]),
            **{
                side: _column([np.nan if limits[n] is None else limits[n][at] for n in names])
                for at, side in enumerate(("low", "high"))
            },
            "items": [counts["items_compared"]] * 3 + [counts["items_in_worker_pairs"]],
            "judgements": [counts["judgements_compared"]] * 4,
            "pairs": [counts["pairs_compared"]] * 4,
            "worker_pairs": pa.array(cohen, pa.int64()),
            "undefined": pa.array(reasons, pa.string()),
        }
    )


def class_table(labels: Labels, value: Any, limits: Any, total: AgreementSums) -> pa.Table:
    """Tabulate each class against all others."""
    margin = total.classes[MARGIN]
    columns: dict[str, Any] = {"class": labels.classes, "judgements": margin}
    for name in ("agreement", "alpha", "fleiss_kappa"):
        limit = limits[f"class_{name}"]
        columns[name] = _column(value[f"class_{name}"][0])
        for at, side in enumerate(("low", "high")):
            columns[f"{name}_{side}"] = _column(np.full(len(margin), np.nan) if limit is None else limit[at])
    never, only = "no label that can be compared is of this class", ONE_CLASS
    reason = [never if n <= 0 else only if np.isnan(a) else None for n, a in zip(margin, value["class_alpha"][0], strict=True)]
    return pa.table({**columns, "undefined": pa.array(reason, pa.string())})


def worker_table(labels: Labels, sums: FloatArray, confidence: float) -> pa.Table:
    """Tabulate each worker against the others on the same items, from what `sum_workers` found (n_workers, 5)."""
    items, pairs, agreed, chance, without = sums.T
    low, high = wilson(agreed, items, confidence)
    kappa = 1.0 - ratio(1.0 - agreed, 1.0 - chance)
    reason = np.where(items == 0, "shares no item with another worker", np.where(np.isnan(kappa), ONE_CLASS, ""))
    return pa.table(
        {
            "worker": labels.workers,
            "labels": np.bincount(labels.worker, minlength=labels.n_workers),
            "items": items.astype(np.int64),
            "pairs": pairs.astype(np.int64),
            "agreement": _column(agreed),
            "agreement_low": _column(low),
            "agreement_high": _column(high),
            "kappa": _column(kappa),
            "alpha_without": _column(without),
            "few": items < FEW_SHARED_ITEMS,
            "undefined": pa.array(reason, mask=reason == ""),
        }
    )


def pair_table(labels: Labels, pairs: PairSums) -> pa.Table:
    """Tabulate the pairs of workers of highest and lowest kappa."""
    rows = np.concatenate([pairs.most, pairs.least])
    return pa.table(
        {
            "end": ["most"] * len(pairs.most) + ["least"] * len(pairs.least),
            "worker": labels.workers.take(pa.array(rows[:, 3].astype(np.int64))),
            "other": labels.workers.take(pa.array(rows[:, 4].astype(np.int64))),
            "items": np.rint(rows[:, 1]).astype(np.int64),
            "agreement": rows[:, 2],
            "kappa": rows[:, 0],
        }
    )
