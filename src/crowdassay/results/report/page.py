"""A page: cards, notes, and sections with a chart and a table each, in one file that opens offline.

Charts are data, and scripts are inlined and pinned by their hashes. All pages share one frame and one stylesheet.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from crowdassay.errors import FileError, MissingExtraError
from crowdassay.labels.datasets.load import user_folder
from crowdassay.labels.folder import check_writable
from crowdassay.labels.write import write_bytes
from crowdassay.results.report.chart import VEGA_LITE, Chart, converter
from crowdassay.results.report.overview import worth_knowing
from crowdassay.results.show import Section
from crowdassay.text import short
from crowdassay.version import VERSION

# What may end a script element, or a line in old JavaScript, is written as an escape; JSON reads it back the same.
ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}

CHART_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {{ hashes }}; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{{ title }}</title><style>{{ style }}
body { padding: 1.5rem; }</style></head><body><figure><div class="chart" id="chart-one"></div>
<figcaption class="note">{{ note }}</figcaption></figure><script type="application/json" id="charts">{{ specs }}</script>
<script>{{ bundle }}</script><script>{{ script }}</script></body></html>
"""
MOST_TITLE = 120  # characters
SQUARE_CHARTS = ("map", "matrix", "likeness", "tables", "confusion", "truth", "calibration")  # which keep their size


def check_report(path: Path) -> None:
    """Refuse a report's path, or the lack of what draws it, before there is anything to report."""
    if path.suffix not in (".html", ".htm"):
        raise FileError(f"'{path}' must end in .html.")
    check_writable(path.parent)
    converter()
    templates()


@dataclass(frozen=True)
class Findings:
    """What a page says; a template of its own may show ``more`` than sections."""

    title: str
    subtitle: str
    sections: Sequence[Section] = ()
    notes: Sequence[str] = ()
    cards: Sequence[dict[str, str]] = ()
    charts: Mapping[str, Chart | None] = field(default_factory=dict)
    template: str = "findings.html"
    more: Mapping[str, object] = field(default_factory=dict)

    def html(self) -> str:
        """Return the page."""
        values = {name: getattr(self, name) for name in ("subtitle", "sections", "cards")} | {
            "notes": worth_knowing(self.notes)
        }
        charts = {}
        for name, chart in self.charts.items():  # without titles, as the page has headings, and as wide as the page
            if chart is not None:
                spec = {key: value for key, value in chart.spec.items() if key != "title" or isinstance(value, dict)}
                charts[name] = Chart(spec if name in SQUARE_CHARTS else {**spec, "width": "container"}, chart.note)
        return render(asset(self.template), charts, self.title, **values, **self.more)


def write_findings(findings: Findings, path: Path) -> None:
    """Write the page as one HTML file that opens offline."""
    check_report(path)
    write_bytes(findings.html().encode(), path)


def render(template: str, charts: dict[str, Chart], title: str, /, **values: object) -> str:
    """Fill a template; everything is escaped but our own style and scripts, and charts go in as JSON."""
    jinja2 = templates()
    safe = jinja2.utils.markupsafe.Markup
    bundle, script = vega(), asset("report.js")
    specs = {f"chart-{name}": compiled(chart) for name, chart in charts.items()}
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(asset),  # the frame that all pages share
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(template).render(
        **values,
        title=short(title, MOST_TITLE),
        version=VERSION,
        charts=charts,
        specs=safe(as_json(specs)),  # every < > & in it is an escape
        bundle=safe(bundle),  # the dependency's own
        script=safe(script),  # ours
        style=safe(asset("report.css")),  # ours
        hashes=safe(" ".join(f"'sha256-{fingerprint(text)}'" for text in (bundle, script))),  # ours
    )


def templates() -> Any:
    """Return Jinja, or say which extra has it."""
    try:
        import jinja2  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError("The report needs the extra 'report': pip install 'crowdassay[report]'.") from error
    return jinja2


def compiled(chart: Chart) -> dict[str, Any]:
    """Return the chart as Vega, which a page need not translate; a version that it might complain of is left out."""
    spec = converter().vegalite_to_vega(chart.spec, vl_version=VEGA_LITE)
    return {name: value for name, value in spec.items() if name != "$schema"}


def as_json(value: object) -> str:
    r"""Return JSON that can stand in a script element.

    >>> as_json("</script>")
    '"\\u003c/script\\u003e"'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False).translate(ESCAPES)


def asset(name: str) -> str:
    """Return one of our own files."""
    return (files("crowdassay.results.report") / "assets" / name).read_text(encoding="utf-8")


@cache
def vega() -> str:
    """Return the scripts that draw charts, from the dependency that carries them.

    They take seconds to put together, so they are kept in the user's data folder, if that can be written to.
    """
    carrier, text = converter(), ""
    name = f"vega-{VEGA_LITE}-{carrier.__version__}.js"
    with suppress(OSError, UnicodeDecodeError, RuntimeError):  # the last where a user has no home
        text = user_folder().with_name(name).read_text(encoding="utf-8")
    if not text:
        text = str(carrier.javascript_bundle(vl_version=VEGA_LITE))
        with suppress(FileError, RuntimeError):
            write_bytes(text.encode(), user_folder().with_name(name))
    assert "</script" not in text.lower() and "<!--" not in text  # noqa: PT018  nothing may end the element early
    return text


def fingerprint(text: str) -> str:
    """Return the hash by which the page's policy allows a script."""
    return b64encode(sha256(text.encode()).digest()).decode()
