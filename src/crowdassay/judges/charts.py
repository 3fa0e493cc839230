"""Charts of the page about judges: rates with intervals, judges' accuracy, and whose errors go together."""

from __future__ import annotations

from typing import Any

import numpy as np

from crowdassay.judges.rated import Rated
from crowdassay.results.report.chart import AMBER, BLUE, CHART_LOOK, GREY, INK, ORANGE, Chart
from crowdassay.results.report.charts import SCHEMA, confusion_chart
from crowdassay.text import distinct, short

WAYS = ("people with the judges' help", "people alone", "judges alone claim")
COLOURS = [BLUE, GREY, ORANGE]
MOST_CLASSES, MOST_JUDGES = 12, 30
Spec = dict[str, Any]


def rates_chart(rated: Rated) -> Chart:
    """Return the rate of each class with its interval, by people and judges, by people alone and as judges claim."""
    names = distinct(rated.verdicts.classes)[:MOST_CLASSES]
    records = [
        {
            "class": name,
            "way": way,
            "rate": _r(one.estimate),
            "low": _r(one.low),
            "high": _r(one.high),
            "interval": _between(one),
        }
        for way, rates in zip(WAYS, (rated.rates, rated.alone, rated.claimed), strict=True)
        for name, one in zip(names, rates, strict=False)
    ]
    way = {"field": "way", "type": "nominal", "sort": list(WAYS)}
    colour = {**way, "title": None, "scale": {"domain": list(WAYS), "range": COLOURS}, "legend": {"columns": 1}}
    y = {"field": "class", "type": "nominal", "title": None, "sort": names}
    hover = [
        {"field": "class", "title": "class"},
        {"field": "way", "title": "by"},
        {"field": "rate", "title": "rate", "type": "quantitative", "format": ".1%"},
        {"field": "interval", "title": "interval"},
    ]
    layers = _points_with_limits({"y": y, "yOffset": way, "color": colour}, "rate", "share of items", hover)
    note = "" if len(names) == rated.verdicts.n_classes else f"{len(names)} of {rated.verdicts.n_classes} classes are shown."
    return Chart(_chart("Rates", "Points with intervals: the rate of each class", records, 60 * len(names) + 10, layers), note)


def judges_chart(rated: Rated) -> Chart | None:
    """Return the accuracy of each judge with its interval, the best first; None where people saw too little."""
    known = sorted((one for one in rated.judges if one.accuracy), key=lambda one: -one.accuracy.estimate)  # type: ignore[union-attr]
    shown = known[:MOST_JUDGES]
    if not shown:
        return None
    names = distinct([one.name for one in shown])
    records = []
    for name, one in zip(names, shown, strict=True):
        assert one.accuracy is not None
        limits = {"accuracy": _r(one.accuracy.estimate), "low": _r(one.accuracy.low), "high": _r(one.accuracy.high)}
        records.append(
            {"judge": name, **limits, "interval": _between(one.accuracy), "verdict": one.verdict, "items": one.items}
        )
    y = {"field": "judge", "type": "nominal", "title": None, "sort": names}
    hover = [{"field": field, "title": field} for field in ("judge", "interval", "verdict", "items")]
    layers = _points_with_limits({"y": y, "color": {"value": BLUE}}, "accuracy", "says what people say", hover)
    note = "" if len(shown) == len(known) else f"The {len(shown)} best of {len(known)} judges are shown."
    return Chart(_chart("Judges", "Points with intervals: accuracy of each judge", records, 24 * len(names) + 20, layers), note)


