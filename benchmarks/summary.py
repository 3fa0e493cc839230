"""One table out of many scores: means over groups of near-copies, ranks, regrets, and a picture."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from crowdassay.report.charts import SCHEMA

GROUPS = {"relevance_rf10": "relevance", "trec": "relevance", "weather": "weather", "zencrowd": "zencrowd",
          "emotion": "emotion", "art_price": "art_price"}  # fmt: skip
THIRD = ("rmse", "rmse_mean", "log_loss", "brier", "calibration")  # shown to the third decimal
SCORES = ("error", "log_loss", "brier", "calibration", "seconds")


def group(dataset: str) -> str:
    """Return the name that near-copies of the same data share."""
    return next((name for start, name in GROUPS.items() if dataset.startswith(start)), dataset)


def mean_of_groups(values: dict[str, float]) -> float:
    """Return the mean over groups of the mean within each."""
    groups: dict[str, list[float]] = {}
    for dataset, value in values.items():
        groups.setdefault(group(dataset), []).append(value)
    return float(np.mean([np.mean(members) for members in groups.values()]))


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one record for each method, lowest mean error first; ranks and regrets only for those that took every dataset."""
    datasets = sorted({row["dataset"] for row in rows})
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cell = {(row["method"], row["dataset"]): row for row in rows}
    whole = [method for method in methods if all((method, dataset) in cell for dataset in datasets)]
    best = {dataset: min(cell[method, dataset]["error"] for method in whole) for dataset in datasets}
    ranks: dict[str, dict[str, float]] = {method: {} for method in whole}
    for dataset in datasets:
        for method, rank in zip(whole, rankdata([round(cell[m, dataset]["error"], 6) for m in whole]), strict=True):
            ranks[method][dataset] = float(rank)
    records = []
    for method in whole:
        regret = {dataset: cell[method, dataset]["error"] - best[dataset] for dataset in datasets}
        record: dict[str, Any] = {"method": method, "datasets": len(datasets)}
        record |= {score: mean_of_groups({d: cell[method, d][score] for d in datasets}) for score in SCORES}
        record |= {
            "rank": mean_of_groups(ranks[method]),
            "regret": mean_of_groups(regret),
            "worst_regret": max(regret.values()),
        }
        for score in ("rmse", "rmse_mean"):
            ordered = {d: cell[method, d][score] for d in datasets if cell[method, d].get(score) is not None}
            record[score] = mean_of_groups(ordered) if ordered else None
        if "majority" in whole:
            record["worst_against_vote"] = max(cell[method, d]["error"] - cell["majority", d]["error"] for d in datasets)
        records.append(record)
    return sorted(records, key=lambda record: record["error"])


def as_text(rows: list[dict[str, Any]], records: list[dict[str, Any]]) -> str:
    """Return two Markdown tables: the means, and the error on every dataset."""
    head = ["method", "error", "rank", "regret", "worst regret", "worst against vote", "RMSE", "RMSE of the mean", "log-loss", "Brier", "calibration", "seconds"]  # fmt: skip  # noqa: E501
    keys = ["error", "rank", "regret", "worst_regret", "worst_against_vote", "rmse", "rmse_mean", "log_loss", "brier", "calibration", "seconds"]  # fmt: skip  # noqa: E501
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for record in records:
        cells = ["–" if record.get(key) is None else f"{record[key]:.3f}" if key in THIRD
                 else f"{record[key]:.2f}" for key in keys]  # fmt: skip
        lines.append("| " + " | ".join([record["method"], *cells]) + " |")
    methods = [record["method"] for record in records]
    lines += ["", "| dataset | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    cell = {(row["method"], row["dataset"]): row["error"] for row in rows}
    for dataset in sorted({row["dataset"] for row in rows}):
        lowest = min(cell[method, dataset] for method in methods)
        errors = (cell[method, dataset] for method in methods)
        cells = (f"**{error:.2f}**" if error <= lowest + 1e-9 else f"{error:.2f}" for error in errors)
        lines.append(f"| {dataset} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def regret_chart(rows: list[dict[str, Any]], records: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a Vega-Lite chart: for every method, how much worse than the best it is on each dataset, and on average."""
    methods = [record["method"] for record in records]
    best: dict[str, float] = {}
    for row in rows:
        if row["method"] in methods:
            best[row["dataset"]] = min(best.get(row["dataset"], np.inf), row["error"])
    points = [
        {"method": row["method"], "dataset": row["dataset"], "regret": row["error"] - best[row["dataset"]]}
        for row in rows
        if row["method"] in methods
    ]
    means = [{"method": record["method"], "regret": record["regret"]} for record in records]
    x = {"field": "regret", "type": "quantitative", "title": "points of error above the best method of each dataset"}
    y = {"field": "method", "type": "nominal", "sort": methods, "title": None}
    return {
        "$schema": SCHEMA,
        "title": "Regret: each tick a dataset, each point a mean",
        "width": 520,
        "layer": [
            {"data": {"values": points}, "mark": {"type": "tick", "opacity": 0.6}, "encoding": {"x": x, "y": y}},
            {"data": {"values": means}, "mark": {"type": "point", "filled": True, "size": 80}, "encoding": {"x": x, "y": y}},
        ],
    }
