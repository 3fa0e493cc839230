"""Tables out of many scores: means over groups with bootstrap intervals, promises, every dataset; and a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crowdassay.results.report.charts import SCHEMA

RESAMPLES = 2000
TRUTHS_TO_COUNT = 100  # from which a dataset counts among the worst
SETTLED_TO_COUNT = 20  # settled labels from which a group has a share of wrong ones worth the name
MOST_WRONG = 5  # percent of the settled labels, as promised
SCALE_ONLY = ("assay --ordered --decide mean", "rounded mean of the labels")
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
    rows = [row for row in of_kind(rows, people) if row["method"] not in SCALE_ONLY]
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
        counted = [row for row in own if row["truths"] >= TRUTHS_TO_COUNT]
        worst = max((row["error"] - vote.get(row["dataset"], np.nan) for row in counted), default=np.nan)
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
    """Return what became of labels called settled, read in three ways, and of the interval of the error."""
    head = [
        "workers",
        "settled",
        "wrong among them, all items",
        f"mean over groups with {SETTLED_TO_COUNT} or more of them",
        "mean over all groups with any",
        "number of errors in its interval",
    ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    kept: dict[str, list[str]] = {reading: [] for reading in head[2:5]}
    for name, people in KINDS.items():
        own = [row for row in of_kind(rows, people) if row["method"] == "assay" and "settled" in row]
        if not own:
            continue
        totals: dict[str, np.ndarray] = {}
        for row in own:
            totals[row["group"]] = totals.get(row["group"], 0) + np.array([row["settled_wrong"], row["settled"]])
        counts = np.array(list(totals.values()))
        share = grouped(own, lambda row: row["settled"] / row["truths"])
        pooled = 100 * counts[:, 0].sum() / max(counts[:, 1].sum(), 1)
        cells, readings = [f"{share.mean():.1%}", f"{pooled:.1f} %"], [pooled]
        for least in (SETTLED_TO_COUNT, 1):
            some = counts[counts[:, 1] >= least]
            wrong = 100 * some[:, 0] / some[:, 1]
            readings.append(wrong.mean() if len(some) else np.nan)
            cells.append(f"{_with_interval(wrong, '{:.1f}', '{:.1f}')} %, {len(some)} groups" if len(some) else "–")
        for reading, value in zip(kept, readings, strict=True):
            if value <= MOST_WRONG:
                kept[reading].append(name)
        cells.append(f"{np.mean([row['inside'] for row in own]):.0%} of {len(own)} datasets")
        lines.append("| " + " | ".join([name, *cells]) + " |")
    lines += ["", f"Is at most {MOST_WRONG} % of the settled labels wrong?", ""]
    for reading, names in kept.items():
        yes, no = ", ".join(names), ", ".join(name for name in KINDS if name not in names)
        lines.append(f"- {reading.replace('wrong among them, ', 'over ')}: " + "; ".join(
            f"{word} for {which}" for word, which in (("yes", yes), ("no", no)) if which
        ))  # fmt: skip
    return lines


def broken(rows: list[Row]) -> list[str]:
    """Return the groups in which more than 5 % of the settled labels are wrong, the worst first."""
    totals: dict[str, np.ndarray] = {}
    for row in rows:
        if row["method"] == "assay" and "settled" in row:
            totals[row["group"]] = totals.get(row["group"], 0) + np.array([row["settled_wrong"], row["settled"]])
    bad = sorted(
        (-wrong / count, group, wrong, count) for group, (wrong, count) in totals.items() if wrong > MOST_WRONG / 100 * count
    )
    return [f"More than {MOST_WRONG} % of the settled labels are wrong in: "
            + ", ".join(f"{group} ({wrong} of {count})" for _, group, wrong, count in bad) + "."] if bad else []  # fmt: skip


def wins_and_losses(rows: list[Row], shown: int = 8) -> list[str]:
    """Return where the default wins most against the vote, and every dataset on which it loses by half a point or more."""
    vote = {row["dataset"]: row["error"] for row in rows if row["method"] == "majority"}
    less = sorted((row["error"] - vote[row["dataset"]], row["dataset"], row["truths"]) for row in rows
                  if row["method"] == "assay" and row["dataset"] in vote)  # fmt: skip
    wins = ", ".join(f"{name} ({change:+.1f})" for change, name, _ in less[:shown])
    losses = ", ".join(f"{name} ({change:+.1f})" for change, name, _ in reversed(less) if change >= 0.5)
    far = [name for change, name, truths in less if change > 3 and truths >= TRUTHS_TO_COUNT]
    counted = sum(truths >= TRUTHS_TO_COUNT for _, _, truths in less)
    return [
        f"- Against the vote it wins most on {wins}.",
        f"- It loses half a point or more on {losses or 'none'}.",
        f"- It is more than 3 points above the vote on {len(far)} of the {counted} datasets with at least {TRUTHS_TO_COUNT} "
        f"known truths{': ' + ', '.join(far) if far else ''}.",
    ]


def on_scales(rows: list[Row]) -> list[str]:
    """Return the root mean square errors on ordered classes."""
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        if row["rmse"] is not None:
            by_method.setdefault(row["method"], []).append(row)
    if not by_method:
        return []
    most = max(map(len, by_method.values()))
    found = {method: grouped(own, lambda row: row["rmse"]) for method, own in by_method.items() if len(own) == most}
    base = found.get("rounded mean of the labels")
    lines = ["| method | RMSE | less the rounded mean's |", "|---|---|---|"]
    for method, values in sorted(found.items(), key=lambda pair: pair[1].mean()):
        less = "–" if base is None else _with_interval(values - base, "{:+.3f}", "{:+.3f}")
        lines.append(f"| {method} | {_with_interval(values, '{:.3f}', '{:.2f}')} | {less} |")
    return lines


def sections(rows: list[Row]) -> dict[str, list[str]]:
    """Return all tables in Markdown, by name."""
    found = {name: table(rows, people) for name, people in KINDS.items() if of_kind(rows, people)}
    return found | {
        "wins and losses": wins_and_losses(rows),
        "promises": [*promises(rows), "", *broken(rows)],
        "ordered": on_scales(rows),
        "every dataset": each(rows),
    }


def as_text(rows: list[Row]) -> str:
    """Return all tables in Markdown, one after the other."""
    lines = []
    for name, own in sections(rows).items():
        kind = of_kind(rows, KINDS.get(name))
        count = len({row["dataset"] for row in kind}), len({row["group"] for row in kind})
        title = f"{name} ({count[0]} datasets in {count[1]} groups)" if name in KINDS else name
        lines += ["", f"## {title}", "", *own]
    return "\n".join(lines).strip()


def each(rows: list[Row]) -> list[str]:
    """Return the error of our methods on every dataset."""
    named = dict.fromkeys(row["method"] for row in rows if row["method"] not in SCALE_ONLY)
    methods = [name for name in named if not name.startswith(("crowd-kit", "cleanlab"))] or list(named)
    cell = {(row["method"], row["dataset"]): row["error"] for row in rows}
    lines = ["| dataset | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
    for dataset in sorted({row["dataset"] for row in rows}):
        found = [cell.get((method, dataset)) for method in methods]
        lowest = min((error for error in found if error is not None), default=np.inf)
        shown = ["–" if e is None else f"**{e:.2f}**" if e <= lowest + 1e-9 else f"{e:.2f}" for e in found]
        lines.append(f"| {dataset} | " + " | ".join(shown) + " |")
    return lines


def regret_chart(rows: list[Row]) -> dict[str, Any]:
    """Return a Vega-Lite chart: for every method, how much worse than the best it is on each dataset, and on average."""
    rows = [row for row in rows if row["method"] not in SCALE_ONLY]
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
