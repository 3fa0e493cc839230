"""Charts of a many-facet measurement: the variable map, and fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.measurement import facets_tables as lay
from crowdassay.measurement.facets import ManyFacet
from crowdassay.results.report.chart import Chart
from crowdassay.results.report.charts import _chart, _tooltip
from crowdassay.results.report.theme import AMBER, BLUE, CLASSES, GREY, INK
from crowdassay.text import short

MOST_NAMED = 30  # elements of a facet that are named in the map
NAMES_ACROSS = 3  # names side by side
MOST_DRAWN = 2000
BINS = 40


def wright_map(model: ManyFacet) -> Chart:
    """Return the variable map: all facets on one logit scale, names beside points, thresholds as lines."""
    ratings = model._fitted()
    columns = [model._item, *model._design.others]
    names = [_heading(model, f) for f in columns]
    records: list[dict[str, Any]] = []
    drawn, note = [], ""
    for place, f in enumerate(columns):
        measure = model._measures[f]
        known = np.flatnonzero(np.isfinite(measure))
        few = len(known) <= MOST_NAMED
        if len(known) > MOST_DRAWN:
            known = np.sort(np.random.default_rng(0).choice(known, MOST_DRAWN, replace=False))
            note = f"Of facets with more than {MOST_DRAWN:,} elements a random {MOST_DRAWN:,} are drawn."
        edges = np.linspace(*_range(model), BINS + 1)
        stacked: dict[int, int] = {}
        for e in known[np.argsort(measure[known], kind="stable")]:
            level = int(np.clip(np.searchsorted(edges, measure[e]) - 1, 0, len(edges) - 2))
            stacked[level] = stacked.get(level, 0) + 1
            if few:  # a name is as high as a bin: those of the bin below stand in the way as well
                stacked[level] = 1 + stacked.get(level - 1, 0) % NAMES_ACROSS if stacked[level] == 1 else stacked[level]
            drawn.append(stacked[level])
            records.append(
                {
                    "facet": names[place],
                    "element": short(ratings.names[f][int(e)].as_py()),
                    "name": short(ratings.names[f][int(e)].as_py(), 12) if few else "",
                    "measure": round(float(measure[e]), 4),
                    "level": round(float(edges[level] + edges[level + 1]) / 2, 4) if not few else round(float(measure[e]), 4),
                    "across": stacked[level],
                    "error": round(float(model._errors[f][e]), 3) if np.isfinite(model._errors[f][e]) else None,
                }
            )
    most = max(drawn, default=1)
    for record in records:  # names need room beside their points
        stack = record["across"]
        record["across"] = round(
            0.03 + ((stack - 1) % NAMES_ACROSS) / NAMES_ACROSS if record["name"] else (stack - 0.5) / max(most, 12), 4
        )
    low, high = _range(model)
    y = {"field": "level", "type": "quantitative", "title": "logits", "scale": {"domain": [low, high], "nice": False}}
    x = {"field": "across", "type": "quantitative", "axis": None, "scale": {"domain": [0, 1.02]}}
    colour = {"field": "facet", "type": "nominal", "legend": None, "scale": {"domain": names, "range": CLASSES}}
    hover = _tooltip(facet="facet", element="element", measure=("measure", ".2f"), error=("standard error", ".2f"))
    points = {
        "mark": {"type": "point", "filled": True, "size": 26, "opacity": 0.85},
        "encoding": {"x": x, "y": y, "color": colour, "tooltip": hover},
    }
    texts = {
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 10},
        "encoding": {"x": x, "y": y, "text": {"field": "name", "type": "nominal"}, "tooltip": hover},
    }
    lines = []
    if model._steps is None:
        steps = [
            {"threshold": round(row["threshold"], 4), "step": f"{row['from']:g}|{row['to']:g}"}
            for row in lay.thresholds_table(model).to_pylist()
        ]
        rule = {
            "data": {"values": steps},
            "mark": {"type": "rule", "strokeDash": [3, 4], "opacity": 0.45, "color": INK},
            "encoding": {
                "y": {"field": "threshold", "type": "quantitative"},
                "tooltip": _tooltip(step="between", threshold=("threshold", ".2f")),
            },
        }
        lines = [rule]
    spec = _chart(
        "Variable map",
        "Points: every element of every facet on one scale of logits",
        records,
        190,
        420,
        facet={
            "column": {
                "field": "facet",
                "type": "nominal",
                "title": None,
                "sort": names,
                "header": {"labelFontSize": 12, "labelColor": INK},
            }
        },
        spec={"width": 190, "height": 420, "layer": [*lines, points, texts]},
    )
    del spec["width"], spec["height"]
    told = "Dashed lines are thresholds between neighbouring scores." if lines else ""
    return Chart(spec, " ".join(part for part in (told, note) if part))


def _heading(model: ManyFacet, facet: int) -> str:
    name = short(model._ratings.facets[facet], 18)
    return f"{name} ({'up: rated higher' if facet in model._positive else 'up: rated lower'})"


def _range(model: ManyFacet) -> tuple[float, float]:
    every = np.concatenate([measure[np.isfinite(measure)] for measure in model._measures])
    if model._steps is None:
        every = np.append(every, [row["threshold"] for row in lay.thresholds_table(model).to_pylist()])
    return float(np.floor(every.min() * 2 - 0.5) / 2), float(np.ceil(every.max() * 2 + 0.5) / 2)


def fit_chart(table: pa.Table, facet: str) -> Chart:
    """Return infit and outfit of a facet's elements, worst first, with the band that is as expected."""
    rows = [
        row
        for row in table.to_pylist()
        if row["facet"] == facet and row["outfit"] is not None and row["outfit"] == row["outfit"]
    ]
    rows = sorted(rows, key=lambda row: -max(row["infit"], row["outfit"]))[:40]
    names = [short(row["element"], 24) for row in rows]
    records = [
        {"element": name, "statistic": kind, "value": round(min(row[kind], 4.0), 4)}
        for row, name in zip(rows, names, strict=True)
        for kind in ("infit", "outfit")
    ]
    band = {
        "data": {"values": [{"low": 0.5, "high": 1.5}]},
        "mark": {"type": "rect", "opacity": 0.12, "color": GREY},
        "encoding": {"x": {"field": "low", "type": "quantitative"}, "x2": {"field": "high"}},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 50, "opacity": 0.9},
        "encoding": {
            "x": {
                "field": "value",
                "type": "quantitative",
                "title": "mean square",
                "scale": {"zero": True},
                "axis": {"format": ".1f", "tickCount": 8},
            },
            "y": {"field": "element", "type": "nominal", "title": None, "sort": names},
            "color": {
                "field": "statistic",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["infit", "outfit"], "range": [BLUE, AMBER]},
            },
            "tooltip": _tooltip(element="element", statistic="statistic", value=("mean square", ".2f")),
        },
    }
    return Chart(_chart("Fit", "Points: infit and outfit", records, 520, max(16 * len(names), 60), layer=[band, points]))
