"""Charts of a many-facet measurement: the variable map, and fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from crowdassay.arrays import FloatArray
from crowdassay.measurement.facets import ManyFacet
from crowdassay.measurement.tables import thresholds_table
from crowdassay.results.report.chart import AMBER, BLUE, CLASS_COLOURS, GREY, INK, Chart
from crowdassay.results.report.charts import coloured, draw, layer, named, number, of, rounded, tooltip
from crowdassay.tables import undefined
from crowdassay.text import short

NAMED_IN_MAP = 30  # elements of a facet that are named in the map
NAMES_ACROSS = 3  # names side by side
MOST_IN_MAP = 2000
MAP_LEVELS = 40
LEAST_STACK = 12  # points that a stack has room for
MAP_WIDTH, MAP_HEIGHT = 190, 420
WORST_SHOWN, LARGEST_SHOWN = 40, 4.0  # elements in the chart of fit, and mean squares

MAP_HOVER = tooltip(facet="facet", element="element", measure=("measure", ".2f"), error=("standard error", ".2f"))
THRESHOLD_LINES = layer(
    "rule",
    {"strokeDash": [3, 4], "opacity": 0.45, "color": INK},
    y={"field": "threshold", "type": "quantitative"},
    tooltip=tooltip(step="between", threshold=("threshold", ".2f")),
)
EXPECTED_BAND = of(
    [{"low": 0.5, "high": 1.5}],
    layer("rect", {"opacity": 0.12, "color": GREY}, x={"field": "low", "type": "quantitative"}, x2={"field": "high"}),
)


def wright_map(model: ManyFacet) -> Chart:
    """Return the variable map: all facets on one logit scale, names beside points, thresholds as lines."""
    facets = [model._item, *model._design.others]
    headings = [_heading(model, f) for f in facets]
    steps = [] if model._steps is not None else thresholds_table(model).to_pylist()
    low, high = _range(model, [row["threshold"] for row in steps])
    edges = np.linspace(low, high, MAP_LEVELS + 1)
    records = [record for f, name in zip(facets, headings, strict=True) for record in _points(model, f, name, edges)]
    most = max((record["across"] for record in records), default=1)
    for record in records:  # names need room beside their points
        stack = record["across"]
        side_by_side = 0.03 + ((stack - 1) % NAMES_ACROSS) / NAMES_ACROSS
        record["across"] = round(side_by_side if record["name"] else (stack - 0.5) / max(most, LEAST_STACK), 4)
    place = {
        "x": {"field": "across", "type": "quantitative", "axis": None, "scale": {"domain": [0, 1.02]}},
        "y": number("level", "logits", scale={"domain": [low, high], "nice": False}),
    }
    colour = {"field": "facet", "type": "nominal", "legend": None, "scale": {"domain": headings, "range": CLASS_COLOURS}}
    name = {"field": "name", "type": "nominal"}
    layers = [
        layer("point", {"filled": True, "size": 26, "opacity": 0.85}, **place, color=colour, tooltip=MAP_HOVER),
        layer("text", {"align": "left", "dx": 6, "fontSize": 10}, **place, text=name, tooltip=MAP_HOVER),
    ]
    notes = []
    if steps:
        lines = [{"threshold": rounded(row["threshold"]), "step": f"{row['from']:g}|{row['to']:g}"} for row in steps]
        layers.insert(0, of(lines, THRESHOLD_LINES))
        notes.append("Dashed lines are thresholds between neighbouring scores.")
    if any(np.isfinite(model._measures[f]).sum() > MOST_IN_MAP for f in facets):
        notes.append(f"Of facets with more than {MOST_IN_MAP:,} elements a random {MOST_IN_MAP:,} are drawn.")
    columns = named("facet", headings, header={"labelFontSize": 12, "labelColor": INK})
    chart = draw(
        "Variable map",
        "Points: every element of every facet on one scale of logits",
        records,
        note=" ".join(notes),
        facet={"column": columns},
        spec={"width": MAP_WIDTH, "height": MAP_HEIGHT, "layer": layers},
    )
    del chart.spec["width"], chart.spec["height"]
    return chart


def _points(model: ManyFacet, facet: int, heading: str, edges: FloatArray) -> list[dict[str, Any]]:
    """Return the points of a facet; ``across`` counts those that are stacked at the same level."""
    measure, error = model._measures[facet], model._errors[facet]
    known = np.flatnonzero(np.isfinite(measure))
    few = len(known) <= NAMED_IN_MAP
    if len(known) > MOST_IN_MAP:
        known = np.sort(np.random.default_rng(0).choice(known, MOST_IN_MAP, replace=False))
    records, stacked = [], [0] * (len(edges) - 1)
    for e in known[np.argsort(np.round(measure[known], 6), kind="stable")]:  # equal ones by name, on every processor
        level = int(np.clip(np.searchsorted(edges, measure[e]) - 1, 0, len(edges) - 2))
        stacked[level] += 1
        if few and stacked[level] == 1 and level:  # a name is as high as a level: those of the level below are in the way
            stacked[level] = 1 + stacked[level - 1] % NAMES_ACROSS
        name = model._ratings.names[facet][int(e)].as_py()
        records.append(
            {
                "facet": heading,
                "element": short(name),
                "name": short(name, 12) if few else "",
                "measure": rounded(measure[e]),
                "level": rounded(measure[e] if few else (edges[level] + edges[level + 1]) / 2),
                "across": stacked[level],
                "error": round(float(error[e]), 3) if np.isfinite(error[e]) else None,
            }
        )
    return records


def _heading(model: ManyFacet, facet: int) -> str:
    name = short(model._ratings.facets[facet], 18)
    return f"{name} ({'up: rated higher' if facet in model._positive else 'up: rated lower'})"


def _range(model: ManyFacet, thresholds: list[float]) -> tuple[float, float]:
    """Return the lowest and the highest logit that the map shows."""
    every = np.concatenate([*(measure[np.isfinite(measure)] for measure in model._measures), thresholds])
    return float(np.floor(every.min() * 2 - 0.5) / 2), float(np.ceil(every.max() * 2 + 0.5) / 2)


def fit_chart(table: pa.Table, facet: str) -> Chart:
    """Return infit and outfit of a facet's elements, worst first, with the band that is as expected."""
    rows = [row for row in table.to_pylist() if row["facet"] == facet and not undefined(row["outfit"])]
    rows = sorted(rows, key=lambda row: -max(row["infit"], row["outfit"]))[:WORST_SHOWN]
    names = [short(row["element"], 24) for row in rows]
    records = [
        {"element": name, "statistic": kind, "value": rounded(min(row[kind], LARGEST_SHOWN))}
        for row, name in zip(rows, names, strict=True)
        for kind in ("infit", "outfit")
    ]
    points = layer(
        "point",
        {"filled": True, "size": 50, "opacity": 0.9},
        x=number("value", "mean square", scale={"zero": True}, axis={"format": ".1f", "tickCount": 8}),
        y=named("element", names),
        color=coloured("statistic", {"infit": BLUE, "outfit": AMBER}),
        tooltip=tooltip(element="element", statistic="statistic", value=("mean square", ".2f")),
    )
    height = max(16 * len(names), 60)
    return draw("Fit", "Points: infit and outfit", records, [EXPECTED_BAND, points], width=520, height=height)
