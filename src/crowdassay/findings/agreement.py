"""How far workers agree: Krippendorff's alpha, Fleiss' and Cohen's kappa and raw agreement, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.errors import ParameterError
from crowdassay.findings.agreement_sums import PairSums, positions, sum_lots, sum_pairs, sum_workers
from crowdassay.findings.agreement_tables import (
    OVERALL_AGREEMENT,
    WORKERS_AGREEMENT,
    class_table,
    overall_table,
    pair_table,
    worker_table,
)
from crowdassay.findings.coefficients import (
    AgreementSums,
    class_coefficients,
    deal_lots,
    fleiss,
    krippendorff,
    percentile,
    raw_agreement,
    resample,
)
from crowdassay.labels.frames import as_labels, to_frame
from crowdassay.labels.labels import Labels
from crowdassay.tables import Column

MOST_RESAMPLES = 1_000_000
LEAST_AGREEING_SHOWN = 8


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
        return agreement_html(self)

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
    _check(resamples, seed, confidence)
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
    limits = {name: percentile(np.concatenate([part[name] for part in drawn]), confidence) if drawn else None for name in value}
    sums = _unpack(total, labels.n_classes)[1]
    only = AgreementSums(sums.classes[0], sums.spread[0], None)
    counts = _counts(labels, pairs)
    tables = {
        "overall": overall_table(value, limits, counts),
        "classes": class_table(labels, value, limits, only),
        "workers": worker_table(labels, sum_workers(labels, only, level, x, apart), confidence),
        "pairs": pair_table(labels, pairs),
    }
    return Agreement(level, resamples, seed, confidence, counts, tables, labels)


def _check(resamples: int, seed: int, confidence: float) -> None:
    """Refuse numbers that make no bootstrap."""
    for name, number in (("resamples", resamples), ("seed", seed)):
        if not isinstance(number, int | np.integer) or number < 0:
            raise ParameterError(f"{name} must be a whole number of at least 0, not {number!r}.")
    if resamples > MOST_RESAMPLES:
        raise ParameterError(f"resamples must be at most {MOST_RESAMPLES:,}, not {resamples}.")
    if not (isinstance(confidence, float | np.floating) and 0 < confidence < 1):
        raise ParameterError(f"confidence must lie between 0 and 1, not {confidence!r}.")


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


def agreement_html(measured: Agreement) -> str:
    """Return the measures with their intervals, and the workers who agree least with the others."""
    measures = [{**row, "measure": row["measure"].replace("_", " ")} for row in measured.tables["overall"].to_pylist()]
    workers = [row for row in measured.tables["workers"].to_pylist() if row["agreement"] is not None]
    least = [
        {**row, "remark": "few items" if row["few"] else None}
        for row in sorted(workers, key=lambda row: row["agreement"])[:LEAST_AGREEING_SHOWN]
    ]
    blank = [OVERALL_AGREEMENT.column(name, missing="") for name in ("value", "low")]
    tables = OVERALL_AGREEMENT.html(measures, ["measure", *blank, "undefined"], title=f"Agreement ({measured.level})")
    shown: list[str | Column] = ["worker", "items", "agreement", Column("remark", missing="")]
    tables += WORKERS_AGREEMENT.html(least, shown, title="Agree least with the others")
    return f"<div style='display:flex;flex-wrap:wrap;gap:2rem'>{tables}</div>"
