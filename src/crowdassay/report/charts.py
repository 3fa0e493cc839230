"""Charts: plain records and a Vega-Lite specification."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdassay.errors import FileError, MissingExtraError
from crowdassay.io.write import check_writable, write_bytes

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"  # names the language; nothing is fetched from it
VERSION = "5.20"


def calibration_chart(records: list[dict[str, Any]]) -> dict[str, Any]:
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
    axis = {"scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}}
    sure = {"field": "sure", "type": "quantitative", "title": "probability of the label", **axis}
    right = {"field": "right", "type": "quantitative", "title": "share that is right", **axis}
    detail = [{"field": name, "type": kind} for name, kind in (("bin", "nominal"), ("items", "quantitative"))]
    honest = {
        "data": {"values": [{"sure": 0, "right": 0}, {"sure": 1, "right": 1}]},
        "mark": {"type": "line", "strokeDash": [4, 4], "color": "gray"},
        "encoding": {"x": sure, "y": right},
    }
    points = {
        "mark": {"type": "point", "filled": True, "opacity": 0.9},
        "encoding": {
            "x": sure,
            "y": right,
            "size": {"field": "items", "type": "quantitative", "title": "items"},
            "tooltip": detail,
        },
    }
    counts = {
        "mark": {"type": "text", "dy": -12},
        "encoding": {"x": sure, "y": right, "text": {"field": "items", "type": "quantitative"}},
    }
    return {
        "$schema": SCHEMA,
        "title": "Calibration",
        "width": 360,
        "height": 360,
        "data": {"values": rows},
        "layer": [honest, points, counts],
    }


def render_svg(chart: dict[str, Any]) -> str:
    """Draw a chart as SVG text."""
    return str(_converter().vegalite_to_svg(chart, vl_version=VERSION))


def check_chart(path: Path) -> None:
    """Refuse a chart's path, or the lack of what draws it, before there is anything to draw."""
    if path.suffix not in (".svg", ".png"):
        raise FileError(f"'{path}' must end in .svg or .png.")
    check_writable(path.parent)
    _converter()


def save_chart(chart: dict[str, Any], path: Path) -> None:
    """Draw a chart into an .svg or .png file."""
    check_chart(path)
    converter = _converter()
    if path.suffix == ".svg":
        write_bytes(converter.vegalite_to_svg(chart, vl_version=VERSION).encode(), path)
    else:
        write_bytes(converter.vegalite_to_png(chart, vl_version=VERSION, scale=2), path)


def _converter() -> Any:
    try:
        import vl_convert  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("Charts need the extra 'report': pip install 'crowdassay[report]'.") from error
    return vl_convert
