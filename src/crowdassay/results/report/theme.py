"""Colours and the look of charts: ink follows the page, so that one chart serves light, dark and paper."""

from __future__ import annotations

from typing import Any

BLUE, GREEN, AMBER, ORANGE, RED, GREY = "#3f7fbf", "#3a9d6e", "#d39a1f", "#e0682f", "#c9344f", "#8a919c"
ACTIONS = {"keep": BLUE, "retrain": AMBER, "talk to": ORANGE, "remove": RED, "cannot tell": GREY}
CLASSES = [BLUE, ORANGE, GREEN, "#8b6fc0", AMBER, "#4aa8b5", RED, "#a3743f", "#d277a8", "#6f8f3a"]
INK = "currentColor"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

CONFIG: dict[str, Any] = {
    "background": None,
    "font": FONT,
    "view": {"stroke": None},
    "title": {"color": INK, "fontSize": 14, "fontWeight": 600, "anchor": "start", "offset": 12},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelOpacity": 0.75,
        "titleOpacity": 0.9,
        "domainColor": INK,
        "domainOpacity": 0.25,
        "tickColor": INK,
        "tickOpacity": 0.25,
        "gridColor": INK,
        "gridOpacity": 0.1,
        "labelLimit": 160,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "orient": "top",
        "symbolType": "circle",
        "symbolOpacity": 1,
        "columns": 4,
    },
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": INK},
}
