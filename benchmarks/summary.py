"""Tables out of many scores: means over groups with bootstrap intervals, promises, every dataset; and a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crowdassay.report.charts import SCHEMA

RESAMPLES = 2000
ENOUGH = 100  # known truths from which a dataset counts among the worst
KINDS = {"all": None, "people": True, "language models": False}
SCORES = ("error", "log_loss", "brier", "calibration", "confidence")
Row = dict[str, Any]


def grouped(rows: list[Row], score: Callable[[Row], float]) -> np.ndarray:
    """Return the mean of a score over the datasets of each group, in order of the groups' names."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(score(row))
    return np.array([np.mean(groups[name]) for name in sorted(groups)])


def interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 90 % limits of a mean over groups, by the bootstrap."""
    drawn = np.random.default_rng(0).integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(values[drawn].mean(axis=1), [0.05, 0.95])
    return float(low), float(high)


def of_kind(rows: list[Row], people: bool | None) -> list[Row]:
    """Return the rows of datasets whose workers are people, or are not, or all."""
    return [row for row in rows if people is None or row["people"] == people]


def table(rows: list[Row], people: bool | None) -> list[str]:
    """Return one line for each method, lowest error first; methods that did not take every dataset are left out."""
    rows = [row for row in of_kind(rows, people) if row["method"] != "assay --ordered"]
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], []).append(row)
    most = max(map(len, by_method.values()))
    vote = {row["dataset"]: row["error"] for row in by_method.get("majority", [])}
    head = [
        "method",
        "error",
        "less the vote's",
        "log-loss",
        "Brier",
        "calibration",
        "confidence",
        "errors within 1.5",
        "worst",
    ]
    lines = []
    for method, own in by_method.items():
        if len(own) < most:
            continue
        values = {name: grouped(own, lambda row, name=name: row[name]) for name in SCORES}
        less = grouped(own, lambda row: row["error"] - vote.get(row["dataset"], np.nan))
        ratio = [row["expected"] / row["wrong"] for row in own if row["wrong"] >= 15]
        near = np.mean([1 / 1.5 <= one <= 1.5 for one in ratio]) if ratio else np.nan
        worst = max((row["error"] - vote.get(row["dataset"], np.nan) for row in own if row["truths"] >= ENOUGH), default=np.nan)
        cells = [
            _with_interval(values["error"], "{:.2f}", "{:.1f}"), _with_interval(less, "{:+.2f}", "{:+.1f}"),
            _with_interval(values["log_loss"], "{:.3f}", "{:.2f}"), f"{values['brier'].mean():.3f}",
            f"{values['calibration'].mean():.3f}", f"{values['confidence'].mean():+.3f}", f"{near:.0%}", f"{worst:+.1f}",
        ]  # fmt: skip
        lines.append((values["error"].mean(), "| " + " | ".join([method, *cells]) + " |"))
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|", *(line for _, line in sorted(lines))]


def _with_interval(values: np.ndarray, form: str, short: str) -> str:
    low, high = interval(values)
    return f"{form.format(values.mean())} ({short.format(low)} to {short.format(high)})"


def promises(rows: list[Row]) -> list[str]:
    """Return what became of labels called settled and of the interval of the error."""
    lines = ["| workers | settled | wrong among them, mean over groups | wrong among them, all items | error in its interval |",
             "|---|---|---|---|---|"]  # fmt: skip
    for name, people in KINDS.items():
        own = [row for row in of_kind(rows, people) if row["method"] == "assay" and "settled" in row]
        if not own:
            continue
        share = grouped(own, lambda row: row["settled"] / row["truths"]).mean()
        totals: dict[str, np.ndarray] = {}
        for row in own:
            totals[row["group"]] = totals.get(row["group"], 0) + np.array([row["settled_wrong"], row["settled"]])
        wrong = np.mean([part[0] / part[1] for part in totals.values() if part[1]])
        pooled = sum(part[0] for part in totals.values()) / max(sum(part[1] for part in totals.values()), 1)
        inside = np.mean([row["inside"] for row in own])
        lines.append(f"| {name} | {share:.1%} | {wrong:.1%} | {pooled:.1%} | {inside:.0%} of datasets |")
    return lines


def on_scales(rows: list[Row]) -> list[str]:
    """Return the root mean square errors on ordered classes."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        if row["rmse"] is not None:
            by_method.setdefault(row["method"], []).append(row)
    if not by_method:
        return []
    most = max(map(len, by_method.values()))
    means = sorted(
        (grouped(own, lambda row: row["rmse"]).mean(), method) for method, own in by_method.items() if len(own) == most
    )
    return ["| method | RMSE |", "|---|---|", *(f"| {method} | {value:.3f} |" for value, method in means)]


def as_text(rows: list[Row]) -> str:
    """Return all tables in Markdown."""
    lines = []
    for name, people in KINDS.items():
        own = of_kind(rows, people)
        if own:
            count = len({row["dataset"] for row in own}), len({row["group"] for row in own})
            lines += ["", f"## {name} ({count[0]} datasets in {count[1]} groups)", "", *table(rows, people)]
    lines += ["", "## What the default promises", "", *promises(rows), "", "## Ordered classes", "", *on_scales(rows)]
    lines += ["", "## Every dataset", "", *each(rows)]
    return "\n".join(lines).strip()


def each(rows: list[Row]) -> list[str]:
    """Return the error on every dataset."""
    methods = list(dict.fromkeys(row["method"] for row in rows if row["method"] != "assay --ordered"))
    cell = {(row["method"], row["dataset"]): row["error"] for row in rows}
    lines = ["| dataset | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for dataset in sorted({row["dataset"] for row in rows}):
        found = [cell.get((method, dataset)) for method in methods]
        lowest = min(error for error in found if error is not None)
        shown = ["–" if e is None else f"**{e:.2f}**" if e <= lowest + 1e-9 else f"{e:.2f}" for e in found]
        lines.append(f"| {dataset} | " + " | ".join(shown) + " |")
    return lines


def regret_chart(rows: list[Row]) -> dict[str, Any]:
    """Return a Vega-Lite chart: for every method, how much worse than the best it is on each dataset, and on average."""
    rows = [row for row in rows if row["method"] != "assay --ordered"]
    best: dict[str, float] = {}
    for row in rows:
        best[row["dataset"]] = min(best.get(row["dataset"], np.inf), row["error"])
    points = [{"method": row["method"], "regret": row["error"] - best[row["dataset"]], "group": row["group"]} for row in rows]
    means = {
        method: float(grouped([p for p in points if p["method"] == method], lambda p: p["regret"]).mean())
        for method in {row["method"] for row in rows}
    }
    methods = sorted(means, key=lambda method: means[method])
    x = {"field": "regret", "type": "quantitative", "title": "points of error above the best method of each dataset"}
    y = {"field": "method", "type": "nominal", "sort": methods, "title": None}
    mean = [{"method": method, "regret": means[method]} for method in methods]
    return {
        "$schema": SCHEMA,
        "title": "Regret: each tick a dataset, each point a mean",
        "width": 520,
        "layer": [
            {"data": {"values": points}, "mark": {"type": "tick", "opacity": 0.6}, "encoding": {"x": x, "y": y}},
            {"data": {"values": mean}, "mark": {"type": "point", "filled": True, "size": 80}, "encoding": {"x": x, "y": y}},
        ],
    }
