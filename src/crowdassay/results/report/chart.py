"""A chart: records and a Vega-Lite specification that shows itself, and saves itself; and how all charts look.

Ink follows the page, so that one chart serves light, dark and paper.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdassay.errors import FileError, MissingExtraError
from crowdassay.labels.folder import check_writable, output_path
from crowdassay.labels.values import counted
from crowdassay.labels.write import write_bytes, write_json

VEGA_LITE = "5.20"  # version
CHART_FILES = (".svg", ".png", ".html", ".json")
ADDRESS_SPACE = 72 * 10**9  # bytes that the JavaScript engine in vl-convert reserves; where it cannot, it ends the process
VEGA_MIME = "application/vnd.vegalite.v5+json"
BLUE, GREEN, AMBER, ORANGE, RED, GREY = "#3f7fbf", "#3a9d6e", "#d39a1f", "#e0682f", "#c9344f", "#8a919c"
ACTION_COLOURS = {"keep": BLUE, "retrain": AMBER, "talk to": ORANGE, "remove": RED, "cannot tell": GREY}
CLASS_COLOURS = [
    BLUE, ORANGE, GREEN, "#8b6fc0", AMBER, "#4aa8b5", RED, "#a3743f", "#d277a8", "#6f8f3a",
    "#24507e", "#f2a07b", "#1d5c40", "#c3b1e1", "#7d1f31", "#9fd3c7", "#5b3a8c", "#e8d174", "#2f6f79", "#f0a8bd",
]  # fmt: skip
INK = "currentColor"
PAGE_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

WRITTEN = {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"}
CHART_LOOK: dict[str, Any] = {
    "background": None,
    "font": PAGE_FONT,
    "view": {"stroke": None},
    "title": {"color": INK, "fontSize": 14, "fontWeight": 600, "anchor": "start", "offset": 12},
    "axis": {
        **WRITTEN,
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
    "legend": {**WRITTEN, "orient": "top", "symbolType": "circle", "symbolOpacity": 1, "columns": 4},
    "text": {"color": INK, "fontSize": 11},
    "rule": {"color": INK},
}


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart that a notebook shows; ``note`` says what was left out, if anything was.

    Attributes
    ----------
    spec : dict
        Vega-Lite; all data are in it.
    note : str
    """

    spec: dict[str, Any]
    note: str = ""

    @property
    def records(self) -> list[dict[str, Any]]:
        """The data, one dictionary for each mark."""
        return list(self.spec["data"]["values"])

    def save(self, path: str | Path) -> None:
        """Write the chart as .svg, .png, .html (one file that opens offline) or .json (the specification)."""
        path = output_path(path)
        if path.suffix not in CHART_FILES:
            raise FileError(f"'{path}' must end in {', '.join(CHART_FILES[:-1])} or {CHART_FILES[-1]}.")
        if path.suffix == ".json":
            write_json(self.spec, path)
        elif path.suffix == ".html":
            from crowdassay.results.report.page import CHART_PAGE, render  # noqa: PLC0415  a page is made of charts

            write_bytes(render(CHART_PAGE, {"one": self}, self.spec["title"], note=self.note).encode(), path)
        else:
            save_chart(self.spec, path)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {VEGA_MIME: self.spec, "text/plain": repr(self)}
        with suppress(MissingExtraError):
            bundle["image/svg+xml"] = render_svg(self.spec)
        return bundle

    def __repr__(self) -> str:
        title = self.spec.get("title", "")
        return f"Chart({title if isinstance(title, str) else title.get('text', '')!r}, {counted(len(self.records), 'record')})"


def render_svg(spec: dict[str, Any]) -> str:
    """Draw a chart as SVG text, on white."""
    return str(converter().vegalite_to_svg(_on_white(spec), vl_version=VEGA_LITE))


def check_chart(path: Path) -> None:
    """Refuse a picture's path, or the lack of what draws it, before there is anything to draw."""
    if path.suffix not in (".svg", ".png"):
        raise FileError(f"'{path}' must end in .svg or .png.")
    check_writable(path.parent)
    converter()


def save_chart(spec: dict[str, Any], path: Path) -> None:
    """Draw a chart into an .svg or .png file."""
    check_chart(path)
    if path.suffix == ".svg":
        write_bytes(render_svg(spec).encode(), path)
    else:
        write_bytes(converter().vegalite_to_png(_on_white(spec), vl_version=VEGA_LITE, scale=2), path)


def _on_white(spec: dict[str, Any]) -> dict[str, Any]:
    look = {**spec.get("config", {}), "font": "Arial, 'Liberation Sans', Helvetica, sans-serif"}  # whose widths are known here
    return {**_in_black(spec), "background": "white", "padding": 12, "config": _in_black(look)}


def _in_black(part: Any) -> Any:
    """Return a specification whose ink does not follow a page, which may be a dark one; data stay as they are."""
    if isinstance(part, dict):
        return {name: value if name == "data" else _in_black(value) for name, value in part.items()}
    if isinstance(part, list):
        return [_in_black(value) for value in part]
    return "black" if part == INK else part


def converter() -> Any:
    """Return vl-convert, or say which extra has it, or that it would crash the process here."""
    if (room := address_limit()) < ADDRESS_SPACE:
        raise MissingExtraError(
            f"What draws charts reserves {ADDRESS_SPACE / 1e9:.0f} GB of addresses, though it uses little of them, and a limit "
            f"allows {room / 1e9:,.1f} GB; lift it (ulimit -v unlimited), or leave out charts and reports."
        )
    try:
        import vl_convert  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("Charts need the extra 'report': pip install 'crowdassay[report]'.") from error
    return vl_convert


def address_limit() -> float:
    """Return the bytes of addresses that this process may have; infinity where nothing limits them."""
    try:
        import resource  # noqa: PLC0415  not on Windows
    except ImportError:
        return float("inf")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return float("inf") if limit == resource.RLIM_INFINITY else float(limit)
