"""The chart of a plan: expected error against money."""

from __future__ import annotations

from typing import Any

from crowdassay.results.report.charts import Records, Spec, _chart, _share, _tooltip
from crowdassay.results.report.theme import AMBER, BLUE, GREEN


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
