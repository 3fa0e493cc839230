"""What charts are written in: channels, layers and the shapes that several charts share, as Vega-Lite."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crowdassay.arrays import FloatArray, IntArray
from crowdassay.results.report.chart import AMBER, BLUE, CHART_LOOK, GREEN, GREY, INK, Chart

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"  # names the language; nothing is fetched from it
Spec = dict[str, Any]
Records = list[dict[str, Any]]


def draw(
    title: str,
    says: str,
    records: Records,
    layers: Sequence[Spec] = (),
    note: str = "",
    *,
    width: int = 560,
    height: int = 300,
    **rest: object,
) -> Chart:
    """Return a chart of layers, each of all records unless it has data of its own; a screen reader reads what it `says`."""
    head = {"$schema": SCHEMA, "title": title, "description": says, "width": width, "height": height}
    shape = {**rest, "layer": list(layers)} if layers else rest
    return Chart({**head, "data": {"values": records}, **shape, "config": CHART_LOOK}, note)


def layer(mark: str, look: Spec, /, **encoding: object) -> Spec:
    """Return marks of one kind, placed and coloured by their channels."""
    return {"mark": {"type": mark, **look}, "encoding": encoding}


def of(data: Records, marks: Spec) -> Spec:
    """Return a layer that has data of its own."""
    return {"data": {"values": data}, **marks}


def number(field: str, title: str | None = None, **more: object) -> Spec:
    """Return a channel of numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def share(field: str, title: str | None, **more: object) -> Spec:
    """Return a channel from 0 to 100 %."""
    return number(field, title, **{"scale": {"domain": [0, 1]}, "axis": {"format": ".0%", "tickCount": 5}, **more})


def named(field: str, names: Sequence[str], title: str | None = None, **more: object) -> Spec:
    """Return a channel of names in this order."""
    return {"field": field, "type": "nominal", "title": title, "sort": list(names), **more}


def numbered(field: str, names: Sequence[str], title: str | None = None, *, sort: str = "ascending", **axis: object) -> Spec:
    """Return a channel of rows: rows are numbers, as two names may look alike, and the axis shows their names."""
    order = {} if sort == "ascending" else {"sort": sort}
    label = {"labelExpr": f"{json.dumps(names)}[datum.value]", **axis}
    return {"field": field, "type": "ordinal", "title": title, **order, "axis": label}


def coloured(field: str, colours: Mapping[str, str], **more: object) -> Spec:
    """Return a channel of names with a colour each."""
    scale = {"domain": list(colours), "range": list(colours.values())}
    return {"field": field, "type": "nominal", "title": None, "scale": scale, **more}


def tooltip(**titles: Sequence[str]) -> list[Spec]:
    """Name fields for the tooltip: a title, or a title and a number format."""
    return [
        {"field": field, "title": title, "type": "nominal"}
        if isinstance(title, str)
        else {"field": field, "title": title[0], "type": "quantitative", "format": title[1]}
        for field, title in titles.items()
    ]


def rounded(value: float) -> float:
    """Return a number as charts hold it."""
    return round(float(value), 4)


def limits(low: float, high: float) -> dict[str, object]:
    """Return the fields of a record that has an interval of shares."""
    return {"low": rounded(low), "high": rounded(high), "interval": f"{low:.1%} to {high:.1%}"}


def with_intervals(
    place: Spec, value: Spec, hover: list[Spec], along: str = "x", *, width: float = 3, opacity: float = 0.5
) -> list[Spec]:
    """Return layers of points, the channel ``along`` saying where, and of lines from their ``low`` to their ``high``."""
    span = {along: {**value, "field": "low"}, f"{along}2": {"field": "high"}}
    return [
        layer("rule", {"strokeWidth": width, "opacity": opacity}, **place, **span, tooltip=hover),
        layer("point", {"filled": True, "size": 60, "opacity": 0.95}, **place, **{along: value}, tooltip=hover),
    ]


def heat_map(
    place: Spec, colour: Spec, hover: list[Spec], shown: str, form: str, *, numbers: bool, white: str = "false"
) -> list[Spec]:
    """Return layers of coloured cells and, where there is room, the numbers in them, in white where ``white`` holds."""
    cells = layer("rect", {"cornerRadius": 3}, **place, **colour, tooltip=hover)
    ink = {"condition": {"test": white, "value": "white"}, "value": INK}  # whichever is easier to read
    text = {"field": shown, "type": "quantitative", "format": form}
    return [cells, layer("text", {}, **place, text=text, color=ink, tooltip=hover)] if numbers else [cells]


