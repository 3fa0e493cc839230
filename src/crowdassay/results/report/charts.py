"""The charts, each made from plain records: Vega-Lite specifications and nothing else."""

from __future__ import annotations

from typing import Any

from crowdassay.results.report.chart import ACTION_COLOURS, AMBER, BLUE, CHART_LOOK, CLASS_COLOURS, GREEN, GREY, INK

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"  # names the language; nothing is fetched from it
Spec = dict[str, Any]
Records = list[dict[str, Any]]


def _chart(title: str, says: str, records: Records, width: int = 560, height: int = 300, **rest: Any) -> Spec:
    """Return a chart; a screen reader reads out what it `says`."""
    head = {"$schema": SCHEMA, "title": title, "description": says, "width": width, "height": height}
    return {**head, "data": {"values": records}, **rest, "config": CHART_LOOK}


def _share(field: str, title: str | None, **more: Any) -> Spec:
    axis = {"format": ".0%", "tickCount": 5}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"domain": [0, 1]}, "axis": axis, **more}


def _tooltip(**titles: Any) -> list[Spec]:
    """Name fields for the tooltip: a title, or a title and a number format."""
    lines = []
    for field, title in titles.items():
        name, form = (title, None) if isinstance(title, str) else title
        kind = {"type": "nominal"} if form is None else {"type": "quantitative", "format": form}
        lines.append({"field": field, "title": name, **kind})
    return lines


def confidence_chart(records: Records) -> Spec:
    """Return how many items have which probability, settled ones in another colour."""
    most = max(record["items"] for record in records)
    axis = {"format": ",.0f", "tickCount": min(most, 6), "tickMinStep": 1}
    bars = {
        "mark": {"type": "rect", "cornerRadiusTopLeft": 2, "cornerRadiusTopRight": 2},
        "encoding": {
            "x": _share("left", "probability of the label", scale={"domain": [records[0]["low"], 1], "nice": False}),
            "x2": {"field": "right"},
            "y": {"field": "items", "type": "quantitative", "title": "items", "axis": axis},
            "y2": {"datum": 0},
            "color": {
                "field": "state",
                "type": "nominal",
                "title": None,
                "scale": {"domain": ["settled", "open"], "range": [BLUE, AMBER]},
            },
            "tooltip": _tooltip(bin="probability", items=("items", ",")),
        },
    }
    return _chart("How sure the labels are", "Bars: how many items have which probability", records, layer=[bars])


MOST_NAMED = 40  # workers up to which a chart names each


