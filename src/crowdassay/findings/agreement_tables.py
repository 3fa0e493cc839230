"""The tables of agreement, declared once: values, intervals, counts and reasons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.findings.agreement_sums import LEAST_SHARED, PairSums
from crowdassay.findings.coefficients import MARGINS, AgreementSums, ratio
from crowdassay.labels.labels import Labels
from crowdassay.statistics import wilson
from crowdassay.tables import Column, TableOf

FEW_SHARED_ITEMS = 10  # shared items below which a worker's agreement says little
ALONE = "no item has labels by two workers"
ONLY_ONE_CLASS = "all labels that can be compared are of one class"


INTERVAL = "interval"

OVERALL_AGREEMENT = TableOf(
    "overall",
    (
        Column("measure", about="agreement, alpha (Krippendorff), fleiss_kappa or cohen_kappa (mean of pairs of workers)."),
        Column("value", format="precise", about="The measure; missing where it is undefined."),
        Column("low", INTERVAL, "precise", "Lower limit of its interval.", to="high"),
        Column("high", format="precise", about="Upper limit of its interval."),
        Column("items", format="count", about="Items with judgements by two workers or more."),
        Column("judgements", format="count", about="Judgements of these items."),
        Column("pairs", format="count", about="Pairs of judgements on the same item."),
        Column("worker_pairs", "pairs of workers", "count", "Pairs of workers behind Cohen's kappa."),
        Column("undefined", "remark", about="Why the measure is undefined.", missing=""),
    ),
)

CLASS_AGREEMENT = TableOf(
    "classes",
    (
        Column("class", format="name", about="The class, against all others."),
        Column("judgements", format="count", about="Judgements that can be compared."),
        Column("agreement", format="precise", about="Probability that another worker says the class where one says it."),
        Column("agreement_low", INTERVAL, "precise", "Lower limit of the agreement.", to="agreement_high"),
        Column("agreement_high", format="precise", about="Upper limit of the agreement."),
        Column("alpha", format="precise", about="Krippendorff's alpha."),
        Column("alpha_low", INTERVAL, "precise", "Lower limit of alpha.", to="alpha_high"),
        Column("alpha_high", format="precise", about="Upper limit of alpha."),
        Column("fleiss_kappa", "Fleiss' kappa", "precise", "Fleiss' kappa."),
        Column("fleiss_kappa_low", INTERVAL, "precise", "Lower limit of Fleiss' kappa.", to="fleiss_kappa_high"),
        Column("fleiss_kappa_high", format="precise", about="Upper limit of Fleiss' kappa."),
        Column("undefined", "remark", about="Why the measures are undefined.", missing=""),
    ),
)

WORKERS_AGREEMENT = TableOf(
    "workers",
    (
        Column("worker", format="name", about="Who."),
        Column("labels", format="count", about="Labels given."),
        Column("items", format="count", about="Items shared with another worker."),
        Column("pairs", format="count", about="Judgements by others on these items."),
        Column("agreement", format="precise", about="Mean share of the others who agree."),
        Column("agreement_low", INTERVAL, "precise", "Wilson's lower limit.", to="agreement_high"),
        Column("agreement_high", format="precise", about="Wilson's upper limit."),
        Column("kappa", format="precise", about="Agreement above what chance gives."),
        Column("alpha_without", "alpha without", "precise", "Krippendorff's alpha of all labels but the worker's."),
        Column("few", about="Whether fewer than 10 items are shared, so that the figures say little."),
        Column("undefined", "remark", about="Why the figures are undefined.", missing=""),
    ),
)

PAIR_AGREEMENT = TableOf(
    "pairs",
    (
        Column("end", about="Whether the pair is among those who agree most, or least."),
        Column("worker", format="name", about="One."),
        Column("other", format="name", about="The other."),
        Column("items", format="count", about="Items that both labelled."),
        Column("agreement", format="precise", about="Share of them with the same answer."),
        Column("kappa", format="precise", about="Cohen's kappa."),
    ),
)


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
            reasons.append(ONLY_ONE_CLASS)
    cohen = [None, None, None, counts["worker_pairs"]]
    low, high = (_column([np.nan if limits[name] is None else limits[name][at] for name in names]) for at in range(2))
    return OVERALL_AGREEMENT.fill(
        measure=names,
        value=_column([value[name][0] for name in names]),
        low=low,
        high=high,
        items=[counts["items_compared"]] * 3 + [counts["items_in_worker_pairs"]],
        judgements=[counts["judgements_compared"]] * 4,
        pairs=[counts["pairs_compared"]] * 4,
        worker_pairs=pa.array(cohen, pa.int64()),
        undefined=pa.array(reasons, pa.string()),
    )


def class_table(labels: Labels, value: Any, limits: Any, total: AgreementSums) -> pa.Table:
    """Tabulate each class against all others."""
    margin = total.classes[MARGINS]
    columns: dict[str, Any] = {"class": labels.classes, "judgements": margin}
    for name in ("agreement", "alpha", "fleiss_kappa"):
        limit = limits[f"class_{name}"]
        columns[name] = _column(value[f"class_{name}"][0])
        for at, side in enumerate(("low", "high")):
            columns[f"{name}_{side}"] = _column(np.full(len(margin), np.nan) if limit is None else limit[at])
    never, only = "no label that can be compared is of this class", ONLY_ONE_CLASS
    reason = [never if n <= 0 else only if np.isnan(a) else None for n, a in zip(margin, value["class_alpha"][0], strict=True)]
    return CLASS_AGREEMENT.fill(**columns, undefined=pa.array(reason, pa.string()))


def worker_table(labels: Labels, sums: FloatArray, confidence: float) -> pa.Table:
    """Tabulate each worker against the others on the same items, from what `sum_workers` found (n_workers, 5)."""
    items, pairs, agreed, chance, without = sums.T
    low, high = wilson(agreed, items, confidence)
    kappa = 1.0 - ratio(1.0 - agreed, 1.0 - chance)
    reason = np.where(items == 0, "shares no item with another worker", np.where(np.isnan(kappa), ONLY_ONE_CLASS, ""))
    return WORKERS_AGREEMENT.fill(
        worker=labels.workers,
        labels=np.bincount(labels.worker, minlength=labels.n_workers),
        items=items.astype(np.int64),
        pairs=pairs.astype(np.int64),
        agreement=_column(agreed),
        agreement_low=_column(low),
        agreement_high=_column(high),
        kappa=_column(kappa),
        alpha_without=_column(without),
        few=items < FEW_SHARED_ITEMS,
        undefined=pa.array(reason, mask=reason == ""),
    )


def pair_table(labels: Labels, pairs: PairSums) -> pa.Table:
    """Tabulate the pairs of workers of highest and lowest kappa."""
    rows = np.concatenate([pairs.most, pairs.least])
    return PAIR_AGREEMENT.fill(
        end=["most"] * len(pairs.most) + ["least"] * len(pairs.least),
        worker=labels.workers.take(pa.array(rows[:, 3].astype(np.int64))),
        other=labels.workers.take(pa.array(rows[:, 4].astype(np.int64))),
        items=np.rint(rows[:, 1]).astype(np.int64),
        agreement=rows[:, 2],
        kappa=rows[:, 0],
    )
