"""How far workers agree: Krippendorff's alpha, Fleiss' and Cohen's kappa and raw agreement, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.findings.agreement_sums import LEAST_SHARED, PairSums, positions, sum_lots, sum_pairs, sum_workers
from crowdassay.findings.coefficients import (
    MARGINS,
    AgreementSums,
    class_coefficients,
    deal_lots,
    fleiss,
    krippendorff,
    percentile,
    ratio,
    raw_agreement,
    resample,
)
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import Labels
from crowdassay.statistics import wilson
from crowdassay.tables import Column, TableOf

MOST_RESAMPLES = 1_000_000
LEAST_AGREEING_SHOWN = 8
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


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement overall, by class, by worker and by pair of workers; tables in the caller's kind of frame.

    A value that is undefined is missing, and the column ``undefined`` says why.

    Attributes
    ----------
    level : {'nominal', 'ordinal', 'interval'}
    resamples, seed : int
    confidence : float
    counts : dict
        What there was to compare: labels, judgements, items and pairs of judgements.
    tables : dict of pyarrow.Table
        ``overall``, ``classes``, ``workers`` and ``pairs``.
    labels : Labels

    Examples
    --------
    >>> measured = agreement((list("aabbcc"), list("xyxyxy"), [1, 1, 2, 2, 1, 2]), resamples=0)
    >>> measured.counts["items_compared"], measured.workers["agreement"].to_pylist()
    (3, [0.6666666666666666, 0.6666666666666666])
    """

    level: str
    resamples: int
    seed: int
    confidence: float
    counts: dict[str, int]
    tables: dict[str, pa.Table]
    labels: Labels

    @property
    def overall(self) -> Any:
        """Frame of measure, value, low, high, items, judgements, pairs, undefined."""
        return to_frame(self.tables["overall"], self.labels.frame)

    @property
    def classes(self) -> Any:
        """Frame of class, judgements, and agreement, alpha and Fleiss' kappa of the class against all others."""
        return to_frame(self.tables["classes"], self.labels.frame)

    @property
    def workers(self) -> Any:
        """Frame of worker, labels, items, pairs, agreement with the others, kappa, alpha_without, few, undefined."""
        return to_frame(self.tables["workers"], self.labels.frame)

    @property
    def pairs(self) -> Any:
        """Frame of the pairs of workers that agree most and least: worker, other, items, agreement, kappa."""
        return to_frame(self.tables["pairs"], self.labels.frame)

    def _repr_html_(self) -> str:
        """Return the measures with their intervals, and the workers who agree least with the others."""
        measures = [{**row, "measure": row["measure"].replace("_", " ")} for row in self.tables["overall"].to_pylist()]
        workers = [row for row in self.tables["workers"].to_pylist() if row["agreement"] is not None]
        least = [
            {**row, "remark": "few items" if row["few"] else None}
            for row in sorted(workers, key=lambda row: row["agreement"])[:LEAST_AGREEING_SHOWN]
        ]
        blank = [OVERALL_AGREEMENT.column(name, missing="") for name in ("value", "low")]
        tables = OVERALL_AGREEMENT.html(measures, ["measure", *blank, "undefined"], title=f"Agreement ({self.level})")
        shown: list[str | Column] = ["worker", "items", "agreement", Column("remark", missing="")]
        tables += WORKERS_AGREEMENT.html(least, shown, title="Agree least with the others")
        return f"<div style='display:flex;flex-wrap:wrap;gap:2rem'>{tables}</div>"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        settings = {name: getattr(self, name) for name in ("level", "resamples", "seed", "confidence", "counts")}
        return settings | {name: table.to_pylist() for name, table in self.tables.items()}