def workers_chart(records: Records, mean: float | None) -> Spec:
    """Return accuracy with its interval, coloured by what to do: by name, or against the number of labels."""
    named = len(records) <= MOST_NAMED
    present = [name for name in ACTION_COLOURS if any(record["action"] == name for record in records)]
    colour = {
        "field": "action",
        "type": "nominal",
        "title": None,
        "scale": {"domain": present, "range": [ACTION_COLOURS[name] for name in present]},
    }
    hover = _tooltip(
        worker="worker", labels=("labels", ","), accuracy=("accuracy", ".1%"), interval="95% interval",
        action="what to do", evidence="why",
    )  # fmt: skip
    along, other = ("x", "y") if named else ("y", "x")
    place = _named_workers(records) if named else _by_labels(records)
    limits = {
        "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": min(0.45, max(0.1, 45 / max(len(records), 1)))},  # not a wall
        "encoding": {other: place, along: _share("low", "accuracy"), f"{along}2": {"field": "high"}, "color": colour},
    }
    points = {
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.95},
        "encoding": {other: place, along: _share("accuracy", "accuracy"), "color": colour, "tooltip": hover},
    }
    layers = [limits, points]
    if mean is not None:
        line = {
            "data": {"values": [{"accuracy": mean}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "opacity": 0.5},
            "encoding": {along: _share("accuracy", None), "tooltip": _tooltip(accuracy=("mean accuracy of labels", ".1%"))},
        }
        layers.insert(0, line)
    says = "by name" if named else "against the number of labels given"
    height = max(18 * len(records), 60) if named else 340
    return _chart("Workers", f"Points: accuracy of each worker {says}", records, height=height, layer=layers)


def _named_workers(records: Records) -> Spec:
    """Return an axis with a row for each worker, the most accurate first."""
    names = [record["worker"] for record in sorted(records, key=lambda record: record["place"])]
    axis = {"labelExpr": _names("datum.value", names), "labelLimit": 200, "grid": False}
    return {"field": "place", "type": "ordinal", "title": None, "sort": "descending", "axis": axis}


def _by_labels(records: Records) -> Spec:
    """Return an axis for the number of labels; where all have given about as many, workers stand side by side."""
    least, most = (bound(record["labels"] for record in records) for bound in (min, max))
    if most < 1.3 * least:
        bare = {"labels": False, "ticks": False}
        return {"field": "place", "type": "ordinal", "title": "workers, the least accurate first", "axis": bare}
    scale = {"type": "log" if most > 5 * least else "linear", "domain": [least * 0.8, most * 1.2], "nice": False}
    axis = {"format": ",.0f", "tickCount": 6, "labelOverlap": True}
    return {"field": "at", "type": "quantitative", "title": "labels given", "scale": scale, "axis": axis}


def confusion_chart(
    records: Records,
    classes: list[str],
    workers: list[str],
    title: str = "What is answered to what",
    axes: tuple[str, str] = ("answer", "class"),
    unit: str = "labels",
    largest: int = 480,
) -> Spec:
    """Return a heat map of answer by class; with several workers, a select box chooses one, the crowd first."""
    across, down = axes
    size = min(max(64 * len(classes), 200), largest)
    x = {"field": "observed", "type": "nominal", "title": across, "sort": classes, "axis": {"orient": "top", "labelAngle": 0}}
    if sum(map(len, classes)) > 50:
        x["axis"] = {"orient": "top", "labelAngle": -45}
    y = {"field": "true", "type": "nominal", "title": down, "sort": classes}
    fields = {
        "true": down,
        "observed": across,
        "share": ("share", ".1%"),
        "interval": "95% interval",
        "labels": (unit, ",.1f"),
    }
    hover = _tooltip(**{name: text for name, text in fields.items() if any(name in record for record in records[:1])})
    scale = {"domain": [0, 1], "range": [0.03, 1]}
    cells = {
        "mark": {"type": "rect", "color": BLUE, "cornerRadius": 3},
        "encoding": {
            "x": x,
            "y": y,
            "opacity": {"field": "share", "type": "quantitative", "scale": scale, "legend": None},
            "tooltip": hover,
        },
    }
    layers = [cells]
    if len(classes) <= 12:
        white = {"condition": {"test": "datum.share > 0.95", "value": "white"}, "value": INK}  # whichever is easier to read
        text = {"field": "share", "type": "quantitative", "format": ".0%"}
        layers.append({"mark": {"type": "text"}, "encoding": {"x": x, "y": y, "text": text, "color": white, "tooltip": hover}})
    chosen: dict[str, Any] = {}
    if len(workers) > 1:
        bind = {"input": "select", "options": list(range(len(workers))), "labels": workers, "name": "Worker "}
        chosen = {
            "params": [{"name": "chosen", "value": 0, "bind": bind}],
            "transform": [{"filter": "datum.worker == chosen"}],
        }
    return _chart(title, f"Heat map: share of each {across} by {down}", records, size, size, **chosen, layer=layers)


def classes_chart(records: Records, classes: list[str]) -> Spec:
    """Return the share of each class among labels given, items found and, where known, the truth."""
    present = [name for name in ("labels given", "items found", "truth") if any(record["of"] == name for record in records)]
    colours = {"labels given": GREY, "items found": BLUE, "truth": GREEN}
    bars = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {
            "y": {"field": "class", "type": "nominal", "title": None, "sort": classes},
            "yOffset": {"field": "of", "sort": present},
            "x": {"field": "share", "type": "quantitative", "title": "share", "axis": {"format": ".0%", "tickCount": 5}},
            "color": {
                "field": "of",
                "type": "nominal",
                "title": None,
                "scale": {"domain": present, "range": [colours[name] for name in present]},
            },
            "tooltip": _tooltip(**{"class": "class", "of": "of", "share": ("share", ".1%")}),
        },
    }
    return _chart(
        "Classes", "Bars: how common each class is", records, height=max(14 * len(classes) * len(present), 80), layer=[bars]
    )


def items_chart(records: Records, items: list[str], classes: list[str]) -> Spec:
    """Return how many said what about the most disputed items, as stacked bars."""
    bars = {
        "mark": {"type": "bar"},
        "encoding": {
            "y": {"field": "row", "type": "ordinal", "title": None, "axis": {"labelExpr": _names("datum.value", items)}},
            "x": {"field": "labels", "type": "quantitative", "title": "labels", "axis": {"tickMinStep": 1, "format": "d"}},
            "color": {"field": "label", "type": "nominal", "title": None, "scale": {"domain": classes, "range": CLASS_COLOURS}},
            "tooltip": _tooltip(
                item="item", label="label", labels=("labels", ","), found="label found", probability=("probability", ".1%")
            ),
        },
    }
    return _chart(
        "The most disputed items", "Bars: how many workers said what", records, height=max(22 * len(items), 60), layer=[bars]
    )