def likeness_chart(rated: Rated) -> Chart | None:
    """Return a heat map of error correlations, judges who err alike side by side."""
    order = likeness_order(rated)[:MOST_JUDGES]
    if len(order) < 2 or not np.isfinite(rated.likeness.correlation[np.ix_(order, order)]).any():
        return None
    names = distinct([rated.verdicts.judges[i] for i in order])
    records = [
        {"one": names[a], "other": names[b], "r": round(float(rated.likeness.correlation[i, j]), 3)}
        for a, i in enumerate(order)
        for b, j in enumerate(order)
        if np.isfinite(rated.likeness.correlation[i, j])
    ]
    size = min(max(34 * len(names), 220), 560)
    x = {"field": "one", "type": "nominal", "title": None, "sort": names, "axis": {"orient": "top", "labelAngle": -45}}
    y = {"field": "other", "type": "nominal", "title": None, "sort": names}
    scale = {"domain": [-1, 0, 1], "range": [AMBER, "#88888822", BLUE]}
    colour = {"field": "r", "type": "quantitative", "scale": scale, "title": "correlation of errors"}
    number = {"field": "r", "title": "correlation", "type": "quantitative", "format": ".2f"}
    hover = [{"field": "one", "title": "judge"}, {"field": "other", "title": "and"}, number]
    layers: list[Spec] = [
        {"mark": {"type": "rect", "cornerRadius": 2}, "encoding": {"x": x, "y": y, "color": colour, "tooltip": hover}}
    ]
    if len(names) <= 16:
        white = {"condition": {"test": "datum.r > 0.6", "value": "white"}, "value": INK}
        text = {"field": "r", "type": "quantitative", "format": ".1f"}
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {"x": x, "y": y, "text": text, "color": white, "tooltip": hover},
            }
        )
    spec = _chart("Errors that go together", "Heat map: correlation of two judges' errors", records, size, layers)
    note = "" if len(order) == len(rated.verdicts.judges) else f"{len(order)} of {len(rated.verdicts.judges)} judges are shown."
    return Chart({**spec, "width": size}, note)


def likeness_order(rated: Rated) -> list[int]:
    """Return judges with those who err alike side by side."""
    grouped = [i for group in rated.likeness.clusters for i in group]
    return grouped + [i for i in range(len(rated.verdicts.judges)) if i not in grouped]


def tables_chart(rated: Rated) -> Chart | None:
    """Return each judge's answers by the class that people named, one judge to be chosen."""
    classes, answers = distinct(rated.verdicts.classes), distinct(rated.verdicts.answers)
    judges = [one for one in rated.judges if one.items][:MOST_JUDGES]
    if not judges or len(classes) > MOST_CLASSES or len(answers) > 30:
        return None
    records = []
    for number, one in enumerate(judges):
        totals = one.counts.sum(axis=1)
        records += [
            {
                "worker": number,
                "true": name,
                "observed": answer,
                "share": _r(one.counts[c, a] / totals[c]),
                "labels": float(one.counts[c, a]),
            }
            for c, name in enumerate(classes)
            for a, answer in enumerate(answers)
            if totals[c]
        ]
    spec = confusion_chart(
        records, answers, [short(one.name, 24) for one in judges], "What judges answer", ("answer", "people say"), largest=420
    )
    spec["layer"] = [
        {**layer, "encoding": {**layer["encoding"], "y": {**layer["encoding"]["y"], "sort": classes}}}
        for layer in spec["layer"]
    ]
    if len(judges) > 1:
        spec["params"][0]["bind"]["name"] = "Judge "
    return Chart({**spec, "height": max(48 * len(classes), 96)})


def _points_with_limits(placed: Spec, field: str, title: str, hover: list[Spec]) -> list[Spec]:
    return [
        {
            "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
            "encoding": {**placed, "x": _share("low", title), "x2": {"field": "high"}, "tooltip": hover},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {**placed, "x": _share(field, title), "tooltip": hover},
        },
    ]


def _share(field: str, title: str) -> Spec:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"domain": [0, 1]},
        "axis": {"format": ".0%", "tickCount": 5},
    }


def _chart(title: str, says: str, records: list[dict[str, Any]], height: int, layers: list[Spec]) -> Spec:
    head = {"$schema": SCHEMA, "title": title, "description": says, "width": 560, "height": height}
    return {**head, "data": {"values": records}, "layer": layers, "config": CHART_LOOK}


def _r(value: float) -> float:
    return round(float(value), 5)


def _between(one: Any) -> str:
    return f"{one.low:.1%} to {one.high:.1%}"