def cells(
    worker: int,
    down: Mapping[int, str],
    across: Mapping[int, str],
    counts: FloatArray | IntArray,
    shares: FloatArray,
    interval: tuple[FloatArray, FloatArray] | None = None,
) -> Records:
    """Return a record for each cell of a worker's heat map; classes and answers are named by code, those never met left out."""
    return [
        {
            "worker": worker,
            "true": true,
            "observed": observed,
            "share": rounded(shares[c, k]),
            "labels": round(counts[c, k].item(), 2),
            **({} if interval is None else {"interval": f"{interval[0][c, k]:.1%} to {interval[1][c, k]:.1%}"}),
        }
        for c, true in down.items()
        for k, observed in across.items()
        if counts[c].sum() > 1e-9
    ]


def confusion_chart(
    records: Records,
    classes: list[str],
    workers: list[str],
    title: str = "What is answered to what",
    note: str = "",
    *,
    axes: tuple[str, str] = ("answer", "class"),
    rows: list[str] | None = None,
    unit: str = "labels",
    who: str = "Worker",
    largest: int = 480,
) -> Chart:
    """Return a heat map of answer by class; with several workers, a select box chooses one, the crowd first.

    ``rows`` are the classes where answers are others than classes.
    """
    across, down = axes
    size = min(max(64 * len(classes), 200), largest)
    axis = {"orient": "top", "labelAngle": -45 if sum(map(len, classes)) > 50 else 0}
    place = {"x": named("observed", classes, across, axis=axis), "y": named("true", rows or classes, down)}
    fields = {"true": down, "observed": across, "share": ("share", ".1%"), "interval": "95% interval", "labels": (unit, ",.1f")}
    hover = tooltip(**{name: text for name, text in fields.items() if any(name in record for record in records[:1])})
    faint = {"field": "share", "type": "quantitative", "scale": {"domain": [0, 1], "range": [0.03, 1]}, "legend": None}
    colour = {"color": {"value": BLUE}, "opacity": faint}
    layers = heat_map(place, colour, hover, "share", ".0%", numbers=len(classes) <= 12, white="datum.share > 0.95")
    chosen: Spec = {}
    if len(workers) > 1:
        bind = {"input": "select", "options": list(range(len(workers))), "labels": workers, "name": f"{who} "}
        only = [{"filter": "datum.worker == chosen"}]
        chosen = {"params": [{"name": "chosen", "value": 0, "bind": bind}], "transform": only}
    height = size if rows is None else max(48 * len(rows), 96)
    says = f"Heat map: share of each {across} by {down}"
    return draw(title, says, records, layers, note, width=size, height=height, **chosen)


def calibration_chart(records: Records) -> Chart:
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
    place = {"x": share("sure", "probability of the label"), "y": share("right", "share that is right")}
    hover = tooltip(bin="probability", items=("items", ","), sure=("mean probability", ".1%"), right=("right", ".1%"))
    size = {"field": "items", "type": "quantitative", "scale": {"range": [30, 300]}, "legend": None}
    honest = [{"sure": 0, "right": 0}, {"sure": 1, "right": 1}]
    layers = [
        of(honest, layer("line", {"strokeDash": [4, 4], "color": GREY}, **place)),
        layer("point", {"filled": True, "opacity": 0.9, "color": BLUE}, **place, size=size, tooltip=hover),
        layer("text", {"dy": -14, "opacity": 0.75}, **place, text={"field": "items", "type": "quantitative", "format": ","}),
    ]
    says = "Points: how often labels are right against how sure they are"
    return draw("Calibration", says, rows, layers, width=270, height=270)


def curve_chart(records: Records, target: float | None = None, note: str = "") -> Chart:
    """Return the expected error, and its upper limit, against what further labels cost; the point is where the job stands."""
    most = max(*(record["high"] for record in records), target or 0.0, 0.01) * 1.05
    y = share("error", "error", scale={"domain": [0, most], "nice": False}, axis={"format": ".1%", "tickCount": 6})
    x = number("spend", "further spend", axis={"format": ",.0f", "tickCount": 6})
    hover = tooltip(
        spend=("spend", ",.2f"), labels=("labels", ",.0f"), error=("expected error", ".2%"), high=("upper limit", ".2%")
    )
    here = {"filled": True, "size": 120, "color": AMBER, "opacity": 1}
    layers = [
        layer("area", {"color": BLUE, "opacity": 0.15}, x=x, y=y, y2={"field": "high"}),
        layer("line", {"color": BLUE, "strokeWidth": 2.5}, x=x, y=y, tooltip=hover),
        of(records[:1], layer("point", here, x=x, y=y, tooltip=hover)),
    ]
    if target is not None:
        wanted = layer("rule", {"color": GREEN, "strokeDash": [5, 4], "strokeWidth": 1.5}, y=y)
        layers.append(of([{"error": target}], wanted))
    says = "Line: expected error against further spend, with its upper limit"
    return draw("Error against money", says, records, layers, note)
