"""Charts and page of a ranking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.labels.values import counted
from crowdassay.ranking.bradley_terry import BradleyTerry
from crowdassay.ranking.tables import agreement, ranking_table
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.charts import _chart, _names, _tooltip
from crowdassay.results.report.findings import Findings, number
from crowdassay.results.report.theme import BLUE, INK
from crowdassay.results.show import Section
from crowdassay.text import short

MOST_RANKED, MOST_IN_MATRIX, NUMBERED = 80, 40, 20
ROWS_SHOWN = 15


def interval_chart(table: pa.Table, confidence: float, title: str = "Ranking") -> Chart:
    """Return scores with their intervals, best first."""
    rows = table.slice(0, MOST_RANKED).to_pylist()
    note = "" if table.num_rows <= MOST_RANKED else f"The best {MOST_RANKED} of {table.num_rows:,} are shown."
    names = [f"{row['rank']}  {short(row['item'], 28)}" for row in rows]
    records = [
        {
            "row": n,
            "item": short(row["item"]),
            "score": round(row["score"], 4),
            "low": round(row["low"], 4),
            "high": round(row["high"], 4),
            "ranks": f"{row['best_rank']} to {row['worst_rank']}",
            "group": row["group"],
        }
        for n, row in enumerate(rows)
    ]
    y = {
        "field": "row",
        "type": "ordinal",
        "title": None,
        "axis": {"labelExpr": _names("datum.value", names), "labelLimit": 260},
    }
    hover = _tooltip(
        item="item", score=("score", ".2f"), low=("from", ".2f"), high=("to", ".2f"), ranks="rank may be", group="group"
    )
    limits = {
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.4, "color": BLUE},
        "encoding": {
            "y": y,
            "x": {
                "field": "low",
                "type": "quantitative",
                "title": f"score, {confidence:.0%} interval",
                "scale": {"zero": False},
            },
            "x2": {"field": "high"},
            "tooltip": hover,
        },
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": BLUE},
        "encoding": {"y": y, "x": {"field": "score", "type": "quantitative"}, "tooltip": hover},
    }
    return Chart(
        _chart(title, "Points: scores with intervals", records, 520, max(20 * len(rows), 60), layer=[limits, points]), note
    )


def matrix_chart(model: BradleyTerry, table: pa.Table) -> Chart:
    """Return the chance that each beats each other, best first."""
    beats = model.win_matrix()[:MOST_IN_MATRIX, :MOST_IN_MATRIX]
    names = [short(name, 16) for name in table["item"].to_pylist()[:MOST_IN_MATRIX]]
    records = [
        {"row": i, "column": j, "one": names[i], "other": names[j], "chance": round(float(beats[i, j]), 4)}
        for i in range(len(names))
        for j in range(len(names))
        if i != j
    ]
    size = min(max(34 * len(names), 160), 640)
    axis = {"labelExpr": _names("datum.value", names), "labelLimit": 120}
    x = {"field": "column", "type": "ordinal", "title": "against", "axis": {**axis, "orient": "top", "labelAngle": -45}}
    y = {"field": "row", "type": "ordinal", "title": "wins", "axis": axis}
    hover = _tooltip(one="one", other="against", chance=("chance to win", ".0%"))
    cells = {
        "mark": {"type": "rect", "cornerRadius": 2},
        "encoding": {
            "x": x,
            "y": y,
            "color": {
                "field": "chance",
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [0, 0.5, 1], "range": ["#e0682f", "#9aa4b233", BLUE]},
                "legend": {"format": ".0%", "orient": "right"},
            },
            "tooltip": hover,
        },
    }
    layers = [cells]
    if len(names) <= NUMBERED:
        text = {"field": "chance", "type": "quantitative", "format": ".0%"}
        layers.append(
            {
                "mark": {"type": "text", "color": INK, "fontSize": 10},
                "encoding": {"x": x, "y": y, "text": text, "tooltip": hover},
            }
        )
    note = "" if table.num_rows <= MOST_IN_MATRIX else f"The best {MOST_IN_MATRIX} of {table.num_rows:,} are shown."
    return Chart(
        _chart("Who beats whom", "Heat map: chance that the row beats the column", records, size, size, layer=layers), note
    )


def ranking_page(
    model: BradleyTerry, title: str | None, grouped: list[tuple[str, pa.Table]], pairs_next: pa.Table | None
) -> Findings:
    """Return the page of a ranking."""
    pairs, table = model._fitted(), ranking_table(model)
    sections = [
        Section(
            "ranking",
            "Ranking",
            "Scores are logits: 1 more wins 73% of decided comparisons. Items that share a letter cannot be told apart.",
            ("item", "rank", "may be", "score", "interval", "group", "beats average", "comparisons"),
            [
                (
                    short(row["item"], 40),
                    f"{row['rank']}",
                    f"{row['best_rank']} to {row['worst_rank']}",
                    number(row["score"]),
                    f"{row['low']:.2f} to {row['high']:.2f}",
                    row["group"],
                    f"{row['win_rate']:.0%}",
                    f"{row['comparisons']:,}",
                )
                for row in table.slice(0, MOST_RANKED).to_pylist()
            ],
        ),
        Section(
            "matrix", "Who beats whom", "The chance that the row beats the column, neither side favoured; a tie counts half."
        ),
    ]
    charts = {"ranking": interval_chart(table, model.confidence), "matrix": matrix_chart(model, table)}
    for n, (name, one) in enumerate(grouped):
        sections.append(Section(f"group-{n}", f"Ranking in {short(name)}"))
        charts[f"group-{n}"] = interval_chart(one, model.confidence)
    sections += _workers(model)
    if pairs.styles:
        rows = _style_rows(model)
        sections.append(
            Section(
                "style",
                "Style",
                "Logits that one standard deviation more on the left is worth, whatever is compared.",
                ("style", "effect", "error"),
                [(str(row["style"]), number(row["effect"]), number(row["standard_error"])) for row in rows],
            )
        )
    if pairs_next is not None:
        sections.append(
            Section(
                "next",
                "What to compare next",
                "Where the order is most in doubt and a comparison tells most.",
                ("one", "other", "order may be wrong"),
                [
                    (short(row["left"], 40), short(row["right"], 40), f"{row['order_may_be_wrong']:.0%}")
                    for row in pairs_next.to_pylist()
                ],
            )
        )
    tied = float((pairs.outcome == 2).mean())
    cards = [
        {
            "title": "Comparisons",
            "value": f"{pairs.n_pairs:,}",
            "text": f"of {counted(pairs.n_items, 'item')}; {tied:.0%} tied",
        },
        {"title": "Best", "value": short(table["item"][0].as_py(), 18), "text": _told_best(table)},
        {"title": "Left side", "value": f"{model.position_bias_:+.2f}", "text": "logits in its favour"},
    ]
    return Findings(
        title or f"Ranking from {pairs.source}",
        f"{counted(pairs.n_pairs, 'comparison')} of {counted(pairs.n_items, 'item')}; "
        f"ties: {model.ties}; intervals: {'model' if model._few else model.intervals}.",
        sections,
        model.notes_,
        cards,
        charts,
    )


def _told_best(table: pa.Table) -> str:
    alike = sum(1 for row in table.to_pylist() if row["best_rank"] == 1)
    return "surely above all others" if alike == 1 else f"{alike} could be first"


def _style_rows(model: BradleyTerry) -> list[dict[str, Any]]:
    style = model.style_
    table = style if isinstance(style, pa.Table) else pa.table({name: list(style[name]) for name in style.columns})
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _workers(model: BradleyTerry) -> list[Section]:
    if not model._effects:
        return []
    pairs, fit = model._fitted(), model._fit
    count = np.bincount(pairs.worker[pairs.worker >= 0], minlength=len(pairs.workers))
    used = np.flatnonzero(count)
    order = used[np.argsort(fit.effects[used, 0], kind="stable")]
    agrees = agreement(model)
    return [
        Section(
            "workers",
            "Workers",
            "Reliability 1 is average, 0 answers at random; bias is in logits for the left side. The least reliable first.",
            ("worker", "comparisons", "reliability", "left bias", "error", "agrees with ranking"),
            [
                (
                    short(pairs.workers[int(w)].as_py(), 30),
                    f"{count[w]:,}",
                    number(float(np.exp(fit.effects[w, 0]))),
                    f"{fit.effects[w, 1]:+.2f}",
                    number(float(np.sqrt(fit.spread[w, 1]))),
                    "–" if np.isnan(agrees[w]) else f"{agrees[w]:.0%}",
                )
                for w in order[:ROWS_SHOWN]
            ],
            f"{len(order) - ROWS_SHOWN:,} more are in the table workers." if len(order) > ROWS_SHOWN else "",
        )
    ]