def _names(field: str, names: list[str]) -> str:
    """Return an expression for the name of a row: rows are numbers, as two names may look alike."""
    import json  # noqa: PLC0415

    return f"{json.dumps(names)}[{field}]"


def convergence_chart(records: Records) -> Spec:
    """Return the objective after every step."""
    line = {
        "mark": {"type": "line", "color": BLUE, "point": {"size": 18, "color": BLUE}},
        "encoding": {
            "x": {"field": "step", "type": "quantitative", "title": "step", "axis": {"tickMinStep": 1, "format": "d"}},
            "y": {"field": "objective", "type": "quantitative", "title": "objective", "scale": {"zero": False}},
            "tooltip": _tooltip(step=("step", "d"), objective=("objective", ",.4f")),
        },
    }
    return _chart("How the fit converged", "Line: the objective after every step", records, height=220, layer=[line])


def selection_chart(records: Records) -> Spec:
    """Return the score of every candidate, the chosen one filled."""
    names = [record["candidate"] for record in records]
    points = {
        "mark": {"type": "point", "size": 80, "opacity": 1},
        "encoding": {
            "x": {"field": "score", "type": "quantitative", "title": "score (higher is better)", "scale": {"zero": False}},
            "y": {"field": "candidate", "type": "nominal", "title": None, "sort": names},
            "color": {"value": BLUE},
            "fill": {"condition": {"test": "datum.chosen", "value": BLUE}, "value": "transparent"},
            "tooltip": _tooltip(candidate="candidate", score=("score", ".5f")),
        },
    }
    return _chart(
        "What was tried", "Points: the score of every candidate", records, height=max(24 * len(names), 60), layer=[points]
    )


def calibration_chart(records: Records) -> Spec:
    """Return how right against how sure, with the number of items in each bin, from `metrics.calibration` records."""
    rows = [
        {
            "sure": record["mean_probability"],
            "right": 1 - record["error_rate"],
            "items": record["items"],
            "bin": f"{record['low']:g} to {record['high']:g}",
        }
        for record in records
        if record["items"]
    ]
    sure, right = _share("sure", "probability of the label"), _share("right", "share that is right")
    honest = {
        "data": {"values": [{"sure": 0, "right": 0}, {"sure": 1, "right": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": GREY},
        "encoding": {"x": sure, "y": right},
    }
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 0.9, "color": BLUE},
        "encoding": {
            "x": sure,
            "y": right,
            "size": {"field": "items", "type": "quantitative", "scale": {"range": [30, 300]}, "legend": None},
            "tooltip": _tooltip(
                bin="probability", items=("items", ","), sure=("mean probability", ".1%"), right=("right", ".1%")
            ),
        },
    }
    counts = {
        "mark": {"type": "text", "dy": -14, "opacity": 0.75},
        "encoding": {"x": sure, "y": right, "text": {"field": "items", "type": "quantitative", "format": ","}},
    }
    return _chart(
        "Calibration",
        "Points: how often labels are right against how sure they are",
        rows,
        270,
        270,
        layer=[honest, points, counts],
    )


def curve_chart(records: Records, target: float | None = None) -> Spec:
    """Return the expected error, and its upper limit, against what further labels cost; the point is where the job stands."""
    most = max(*(record["high"] for record in records), target or 0.0, 0.01) * 1.05
    scale = {"scale": {"domain": [0, most], "nice": False}, "axis": {"format": ".1%", "tickCount": 6}}
    x = {"field": "spend", "type": "quantitative", "title": "further spend", "axis": {"format": ",.0f", "tickCount": 6}}
    hover = _tooltip(
        spend=("spend", ",.2f"), labels=("labels", ",.0f"), error=("expected error", ".2%"), high=("upper limit", ".2%")
    )
    band = {
        "mark": {"type": "area", "color": BLUE, "opacity": 0.15},
        "encoding": {"x": x, "y": _share("error", "error", **scale), "y2": {"field": "high"}},
    }
    line = {
        "mark": {"type": "line", "color": BLUE, "strokeWidth": 2.5},
        "encoding": {"x": x, "y": _share("error", "error", **scale), "tooltip": hover},
    }
    here = {
        "data": {"values": records[:1]},
        "mark": {"type": "point", "filled": True, "size": 120, "color": AMBER, "opacity": 1},
        "encoding": {"x": x, "y": _share("error", "error", **scale), "tooltip": hover},
    }
    layers: list[Any] = [band, line, here]
    if target is not None:
        rule = {"type": "rule", "color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}
        layers.append(
            {"data": {"values": [{"error": target}]}, "mark": rule, "encoding": {"y": _share("error", "error", **scale)}}
        )
    return _chart(
        "Error against money", "Line: expected error against further spend, with its upper limit", records, layer=layers
    )