def agreement(
    data: Any, level: str = "nominal", *, resamples: int = 1000, seed: int = 0, confidence: float = 0.95, **reading: Any
) -> Agreement:
    """Measure how far workers agree on the items they share.

    Judgements by different workers on the same item are compared. Several labels by one worker on one item share one
    judgement, each counting 1/r of r. Known classes (gold) play no part.

    Parameters
    ----------
    data : Labels, path, frame, or triple (items, workers, labels)
    level : {'nominal', 'ordinal', 'interval'}
        What Krippendorff's alpha takes the classes for; the other measures take them as names.
    resamples : int
        Of the bootstrap over items; 0 for no intervals.
    seed : int
    confidence : float
        Of the intervals.
    **reading
        How to read the labels, as for `crowdassay.as_labels`: ``item_column="task"`` and so on.

    Examples
    --------
    >>> measured = agreement((list("aabbcc"), list("xyxyxy"), [1, 1, 2, 2, 1, 2]), resamples=0)
    >>> measured.overall["measure"].to_pylist(), round(measured.overall["value"][1].as_py(), 4)
    (['agreement', 'alpha', 'fleiss_kappa', 'cohen_kappa'], 0.4444)
    """
    for name, number in (("resamples", resamples), ("seed", seed)):
        if not isinstance(number, int | np.integer) or number < 0:
            raise ParameterError(f"{name} must be a whole number of at least 0, not {number!r}.")
    if resamples > MOST_RESAMPLES:
        raise ParameterError(f"resamples must be at most {MOST_RESAMPLES:,}, not {resamples}.")
    if not (isinstance(confidence, float | np.floating) and 0 < confidence < 1):
        raise ParameterError(f"confidence must lie between 0 and 1, not {confidence!r}.")
    labels = as_labels(data, **reading)
    generator = np.random.default_rng(seed)
    x = positions(labels, level)
    cells = 6 * labels.n_classes + (labels.n_classes**2 if level == "ordinal" else 0)
    lot, n_lots = deal_lots(labels, cells, generator)
    lots, apart = sum_lots(labels, level, x, lot, n_lots)
    pairs = sum_pairs(labels, generator)
    slope = np.column_stack([np.bincount(lot, column, n_lots) for column in pairs.slope.T])
    ranked = [] if lots.full is None else [lots.full.reshape(n_lots, -1)]
    flat: FloatArray = np.column_stack([slope, lots.spread, lots.classes.reshape(n_lots, -1), *ranked]).astype(np.float64)
    total = flat.sum(axis=0, keepdims=True)
    drawn = [_measure(sums, labels.n_classes, level, x, pairs) for sums in resample(flat, resamples, generator)]
    value = _measure(total, labels.n_classes, level, x, pairs)
    limits = {
        name: percentile(np.concatenate([one[:0], *(part[name] for part in drawn)]), confidence) for name, one in value.items()
    }
    margin, counts = _unpack(total, labels.n_classes)[1].classes[0, MARGINS], _counts(labels, pairs)
    tables = {
        "overall": overall_table(value, limits, counts),
        "classes": class_table(labels, value, limits, margin),
        "workers": worker_table(labels, sum_workers(labels, margin, level, x, apart), confidence),
        "pairs": pair_table(labels, pairs),
    }
    return Agreement(level, resamples, seed, confidence, counts, tables, labels)


def _counts(labels: Labels, pairs: PairSums) -> dict[str, int]:
    """Return what there was to compare."""
    compared = labels.workers_each[labels.workers_each > 1]
    return {
        "labels": labels.n_labels,
        "judgements": int(labels.workers_each.sum()),
        "items": labels.n_items,
        "workers": labels.n_workers,
        "items_compared": len(compared),
        "judgements_compared": int(compared.sum()),
        "pairs_compared": int((compared * (compared - 1) // 2).sum()),
        "worker_pairs": pairs.pairs,
        "worker_pairs_with_few_items": pairs.few,
        "worker_pairs_with_one_class": pairs.undefined,
        "items_in_worker_pairs": int(pairs.used.sum()),
    }


def _unpack(flat: FloatArray, n_classes: int) -> tuple[FloatArray, AgreementSums]:
    """Split rows of sums into the slopes of Cohen's kappa and the rest."""
    edge = 3 + 6 * n_classes
    full = flat[:, edge:].reshape(-1, n_classes, n_classes) if flat.shape[1] > edge else None
    return flat[:, :2], AgreementSums(flat[:, 3:edge].reshape(-1, 6, n_classes), flat[:, 2], full)


def _measure(flat: FloatArray, n_classes: int, level: str, x: FloatArray, pairs: PairSums) -> dict[str, FloatArray]:
    """Return every coefficient of rows of sums, (rows,) or (rows, n_classes) each.

    Cohen's kappas are linear in the items' weights here, as pairs cannot be compared anew for every resample.
    """
    slope, sums = _unpack(flat, n_classes)
    mean = pairs.weighted / pairs.shared if pairs.pairs else np.nan
    shift = slope[:, 1] - pairs.slope[:, 1].sum() - mean * (slope[:, 0] - pairs.slope[:, 0].sum())
    return {
        "agreement": raw_agreement(sums),
        "alpha": krippendorff(sums, level, x),
        "fleiss_kappa": fleiss(sums),
        "cohen_kappa": mean + shift / max(pairs.shared, 1.0),
        **{f"class_{name}": values for name, values in class_coefficients(sums).items()},
    }


def _column(values: Any) -> pa.Array:
    return pa.array(np.asarray(values, dtype=np.float64), from_pandas=True)  # NaN is missing


def overall_table(value: Any, limits: Any, counts: dict[str, int]) -> pa.Table:
    """Tabulate each measure with its interval, the counts used, and why it is undefined where it is."""
    names = ["agreement", "alpha", "fleiss_kappa", "cohen_kappa"]
    why = dict.fromkeys(names, ONLY_ONE_CLASS if counts["items_compared"] else ALONE)
    if counts["items_compared"] and not counts["worker_pairs_with_one_class"]:
        why["cohen_kappa"] = f"no two workers share {LEAST_SHARED} items"
    reasons = [None if np.isfinite(value[name][0]) else why[name] for name in names]
    cohen = [None, None, None, counts["worker_pairs"]]
    low, high = (_column([limits[name][at] for name in names]) for at in range(2))
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


def class_table(labels: Labels, value: Any, limits: Any, margin: FloatArray) -> pa.Table:
    """Tabulate each class, of which so many judgements can be compared (n_classes,), against all others."""
    columns: dict[str, Any] = {"class": labels.classes, "judgements": margin}
    for name in ("agreement", "alpha", "fleiss_kappa"):
        columns[name] = _column(value[f"class_{name}"][0])
        for side, limit in zip(("low", "high"), limits[f"class_{name}"], strict=True):
            columns[f"{name}_{side}"] = _column(limit)
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
